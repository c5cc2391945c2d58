"""The table of operations: one row an operation, from which code, pages and tests come."""

from __future__ import annotations

from gridlane.xp.operations import (
    activations,
    arithmetic,
    bits,
    comparisons,
    functions,
    hashing,
    losses,
    modular,
    powers,
    shaping,
    special,
)
from gridlane.xp.operations.over_an_axis import OVER_AN_AXIS
from gridlane.xp.operations.record import Operation

__all__ = ["OPERATIONS", "OVER_AN_AXIS", "ROWS"]

ROWS: tuple[Operation, ...] = (
    *arithmetic.ROWS,
    *powers.ROWS,
    *comparisons.ROWS,
    *bits.ROWS,
    *functions.ROWS,
    *special.ROWS,
    *activations.ROWS,
    *losses.ROWS,
    *shaping.ROWS,
    *modular.ROWS,
    *hashing.ROWS,
)
"""The table."""
OPERATIONS: dict[str, Operation] = {name: row for row in ROWS for name in (row.name, *row.aliases)}
"""Every operation by its name, and by its other names."""

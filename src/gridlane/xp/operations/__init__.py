"""The table of operations: one row an operation, from which code, pages and tests come."""

from __future__ import annotations

from gridlane.xp.operations import arithmetic, bits, comparisons, functions
from gridlane.xp.operations.record import Operation

ROWS: tuple[Operation, ...] = (
    *arithmetic.ROWS,
    *comparisons.ROWS,
    *bits.ROWS,
    *functions.ROWS,
)
"""The table."""
OPERATIONS: dict[str, Operation] = {name: row for row in ROWS for name in (row.name, *row.aliases)}
"""Every operation by its name, and by its other names."""

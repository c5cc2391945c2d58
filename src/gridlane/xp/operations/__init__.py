"""The table of operations: one row an operation, from which code, pages and tests come."""

from __future__ import annotations

from gridlane.xp.operations import arithmetic
from gridlane.xp.operations.record import Operation

OPERATIONS: dict[str, Operation] = {row.name: row for row in arithmetic.ROWS}
"""Every operation by its name."""

"""The table of every failure that CUDA 13's driver and runtime number."""

from __future__ import annotations

from gridlane.core.error_table import execution, runtime_only, setup
from gridlane.core.error_table.row import Row

__all__ = ["NAMES", "TABLE", "Row"]

TABLE: dict[int, Row] = setup.ROWS | execution.ROWS | runtime_only.ROWS
"""Rows by number."""

NAMES = {name: number for number, row in TABLE.items() for name in row[:2] if name}
"""Numbers by the driver's and the runtime's names."""

"""Every failure that CUDA's driver and runtime have a number for, in CUDA 13."""

from __future__ import annotations

from gridlane.core.error_table import running, runtime_only, setup
from gridlane.core.error_table.row import Row

__all__ = ["NAMES", "TABLE", "Row"]

TABLE: dict[int, Row] = setup.ROWS | running.ROWS | runtime_only.ROWS
"""Rows by their numbers."""

NAMES = {name: number for number, row in TABLE.items() for name in row[:2] if name}
"""Numbers by the driver's and by the runtime's names."""

"""Whether a module has barriers of the grid."""

from __future__ import annotations

from gridlane.ir.ops import grid
from gridlane.ir.values import Module


def syncs_grid(module: Module) -> bool:
    """Whether a module has a barrier of the grid."""
    functions = module.functions.values()
    return any(isinstance(op, grid.GridSync) for f in functions for op in f.body.walk())

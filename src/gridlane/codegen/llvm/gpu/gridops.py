"""Thread and block indices, and the sizes of blocks and grids."""

from __future__ import annotations

from gridlane.codegen.llvm.gpu.emission import Emission, emits
from gridlane.ir.ops import grid


@emits(grid.ThreadIdx, grid.BlockIdx, grid.BlockDim, grid.GridDim)
def index(state: Emission, op: grid.GridQuery) -> None:
    """Emit a grid query."""
    state.set(op.results[0], state.index(type(op), op.axis))

"""How the lines of a tile along an axis are spread over threads."""

from __future__ import annotations

import math
from typing import NamedTuple

from gridlane.core.dtypes import DType
from gridlane.ir.ops import arith, control, tiles
from gridlane.ir.types import TileType
from gridlane.ir.values import Function, Module
from gridlane.passes.tiles.indices import log2
from gridlane.passes.tiles.machine import WARP

FEW = 8
"""Elements of a line that a thread combines alone, where there are lines for all threads."""


class Spread(NamedTuple):
    """The threads of a line.

    Attributes:
        lines: of the tile.
        extent: elements of a line.
        threads: that have a line together; 0: a thread has whole lines.
        commutes: the elements may be combined in any order, so that neighbours in memory are those
            of neighbouring threads. Else each thread has some in a row.
    """

    lines: int
    extent: int
    threads: int
    commutes: bool

    @property
    def own(self) -> bool:
        """Whether threads have just the elements that they have in loops over whole tiles."""
        return self.threads > 0 and self.commutes


def spread_of(module: Module, op: tiles.TileReduce | tiles.TileScan, threads: int) -> Spread:
    """How a reduction or scan is spread over the threads of a block."""
    type_ = op.arguments[0].type
    assert isinstance(type_, TileType)
    extent = type_.shape[op.axis]
    lines = type_.count // extent
    scalars = all(isinstance(v.type.element, DType) for v in op.arguments)  # type: ignore[union-attr]  # tiles
    behind = math.prod(type_.shape[op.axis + 1 :])
    alone = lines >= threads and (behind >= WARP or extent <= FEW)
    if alone or not scalars or log2(extent) is None or extent == 1:
        return Spread(lines, extent, 0, False)
    together = min(extent, WARP if lines * WARP >= threads else threads)
    return Spread(lines, extent, together, commutes(module.functions[op.callee]))


_KINDS = (arith.Add, arith.Mul, arith.Min, arith.Max, arith.And, arith.Or, arith.Xor)


def commutes(function: Function) -> bool:
    """Whether a function is one commutative op on its two arguments."""
    ops = function.body.ops
    if len(ops) != 2 or len(function.params) != 2 or not isinstance(ops[1], control.Return):
        return False
    op, params = ops[0], {param.value for param in function.params}
    return isinstance(op, _KINDS) and {*op.operands()} == params and ops[1].values == op.results

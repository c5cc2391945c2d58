"""Which products warpgroups compute, and how they divide the sums."""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.ir.ops import tiles
from gridlane.ir.ops.warpgroups import DEPTH_BYTES, WARPS
from gridlane.ir.values import Value
from gridlane.passes.tiles.contiguity import Contiguity
from gridlane.passes.tiles.factors import factor_of
from gridlane.passes.tiles.indices import log2
from gridlane.passes.tiles.layouts import Warps, groups_of
from gridlane.passes.tiles.machine import WARP
from gridlane.passes.tiles.placement import LOADS, Placement
from gridlane.passes.tiles.widths import chunks_of

_DEEPEST = 16
"""The instructions along the inner extent, which are all written out."""

_REGISTERS, _OTHERS = 1 << 16, 32
"""The registers of a multiprocessor, and those that a thread has besides its sums: ptxas refuses an
instruction of warpgroups whose sums leave fewer."""


def division_of(placement: Placement, op: tiles.TileDot, known: Contiguity | None) -> Warps | None:
    """How warpgroups divide a product that a matrix instruction computes; None where they do not
    compute it. Factors of 16 bits may be consecutive along either axis in shared memory, others
    along the inner one alone."""
    machine, lhs, acc = placement.machine, tiles.tile_of(op, op.lhs), tiles.tile_of(op, op.acc)
    assert isinstance(lhs.element, DType)
    count, rest = divmod(placement.threads, WARP * WARPS)
    if not machine.groups or rest or not count or log2(lhs.shape[-1]) is None:
        return None
    if not 1 <= lhs.shape[-1] * lhs.element.size // DEPTH_BYTES <= _DEEPEST:
        return None
    if (
        acc.count
        > min(2 * machine.sums, _REGISTERS // placement.threads - _OTHERS) * placement.threads
    ):
        return None
    if lhs.element.size != 2 and not (
        _is_along_depth(op.lhs, 1, known) and _is_along_depth(op.rhs, 0, known)
    ):
        return None
    rows, columns = acc.shape
    return groups_of(rows, columns, count)


def _is_along_depth(factor: Value, axis: int, known: Contiguity | None) -> bool:
    """Whether a factor is loaded by vectors along its inner axis."""
    value, turned = factor_of(factor)
    if known is None or not isinstance(value.op, LOADS):
        return False
    chunks = chunks_of(known, value.op)
    return chunks is not None and chunks.axis == (1 - axis if turned else axis)

"""Products by warpgroups of one left factor and two right ones that lie one behind the other in
shared memory: one instruction has the columns of both, so the left factor is read once.

Tiles of a power of two columns leave much of the last round of programs idle where two of them, of
128 and 64 columns, do not.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops import memory, tile_memory, tiles
from gridlane.ir.ops.warpgroups import WIDEST
from gridlane.ir.types import TileType
from gridlane.passes.tiles.factors import factor_of
from gridlane.passes.tiles.placement import Placement

_PANEL = 128
"""Bytes of a line of a panel, of which a factor that lies along the depth has one."""
_BETWEEN = (memory.ReadVar, memory.WriteVar, tile_memory.TileLoadBlock, tiles.TileTranspose)
"""Ops that may stand between both: none reads memory that they change."""


def partners(placement: Placement) -> dict[Op, Op]:
    """The first of two products that may be one, and the second."""
    result: dict[Op, Op] = {}
    for first in placement.products:
        second = _behind(placement, first)
        if second is not None and first not in result.values():
            result[first] = second
    return result


def _behind(placement: Placement, first: Op) -> Op | None:
    """The product behind another one that has the same left factor and fits to it."""
    _, region, place = placement.order.path[first][-1]
    for op in region.ops[place + 1 :]:
        if op in placement.products:
            return op if _fit(placement, first, op) else None
        if not isinstance(op, (*_BETWEEN, tiles.TileReshape)):
            return None
    return None


def _fit(placement: Placement, first: Op, second: Op) -> bool:
    assert isinstance(first, tiles.TileDot) and isinstance(second, tiles.TileDot)
    one, other = placement.products[first], placement.products[second]
    if one.groups is None or one.groups != other.groups or one.groups.across > 1:
        return False
    if {first, second} & {*placement.byte_floats}:
        return False
    (left, turned), (right, same) = factor_of(first.rhs), factor_of(second.rhs)
    if factor_of(first.lhs) != factor_of(second.lhs) or turned != same or left is right:
        return False
    if not all(isinstance(each.op, tile_memory.TileLoadBlock) for each in (left, right)):
        return False
    types = tiles.tile_of(first, first.rhs), tiles.tile_of(second, second.rhs)
    (depth, columns), (_, others) = types[0].shape, types[1].shape
    if columns + others > WIDEST or types[0].element != types[1].element:
        return False
    assert isinstance(types[0].element, DType)
    return _lines_are_alike(left.type, right.type, turned, depth * types[0].element.size)


def _lines_are_alike(left: object, right: object, turned: bool, bytes_: int) -> bool:
    """Whether the panels of one factor follow those of the other as its own do: both have whole
    ones, and, along the depth, one."""
    assert isinstance(left, TileType) and isinstance(right, TileType)
    size = left.element.size  # type: ignore[union-attr]  # a scalar
    if turned:
        return bytes_ <= _PANEL
    return all(each.shape[-1] * size % _PANEL == 0 for each in (left, right))

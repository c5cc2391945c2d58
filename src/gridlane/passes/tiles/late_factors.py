"""Factors of products on processors that are loaded for one product alone: the product packs them,
right ones by panels of columns, which the first cache holds, instead of copying what is stored.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.ir.op import Op
from gridlane.ir.ops import tile_memory, tiles
from gridlane.ir.types import TileType
from gridlane.ir.values import Module, Region, Value
from gridlane.passes.tiles.contiguity import Contiguity
from gridlane.passes.tiles.elements import type_of
from gridlane.passes.tiles.indices import log2
from gridlane.passes.tiles.placement import Placement
from gridlane.passes.tiles.state import State
from gridlane.passes.tiles.sums import sum_type

_PANEL_BYTES = 128
"""Of a row of sums that a panel has: two of the longest vectors."""
_LEAST = 1 << 16
"""Products of a tile from which on a right factor is packed by panels."""


def late_factors(module: Module, known: Contiguity) -> frozenset[Op]:
    """The loads of such factors, and the functions between these and the products."""
    users: dict[Value, int] = {}
    for op in module.kernel.body.walk():
        for value in op.operands():
            users[value] = users.get(value, 0) + 1
    result: set[Op] = set()
    for region in _regions(module.kernel.body):
        near = {*region.ops}
        for op in region.ops:
            if isinstance(op, tiles.TileDot) and len(type_of(op.lhs).shape) == 2:
                for factor in (op.lhs, op.rhs) if panels_of(op) else (op.lhs,):
                    chain = _chain(factor, users, near)
                    if chain and not runs_along_columns(known, chain[-1]):
                        result.update(chain)
    return frozenset(result)


def _regions(region: Region) -> Iterator[Region]:
    yield region
    for op in region.ops:
        for inner in op.regions():
            yield from _regions(inner)


def _chain(factor: Value, users: dict[Value, int], near: set[Op]) -> list[Op]:
    """The functions behind a load, the last first, and the load, if nothing else needs them."""
    chain: list[Op] = []
    while factor.op in near and users[factor] == 1:
        op = factor.op
        assert op is not None
        chain.append(op)
        if isinstance(op, tile_memory.TileLoad):
            return [] if op.volatile else chain
        arguments = [each for each in op.operands() if isinstance(each.type, TileType)]
        if not isinstance(op, tiles.TileMap) or len(arguments) != 1:
            break
        factor = arguments[0]
    return []


def runs_along_columns(known: Contiguity, load: Op) -> bool:
    """Whether a load's neighbours in memory are those of a column."""
    assert isinstance(load, tile_memory.TileLoad)
    runs = [axis.run for axis in known.of(load.pointers).axes]
    return len(runs) > 1 and runs[-2] > runs[-1]


def is_along_columns(state: State, op: Op) -> bool:
    """The same of any op, whose elements are in the order of rows."""
    if not isinstance(op, tile_memory.TileLoad) or op in state.placement.layouts:
        return False
    return runs_along_columns(state.contiguity, op)


def panels_of(op: tiles.TileDot) -> int:
    """How many panels the right factor of a product has, if it is packed by these; else 0."""
    rows, depth = type_of(op.lhs).shape[-2:]
    columns = type_of(op.rhs).shape[-1]
    if rows * depth * columns < _LEAST or log2(columns) is None or log2(depth) is None:
        return 0
    count = columns * sum_type(op).size // _PANEL_BYTES
    return count if count > 1 else 0


def panelled_load(placement: Placement, op: tiles.TileDot) -> tile_memory.TileLoad | None:
    """The load of a right factor that is packed by panels; None if it is stored."""
    value = op.rhs
    while value.op in placement.spared and value not in placement.stored:
        if isinstance(value.op, tile_memory.TileLoad):
            return value.op
        assert isinstance(value.op, tiles.TileMap)
        (value,) = [each for each in value.op.arguments if isinstance(each.type, TileType)]
    return None

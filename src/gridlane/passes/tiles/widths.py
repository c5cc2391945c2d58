"""How many neighbours of a tile in memory one vector accesses."""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, tile_memory, tiles
from gridlane.ir.types import PointerType, TileType
from gridlane.ir.values import Value
from gridlane.passes.tiles.contiguity import Contiguity
from gridlane.passes.tiles.evaluation import constant
from gridlane.passes.tiles.indices import log2

BYTES = 16
"""Of the largest vector."""

_LEAST = 4
"""Bytes of the smallest."""


@frozen
class Chunks:
    """How a load is divided.

    Attributes:
        axis: of the last two, along which elements are neighbours in memory: 1 is the last.
        width: elements of a chunk, whose address is a multiple of its size, and whose elements
            are all in or all out of the mask.
    """

    axis: int
    width: int


def chunks_of(known: Contiguity, op: Op) -> Chunks | None:
    """The division of a load, by the widest chunks of 4 bytes and more; None without such."""
    if not isinstance(op, tile_memory.TileLoad | tile_memory.TileLoadBlock):
        return None
    type_ = op.results[0].type
    assert isinstance(type_, TileType)
    if len(type_.shape) < 2 or not isinstance(type_.element, DType) or type_.element.is_bool:
        return None
    if any(log2(extent) is None for extent in type_.shape):
        return None
    width = _width_of_block if isinstance(op, tile_memory.TileLoadBlock) else _width
    found: list[Chunks] = []
    for axis in (1, 0):
        place = len(type_.shape) - 2 + axis
        most = min(BYTES // type_.element.size, type_.shape[place])
        found.append(Chunks(axis, min(most, width(known, op, place))))  # type: ignore[arg-type]  # of its class
    best = max(found, key=lambda each: each.width)
    return best if best.width * type_.element.size >= _LEAST else None


def _width(known: Contiguity, op: tile_memory.TileLoad, axis: int) -> int:
    if _is_fresh(op) or any(not is_zero(value) for value in op.other):
        return 0  # not even of one element
    return _run(known, op, axis)


def _is_fresh(op: tile_memory.TileLoad) -> bool:
    """Whether a load reads memory anew each time: by instructions of its own, for each element."""
    return op.volatile or op.cache == "cv"


def _run(known: Contiguity, op: tile_memory.TileLoad | tile_memory.TileStore, axis: int) -> int:
    """The elements of groups along an axis that are neighbours in memory from a multiple of their
    size on, and all in or all out of the mask."""
    pointers = known.of(op.pointers).axes[axis]
    masks = [known.of(value).axes[axis].equal for value in op.mask]
    return min([pointers.run, pointers.divisor, *masks])


def width_of(known: Contiguity, op: Op, axis: int) -> int:
    """The elements along an axis that a load or store accesses by one vector; 1 if it does not."""
    if isinstance(op, tile_memory.TileStoreBlock):
        return _width_of_stored_block(known, op, axis)
    if not isinstance(op, tile_memory.TileLoad | tile_memory.TileStore):
        return 1
    if isinstance(op, tile_memory.TileLoad) and _is_fresh(op):
        return 1
    type_ = op.pointers.type
    assert isinstance(type_, TileType) and isinstance(type_.element, PointerType)
    element, extent = type_.element.element, type_.shape[axis]
    if not isinstance(element, DType) or element.is_bool or log2(extent) is None:
        return 1
    width = min(_run(known, op, axis), BYTES // element.size, extent)
    return width if width * element.size >= _LEAST else 1


def _width_of_block(known: Contiguity, op: tile_memory.TileLoadBlock, axis: int) -> int:
    if op.padding is not tile_memory.Padding.ZEROS:
        return 0
    if not _is_number(op.strides[axis], 1):
        return 1
    others = [stride for n, stride in enumerate(op.strides) if n != axis]
    values = [op.base, op.starts[axis], *others]
    if axis in op.checked:
        values.append(op.extents[axis])
    return min([known.of(value).divisor for value in values])


def _width_of_stored_block(known: Contiguity, op: tile_memory.TileStoreBlock, axis: int) -> int:
    """Of the elements that are in the array; see ``divides_extents``."""
    type_ = op.value.type
    assert isinstance(type_, TileType)
    element, extent = type_.element, type_.shape[axis]
    if not isinstance(element, DType) or element.is_bool or log2(extent) is None:
        return 1
    if not _is_number(op.strides[axis], 1):
        return 1
    others = [stride for n, stride in enumerate(op.strides) if n != axis]
    divisors = [known.of(value).divisor for value in (op.base, op.starts[axis], *others)]
    width = min(*divisors, BYTES // element.size, extent)
    return width if width * element.size >= _LEAST else 1


def divides_extents(known: Contiguity, op: tile_memory.TileStoreBlock, axis: int) -> bool:
    """Whether each vector of a block is all in or all out of the array."""
    width = width_of(known, op, axis)
    return axis not in op.checked or known.of(op.extents[axis]).divisor % width == 0


def _is_number(value: Value, number: int) -> bool:
    return isinstance(value.op, arith.Const) and value.op.value == number


def is_zero(value: Value) -> bool:
    """Whether a tile is of zeros."""
    op = value.op
    while isinstance(op, tiles.TileBroadcast | tiles.TileReshape):
        op = op.source.op
    number = constant(op.value) if isinstance(op, tiles.TileSplat) else None
    return number is not None and not any(number.tobytes())

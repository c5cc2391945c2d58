"""The meaning of ``ir.ops.tiles``: numpy over whole tiles. The functions for elements run in a
block that has a lane for each element."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import numpy as np

from gridlane.interp.state import Block, Frame
from gridlane.interp.values import Array, Lanes, Tile, numpy_of
from gridlane.ir.op import Op
from gridlane.ir.ops import tiles as ops
from gridlane.ir.types import TileType, Type


def type_of(value: Type) -> TileType:
    """The type of a value that the verifier knows for a tile."""
    assert isinstance(value, TileType)
    return value


def scalar(lanes: Lanes, mask: Array) -> Array:
    """The program's value of a scalar, of no axes."""
    assert isinstance(lanes, np.ndarray)
    return lanes[mask.argmax()]


def lanes_of(element: Array, frame: Frame) -> Array:
    """A scalar of the program, for all lanes of its block."""
    return np.full(frame.block.lanes, element, element.dtype)


def elements_block(block: Block, count: int) -> Block:
    """A block whose lanes stand for ``count`` elements of a tile."""
    inner = copy.copy(block)
    inner.lanes = count
    inner.threads = np.ones(count, np.bool_)
    inner.ended = np.zeros(count, np.bool_)
    inner.passed_by = np.zeros(count, np.bool_)
    inner.lane = np.zeros(count, np.int32)
    first = [np.full(count, axis[0]) for axis in block.thread_index]
    inner.thread_index = (first[0], first[1], first[2])
    return inner


def called(frame: Frame, callee: str, arguments: Sequence[Array]) -> tuple[Array, ...]:
    """The results of a device function for arrays of elements of one shape."""
    shape = arguments[0].shape
    count = arguments[0].size
    launch = frame.block.launch
    lanes = tuple([argument.reshape(count) for argument in arguments])
    inner = elements_block(frame.block, count)
    function = launch.module.functions[callee]
    results = launch.run_function(inner, function, lanes, inner.threads, None)
    return tuple([result.reshape(shape) for result in results])  # type: ignore[union-attr]  # scalars


def _map(frame: Frame, op: ops.TileMap, mask: Array, *arguments: Lanes) -> Lanes:
    shape = next(each.elements.shape for each in arguments if isinstance(each, Tile))
    given = [
        each.elements if isinstance(each, Tile) else np.full(shape, scalar(each, mask))
        for each in arguments
    ]
    return _results([Tile.of(each) for each in called(frame, op.callee, given)])


def _results(values: list[Tile] | list[Array]) -> Lanes:
    """What an op returns: the value itself where there is one."""
    return values[0] if len(values) == 1 else tuple(values)


def _splat(frame: Frame, op: ops.TileSplat, mask: Array, value: Array) -> Tile:
    return Tile.of(np.full(op.type.shape, scalar(value, mask), numpy_of(op.type.element)))


def _iota(frame: Frame, op: ops.TileIota, mask: Array) -> Tile:
    return Tile.of(np.arange(op.start, op.start + op.type.count, dtype=np.int32))


# ---- shapes


def _broadcast(op: ops.TileBroadcast, source: Tile) -> Tile:
    return Tile.of(np.broadcast_to(source.elements, op.type.shape))


def _reshape(op: ops.TileReshape, source: Tile) -> Tile:
    return Tile.of(source.elements.reshape(op.type.shape))


def _transpose(op: ops.TileTranspose, source: Tile) -> Tile:
    return Tile.of(source.elements.transpose(op.order))


def _join(op: ops.TileJoin, lhs: Tile, rhs: Tile) -> Tile:
    return Tile.of(np.stack([lhs.elements, rhs.elements], -1))


def _split(op: ops.TileSplit, source: Tile) -> Lanes:
    return Tile.of(source.elements[..., 0]), Tile.of(source.elements[..., 1])


def _cat(op: ops.TileCat, lhs: Tile, rhs: Tile) -> Tile:
    return Tile.of(np.concatenate([lhs.elements, rhs.elements], op.axis))


def _gather(op: ops.TileGather, source: Tile, index: Tile) -> Tile:
    """An index beyond the axis takes the nearest element."""
    shape, axis = index.elements.shape, op.axis
    within = tuple(
        slice(None) if each == axis else slice(extent) for each, extent in enumerate(shape)
    )
    positions = np.clip(index.elements, 0, source.elements.shape[axis] - 1)
    return Tile.of(np.take_along_axis(source.elements[within], positions, axis))


def _item(frame: Frame, op: ops.TileItem, mask: Array, source: Tile) -> Array:
    return lanes_of(source.elements.reshape(1)[0], frame)


# ---- along an axis


def _reduce(frame: Frame, op: ops.TileReduce, mask: Array, *arguments: Tile) -> Lanes:
    """Neighbours are combined, then their results, and so on; one that is left over waits."""
    parts = [np.moveaxis(each.elements, op.axis, 0) for each in arguments]
    while len(parts[0]) > 1:
        even = len(parts[0]) // 2 * 2
        pairs = [part[0:even:2] for part in parts] + [part[1:even:2] for part in parts]
        combined = called(frame, op.callee, pairs)
        parts = [
            np.concatenate([new, old[even:]]) for new, old in zip(combined, parts, strict=True)
        ]
    if parts[0].ndim == 1:
        return _results([lanes_of(part[0], frame) for part in parts])
    return _results([Tile.of(part[0]) for part in parts])


def _scan(frame: Frame, op: ops.TileScan, mask: Array, *arguments: Tile) -> Lanes:
    """Each element is combined with the one 1, 2, 4, … before it."""
    parts = [np.moveaxis(each.elements, op.axis, 0) for each in arguments]
    if op.reverse:
        parts = [part[::-1] for part in parts]
    distance = 1
    while distance < len(parts[0]):
        pairs = [part[:-distance] for part in parts] + [part[distance:] for part in parts]
        combined = called(frame, op.callee, pairs)
        parts = [
            np.concatenate([old[:distance], new]) for new, old in zip(combined, parts, strict=True)
        ]
        distance *= 2
    if op.reverse:
        parts = [part[::-1] for part in parts]
    return _results([Tile.of(np.moveaxis(part, 0, op.axis)) for part in parts])


def _sort(op: ops.TileSort, source: Tile) -> Tile:
    values = source.elements
    wide = values.astype(np.float32) if values.dtype.itemsize == 2 else values
    wide = wide if values.dtype.kind not in "iub" else values
    order = np.argsort(wide, op.axis, kind="stable")
    if op.descending:
        order = np.flip(order, op.axis)
    kept = np.take(order, np.arange(op.count or values.shape[op.axis]), op.axis)
    return Tile.of(np.take_along_axis(values, kept, op.axis))


def _histogram(op: ops.TileHistogram, source: Tile, *mask: Tile) -> Tile:
    values = source.elements
    counted = (values >= 0) & (values < op.bins)
    if mask:
        counted = counted & mask[0].elements
    return Tile.of(
        np.bincount(values[counted].astype(np.int64), minlength=op.bins).astype(np.int32)
    )


def _dot(op: ops.TileDot, lhs: Tile, rhs: Tile, acc: Tile) -> Tile:
    """Products and sums of floats in f64, rounded once; integers wrap."""
    wide = np.int64 if acc.elements.dtype.kind == "i" else np.float64
    total = np.matmul(lhs.elements.astype(wide), rhs.elements.astype(wide))
    return Tile.of((total + acc.elements.astype(wide)).astype(acc.elements.dtype))


WITH_OP: dict[type[Op], Callable[..., Lanes]] = {
    ops.TileBroadcast: _broadcast,
    ops.TileReshape: _reshape,
    ops.TileTranspose: _transpose,
    ops.TileJoin: _join,
    ops.TileSplit: _split,
    ops.TileCat: _cat,
    ops.TileGather: _gather,
    ops.TileSort: _sort,
    ops.TileHistogram: _histogram,
    ops.TileDot: _dot,
}

OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = {
    ops.TileMap: _map,
    ops.TileSplat: _splat,
    ops.TileIota: _iota,
    ops.TileItem: _item,
    ops.TileReduce: _reduce,
    ops.TileScan: _scan,
}

"""Sorting and counting the elements of a tile."""

from __future__ import annotations

import math

from gridlane.core.dtypes import DType, b1, i32, i64
from gridlane.ir.ops import arith, tiles
from gridlane.ir.ops import atomic as atomics
from gridlane.ir.types import tile
from gridlane.ir.values import Value
from gridlane.passes.tiles.accesses import Accesses
from gridlane.passes.tiles.along import placed
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.indices import Coordinates, Index, as_value, flattened, unflattened
from gridlane.passes.tiles.state import State, Storage


def sort(state: State, op: tiles.TileSort) -> None:
    """Sort lines by a bitonic network in shared memory, padded with what comes last."""
    type_ = type_of(op.source)
    extent, shape = type_.shape[op.axis], type_.shape
    size = 1 << (extent - 1).bit_length()
    lines = type_.count // extent
    others = (*shape[: op.axis], *shape[op.axis + 1 :])
    buffer = state.allocate(tile((lines, size), type_.element), False, op.loc)
    b = state.b
    with state.together(), state.elements((lines, size)) as (line, index):
        inside = index
        if size != extent:
            inside = b.binary(arith.Min, as_value(b, index), b.const(extent - 1, i32))
        around = unflattened(b, line, others) if others else ()
        value = element(state, op.source, placed(around, op.axis, inside))
        if size != extent:
            is_there = b.lt(as_value(b, index), b.const(extent, i32))
            value = b.select(is_there, value, _last(state, type_.element))
        state.write(buffer, (line, index), value)
    if size > 1:
        _network(state, buffer, size)
    _take(state, op, buffer, extent)


def _last(state: State, element_type: object) -> Value:
    """A value that no other comes behind."""
    assert isinstance(element_type, DType)
    if element_type.is_float:
        return state.b.const(math.nan, element_type)
    return state.b.const(True if element_type.is_bool else element_type.max, element_type)


def _network(state: State, buffer: Storage, size: int) -> None:
    """Sort the lines of a buffer: loops over the sizes and distances of the network."""
    b, lines = state.b, buffer.type.shape[0]
    stages = size.bit_length() - 1
    with state.counted(stages + 1, "stage", 1) as stage, state.counted(stage, "step") as step:
        state.pending = Accesses.any()
        shift = b.sub(b.sub(stage, b.const(1, i32)), step)
        with state.together(), state.elements((lines, size // 2)) as (line, pair):
            _compare(state, buffer, stage, shift, line, as_value(b, pair))
    state.pending = Accesses.any()


def _compare(
    state: State, buffer: Storage, stage: Value, shift: Value, line: Index, pair: Value
) -> None:
    """Put a pair of elements into order: upwards where the bit of the stage is clear."""
    b, one = state.b, state.b.const(1, i32)
    distance = b.value(arith.Shl(one, shift))
    rest = b.and_(pair, b.sub(distance, one))
    low = b.add(b.mul(b.sub(pair, rest), b.const(2, i32)), rest)
    high = b.add(low, distance)
    first, second = state.read(buffer, (line, low)), state.read(buffer, (line, high))
    bit = b.and_(b.value(arith.Shr(low, stage)), one)
    upwards = b.eq(bit, b.const(0, i32))
    wrong = b.select(upwards, _behind(state, first, second), _behind(state, second, first))
    state.write(buffer, (line, low), b.select(wrong, second, first))
    state.write(buffer, (line, high), b.select(wrong, first, second))


def _behind(state: State, first: Value, second: Value) -> Value:
    """Whether a value comes behind another one: NaNs are the last."""
    b, type_ = state.b, first.type
    assert isinstance(type_, DType)
    if type_ is b1:
        return b.and_(first, b.not_(second))
    greater = b.value(arith.Gt(first, second))
    if not type_.is_float:
        return greater
    missing = b.value(arith.Ne(first, first))
    return b.or_(greater, b.and_(missing, b.eq(second, second)))


def _take(state: State, op: tiles.TileSort, buffer: Storage, extent: int) -> None:
    """The first of the sorted elements, or the last ones backwards, as the result."""
    b, result = state.b, op.results[0]
    type_ = type_of(result)
    made = state.allocate(type_, False, op.loc, result)
    with state.together(), state.elements(type_.shape) as at:
        index = at[op.axis]
        if op.descending:
            index = b.sub(b.const(extent - 1, i32), as_value(b, index))
        line = _line_number(state, op, at)
        state.write(made, at, state.read(buffer, (line, index)))
    state.stored[result] = made


def _line_number(state: State, op: tiles.TileSort, at: Coordinates) -> Index:
    shape = type_of(op.source).shape
    others = (*shape[: op.axis], *shape[op.axis + 1 :])
    return flattened(state.b, (*at[: op.axis], *at[op.axis + 1 :]), others)


def histogram(state: State, op: tiles.TileHistogram) -> None:
    """Count elements by atomic sums in shared memory."""
    b, result = state.b, op.results[0]
    type_ = type_of(result)
    counts = state.allocate(type_, False, op.loc, result)
    with state.together(), state.elements(type_.shape) as at:
        state.write(counts, at, b.const(0, i32))
    with state.together(), state.elements(type_of(op.source).shape) as at:
        number = b.cast(element(state, op.source, at), i64)
        not_below = b.value(arith.Ge(number, b.const(0, i64)))
        counted = b.and_(not_below, b.lt(number, b.const(op.bins, i64)))
        if op.mask:
            counted = b.and_(counted, element(state, op.mask[0], at))
        state.touch(counts.symbol, True)
        with state.where(counted):
            place = b.offset(state.pointer_to(counts.symbol), b.cast(number, i32))
            one = b.const(1, i32)
            b.value(atomics.Atomic(atomics.AtomicKind.ADD, place, one))
    state.stored[result] = counts

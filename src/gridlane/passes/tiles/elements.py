"""Computes one element of a tile where it is needed.

A tile that is not stored is a function of coordinates. What it needs of other tiles is computed at
the coordinates that belong to its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core.dtypes import DType, b1, i32, i64
from gridlane.ir.op import Op, clone_op
from gridlane.ir.ops import arith, control, memory, tile_memory, tiles
from gridlane.ir.types import PointerType, TileType, Type
from gridlane.ir.values import Function, Value
from gridlane.passes.tiles.accesses import DEVICE
from gridlane.passes.tiles.indices import (
    ZERO,
    BitIndex,
    Coordinates,
    Index,
    as_value,
    log2,
    remainder,
    reshaped,
)
from gridlane.passes.tiles.state import State, refuse
from gridlane.passes.tiles.vectors import Group, group_of, load_group


def element(state: State, value: Value, at: Coordinates) -> Value:
    """The element of a tile at coordinates; the lowered value of a scalar."""
    if not isinstance(value.type, TileType):
        return state.of(value)
    if state.by_registers and value.type.element is b1:
        at = _first_alike(state, value, at)
    key = value, at
    if key in state.memo:
        return state.memo[key]
    if value in state.stored:
        result = state.read(state.stored[value], at)
        state.memo[key] = result
        return result
    op = value.op
    assert op is not None, "a kernel has no tiles as parameters"
    compute_element(state, op, at)
    return state.memo[key]


def _first_alike(state: State, mask: Value, at: Coordinates) -> Coordinates:
    """The coordinates of the first of a thread's elements that equal one, as masks do for all
    neighbours of a vector: what is computed there serves them all."""
    indices: list[Index] = []
    for index, axis in zip(at, state.contiguity.of(mask).axes, strict=True):
        if isinstance(index, BitIndex):
            index = BitIndex(index.constant & ~(axis.equal - 1), index.parts)
        indices.append(index)
    return tuple(indices)


def compute_element(state: State, op: Op, at: Coordinates) -> None:
    """Compute an element of each result of an op."""
    rule = RULES.get(type(op))
    if rule is None:
        raise refuse(op, "no element of it can be computed alone")
    loc, state.b.loc = state.b.loc, op.loc
    results = rule(state, op, at)
    state.b.loc = loc
    for result, computed in zip(op.results, results, strict=True):
        state.memo[result, at] = computed


def type_of(value: Value) -> TileType:
    """The type of a tile."""
    assert isinstance(value.type, TileType)
    return value.type


def call(state: State, name: str, arguments: list[Value]) -> tuple[Value, ...]:
    """The results of a device function for scalars; short ones are inlined."""
    function = state.module.functions[name]
    if not _is_straight(function):
        return state.b.call(function, tuple(arguments))
    values = dict(zip([p.value for p in function.params], arguments, strict=True))
    for op in function.body.ops[:-1]:
        copy = clone_op(op, values, {})
        if isinstance(copy, arith.Const):
            copy.loc = state.b.loc
        state.b.region.ops.append(copy)
    last = function.body.ops[-1]
    assert isinstance(last, control.Return)
    return tuple([values.get(value, value) for value in last.values])


def _is_straight(function: Function) -> bool:
    ops = function.body.ops
    plain = all(not op.REGION_FIELDS and not op.terminator for op in ops[:-1])
    return plain and not function.variables and bool(ops) and isinstance(ops[-1], control.Return)


# ---- tiles that are never stored for themselves


def _splat(state: State, op: tiles.TileSplat, at: Coordinates) -> tuple[Value, ...]:
    return (state.of(op.value),)


def _iota(state: State, op: tiles.TileIota, at: Coordinates) -> tuple[Value, ...]:
    return (state.b.add(as_value(state.b, at[0]), state.b.const(op.start, i32)),)


def _map(state: State, op: tiles.TileMap, at: Coordinates) -> tuple[Value, ...]:
    return call(state, op.callee, [element(state, value, at) for value in op.arguments])


def _broadcast(state: State, op: tiles.TileBroadcast, at: Coordinates) -> tuple[Value, ...]:
    shape = type_of(op.source).shape
    inner = [ZERO if extent == 1 else index for index, extent in zip(at, shape, strict=True)]
    return (element(state, op.source, tuple(inner)),)


def _reshape(state: State, op: tiles.TileReshape, at: Coordinates) -> tuple[Value, ...]:
    inner = reshaped(state.b, at, op.type.shape, type_of(op.source).shape)
    return (element(state, op.source, inner),)


def _transpose(state: State, op: tiles.TileTranspose, at: Coordinates) -> tuple[Value, ...]:
    inner = [ZERO] * len(at)
    for place, axis in enumerate(op.order):
        inner[axis] = at[place]  # type: ignore[call-overload]  # an index
    return (element(state, op.source, tuple(inner)),)


def _split(state: State, op: tiles.TileSplit, at: Coordinates) -> tuple[Value, ...]:
    sides = ZERO, BitIndex(1)
    return tuple([element(state, op.source, (*at, side)) for side in sides])


def _join(state: State, op: tiles.TileJoin, at: Coordinates) -> tuple[Value, ...]:
    *outer, side = at
    if isinstance(side, BitIndex) and not side.parts:
        return (element(state, (op.lhs, op.rhs)[side.constant], tuple(outer)),)
    lhs, rhs = (element(state, each, tuple(outer)) for each in (op.lhs, op.rhs))
    first = state.b.eq(as_value(state.b, side), state.b.const(0, i32))
    return (state.b.select(first, lhs, rhs),)


def _cat(state: State, op: tiles.TileCat, at: Coordinates) -> tuple[Value, ...]:
    b, index = state.b, at[op.axis]
    left, right = type_of(op.lhs).shape[op.axis], type_of(op.rhs).shape[op.axis]
    number = as_value(b, index)
    first = b.lt(number, b.const(left, i32))
    if left == right and log2(left) is not None:
        inside = remainder(b, index, left)
        places = inside, inside
    else:
        # Both sides are computed, so each at a place that it has.
        low = b.binary(arith.Min, number, b.const(left - 1, i32))
        high = b.binary(arith.Max, b.sub(number, b.const(left, i32)), b.const(0, i32))
        places = low, high
    sides = [
        element(state, value, (*at[: op.axis], place, *at[op.axis + 1 :]))
        for value, place in zip((op.lhs, op.rhs), places, strict=True)
    ]
    return (b.select(first, *sides),)


def _gather(state: State, op: tiles.TileGather, at: Coordinates) -> tuple[Value, ...]:
    b, extent = state.b, type_of(op.source).shape[op.axis]
    index = element(state, op.index, at)
    index = b.binary(arith.Max, index, b.const(0, i32))
    index = b.binary(arith.Min, index, b.const(extent - 1, i32))
    return (element(state, op.source, (*at[: op.axis], index, *at[op.axis + 1 :])),)


def _variable(state: State, op: memory.ReadVar, at: Coordinates) -> tuple[Value, ...]:
    return (state.read(state.variables[op.var], at),)


# ---- memory


def zero(state: State, type_: Type) -> Value:
    """The zero of an element."""
    if isinstance(type_, DType) and type_.is_float:
        return state.b.const(0.0, type_)
    return state.b.const(False if isinstance(type_, DType) and type_.is_bool else 0, type_)


def loaded(state: State, pointer: Value, mask: Value | None, other: Value | None, op: Any) -> Value:
    """What is at an address, or another value where it may not be read."""
    state.touch(DEVICE)
    b, volatile = state.b, getattr(op, "volatile", False)
    if mask is None:
        return b.load(pointer, volatile, op.cache)
    assert isinstance(pointer.type, PointerType)
    type_ = pointer.type.element
    result = b.variable("loaded", type_)
    b.write(result, zero(state, type_) if other is None else other)
    with b.if_(mask):
        b.write(result, b.load(pointer, volatile, op.cache))
    return b.read(result)


def _load(state: State, op: tile_memory.TileLoad, at: Coordinates) -> tuple[Value, ...]:
    group = group_of(state, op, at)
    if group is not None:
        return _load_group(state, op, group)
    pointer = element(state, op.pointers, at)
    mask = element(state, op.mask[0], at) if op.mask else None
    other = element(state, op.other[0], at) if op.other else None
    return (loaded(state, pointer, mask, other, op),)


def _load_group(state: State, op: tile_memory.TileLoad, group: Group) -> tuple[Value, ...]:
    """An element, with its neighbours, which this thread needs as well."""
    first = group.places[0]
    pointer = element(state, op.pointers, first)
    mask = element(state, op.mask[0], first) if op.mask else None
    others = [element(state, op.other[0], place) for place in group.places] if op.other else []
    values = load_group(state, group, pointer, mask, others, op.cache)
    for place, value in zip(group.places, values, strict=True):
        state.memo[op.results[0], place] = value
    return (values[group.index],)


def _load_block(state: State, op: tile_memory.TileLoadBlock, at: Coordinates) -> tuple[Value, ...]:
    pointer, inside = block_element(state, op, at)
    type_ = op.type.element
    beyond = None
    if op.padding is tile_memory.Padding.NANS:
        beyond = state.b.const(float("nan"), type_)
    return (loaded(state, pointer, inside, beyond, op),)


def block_element(
    state: State, op: tile_memory.TileLoadBlock | tile_memory.TileStoreBlock, at: Coordinates
) -> tuple[Value, Value | None]:
    """The address of an element of a block of an array, and whether it is in the array."""
    b, address = state.b, state.of(op.base)
    inside: Value | None = None
    for axis, index in enumerate(at):
        start = b.cast(state.of(op.starts[axis]), i64)
        position = b.add(start, b.cast(as_value(b, index), i64))
        address = b.offset(address, b.mul(position, state.of(op.strides[axis])))
        if axis in op.checked:
            after = b.value(arith.Ge(position, b.const(0, i64)))
            before = b.lt(position, state.of(op.extents[axis]))
            both = b.and_(after, before)
            inside = both if inside is None else b.and_(inside, both)
    return address, inside


RULES: dict[type[Op], Callable[[State, Any, Coordinates], tuple[Value, ...]]] = {
    tiles.TileSplat: _splat,
    tiles.TileIota: _iota,
    tiles.TileMap: _map,
    tiles.TileBroadcast: _broadcast,
    tiles.TileReshape: _reshape,
    tiles.TileTranspose: _transpose,
    tiles.TileSplit: _split,
    tiles.TileJoin: _join,
    tiles.TileCat: _cat,
    tiles.TileGather: _gather,
    memory.ReadVar: _variable,
    tile_memory.TileLoad: _load,
    tile_memory.TileLoadBlock: _load_block,
}

"""Stores, atomics, prints and errors: of tiles by the threads that have the elements, of scalars by
thread 0 alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core.dtypes import b1, i32, i64, u32
from gridlane.ir.bits_shown import bits_shown
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, grid, memory, tile_memory, warp
from gridlane.ir.ops import atomic as atomics
from gridlane.ir.ops.tensors import ProxyFence
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Region, Value
from gridlane.passes.tiles import tensor_stores
from gridlane.passes.tiles.accesses import DEVICE
from gridlane.passes.tiles.elements import block_element, element, type_of, zero
from gridlane.passes.tiles.indices import Coordinates, as_value, unflattened
from gridlane.passes.tiles.order import writes_memory
from gridlane.passes.tiles.row_stores import has_rows, rows_of
from gridlane.passes.tiles.state import State, Storage
from gridlane.passes.tiles.vectors import group_of, store_group, store_words
from gridlane.passes.tiles.widths import divides_extents, width_of

# ---- stores


def _staged(state: State, op: Op, value: Value) -> None:
    """Compute what a store writes as a whole first, if it needs elements that the store may
    overwrite."""
    if op not in state.placement.staged:
        return
    type_ = type_of(value)
    storage = state.allocate(type_, True, op.loc)
    with state.together():
        for at in state.own_elements(type_.shape):
            state.write(storage, at, element(state, value, at))
    state.stored[value] = storage


def store(state: State, op: tile_memory.TileStore) -> None:
    """Store the elements of a tile."""
    _staged(state, op, op.value)
    with state.together(), state.where(state.sole()):
        if has_rows(state, op):
            for row in rows_of(state, op):
                pointer = element(state, op.pointers, row.at)
                mask = element(state, op.mask[0], row.at) if op.mask else None
                store_words(state, pointer, mask, row.words, op.cache)
            return
        for at in state.own_elements(type_of(op.value).shape):
            group = group_of(state, op, at)
            if group is not None and group.index:
                continue  # stored with the first of them
            pointer = element(state, op.pointers, at)
            values = [element(state, op.value, each) for each in (group.places if group else [at])]
            mask = element(state, op.mask[0], at) if op.mask else None
            if group is not None:
                store_group(state, group, pointer, mask, values, op.cache)
            else:
                _write(state, pointer, values[0], mask, op.cache)


def store_block(state: State, op: tile_memory.TileStoreBlock) -> None:
    """Store a tile to a block of an array: by vectors, where each is known to be all in the array
    or all beyond it, or turns out to be."""
    _staged(state, op, op.value)
    if op in state.tensor_stores:
        _store_by_map(state, op)
        return
    axis = len(type_of(op.value).shape) - 1
    with state.together(), state.where(state.sole()):
        if op not in state.placement.layouts or divides_extents(state.contiguity, op, axis):
            _store_elements(state, op)
            return
        width = width_of(state.contiguity, op, axis)
        _store_either(state, op, width, lambda: _store_elements(state, op))


def _store_by_map(state: State, op: tile_memory.TileStoreBlock) -> None:
    """Store a tile by a tensor map, but for one that has an end of lines which is none of a chunk.
    Behind such a one later stores by the map, to the same memory, come later."""
    with state.together():
        if tensor_stores.is_whole(state, op):
            tensor_stores.store(state, op)
            return
        chunk = tensor_stores.chunk_of(op)
        single = _store_either(state, op, chunk, lambda: tensor_stores.store(state, op))
        with state.b.inside(single):
            state.b.emit(ProxyFence())


def _store_either(
    state: State, op: tile_memory.TileStoreBlock, width: int, store: Callable[[], None]
) -> Region:
    """Store a tile in one way if no vector is half in the array, else element by element, in the
    region that is returned."""
    axis = len(type_of(op.value).shape) - 1
    memo, state.memo = state.memo, dict(state.memo)
    with state.b.if_(_are_whole(state, op, axis, width)) as branch:
        store()
    state.memo = dict(memo)
    with state.b.inside(branch.orelse):
        for at in state.own_elements(type_of(op.value).shape):
            pointer, inside = block_element(state, op, at)
            _write(state, pointer, element(state, op.value, at), inside, op.cache)
    state.memo = memo
    return branch.orelse


def _are_whole(state: State, op: tile_memory.TileStoreBlock, axis: int, width: int) -> Value:
    """Whether no vector of a block, along an axis, is half in the array."""
    b, extent = state.b, state.of(op.extents[axis])
    start = b.cast(state.of(op.starts[axis]), i64)
    end = b.add(start, b.const(type_of(op.value).shape[axis], i64))
    is_inside = b.value(arith.Le(end, extent))
    divides = b.eq(b.and_(extent, b.const(width - 1, i64)), b.const(0, i64))
    return b.or_(is_inside, divides)


def _store_elements(state: State, op: tile_memory.TileStoreBlock) -> None:
    """Store the elements of a block, by vectors where these are all in or all out of the array."""
    if has_rows(state, op):
        for row in rows_of(state, op):
            pointer, inside = block_element(state, op, row.at)
            store_words(state, pointer, inside, row.words, op.cache)
        return
    for at in state.own_elements(type_of(op.value).shape):
        group = group_of(state, op, at)
        if group is not None and group.index:
            continue
        pointer, inside = block_element(state, op, at)
        values = [element(state, op.value, each) for each in (group.places if group else [at])]
        if group is not None:
            store_group(state, group, pointer, inside, values, op.cache)
        else:
            _write(state, pointer, values[0], inside, op.cache)


def _write(state: State, pointer: Value, value: Value, mask: Value | None, cache: str) -> None:
    state.touch(DEVICE, True)
    with state.where(mask):
        state.b.store(pointer, value, cache=cache)


# ---- atomics


def atomic(state: State, op: tile_memory.TileAtomic) -> None:
    """Update the scalars behind a tile of pointers."""
    order = order_of(state, op)

    def update(at: Coordinates) -> Value:
        pointer, value = element(state, op.pointers, at), element(state, op.value, at)
        return state.b.value(atomics.Atomic(op.kind, pointer, value, order, op.scope))

    _updated(state, op, op.mask, update)


def atomic_cas(state: State, op: tile_memory.TileAtomicCas) -> None:
    """Compare and swap the scalars behind a tile of pointers."""

    def update(at: Coordinates) -> Value:
        pointer, expected = element(state, op.pointers, at), element(state, op.expected, at)
        desired = element(state, op.desired, at)
        return state.b.value(atomics.AtomicCas(pointer, expected, desired, op.order, op.scope))

    _updated(state, op, (), update)


def order_of(state: State, op: Any) -> grid.MemoryOrder:
    """The order of an atomic, which programs have by default though nothing needs it: nobody can
    tell where it is alone in writing memory, runs once, its old value is unused, and all loads are
    of its operands, so that they precede it anyway."""
    order = state.placement.order
    if order.loops(op) or op.results[0] in state.placement.used:
        return op.order
    before: set[Op] = set()
    waiting = [*op.operands()]
    while waiting:
        made_by = waiting.pop().op
        if made_by is not None and made_by not in before:
            before.add(made_by)
            waiting += made_by.operands()
    for each in order.ops:
        loads = isinstance(each, memory.Load | tile_memory.TileLoad | tile_memory.TileLoadBlock)
        if (loads and each not in before) or (each is not op and writes_memory(each)):
            return op.order
    return grid.MemoryOrder.RELAXED


def _updated(state: State, op: Any, mask: tuple[Value, ...], update: Any) -> None:
    result = op.results[0]
    type_, b = type_of(result), state.b
    storage: Storage | None = None
    if result in state.placement.stored:
        storage = state.allocate(type_, state.placement.stored[result], op.loc, result)
    with state.together():
        for at in state.own_elements(type_.shape):
            state.touch(DEVICE, True)
            if not mask:
                old = update(at)
            else:
                condition = element(state, mask[0], at)
                kept = b.variable("old", type_.element)
                b.write(kept, zero(state, type_.element))
                with state.where(condition):
                    b.write(kept, update(at))
                old = b.read(kept)
            if storage is not None:
                state.write(storage, at, old)
    if storage is not None:
        state.stored[result] = storage


# ---- scalars of the program


def is_effect(op: Op) -> bool:
    """Whether an op on scalars must happen once for the program."""
    if isinstance(op, memory.Store):
        assert isinstance(op.pointer.type, PointerType)
        return op.pointer.type.space is not Space.LOCAL
    return isinstance(
        op, atomics.Atomic | atomics.AtomicCas | atomics.AtomicCasPair | control.Print
    )


def by_first(state: State, op: Op) -> None:
    """Run an op in thread 0 alone; others get its results through shared memory."""
    b = state.b
    if state.machine.lockstep and isinstance(op, memory.Store):
        b.region.ops.append(op)  # all lanes store one value to one address, which is one store
        return
    if isinstance(op, atomics.Atomic):
        op.order = order_of(state, op)
    used = [value for value in op.results if value in state.placement.used]
    cells = [(value, state.shared(value.type, 1)) for value in used]
    with state.together():
        state.touch(DEVICE, True)
        with state.where(state.is_first()):
            b.region.ops.append(op)
            for value, symbol in cells:
                state.touch(symbol, True)
                b.store(state.pointer_to(symbol), value)
    if not cells:
        return
    with state.together():
        for value, symbol in cells:
            state.touch(symbol)
            state.values[value] = b.load(state.pointer_to(symbol))


# ---- reports


def print_tile(state: State, op: tile_memory.TilePrint) -> None:
    """Print the elements in their order, by thread 0."""
    type_, b = type_of(op.value), state.b
    rank = len(type_.shape)
    parts = ["pid (", "", ", ", "", ", ", "", ") idx ("]
    for axis in range(rank):
        parts += [", ", ""] if axis else [""]
    parts += [f"){op.prefix}", ""]
    with state.together(), state.where(state.is_first()), state.counted(type_.count) as counter:
        at = unflattened(b, counter, type_.shape)
        value, text = element(state, op.value, at), ""
        block = [b.value(grid.BlockIdx(axis)) for axis in grid.Axis]
        numbers = [as_value(b, index) for index in at]
        if op.hexadecimal:
            value, text = bits_shown(b, value)
        widths = [f"{{:{len(str(extent - 1))}}}" for extent in type_.shape]
        formats = ("", "", "", *widths, text)
        b.emit(control.Print(tuple(parts), (*block, *numbers, value), formats))


def stop_if(state: State, op: tile_memory.TileStopIf) -> None:
    """End the launch if a condition holds for an element."""
    b = state.b
    failed = b.variable("failed", b1)
    b.write(failed, b.const(False, b1))
    with state.together():
        for at in state.own_elements(type_of(op.condition).shape):
            with state.where(element(state, op.condition, at)):
                b.write(failed, b.const(True, b1))
    with b.if_(_anywhere(state, b.read(failed))):
        b.emit(control.Raise(op.code))


def _anywhere(state: State, condition: Value) -> Value:
    """Whether a condition holds in a thread of the block."""
    b = state.b
    if state.machine.lockstep:
        return b.value(warp.Vote(warp.VoteMode.ANY, b.const(0xFFFFFFFF, u32), condition))
    count = b.value(grid.BarrierReduce(grid.Reduction.ANY, condition))
    return b.value(arith.Ne(count, b.const(0, i32)))

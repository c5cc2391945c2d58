"""Loads of tiles into shared memory by vectors of up to 16 bytes, at once or asynchronously."""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.core.dtypes import i32, u32
from gridlane.ir.op import Op
from gridlane.ir.ops import copies, memory, tile_memory
from gridlane.ir.types import TileType, Type, vector
from gridlane.ir.values import Value, Var
from gridlane.passes.tiles.accesses import DEVICE
from gridlane.passes.tiles.elements import block_element, element
from gridlane.passes.tiles.indices import (
    ZERO,
    BitIndex,
    Coordinates,
    log2,
    source,
    swapped,
    unflattened,
)
from gridlane.passes.tiles.state import State, Storage
from gridlane.passes.tiles.widths import BYTES, Chunks

_HELD = 16
"""Chunks of a thread that are held in registers."""

_UNROLLED = 32
"""Chunks of a thread that are written out; more are a loop."""


# ---- copies


def copy_chunks(state: State, op: Op, chunks: Chunks, target: Storage, asynchronous: bool) -> None:
    """Copy a tile to shared memory: this thread's part."""
    for at in _places(state, op, chunks):
        pointer, inside = _address(state, op, at)
        state.touch(DEVICE)
        size = chunks.width * target.type.element.size
        to = _target(state, chunks, target, at)
        if inside is None:
            _copy(state, pointer, to, size, asynchronous)
            continue
        with state.b.if_(inside) as branch:
            _copy(state, pointer, to, size, asynchronous)
        with state.b.inside(branch.orelse):
            kind = _type_of(size)
            state.b.store(_recast(state, to, kind), _zeros(state, kind))


def load_chunks(state: State, op: Op, chunks: Chunks, held: list[Var]) -> None:
    """Load this thread's part of a tile into variables, one for each chunk."""
    state.touch(DEVICE)
    for var, at in zip(held, _places(state, op, chunks), strict=True):
        b = state.b
        pointer, inside = _address(state, op, at)
        if inside is not None:
            b.write(var, _zeros(state, var.type))
        with state.where(inside):
            b.write(var, b.load(_recast(state, pointer, var.type)))


def store_chunks(state: State, op: Op, chunks: Chunks, held: list[Var], target: Storage) -> None:
    """Store what ``load_chunks`` has loaded."""
    for var, at in zip(held, _places(state, op, chunks), strict=True):
        state.b.store(
            _recast(state, _target(state, chunks, target, at), var.type), state.b.read(var)
        )


def held_chunks(state: State, op: Op, chunks: Chunks) -> list[Var] | None:
    """Variables for this thread's part of a tile; None where it is too large for registers."""
    type_ = op.results[0].type
    assert isinstance(type_, TileType)
    count = max(1, type_.count // chunks.width // state.threads)
    if count > _HELD:
        return None
    kind = _type_of(chunks.width * type_.element.size)
    return [state.b.variable("ahead", kind) for _ in range(count)]


def _target(state: State, chunks: Chunks, target: Storage, at: Coordinates) -> Value:
    """Where a chunk is stored."""
    if state.machine.opaque and chunks.width * target.type.element.size == BYTES:
        return state.chunk_address(target, at)
    return state.address(target, at)


def _address(state: State, op: Op, at: Coordinates) -> tuple[Value, Value | None]:
    """The address of an element, and whether it is read."""
    if isinstance(op, tile_memory.TileLoadBlock):
        return block_element(state, op, at)
    assert isinstance(op, tile_memory.TileLoad)
    pointer = element(state, op.pointers, at)
    return pointer, element(state, op.mask[0], at) if op.mask else None


def _places(state: State, op: Op, chunks: Chunks) -> Iterator[Coordinates]:
    """The first elements of this thread's chunks; neighbours have neighbouring chunks."""
    type_ = op.results[0].type
    assert isinstance(type_, TileType)
    *front, lines, along = type_.shape if chunks.axis else swapped(type_.shape)
    along //= chunks.width
    shape, bits = (*front, lines, along), log2(chunks.width) or 0

    def placed(number: BitIndex) -> Coordinates:
        *line, chunk = unflattened(state.b, number, shape)
        assert isinstance(chunk, BitIndex)
        at = (*line, chunk.joined(ZERO, bits))
        return at if chunks.axis else swapped(at)

    lane, threads = state.lane(), state.threads
    assert isinstance(lane, BitIndex)
    count = type_.count // chunks.width
    if count < threads:
        few = state.b.lt(state.thread, state.b.const(count, i32))
        with state.where(few):
            yield placed(lane.below(log2(count) or 0))
        return
    trips, width = count // threads, log2(threads) or 0
    if trips > _UNROLLED:
        with state.counted(trips, "chunk") as counter:
            yield placed(source(counter, trips).joined(lane, width))
        return
    for trip in range(trips):
        yield placed(BitIndex(trip).joined(lane, width))


def _copy(state: State, source_: Value, target: Value, size: int, asynchronous: bool) -> None:
    b = state.b
    if asynchronous:
        b.emit(copies.AsyncCopy(target, source_, size))
        return
    kind = _type_of(size)
    b.store(_recast(state, target, kind), b.load(_recast(state, source_, kind)))


def _type_of(size: int) -> Type:
    return u32 if size == 4 else vector(u32, size // 4)


def _recast(state: State, pointer: Value, kind: Type) -> Value:
    return state.b.recast(pointer, memory.pointer_beside(pointer, kind))


def _zeros(state: State, kind: Type) -> Value:
    b, zero = state.b, state.b.const(0, u32)
    if kind is u32:
        return zero
    return b.value(memory.Pack((zero,) * (kind.size // 4), kind))  # type: ignore[arg-type]  # a vector

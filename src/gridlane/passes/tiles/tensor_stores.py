"""Stores of products' sums by tensor maps, which go on while the next tile is computed.

Each warpgroup has two pieces of shared memory for boxes of 64 lines of 128 bytes, in the pattern
of a swizzle. Its threads write a box of their sums to one; the first of them stores it, and waits
until the box before the last has been read, whose piece is the next one. A barrier of the program's
threads, which precedes accesses of what others have written, waits for all stores.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, b1, bf16, f16, i32, u8, u32
from gridlane.core.tensor_map import ALIGN as STEP
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, grid, tile_memory
from gridlane.ir.ops.shared_matrix import ALIGN
from gridlane.ir.ops.tensors import BulkCommit, BulkWait, ProxyFence, TensorStore
from gridlane.ir.ops.warpgroups import WARPS
from gridlane.ir.types import Space, pointer, tile
from gridlane.ir.values import Param, Value
from gridlane.passes.tiles import decisions
from gridlane.passes.tiles.accesses import DEVICE
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.indices import BitIndex, as_value, log2, unflattened
from gridlane.passes.tiles.layouts import Layout
from gridlane.passes.tiles.machine import WARP
from gridlane.passes.tiles.order import Order, writes_memory
from gridlane.passes.tiles.state import State, Storage
from gridlane.passes.tiles.tensor_map_params import map_param
from gridlane.passes.tiles.vectors import Group, packed

Store = tile_memory.TileStoreBlock

_LINES, _BYTES = 64, 128
"""Of a box."""
_PIECES = 2
"""Of a warpgroup."""
_BARRIER = 8
"""The number of the first warpgroup's barrier."""
_GROUP = WARP * WARPS
_KINDS = (f16, bf16)


def room_of(threads: int) -> int:
    """The bytes of all pieces."""
    return threads // _GROUP * _PIECES * _LINES * _BYTES


def may_store(state: State, op: Op) -> bool:
    """Whether a store's sums lie in the registers of warpgroups so that each has whole boxes, and
    something is computed behind it before memory is accessed again."""
    if not isinstance(op, Store) or op.cache or state.threads % _GROUP:
        return False
    layout, type_ = state.placement.layouts.get(op), type_of(op.value)
    if layout is None or type_.element not in _KINDS or any(n != 1 for n in type_.shape[:-2]):
        return False
    divisor = state.contiguity.of(op.starts[-1]).divisor
    if not _has_boxes(layout, type_.shape) or divisor * _size(op) % STEP:
        return False
    return _is_last(state.placement.order, op)


def _size(op: Store) -> int:
    kind = type_of(op.value).element
    assert isinstance(kind, DType)
    return kind.size


def _has_boxes(layout: Layout, shape: tuple[int, ...]) -> bool:
    rows, columns = map(log2, shape[-2:])
    if rows is None or columns is None or not (layout.is_sole() and layout.is_whole()):
        return False
    wide, high = log2(_BYTES // f16.size) or 0, log2(_LINES) or 0
    if rows < high or columns < wide or 1 not in layout.registers:
        return False
    inside = {1 << n for n in range(wide)} | {1 << columns + n for n in range(high)}
    return inside <= {*layout.registers, *layout.threads[: log2(_GROUP)]} and all(
        step in inside for step in layout.threads[: log2(_GROUP)]
    )


def _is_last(order: Order, op: Store) -> bool:
    """Whether a store in a loop is the only one of an iteration."""
    loops = order.loops(op)
    if not loops:
        return False
    return not any(
        each is not op
        and not each.REGION_FIELDS
        and writes_memory(each)
        and loops[-1] in order.loops(each)
        and not _are_exclusive(order, op, each)
        for each in order.ops
    )


def _are_exclusive(order: Order, one: Op, other: Op) -> bool:
    """Whether two ops are in the two branches of a construct."""
    for mine, theirs in zip(order.path[one], order.path[other], strict=False):
        if mine[1] is not theirs[1]:
            return mine[0] is theirs[0] and isinstance(mine[0], control.If)
        if mine[2] != theirs[2]:
            return False
    return False


def box_of(op: Store) -> tuple[int, ...]:
    """The box of a store."""
    return (*[1] * (len(op.starts) - 2), _LINES, _BYTES // _size(op))


def is_whole(state: State, op: Store) -> bool:
    """Whether lines of the array are known to end at multiples of 16 bytes, if a block may hold
    their ends. Maps store whole chunks of 16 bytes: also what is behind such an end."""
    axis = len(op.extents) - 1
    divisor = state.contiguity.of(op.extents[axis]).divisor
    return axis not in op.checked or divisor * _size(op) % STEP == 0


def chunk_of(op: Store) -> int:
    """The elements of a chunk."""
    return STEP // _size(op)


def store(state: State, op: Store) -> None:
    """Store a tile, box by box; in code in which threads do not wait for others."""
    b, type_, layout = state.b, type_of(op.value), state.placement.layouts[op]
    assert isinstance(type_.element, DType)
    columns = _BYTES // type_.element.size
    kind = tile((_LINES, columns), type_.element)
    group = b.value(arith.Shr(state.thread, b.const(log2(_GROUP) or 0, i32)))
    first = b.eq(b.and_(state.thread, b.const(_GROUP - 1, i32)), b.const(0, i32))
    known = Group(((),) * 2, 0, type_.element)  # type: ignore[arg-type]  # a scalar
    before, state.by_registers = state.by_registers, True
    state.touch(DEVICE, True)
    for number, registers in enumerate(_boxes(layout, type_.shape, columns)):
        piece = b.add(b.mul(group, b.const(_PIECES, i32)), b.const(number % _PIECES, i32))
        start = b.mul(piece, b.const(kind.count, i32))
        place = Storage(kind, False, state.pieces, swizzle=_BYTES, start=start)
        with b.if_(first):
            b.emit(BulkWait(_PIECES - 1, True))
        _meet(state, group)
        for register in registers:
            ats = [
                unflattened(b, layout.at(each, state.thread), type_.shape)
                for each in (register, register | 1 << layout.registers.index(1))
            ]
            (word,) = packed(b, known, [element(state, op.value, at) for at in ats])
            row, column = ats[0][-2:]
            assert isinstance(row, BitIndex) and isinstance(column, BitIndex)
            inner = row.below(log2(_LINES) or 0), column.below(log2(columns) or 0)
            address = state.address(place, inner)
            b.store(b.recast(address, pointer(u32, Space.SHARED)), word)
        b.emit(ProxyFence(shared=True))
        _meet(state, group)
        with b.if_(first):
            _start(state, op, place, layout.at(registers[0], state.thread))
    state.by_registers = before


def _boxes(layout: Layout, shape: tuple[int, ...], columns: int) -> list[list[int]]:
    """The registers of each box, the first of each two neighbours."""
    wide = log2(shape[-1]) or 0
    inside = {1 << n for n in range(log2(columns) or 0)}
    inside |= {1 << wide + n for n in range(log2(_LINES) or 0)}
    bits = sum(1 << n for n, step in enumerate(layout.registers) if step in inside)
    pair = 1 << layout.registers.index(1)
    boxes: dict[int, list[int]] = {}
    for register in range(layout.count):
        if not register & pair:
            boxes.setdefault(register & ~bits, []).append(register)
    return [*boxes.values()]


def _meet(state: State, group: Value) -> None:
    """A barrier of the threads of a warpgroup."""
    b = state.b
    number = b.cast(b.add(group, b.const(_BARRIER, i32)), u32)
    none, count = b.const(False, b1), b.const(_GROUP, u32)
    b.emit(grid.BarrierPart(grid.Reduction.NONE, number, count, none))


def _start(state: State, op: Store, place: Storage, first: BitIndex) -> None:
    """Store a box whose first element is this thread's."""
    b = state.b
    *outer, row, column = map(state.of, op.starts)
    down, across = unflattened(b, first, type_of(op.value).shape)[-2:]
    corner = (
        b.add(column, as_value(b, across)),
        b.add(row, as_value(b, down)),
        *reversed(outer),
    )
    assert place.start is not None
    start = b.offset(state.pointer_to(place.symbol), place.start)
    box = b.recast(start, pointer(u8, Space.SHARED))
    b.emit(TensorStore(box, state.tensor_stores[op], corner))
    b.emit(BulkCommit())


def begin(state: State, stores: dict[Op, tuple[Param, ...]], life: tuple[int, int]) -> None:
    """Allot the pieces, and make the parameters that are the maps."""
    if not stores:
        return
    kind = f16
    for op, tensor in stores.items():
        assert isinstance(op, Store)
        kind = type_of(op.value).element
        assert isinstance(kind, DType)
        state.tensor_stores[op] = map_param(state, tensor, kind, box_of(op), _BYTES)
        decisions.stored_by_map(op.loc)
    state.pieces = state.arrays.allot(kind, room_of(state.threads) // f16.size, life, ALIGN)

"""Exchanges between the lanes of a warp, through shared memory between barriers of the block.

Each thread has the slot of its number. Each warp has words with a bit for each lane whose predicate
is true; between exchanges all words are 0, as each lane clears its own bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from gridlane.core.dtypes import DType, b1, i32, u32, u64
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, grid, memory, warp
from gridlane.ir.ops.atomic import AtomicKind
from gridlane.ir.ops.grid import Axis, MemoryScope
from gridlane.ir.ops.warp import ShuffleMode, VoteMode, WarpReduction
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Global, Region, Value

WARP = 32
MOST_THREADS = 1024

_SLOTS = {u32: "gridlane.lanes.32", u64: "gridlane.lanes.64"}
_WORDS = ("gridlane.votes.0", "gridlane.votes.1")


class Lanes:
    """Emits exchanges with a builder, in uniform control flow."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    # ---- the entry of the kernel

    def prepare(self, body: Region) -> None:
        """Clear the shared memory that the kernel's ops need, and compute the thread's position."""
        b = self.builder
        for dtype in {_slot_type(op.value.type) for op in body.walk() if isinstance(op, _MOVES)}:
            self._declare(_SLOTS[dtype], dtype, MOST_THREADS)
        for name in _WORDS:
            self._declare(name, u32, MOST_THREADS // WARP)
        x, y, z = (b.value(grid.ThreadIdx(axis)) for axis in Axis)
        width, height, depth = (b.value(grid.BlockDim(axis)) for axis in Axis)
        rows = b.add(b.mul(z, height), y)
        self.thread = b.add(b.mul(rows, width), x)
        threads = b.mul(b.mul(width, height), depth)
        self.lane = b.and_(self.thread, b.const(WARP - 1, i32))
        self.first = b.sub(self.thread, self.lane)
        self.warp = b.binary(arith.Shr, self.thread, b.const(5, i32))
        one = b.const(1, u32)
        self.bit = b.value(arith.Shl(one, self.lane))
        self._clear(threads)
        b.emit(grid.Barrier())

    def _declare(self, name: str, dtype: DType, count: int) -> None:
        self.builder.module.globals[name] = Global(name, dtype, count, Space.SHARED)

    def _clear(self, threads: Value) -> None:
        """Clear all slots and words, with all threads: lanes beyond the block read as zeros."""
        b = self.builder
        index = b.variable("slot", i32)
        b.write(index, self.thread)
        with b.loop() as loop:
            now = b.read(index)
            b.break_if(b.binary(arith.Ge, now, b.const(MOST_THREADS, i32)))
            for dtype, name in _SLOTS.items():
                if name in b.module.globals:
                    b.store(self._slot(name, dtype, now), b.const(0, dtype))
            few = b.lt(now, b.const(MOST_THREADS // WARP, i32))
            with b.if_(few):
                for name in _WORDS:
                    b.store(self._slot(name, u32, now), b.const(0, u32))
            with b.inside(loop.step):
                b.write(index, b.add(b.read(index), threads))

    def _slot(self, name: str, dtype: DType, index: Value) -> Value:
        b = self.builder
        start = b.value(memory.GlobalAddress(name, pointer(dtype, Space.SHARED)))
        return b.offset(start, index)

    # ---- exchanges

    def exchange(self, op: Op, operands: list[Value], active: Value) -> tuple[Value, ...]:
        """The results of a warp's op, for the active threads."""
        return self._EXCHANGES[type(op)](self, op, operands, active)

    def _said(self, *flags: Value) -> list[Value]:
        """The ballot of each flag: the u32 of the warp's lanes where it is true. All threads pass
        two barriers; stores before the first are visible between them."""
        b = self.builder
        words = [self._slot(name, u32, self.warp) for name, _ in zip(_WORDS, flags, strict=False)]
        for word, flag in zip(words, flags, strict=True):
            with b.if_(flag):
                self._change(AtomicKind.OR, word, self.bit)
        b.emit(grid.Barrier())
        return [b.load(word) for word in words]

    def _done(self, flags: int) -> None:
        """End an exchange, after the last read of other lanes' flags."""
        b = self.builder
        b.emit(grid.Barrier())
        others = b.not_(self.bit)
        for name in _WORDS[:flags]:
            self._change(AtomicKind.AND, self._slot(name, u32, self.warp), others)

    def _change(self, kind: AtomicKind, pointer: Value, value: Value) -> None:
        self.builder.emit(atomic.Atomic(kind, pointer, value, scope=MemoryScope.BLOCK))

    def _tell(self, value: Value, only: Value | None = None) -> str:
        """Store a value into the thread's slot, zero where ``only`` is false, and return the name
        of the slots."""
        b, dtype = self.builder, _scalar(value)
        slot_type = _slot_type(dtype)
        raw = value if dtype.is_bool else b.bitcast(value, dtype.unsigned)
        name, shared_value = _SLOTS[slot_type], b.cast(raw, slot_type)
        if only is not None:
            shared_value = b.select(only, shared_value, b.const(0, slot_type))
        b.store(self._slot(name, slot_type, self.thread), shared_value)
        return name

    def _told(self, lane: Value, dtype: DType) -> Value:
        """The value that a lane of the warp stored into its slot."""
        b = self.builder
        slot_type = _slot_type(dtype)
        raw = b.load(self._slot(_SLOTS[slot_type], slot_type, b.add(self.first, lane)))
        if dtype.is_bool:
            return b.cast(raw, b1)
        return b.bitcast(b.cast(raw, dtype.unsigned), dtype)

    def _each_lane(self, each: Callable[[Value], None]) -> None:
        """Emit a loop over the lanes."""
        b = self.builder
        index = b.variable("lane", i32)
        b.write(index, b.const(0, i32))
        with b.loop() as loop:
            now = b.read(index)
            b.break_if(b.eq(now, b.const(WARP, i32)))
            each(now)
            with b.inside(loop.step):
                b.write(index, b.add(b.read(index), b.const(1, i32)))

    # ---- the ops

    def _sync(self, op: Op, operands: list[Value], active: Value) -> tuple[Value, ...]:
        self.builder.emit(grid.Barrier())
        return ()

    def _active_mask(self, op: Op, operands: list[Value], active: Value) -> tuple[Value, ...]:
        (members,) = self._said(active)
        self._done(1)
        return (members,)

    def _vote(self, op: warp.Vote, operands: list[Value], active: Value) -> tuple[Value, ...]:
        b, (mask, predicate) = self.builder, operands
        here, true = self._said(active, b.and_(active, predicate))
        self._done(2)
        members, true = b.and_(here, mask), b.and_(true, mask)
        none = b.eq(true, b.const(0, u32))
        if op.mode is VoteMode.BALLOT:
            return (true,)
        if op.mode is VoteMode.ANY:
            return (b.not_(none),)
        all_ = b.eq(true, members)
        return (all_ if op.mode is VoteMode.ALL else b.or_(all_, none),)

    def shuffles(
        self, ops: Sequence[warp.Shuffle], operands: Sequence[list[Value]], active: Value
    ) -> list[tuple[Value, ...]]:
        """The results of shuffles of one value; inactive lanes have the value zero."""
        b, value = self.builder, operands[0][1]
        sources = [
            source_of(b, op.mode, self.lane, lane, width)
            for op, (_, _, lane, width) in zip(ops, operands, strict=True)
        ]
        self._tell(value, active)
        b.emit(grid.Barrier())
        results = [
            (self._told(b.select(inside, source, self.lane), _scalar(value)), inside)
            for source, inside in sources
        ]
        b.emit(grid.Barrier())
        return results

    def _equal_lanes(self, wanted: Value) -> Value:
        """The u32 of the lanes whose slots have the same bits as a value."""
        b, dtype = self.builder, _scalar(wanted)
        variable = b.variable("equal", u32)
        b.write(variable, b.const(0, u32))
        bits = wanted if dtype.is_bool else b.bitcast(wanted, dtype.unsigned)

        def look(lane: Value) -> None:
            other = self._told(lane, _scalar(bits))
            bit = b.value(arith.Shl(b.cast(b.eq(other, bits), u32), lane))
            b.write(variable, b.or_(b.read(variable), bit))

        self._each_lane(look)
        return b.read(variable)

    def _match_any(self, op: Op, operands: list[Value], active: Value) -> tuple[Value, ...]:
        b, (mask, value) = self.builder, operands
        self._tell(value)
        (here,) = self._said(active)
        same = self._equal_lanes(value)
        self._done(1)
        return (b.and_(b.and_(here, mask), same),)

    def _match_all(self, op: Op, operands: list[Value], active: Value) -> tuple[Value, ...]:
        """Match all lanes: all are equal if all equal the first participating one."""
        b, (mask, value) = self.builder, operands
        self._tell(value)
        (here,) = self._said(active)
        members = b.and_(here, mask)
        lowest = b.and_(members, b.neg(members))
        zeros = b.cast(b.unary(arith.Clz, lowest), i32)
        first = b.and_(b.sub(b.const(WARP - 1, i32), zeros), b.const(WARP - 1, i32))
        same = self._equal_lanes(self._told(first, _scalar(value)))
        self._done(1)
        nothing = b.const(0, u32)
        equal = b.eq(b.and_(members, b.not_(same)), nothing)
        return b.select(equal, members, nothing), equal

    def _reduce(
        self, op: warp.WarpReduce, operands: list[Value], active: Value
    ) -> tuple[Value, ...]:
        b, (mask, value) = self.builder, operands
        dtype = _scalar(value)
        self._tell(value)
        (here,) = self._said(active)
        members = b.and_(here, mask)
        total = b.variable("total", dtype)
        b.write(total, b.const(_NEUTRAL[op.kind](dtype), dtype))

        def combine(lane: Value) -> None:
            bit = b.and_(b.value(arith.Shr(members, lane)), b.const(1, u32))
            with b.if_(b.eq(bit, b.const(1, u32))):
                combined = b.binary(_COMBINE[op.kind], b.read(total), self._told(lane, dtype))
                b.write(total, combined)

        self._each_lane(combine)
        combined = b.read(total)
        self._done(1)
        return (b.select(b.eq(members, b.const(0, u32)), b.const(0, dtype), combined),)

    _EXCHANGES: ClassVar[dict[type[Op], Callable[..., tuple[Value, ...]]]] = {
        grid.SyncWarp: _sync,
        warp.ActiveMask: _active_mask,
        warp.Vote: _vote,
        warp.MatchAny: _match_any,
        warp.MatchAll: _match_all,
        warp.WarpReduce: _reduce,
    }


def source_of(
    b: Builder, mode: ShuffleMode, own: Value, lane: Value, width: Value
) -> tuple[Value, Value]:
    """(the lane that a shuffle reads, whether it is in range)."""
    start = b.and_(own, b.neg(width))
    end = b.add(start, width)
    moved = b.and_(lane, b.const(WARP - 1, i32))
    if mode is ShuffleMode.IDX:
        within = b.and_(moved, b.sub(width, b.const(1, i32)))
        return b.add(start, within), b.const(True, b1)
    if mode is ShuffleMode.UP:
        source = b.sub(own, moved)
        return source, b.value(arith.Ge(source, start))
    source = b.add(own, moved) if mode is ShuffleMode.DOWN else b.binary(arith.Xor, own, moved)
    return source, b.lt(source, end)


def _scalar(value: Value) -> DType:
    assert isinstance(value.type, DType)
    return value.type


def _slot_type(type_: object) -> DType:
    """The type of a scalar's slot."""
    assert isinstance(type_, DType)
    return u64 if type_.bits == 64 else u32


_MOVES = (warp.Shuffle, warp.MatchAny, warp.MatchAll, warp.WarpReduce)

_COMBINE: dict[WarpReduction, type[Op]] = {
    WarpReduction.ADD: arith.Add,
    WarpReduction.MIN: arith.Min,
    WarpReduction.MAX: arith.Max,
    WarpReduction.AND: arith.And,
    WarpReduction.OR: arith.Or,
    WarpReduction.XOR: arith.Xor,
}
_NEUTRAL: dict[WarpReduction, Callable[[DType], int]] = {
    WarpReduction.ADD: lambda dtype: 0,
    WarpReduction.MIN: lambda dtype: dtype.max,
    WarpReduction.MAX: lambda dtype: dtype.min,
    WarpReduction.AND: lambda dtype: dtype.wrap(-1),
    WarpReduction.OR: lambda dtype: 0,
    WarpReduction.XOR: lambda dtype: 0,
}

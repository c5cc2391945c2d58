"""Words that the lanes of a warp show each other in shared memory.

Each exchange begins with a barrier, so that nobody still reads what the one before left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridlane.core.dtypes import DType, b1, f32, i32, u32
from gridlane.ir.builder import Builder
from gridlane.ir.ops import atomic, grid, memory
from gridlane.ir.ops.grid import MemoryScope
from gridlane.ir.types import Space, pointer, vector
from gridlane.ir.values import Global, Module, Value
from gridlane.passes.legalize_math.expression import FORMATS, Expression, Writer

SYMBOL = "gridlane.warps"
WARP = 32


class Exchange:
    """Writes the ops of one kernel. ``lane``, ``thread``, ``threads`` are expressions at its
    start: i32, the thread's number in its warp and block, and how many a block has."""

    def __init__(self, module: Module, builder: Builder, most: int) -> None:
        self.builder = builder
        self.writer = Writer(builder, FORMATS[f32])
        module.globals[SYMBOL] = Global(SYMBOL, u32, most, Space.SHARED)
        self.words = builder.value(memory.GlobalAddress(SYMBOL, pointer(u32, Space.SHARED)))
        self.thread, self.threads = self._counted()
        self.lane = self.thread & (WARP - 1)
        self.first = self.thread - self.lane
        left = (self.threads - self.first).least(WARP)
        ones = (self.writer.const(1, u32) << left) - 1  # 1 << 32 is 0
        self.existing = ones

    def _counted(self) -> tuple[Expression, Expression]:
        """The thread's number in its block, x fastest, and the number of threads."""
        number, count = self.writer.const(0, i32), self.writer.const(1, i32)
        for axis in reversed(grid.Axis):
            index, size = (
                self.writer.wrap(self.builder.value(query(axis)))
                for query in (grid.ThreadIdx, grid.BlockDim)
            )
            number, count = number * size + index, count * size
        return number, count

    # ---- words

    def shown(self, value: Value) -> list[Value]:
        """A scalar as u32 words."""
        b, dtype = self.builder, value.type
        assert isinstance(dtype, DType)
        if dtype.bits == 64:
            pair = b.bitcast(value, vector(u32, 2))
            return [b.value(memory.Part(pair, n)) for n in range(2)]
        if dtype is b1:
            return [b.cast(value, u32)]
        return [b.cast(b.bitcast(value, dtype.unsigned), u32)]

    def read(self, words: Sequence[Value], dtype: DType) -> Value:
        """A scalar of words."""
        b = self.builder
        if dtype.bits == 64:
            return b.bitcast(b.value(memory.Pack(tuple(words), vector(u32, 2))), dtype)
        if dtype is b1:
            return b.cast(words[0], b1)
        return b.bitcast(b.cast(words[0], dtype.unsigned), dtype)

    def barrier(self) -> None:
        """Wait for the block."""
        self.builder.emit(grid.Barrier())

    def slot(self, index: Expression) -> Value:
        """The address of a word."""
        return self.builder.offset(self.words, index.value)

    def show(self, word: Value) -> None:
        """Let the block see a word of this thread, until the next exchange."""
        self.barrier()
        self.builder.store(self.slot(self.thread), word)
        self.barrier()

    def seen(self, lane: Expression) -> Expression:
        """The word of a lane, 0 to 31, of the own warp; 0 of one that has no thread."""
        index = self.first + lane
        there = index < self.threads
        at = self.slot(self.writer.select(there, index, self.thread))
        word = self.writer.wrap(self.builder.load(at))
        return self.writer.select(there, word, 0)

    # ---- the whole warp

    def ballot(self, predicate: Expression) -> Expression:
        """The u32 of the lanes whose predicate holds."""
        b, w = self.builder, self.writer
        at = self.slot(self.first)
        self.barrier()
        with b.if_(self.lane.equals(0).value):
            b.store(at, w.const(0, u32).value)
        self.barrier()
        bit = predicate.cast(u32) << self.lane
        b.emit(atomic.Atomic(atomic.AtomicKind.OR, at, bit.value, scope=MemoryScope.BLOCK))
        self.barrier()
        return w.wrap(b.load(at))

    def for_lanes(self, body: Callable[[Expression], None]) -> None:
        """Do something for each lane, in ascending order."""
        w = self.writer
        turn = w.variable("lane", w.const(0, i32))
        with self.builder.loop() as loop:
            self.builder.break_if((turn.get() >= WARP).value)
            body(turn.get())
            with self.builder.inside(loop.step):
                turn.set(turn.get() + 1)

    def equals(self, word: Expression) -> Expression:
        """The u32 of the lanes that show a word."""
        found = self.writer.variable("equals", self.writer.const(0, u32))
        self.for_lanes(
            lambda lane: found.set(found.get() | (self.seen(lane).equals(word).cast(u32) << lane))
        )
        return found.get()

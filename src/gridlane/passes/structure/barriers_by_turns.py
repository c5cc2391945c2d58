"""Lowers barriers of some threads, and reductions at barriers, to words in shared memory.

It is for devices whose warps take turns (take_turns.py), and for kernels that need them to: those
in which threads wait for others in spin loops, arrive at a barrier without waiting, or reach one
numbered barrier at several places of the program. A thread counts itself at its barrier; the last
one begins its next phase; the others wait for that in a spin loop. Barriers of all threads that
reach one place keep their cheaper form; see legalise/whole_barriers.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gridlane.analysis.warp_scheduling import is_clustered
from gridlane.core.dtypes import i32, u32
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, control, grid, memory, warp
from gridlane.ir.ops.grid import BarrierArrive, BarrierPart, BarrierReduce, Reduction
from gridlane.ir.rewriting import Rewriter
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Function, Global, Module, Region, Value
from gridlane.passes.structure.inline import inline_calls
from gridlane.passes.structure.release_first import is_spin

PROGRAM, NUMBERS = 16, 24
"""The barriers of a block that have numbers in programs, and all with the hidden ones."""

_WORDS = "barrier.words"
_ARRIVED, _PHASES, _VOTES, _MADE = 0, NUMBERS, 2 * NUMBERS, 3 * NUMBERS
"""Of each barrier: the threads that have come, its phase, how many of their predicates count, and
the reductions of the last two phases."""
_ALL = 5 * NUMBERS
"""The word of reductions at barriers of the whole block."""
_SIZE = _ALL + 1

_LOWERED = BarrierPart, BarrierArrive, BarrierReduce


def barriers_by_turns(module: Module) -> None:
    """Lower barriers of some threads to counters in shared memory and spin loops.

    A module that needs it has its calls inlined."""
    if any(isinstance(op, BarrierPart) for op in _ops(module)):
        inline_calls(module)  # each call is a place of its own
    if not _is_needed(module, _ops(module)):
        return
    inline_calls(module)
    kernel = module.kernel
    module.globals[_WORDS] = Global(_WORDS, u32, _SIZE, Space.SHARED)
    _Lowering(module, kernel).run()


def _ops(module: Module) -> list[Op]:
    return [op for function in module.functions.values() for op in function.body.walk()]


def _is_needed(module: Module, ops: Sequence[Op]) -> bool:
    lowered = [op for op in ops if isinstance(op, _LOWERED)]
    if not lowered or any(isinstance(op, grid.GridSync) for op in ops):
        return False
    parts = [op for op in lowered if isinstance(op, BarrierPart)]
    if any(isinstance(op, BarrierArrive) for op in lowered) or _meet_apart(parts):
        return True
    return is_clustered(module, ops) or any(is_spin(op, of_warps=True) for op in ops)


def _meet_apart(parts: Sequence[BarrierPart]) -> bool:
    """Whether threads may reach one barrier at several places."""
    numbers = Counter((op.hidden, constant(op.number)) for op in parts)
    of_kind = Counter(op.hidden for op in parts)
    return any(
        count > 1 or (number is None and of_kind[hidden] > 1)
        for (hidden, number), count in numbers.items()
    )


class _Lowering(Rewriter):
    def __init__(self, module: Module, kernel: Function) -> None:
        super().__init__(module, kernel)
        ends = [op for op in kernel.body.walk() if isinstance(op, control.Return | control.Exit)]
        self.ends_early = any(op is not kernel.body.ops[-1] for op in ends)

    def run(self) -> None:
        """Rewrite the kernel."""
        body = self.function.body
        self.region(body)
        with self.builder.inside(Region()) as start:
            self._begin()
        body.ops[:0] = start.ops

    def _begin(self) -> None:
        """The first thread clears the words, and all wait for it."""
        b = self.builder
        with b.if_(b.eq(self._thread()[0], b.const(0, u32))):
            for place in range(_SIZE):
                b.store(self._word(place), b.const(0, u32))
        b.emit(grid.Barrier())

    def replaced(self, op: Op) -> Sequence[Value] | None:
        if isinstance(op, BarrierArrive):
            self._arrive(op)
            return ()
        if isinstance(op, BarrierReduce):
            return (self._reduced(op),)
        return (self._wait(op),) if isinstance(op, BarrierPart) else None

    # --- words

    def _word(self, place: int, number: Value | None = None) -> Value:
        b = self.builder
        first_word = b.value(memory.GlobalAddress(_WORDS, pointer(u32, Space.SHARED)))
        index = b.const(place, i32)
        return b.offset(first_word, index if number is None else b.add(index, b.cast(number, i32)))

    def _load(self, word: Value) -> Value:
        return self.builder.load(word, volatile=True)

    def _store(self, word: Value, value: Value) -> None:
        self.builder.store(word, value, volatile=True)

    def _add(self, word: Value, value: Value) -> Value:
        kind, order = atomic.AtomicKind.ADD, grid.MemoryOrder.ACQ_REL
        return self.builder.value(atomic.Atomic(kind, word, value, order, grid.MemoryScope.BLOCK))

    def _thread(self) -> tuple[Value, Value]:
        """The number of the thread in its block, and of the block's threads."""
        b = self.builder
        x, y, z = (b.cast(b.value(grid.ThreadIdx(axis)), u32) for axis in grid.Axis)
        wide, high, deep = (b.cast(b.value(grid.BlockDim(axis)), u32) for axis in grid.Axis)
        own = b.add(x, b.mul(wide, b.add(y, b.mul(high, z))))
        return own, b.mul(wide, b.mul(high, deep))

    # --- barriers

    def _reduced(self, op: BarrierReduce) -> Value:
        """A reduction of the whole block."""
        b, word = self.builder, self._word(_ALL)
        b.emit(grid.Barrier())  # all have read the one before
        self._store(word, b.const(0, u32))
        b.emit(grid.Barrier())
        with b.if_(self._counts(op.kind, op.predicate)):
            self._add(word, b.const(1, u32))
        b.emit(grid.Barrier())
        return self._made(op.kind, self._load(word))

    def _counts(self, kind: Reduction, predicate: Value) -> Value:
        return self.builder.not_(predicate) if kind is Reduction.ALL else predicate

    def _made(self, kind: Reduction, count: Value) -> Value:
        """A reduction, of how many predicates are true, or of ALL how many are false."""
        b, zero = self.builder, self.builder.const(0, u32)
        if kind is Reduction.COUNT:
            return b.cast(count, i32)
        reduced = b.eq(count, zero) if kind is Reduction.ALL else b.value(arith.Ne(count, zero))
        return b.cast(reduced, i32)

    def _arrive(self, op: BarrierArrive) -> None:
        self._come(op, Reduction.NONE, None)

    def _wait(self, op: BarrierPart) -> Value:
        b = self.builder
        phase, before = self._come(op, op.kind, op.predicate)
        none = b.const(0, i32)
        with b.loop():
            b.break_if(b.value(arith.Ne(self._load(phase), before)))
        if op.kind is Reduction.NONE:
            return none  # the loop is the last op, which release_first looks for
        return self._made(op.kind, self._load(self._reduction(self._number(op), before)))

    def _number(self, op: BarrierPart | BarrierArrive) -> Value:
        """The number of a barrier among all."""
        if isinstance(op, BarrierPart) and op.hidden:
            return self.builder.add(op.number, self.builder.const(PROGRAM, u32))
        return op.number

    def _reduction(self, number: Value, phase: Value) -> Value:
        b = self.builder
        last = b.and_(phase, b.const(1, u32))
        return self._word(_MADE, b.add(b.add(number, number), last))

    def _come(
        self, op: BarrierPart | BarrierArrive, kind: Reduction, predicate: Value | None
    ) -> tuple[Value, Value]:
        """Count the thread; the last one begins the next phase. Returns the word of the phase and
        its old value."""
        b = self.builder
        self._require(b.lt(op.number, b.const(PROGRAM, u32)), "the barrier is none of 0 to 15")
        number = self._number(op)
        phase, votes = self._word(_PHASES, number), self._word(_VOTES, number)
        before = self._load(phase)
        if predicate is not None and kind is not Reduction.NONE:
            with b.if_(self._counts(kind, predicate)):
                self._add(votes, b.const(1, u32))
        arrived, share = self._word(_ARRIVED, number), self._share(op.aligned)
        came = b.add(self._add(arrived, share), share)
        self._require(
            b.not_(b.value(arith.Gt(came, op.count))),
            "more threads than the number of this barrier arrive at it",
        )
        none = b.const(0, u32)
        with b.if_(b.and_(b.eq(came, op.count), b.value(arith.Ne(share, none)))):
            if kind is not Reduction.NONE:
                self._store(self._reduction(number, before), self._load(votes))
                self._store(votes, none)
            self._store(arrived, none)
            self._add(phase, b.const(1, u32))
        return phase, before

    def _share(self, aligned: bool) -> Value:
        """How many threads one counts for: itself, and the first one of a warp for lanes that the
        block does not have. If lanes may have ended, the warp's first running lane counts for all,
        provided that the instruction is one of whole warps."""
        b = self.builder
        one, none, whole = (b.const(each, u32) for each in (1, 0, 32))
        if aligned and self.ends_early:
            own = b.binary(arith.Shl, one, b.cast(b.value(grid.LaneId()), u32))
            below = b.and_(b.value(warp.ActiveMask()), b.sub(own, one))
            return b.select(b.eq(below, none), whole, none)
        thread, threads = self._thread()
        rest = b.and_(threads, b.const(31, u32))
        is_short = b.eq(b.add(thread, rest), threads)
        is_short = b.and_(is_short, b.value(arith.Ne(rest, none)))
        return b.select(is_short, b.sub(b.const(33, u32), rest), one)

    def _require(self, holds: Value, message: str) -> None:
        if not constant(holds):
            self.builder.raise_if(self.builder.not_(holds), "RuntimeError", message)

"""mbarrier: barriers in 64 bits of shared memory, which count arrivals of threads and bytes.

PTX ISA 9.0, "mbarrier". A phase is complete once no arrival and no byte is pending; the next one
begins then, with the same number of arrivals. The word is opaque to programs. Where a device has
no instructions for it, bits 0 to 19 have the arrivals that a phase expects, 20 to 39 those that are
pending, 40 to 61 the bytes that are expected, and bit 63 is the parity of the phase; each change is
one compare-and-swap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gridlane.core.dtypes import b1, u32, u64
from gridlane.ir.op import Op, Scope, family, operation
from gridlane.ir.ops import arith
from gridlane.ir.ops.atomic import AtomicCas
from gridlane.ir.ops.grid import Fence, MemoryOrder, MemoryScope
from gridlane.ir.ops.memory import element_of, space_of
from gridlane.ir.types import Space
from gridlane.ir.values import Value

if TYPE_CHECKING:
    from gridlane.ir.builder import Builder

PENDING, BYTES, PHASE = 20, 40, 63
COUNT_BITS, BYTE_BITS = 20, 22


def _field(b: Builder, word: Value, place: int, bits: int) -> Value:
    moved = b.binary(arith.Shr, word, b.const(place, u32))
    return b.and_(moved, b.const((1 << bits) - 1, u64))


def _at(b: Builder, value: Value, place: int) -> Value:
    return b.binary(arith.Shl, value, b.const(place, u32))


def changed(b: Builder, pointer: Value, change: Callable[[Value], Value]) -> Value:
    """Change a word in one step; what it was."""
    seen = b.variable("seen", u64)
    b.write(seen, b.load(pointer, volatile=True))
    with b.loop():
        old = b.read(seen)
        how = MemoryOrder.ACQ_REL, MemoryScope.BLOCK
        current = b.value(AtomicCas(pointer, old, change(old), *how))
        b.write(seen, current)
        b.break_if(b.eq(current, old))
    return b.read(seen)


def step(b: Builder, old: Value, arrived: Value, bytes_: Value, dropped: bool = False) -> Value:
    """The word after some arrivals, with so many more expected bytes. If nothing is pending any
    more, the next phase begins."""
    mask = b.const((1 << COUNT_BITS) - 1, u64)
    expected, pending = _field(b, old, 0, COUNT_BITS), _field(b, old, PENDING, COUNT_BITS)
    if dropped:
        expected = b.and_(b.sub(expected, arrived), mask)
    pending = b.and_(b.sub(pending, arrived), mask)
    sum_ = b.add(_field(b, old, BYTES, BYTE_BITS), bytes_)
    left = b.and_(sum_, b.const((1 << BYTE_BITS) - 1, u64))
    done = b.eq(b.or_(pending, left), b.zero(u64))
    pending = b.select(done, expected, pending)
    phase = b.binary(arith.Xor, _field(b, old, PHASE, 1), b.cast(done, u64))
    upper = b.or_(_at(b, left, BYTES), _at(b, phase, PHASE))
    return b.or_(b.or_(expected, _at(b, pending, PENDING)), upper)


def check_barrier(op: Op, pointer: Value) -> None:
    """Verify that an operand is the place of an mbarrier."""
    good = element_of(op, pointer) is u64 and space_of(pointer) is Space.SHARED
    op.require(good, f"{pointer.type}: an mbarrier is a u64 in shared memory")


@family
class _OfBarrier(Op):
    """An op of the mbarrier ``pointer``, with numbers in u32."""

    pointer: Value

    def check(self, scope: Scope) -> None:
        check_barrier(self, self.pointer)
        others = [value for value in self.operands() if value is not self.pointer]
        self.require(all(value.type is u32 for value in others), "numbers are u32")


@operation("mbarrier_init")
class MbarrierInit(_OfBarrier):
    """Begin a barrier in phase 0, of ``count`` arrivals. PTX: ``mbarrier.init``."""

    count: Value

    def expand(self, b: Builder) -> tuple[Value, ...]:
        count = b.cast(self.count, u64)
        b.store(self.pointer, b.or_(count, _at(b, count, PENDING)), volatile=True)
        return ()


@operation("mbarrier_arrive")
class MbarrierArrive(_OfBarrier):
    """Expect ``bytes`` more bytes, then count ``count`` arrivals; the state before. ``drops``: the
    phases that follow expect so many fewer. PTX: ``mbarrier.arrive``, with ``.expect_tx`` if
    ``expects``; ``mbarrier.arrive_drop``."""

    count: Value
    bytes: Value
    expects: bool = False
    drops: bool = False
    produces = (u64,)

    def expand(self, b: Builder) -> tuple[Value, ...]:
        count, bytes_ = b.cast(self.count, u64), b.cast(self.bytes, u64)
        return (changed(b, self.pointer, lambda old: step(b, old, count, bytes_, self.drops)),)


@operation("mbarrier_expect")
class MbarrierExpect(_OfBarrier):
    """Expect ``bytes`` more bytes. PTX: ``mbarrier.expect_tx``."""

    bytes: Value

    def expand(self, b: Builder) -> tuple[Value, ...]:
        more, none = b.cast(self.bytes, u64), b.zero(u64)
        changed(b, self.pointer, lambda old: step(b, old, none, more))
        return ()


@operation("mbarrier_complete")
class MbarrierComplete(_OfBarrier):
    """Record that ``bytes`` expected bytes have arrived. PTX: ``mbarrier.complete_tx``."""

    bytes: Value

    def expand(self, b: Builder) -> tuple[Value, ...]:
        none = b.zero(u64)
        fewer = b.sub(none, b.cast(self.bytes, u64))
        changed(b, self.pointer, lambda old: step(b, old, none, fewer))
        return ()


@operation("mbarrier_passed")
class MbarrierPassed(Op):
    """Whether the phase of a ``state``, a u64, is complete; if ``by_parity``, the last phase of
    that parity, a u32. If so, what was written before the arrivals is visible. ``waits``: the
    thread may wait a while. PTX: ``mbarrier.test_wait``, ``mbarrier.try_wait``."""

    pointer: Value
    state: Value
    by_parity: bool = False
    waits: bool = False
    produces = (b1,)

    def check(self, scope: Scope) -> None:
        check_barrier(self, self.pointer)
        wanted = u32 if self.by_parity else u64
        self.require(self.state.type is wanted, f"the state is a {wanted}")

    def expand(self, b: Builder) -> tuple[Value, ...]:
        now = _field(b, b.load(self.pointer, volatile=True), PHASE, 1)
        if self.by_parity:
            phase = b.cast(b.and_(self.state, b.const(1, u32)), u64)
        else:
            phase = _field(b, self.state, PHASE, 1)
        done = b.binary(arith.Ne, now, phase)
        b.emit(Fence(MemoryScope.BLOCK, MemoryOrder.ACQUIRE))
        return (done,)


@operation("mbarrier_pending")
class MbarrierPending(Op):
    """The arrivals, u32, that were pending in a ``state``. PTX: ``mbarrier.pending_count``."""

    state: Value
    produces = (u32,)

    def check(self, scope: Scope) -> None:
        self.require(self.state.type is u64, "the state is a u64")

    def expand(self, b: Builder) -> tuple[Value, ...]:
        return (b.cast(_field(b, self.state, PENDING, COUNT_BITS), u32),)

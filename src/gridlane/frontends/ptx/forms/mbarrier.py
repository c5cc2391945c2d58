"""mbarrier: barriers in 64 bits of shared memory. PTX ISA 9.0, "mbarrier".

The word is opaque to programs: bits 0 to 19 have the arrivals that a phase expects, 20 to 39 those
that are pending, 40 to 61 the bytes that are expected, and bit 63 is the parity of the phase. Each
change is one compare-and-swap.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import u32, u64
from gridlane.frontends.ptx.forms.memory import space_of
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith, copies
from gridlane.ir.ops.atomic import AtomicCas
from gridlane.ir.ops.grid import Fence, Machine, MemoryOrder, MemoryScope, Reading, RunOthers
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]

_PENDING, _BYTES, _PHASE = 20, 40, 63
_COUNT = (1 << 20) - 1
_STATE = "[.shared|shared::cta]"
_SEM = "[.release|relaxed] [.cta|cluster]"
_SEEN = "[.acquire|relaxed] [.cta|cluster]"


def _field(t: Values, word: Value, place: int, bits: int) -> Value:
    b = t.b
    return b.and_(b.binary(arith.Shr, word, b.const(place, u32)), b.const((1 << bits) - 1, u64))


def _at(t: Values, value: Value, place: int) -> Value:
    return t.b.binary(arith.Shl, value, t.b.const(place, u32))


def _wide(t: Values, value: Value | None, otherwise: int) -> Value:
    return t.b.const(otherwise, u64) if value is None else t.b.cast(value, u64)


def _changed(t: Values, pointer: Value, change: Callable[[Value], Value]) -> Value:
    """Change a word in one step; what it was."""
    b = t.b
    seen = b.variable("seen", u64)
    b.write(seen, b.load(pointer, volatile=True))
    with b.loop():
        old = b.read(seen)
        how = MemoryOrder.ACQ_REL, MemoryScope.BLOCK
        current = t.emit(AtomicCas(pointer, old, change(old), *how))
        b.write(seen, current)
        b.break_if(b.eq(current, old))
    return b.read(seen)


def _step(t: Values, old: Value, arrived: Value, bytes_: Value, dropped: bool = False) -> Value:
    """The word after some arrivals, with so many more expected bytes. If nothing is pending any
    more, the next phase begins."""
    b = t.b
    expected, pending = _field(t, old, 0, 20), _field(t, old, _PENDING, 20)
    if dropped:
        expected = b.and_(b.sub(expected, arrived), b.const(_COUNT, u64))
    pending = b.and_(b.sub(pending, arrived), b.const(_COUNT, u64))
    left = b.and_(b.add(_field(t, old, _BYTES, 22), bytes_), b.const((1 << 22) - 1, u64))
    done = b.eq(b.or_(pending, left), b.zero(u64))
    pending = b.select(done, expected, pending)
    phase = b.binary(arith.Xor, _field(t, old, _PHASE, 1), b.cast(done, u64))
    upper = b.or_(_at(t, left, _BYTES), _at(t, phase, _PHASE))
    return b.or_(b.or_(expected, _at(t, pending, _PENDING)), upper)


@form(f"mbarrier .init {_STATE} .b64", "a, count")
def init(t: Values, m: Match, o: Operands) -> None:
    """A barrier of so many arrivals, in phase 0."""
    count = _wide(t, t.read(o[1], u32), 0)
    word = t.b.or_(count, _at(t, count, _PENDING))
    t.b.store(t.target(o[0], u64, space_of(m)), word, volatile=True)


@form(f"mbarrier .inval {_STATE} .b64", "a")
def inval(t: Values, m: Match, o: Operands) -> None:
    """The end of a barrier, whose memory the program uses anew."""
    t.target(o[0], u64, space_of(m))


@form(f"mbarrier .arrive|arrive_drop {_SEM} {_STATE} .b64", "d, a, count?")
@form(f"mbarrier .arrive|arrive_drop .noComplete {_SEM} {_STATE} .b64", "d, a, count")
@form(f"mbarrier .arrive|arrive_drop .expect_tx {_SEM} {_STATE} .b64", "d, a, bytes")
def arrive(t: Values, m: Match, o: Operands) -> None:
    """Count arrivals; the result is the state before."""
    given = t.read(o[2], u32) if len(o) == 3 else None
    expects = m.has("expect_tx")
    count = _wide(t, None if expects else given, 1)
    bytes_ = _wide(t, given if expects else None, 0)
    pointer, drops = t.target(o[1], u64, space_of(m)), m.has("arrive_drop")
    t.write(o[0], _changed(t, pointer, lambda old: _step(t, old, count, bytes_, drops)))


@form(f"mbarrier .expect_tx|complete_tx [.relaxed] [.cta|cluster] {_STATE} .b64", "a, bytes")
def expect(t: Values, m: Match, o: Operands) -> None:
    """Add a number of expected bytes, which may be negative."""
    pointer, bytes_ = t.target(o[0], u64, space_of(m)), t.read(o[1], u32)
    if m.has("complete_tx"):
        transferred(t, pointer, bytes_)
        return
    none, more = t.b.zero(u64), t.b.cast(bytes_, u64)
    _changed(t, pointer, lambda old: _step(t, old, none, more))


def transferred(t: Values, pointer: Value, bytes_: Value) -> None:
    """Record at a barrier that so many bytes have arrived."""
    none = t.b.zero(u64)
    fewer = t.b.sub(none, t.b.cast(bytes_, u64))
    _changed(t, pointer, lambda old: _step(t, old, none, fewer))


@form(f"mbarrier .test_wait {_SEEN} {_STATE} .b64", "d, a, state")
@form(f"mbarrier .try_wait {_SEEN} {_STATE} .b64", "d, a, state, time?")
@form(f"mbarrier .test_wait .parity {_SEEN} {_STATE} .b64", "d, a, parity")
@form(f"mbarrier .try_wait .parity {_SEEN} {_STATE} .b64", "d, a, parity, time?")
def wait(t: Values, m: Match, o: Operands) -> None:
    """Whether a phase is complete: that of a state, or the one of a parity."""
    b = t.b
    limit = b.mul(b.cast(t.emit(RunOthers()), u64), b.const(10**6, u64))
    now = _field(t, b.load(t.pointer(o[1], u64, space_of(m)), volatile=True), _PHASE, 1)
    if m.has("parity"):
        phase = b.cast(b.and_(t.read(o[2], u32), b.const(1, u32)), u64)
    else:
        phase = _field(t, t.read(o[2], u64), _PHASE, 1)
    done = b.binary(arith.Ne, now, phase)
    b.emit(Fence(MemoryScope.BLOCK, MemoryOrder.ACQUIRE))
    zero = b.zero(u64)
    with b.if_(b.binary(arith.Ne, limit, zero)):
        since, now = t.since(), b.value(Machine(Reading.NANOSECONDS))
        start = b.select(b.eq(b.read(since), zero), now, b.read(since))
        b.write(since, b.select(done, zero, start))
        with b.if_(b.and_(b.not_(done), b.binary(arith.Gt, b.sub(now, start), limit))):
            t.raise_(
                "RuntimeError",
                "a thread waits at this mbarrier for others that do not arrive within "
                "GRIDLANE_SPIN_LIMIT; on this device the sides of a branch run one after the "
                "other, so none may wait for the other",
            )
    t.write(o[0], done)


@form("mbarrier .pending_count .b64", "d, state")
def pending(t: Values, m: Match, o: Operands) -> None:
    """The arrivals that were pending in a state."""
    t.write(o[0], t.b.cast(_field(t, t.read(o[1], u64), _PENDING, 20), u32))


@form(f"cp .async .mbarrier .arrive [.noinc] {_STATE} .b64", "a")
def copied(t: Values, m: Match, o: Operands) -> None:
    """Arrive once the thread's copies are done. Without .noinc one more arrival is expected first,
    which that one takes back."""
    t.b.emit(copies.AsyncCommit())
    t.b.emit(copies.AsyncWait(0))
    pointer = t.target(o[0], u64, space_of(m))
    if m.has("noinc"):
        one, none = t.b.const(1, u64), t.b.zero(u64)
        _changed(t, pointer, lambda old: _step(t, old, one, none))

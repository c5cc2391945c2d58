"""mbarrier: barriers in 64 bits of shared memory. PTX ISA 9.0, "mbarrier"."""

from __future__ import annotations

from gridlane.core.dtypes import u32, u64
from gridlane.frontends.ptx.forms.table import Match, form, rows
from gridlane.frontends.ptx.operands import Operand, Sink
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith, clusters, copies, mbarriers
from gridlane.ir.ops.grid import (
    Fence,
    Machine,
    MemoryOrder,
    MemoryScope,
    Reading,
    RunOthers,
)
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]

_STATE = "[.shared|shared::cta]"
_SEM = "[.release|relaxed] [.cta|cluster]"
_SEEN = "[.acquire|relaxed] [.cta|cluster]"


def barrier(t: Values, operand: Operand) -> Value:
    """The place of a barrier."""
    return t.shared(operand, u64)


@form(f"mbarrier .init {_STATE} .b64", "a, count")
def init(t: Values, m: Match, o: Operands) -> None:
    """A barrier of so many arrivals, in phase 0."""
    t.b.emit(mbarriers.MbarrierInit(barrier(t, o[0]), t.read(o[1], u32)))


@form(f"mbarrier .inval {_STATE} .b64", "a")
def inval(t: Values, m: Match, o: Operands) -> None:
    """The end of a barrier, whose memory the program uses anew."""
    barrier(t, o[0])


@form(f"mbarrier .arrive|arrive_drop {_SEM} {_STATE} .b64", "d, a, count?")
@form(f"mbarrier .arrive|arrive_drop .noComplete {_SEM} {_STATE} .b64", "d, a, count")
@form(f"mbarrier .arrive|arrive_drop .expect_tx {_SEM} {_STATE} .b64", "d, a, bytes")
def arrive(t: Values, m: Match, o: Operands) -> None:
    """Count arrivals; the result is the state before."""
    given, one, zero = t.read(o[2], u32) if len(o) == 3 else None, t.b.const(1, u32), t.b.zero(u32)
    expects = m.has("expect_tx")
    count = one if given is None or expects else given
    bytes_ = given if given is not None and expects else zero
    drops = m.has("arrive_drop")
    pointer, rank = t.peers(o[1], u64)
    if rank is not None:
        if drops or not isinstance(o[0], Sink):
            t.fail("arrivals at an mbarrier of another block have no result, and drop none")
        if expects:
            t.b.emit(clusters.MbarrierExpectPeer(pointer, rank, bytes_))
        if not m.has("relaxed"):
            publish(t)
        t.b.emit(clusters.MbarrierArrivePeer(pointer, rank, count))
        return
    op = mbarriers.MbarrierArrive(pointer, count, bytes_, expects, drops)
    t.write(o[0], t.emit(op))


def publish(t: Values) -> None:
    """Order what the thread has written before what another block of the cluster learns next."""
    t.b.emit(Fence(MemoryScope.DEVICE, MemoryOrder.RELEASE))


@form(f"mbarrier .expect_tx|complete_tx [.relaxed] [.cta|cluster] {_STATE} .b64", "a, bytes")
def expect(t: Values, m: Match, o: Operands) -> None:
    """Add a number of expected bytes, which may be negative."""
    if m.has("complete_tx"):
        transferred(t, o[0], t.read(o[1], u32))
        return
    (pointer, rank), bytes_ = t.peers(o[0], u64), t.read(o[1], u32)
    if rank is not None:
        t.b.emit(clusters.MbarrierExpectPeer(pointer, rank, bytes_))
    else:
        t.b.emit(mbarriers.MbarrierExpect(pointer, bytes_))


def transferred(t: Values, operand: Operand, bytes_: Value) -> None:
    """Record at a barrier that so many bytes have arrived."""
    pointer, rank = t.peers(operand, u64)
    if rank is not None:
        publish(t)
        t.b.emit(clusters.MbarrierCompletePeer(pointer, rank, bytes_))
    else:
        t.b.emit(mbarriers.MbarrierComplete(pointer, bytes_))


@form(f"mbarrier .test_wait {_SEEN} {_STATE} .b64", "d, a, state")
@form(f"mbarrier .try_wait {_SEEN} {_STATE} .b64", "d, a, state, time?")
@form(f"mbarrier .test_wait .parity {_SEEN} {_STATE} .b64", "d, a, parity")
@form(f"mbarrier .try_wait .parity {_SEEN} {_STATE} .b64", "d, a, parity, time?")
def wait(t: Values, m: Match, o: Operands) -> None:
    """Whether a phase is complete: that of a state, or the one of a parity."""
    b = t.b
    limit = b.mul(b.cast(t.emit(RunOthers()), u64), b.const(10**6, u64))
    by_parity = m.has("parity")
    state = t.read(o[2], u32 if by_parity else u64)
    op = mbarriers.MbarrierPassed(barrier(t, o[1]), state, by_parity, m.has("try_wait"))
    done = t.emit(op)
    if m.has("cluster") and not m.has("relaxed"):
        t.b.emit(Fence(MemoryScope.DEVICE, MemoryOrder.ACQUIRE))
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


rows(("mbarrier .pending_count .b64", "d, state u64", mbarriers.MbarrierPending))


@form(f"cp .async .mbarrier .arrive [.noinc] {_STATE} .b64", "a")
def copied(t: Values, m: Match, o: Operands) -> None:
    """Arrive once the thread's copies are done. Without .noinc one more arrival is expected first,
    which that one takes back."""
    t.b.emit(copies.AsyncCommit())
    t.b.emit(copies.AsyncWait(0))
    pointer = barrier(t, o[0])
    if m.has("noinc"):
        one, none = t.b.const(1, u32), t.b.zero(u32)
        t.b.emit(mbarriers.MbarrierArrive(pointer, one, none))

"""A thread's position in the grid, barriers and fences."""

from __future__ import annotations

from enum import Enum

from gridlane.core.dtypes import b1, i32, u32, u64
from gridlane.ir.op import Op, Scope, family, operation
from gridlane.ir.values import Value


class Axis(Enum):
    """A grid axis; x is the fastest."""

    X = 0
    Y = 1
    Z = 2


class MemoryScope(Enum):
    """Which threads see an effect."""

    WARP = "warp"
    BLOCK = "block"
    DEVICE = "device"
    SYSTEM = "system"


class MemoryOrder(Enum):
    """How an atomic or fence orders the accesses around it."""

    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SEQ_CST = "seq_cst"


@family
class GridQuery(Op):
    """An i32 of the launch, along one axis."""

    axis: Axis
    pure = True
    produces = (i32,)


@operation("thread_idx")
class ThreadIdx(GridQuery):
    """The thread's index in its block."""


@operation("block_idx")
class BlockIdx(GridQuery):
    """The block's index in the grid."""


@operation("block_dim")
class BlockDim(GridQuery):
    """Threads in a block."""


@operation("grid_dim")
class GridDim(GridQuery):
    """Blocks in the grid."""


@operation("lane_id")
class LaneId(Op):
    """The thread's lane in its warp, 0 to 31: thread number mod 32, x fastest."""

    pure = True
    produces = (i32,)


@operation("dynamic_shared_size")
class DynamicSharedSize(Op):
    """Bytes of the shared memory whose size is given at launch, as i32."""

    pure = True
    produces = (i32,)


class Reading(Enum):
    """A value that the device reports about itself or the time."""

    CYCLES = "cycles"
    NANOSECONDS = "nanoseconds"
    MULTIPROCESSOR = "multiprocessor"
    MULTIPROCESSORS = "multiprocessors"
    ERRORS = "errors"


@operation("machine")
class Machine(Op):
    """A reading of the device as u64: a counter that never decreases in a thread, of cycles or of
    nanoseconds; the multiprocessor that the thread is on now, and their number. A device that
    counts no cycles counts nanoseconds; the host's processor is one multiprocessor. ``errors`` is
    1 once a thread of the launch has reported an error; passes for the host's devices emit it."""

    kind: Reading
    produces = (u64,)


@operation("barrier")
class Barrier(Op):
    """Wait for every thread of the block that reaches the barrier; order shared and global memory.

    Threads that have ended, by a return or an error, do not count: NVIDIA's hardware behaves so
    from 7.0 on. Threads that end later without reaching a barrier do not count either, but their
    writes until then are not ordered. A thread that passes this barrier by and reaches another one,
    or this one later, is an error of the kernel: the interpreter reports it, a device may order
    less or wait for ever.

    ``shared``: it need order shared memory alone.
    """

    shared: bool = False
    barrier = True


class Reduction(Enum):
    """The result that a barrier reduction computes from the predicates; NONE is 0, of a
    ``barrier_part`` that only waits."""

    COUNT = "count"
    ALL = "all"
    ANY = "any"
    NONE = "none"


@operation("barrier_reduce")
class BarrierReduce(Op):
    """A barrier that returns to every thread the number of true predicates as i32, or 1/0 for all
    and any. Threads that do not reach it neither count nor are waited for; see Barrier."""

    kind: Reduction
    predicate: Value
    barrier = True
    produces = (i32,)

    def check(self, scope: Scope) -> None:
        self.require(self.predicate.type is b1, "the predicate is a b1")
        self.require(self.kind is not Reduction.NONE, "only a barrier_part waits without a result")


@operation("barrier_part")
class BarrierPart(Op):
    """A barrier of ``count`` threads, one of 16 that a block has: wait until these have reached
    barrier ``number``; order shared and global memory. Give them the number of their true
    predicates as i32, or 1/0 for all and any. PTX: ``barrier.sync a, b`` (``Reduction.NONE``),
    ``barrier.red``.

    The threads that reach it, and those that ``barrier_arrive`` has counted since it was last
    reached, are ``count`` when rounded up to whole warps, or it is an error of the kernel.
    NVIDIA's hardware waits for those that come later, and so do devices whose warps take turns; see
    passes/structure/barriers_by_turns.py.

    Attributes:
        number, count: u32; the latter is a multiple of 32.
        aligned: all threads of a warp reach it together.
        hidden: the number is that of one of 8 further barriers, which programs have no numbers for;
            on devices whose products of warpgroups are done at once.
    """

    kind: Reduction
    number: Value
    count: Value
    predicate: Value
    aligned: bool = True
    hidden: bool = False
    barrier = True
    produces = (i32,)

    def check(self, scope: Scope) -> None:
        self.require(self.predicate.type is b1, "the predicate is a b1")
        _check_part(self, self.number, self.count)


@operation("barrier_arrive")
class BarrierArrive(Op):
    """Count this thread at barrier ``number`` without waiting; see ``barrier_part``. What it has
    written is visible to the threads that this barrier waits for. These wait with
    ``Reduction.NONE``: NVIDIA's hardware counts no arrivals for another one. PTX:
    ``barrier.arrive``."""

    number: Value
    count: Value
    aligned: bool = True
    cross_lane = True

    def check(self, scope: Scope) -> None:
        _check_part(self, self.number, self.count)


def _check_part(op: Op, number: Value, count: Value) -> None:
    op.require(number.type is u32 and count.type is u32, "the number and the count are u32")


@operation("grid_sync")
class GridSync(Op):
    """Wait for every thread of the grid that has not ended; order global memory. All blocks are
    resident at once. Threads that wait at another barrier are an error, which hardware may not
    notice; it may wait for ever if the first thread of a block has ended. Once a thread of the grid
    has raised, threads that reach or wait at this op end."""


@operation("run_others")
class RunOthers(Op):
    """Run the other threads of the block up to this op too, or to another at which they wait: a
    thread that polls their results in a loop needs it. It orders nothing. The i32 result is the
    number of milliseconds for which a thread may poll without success (GRIDLANE_SPIN_LIMIT); 0 is
    without a limit, as where warps run beside each other. There the thread sleeps about
    ``nanoseconds``, if any."""

    nanoseconds: int = 0
    barrier = True
    produces = (i32,)


@operation("sync_warp")
class SyncWarp(Op):
    """Wait for the warp's lanes in ``mask`` (u32); order their memory accesses. Lanes that have
    ended do not count, whether or not they are in the mask."""

    mask: Value
    cross_lane = True

    def check(self, scope: Scope) -> None:
        self.require(self.mask.type is u32, "the mask is a u32")


@operation("fence")
class Fence(Op):
    """Order this thread's memory accesses as seen by the threads of a scope. Not a barrier."""

    scope: MemoryScope
    order: MemoryOrder = MemoryOrder.SEQ_CST

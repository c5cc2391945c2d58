"""Clusters: blocks of a launch that run at once, and reach each other's shared memory.

A launch or ``Module.cluster`` sets the number of blocks in a cluster along each axis; by default
each block is one of its own. The ``cuda`` device launches larger ones from compute capability 9.0
on, ``cpu`` and the interpreter run those of ``Module.cluster``. Ranks count along x first.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gridlane.core.dtypes import i32, u32, u64
from gridlane.ir.op import Op, Scope, family, operation
from gridlane.ir.ops import arith, memory
from gridlane.ir.ops.mbarriers import MbarrierArrive, changed, check_barrier, step
from gridlane.ir.ops.memory import element_of, space_of
from gridlane.ir.ops.tensors import TensorLoad, check_box, counted, load_box
from gridlane.ir.types import PointerType, Space, pointer
from gridlane.ir.values import Value

if TYPE_CHECKING:
    from gridlane.ir.builder import Builder

ALONE = 1, 1, 1
"""The cluster of a block that is one of its own."""


class ClusterQuery(Op):
    """An i32 of the block's cluster."""

    __slots__ = ()
    pure = True
    produces = (i32,)


@operation("cluster_rank")
class ClusterRank(ClusterQuery):
    """The block's number in its cluster. PTX: ``%cluster_ctarank``."""


@operation("cluster_size")
class ClusterSize(ClusterQuery):
    """Blocks in the cluster. PTX: ``%cluster_nctarank``."""


@operation("cluster_arrive")
class ClusterArrive(Op):
    """Arrive at the barrier of the cluster, at which the thread waits later. Accesses in front are
    seen by threads behind their ``cluster_wait``, unless ``relaxed``. PTX:
    ``barrier.cluster.arrive``."""

    relaxed: bool = False
    barrier = True


@operation("cluster_wait")
class ClusterWait(Op):
    """Wait until every thread of the cluster that has not ended has arrived as often as this one,
    which has done so since it last waited. PTX: ``barrier.cluster.wait``."""

    barrier = True


@operation("cluster_sync")
class ClusterSync(Op):
    """Wait for every thread of the cluster; order shared memory of all its blocks, and global
    memory. Threads that have ended do not count. A block whose threads have all ended has no shared
    memory any more: a block ends after a ``cluster_sync`` behind the last access of others. PTX:
    ``barrier.cluster.arrive.release``, ``barrier.cluster.wait.acquire``."""

    barrier = True

    def expand(self, b: Builder) -> tuple[Value, ...]:
        b.emit(ClusterArrive())
        b.emit(ClusterWait())
        return ()


@operation("peer_address")
class PeerAddress(Op):
    """The generic address, as a u64, of the place in shared memory of the cluster's block
    ``rank``, a u32, that ``pointer`` is of in this block. PTX: ``mapa``.

    For a rank that the cluster does not have the address must not be accessed.
    """

    pointer: Value
    rank: Value
    pure = True
    produces = (u64,)

    def check(self, scope: Scope) -> None:
        element_of(self, self.pointer)
        self.require(space_of(self.pointer) is Space.SHARED, "the pointer is to shared memory")
        self.require(self.rank.type is u32, "the rank is a u32")


def peer(b: Builder, place: Value, rank: Value) -> Value:
    """A pointer to a place of this block's shared memory in the cluster's block of a rank."""
    assert isinstance(place.type, PointerType)
    there = b.value(PeerAddress(place, rank))
    return b.value(memory.FromAddress(there, pointer(place.type.element, Space.GENERIC)))


@contextmanager
def each_rank(b: Builder, blocks: Value) -> Generator[Value]:
    """Act for each block of the cluster whose rank, a u32, is a bit of ``blocks``."""
    with counted(b, b.cast(b.value(ClusterSize()), u32)) as rank:
        bit = b.and_(b.binary(arith.Shr, blocks, rank), b.const(1, u32))
        with b.if_(b.binary(arith.Ne, bit, b.const(0, u32))):
            yield rank


@family
class _OfPeer(Op):
    """An op of the mbarrier that lies in the cluster's block ``rank`` where ``pointer`` is in this
    block; numbers are u32."""

    pointer: Value
    rank: Value

    def check(self, scope: Scope) -> None:
        check_barrier(self, self.pointer)
        others = [value for value in self.operands() if value is not self.pointer]
        self.require(all(value.type is u32 for value in others), "numbers are u32")

    def changes(self, b: Builder, change: Callable[[Value], Value]) -> None:
        """Change the word in one step."""
        own = b.module.cluster == ALONE
        changed(b, self.pointer if own else peer(b, self.pointer, self.rank), change)


@operation("mbarrier_arrive_peer")
class MbarrierArrivePeer(_OfPeer):
    """Count ``count`` arrivals at the mbarrier of the cluster's block ``rank``, at the place of
    ``pointer`` in this block; both numbers are u32. What the thread has read before is read before
    the phase that this completes; others see what it has written if a fence of the device is before
    this. PTX: ``mapa.shared::cluster``, ``mbarrier.arrive.shared::cluster``.
    """

    count: Value

    def expand(self, b: Builder) -> tuple[Value, ...]:
        if b.module.cluster == ALONE:
            b.emit(MbarrierArrive(self.pointer, self.count, b.const(0, u32)))
            return ()
        count, none = b.cast(self.count, u64), b.zero(u64)
        self.changes(b, lambda old: step(b, old, count, none))
        return ()


@operation("mbarrier_expect_peer")
class MbarrierExpectPeer(_OfPeer):
    """Expect ``bytes`` more bytes at the mbarrier of the cluster's block ``rank``. PTX:
    ``mbarrier.expect_tx.shared::cluster``."""

    bytes: Value

    def expand(self, b: Builder) -> tuple[Value, ...]:
        more, none = b.cast(self.bytes, u64), b.zero(u64)
        self.changes(b, lambda old: step(b, old, none, more))
        return ()


@operation("mbarrier_complete_peer")
class MbarrierCompletePeer(_OfPeer):
    """Record that ``bytes`` expected bytes have arrived at the mbarrier of the cluster's block
    ``rank``. PTX: ``mbarrier.complete_tx.shared::cluster``."""

    bytes: Value

    def expand(self, b: Builder) -> tuple[Value, ...]:
        none = b.zero(u64)
        fewer = b.sub(none, b.cast(self.bytes, u64))
        self.changes(b, lambda old: step(b, old, none, fewer))
        return ()


@operation("tensor_multicast")
class TensorMulticast(Op):
    """Copy a box, as ``tensor_load`` does, to the place of ``box`` in each block of the cluster
    whose rank is a bit of ``blocks``, a u32 with bits of the cluster's blocks alone, and count its
    bytes at the mbarrier of that block which is at the place of ``bar``. PTX:
    ``cp.async.bulk.tensor``, ``.multicast::cluster``.
    """

    box: Value
    map: Value
    bar: Value
    blocks: Value
    coordinates: tuple[Value, ...]

    def check(self, scope: Scope) -> None:
        check_box(self, self.box, self.map, self.coordinates)
        check_barrier(self, self.bar)
        self.require(self.blocks.type is u32, "the blocks are bits of a u32")

    def expand(self, b: Builder) -> tuple[Value, ...]:
        if b.module.cluster == ALONE:
            with b.if_(b.binary(arith.Ne, self.blocks, b.const(0, u32))):
                b.emit(TensorLoad(self.box, self.map, self.bar, self.coordinates))
            return ()
        with each_rank(b, self.blocks) as rank:
            bytes_ = load_box(b, peer(b, self.box, rank), self.map, self.coordinates)
            b.emit(MbarrierCompletePeer(self.bar, rank, bytes_))
        return ()

"""Clusters: blocks of a launch that run at once, and reach each other's shared memory.

A launch or ``Module.cluster`` sets the number of blocks in a cluster; by default each block is one
of its own. The ``cuda`` device launches larger ones from compute capability 9.0 on, and the
interpreter runs those of ``Module.cluster``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridlane.core.dtypes import i32, u32, u64
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.ops import arith
from gridlane.ir.ops.mbarriers import MbarrierArrive, check_barrier
from gridlane.ir.ops.memory import element_of, space_of
from gridlane.ir.ops.tensors import TensorLoad, check_box
from gridlane.ir.types import Space, Type
from gridlane.ir.values import Value

if TYPE_CHECKING:
    from gridlane.ir.builder import Builder


class ClusterQuery(Op):
    """An i32 of the block's cluster."""

    __slots__ = ()
    pure = True

    def result_types(self) -> tuple[Type, ...]:
        return (i32,)


@operation("cluster_rank")
class ClusterRank(ClusterQuery):
    """The block's number in its cluster. PTX: ``%cluster_ctarank``."""


@operation("cluster_size")
class ClusterSize(ClusterQuery):
    """Blocks in the cluster. PTX: ``%cluster_nctarank``."""


@operation("cluster_sync")
class ClusterSync(Op):
    """Wait for every thread of the cluster; order shared memory of all its blocks, and global
    memory. Threads that have ended do not count. A block whose threads have all ended has no shared
    memory any more: a block ends after a ``cluster_sync`` behind the last access of others. PTX:
    ``barrier.cluster.arrive.release``, ``barrier.cluster.wait.acquire``."""

    barrier = True


@operation("peer_address")
class PeerAddress(Op):
    """The generic address, as a u64, of the place in shared memory of the cluster's block
    ``rank``, a u32, that ``pointer`` is of in this block. PTX: ``mapa``.

    For a rank that the cluster does not have the address must not be accessed.
    """

    pointer: Value
    rank: Value
    pure = True

    def result_types(self) -> tuple[Type, ...]:
        return (u64,)

    def check(self, scope: Scope) -> None:
        element_of(self, self.pointer)
        self.require(space_of(self.pointer) is Space.SHARED, "the pointer is to shared memory")
        self.require(self.rank.type is u32, "the rank is a u32")


@operation("mbarrier_arrive_peer")
class MbarrierArrivePeer(Op):
    """Count ``count`` arrivals at the mbarrier of the cluster's block ``rank``, at the place of
    ``pointer`` in this block; both numbers are u32. What the thread has read before is read before
    the phase that this completes; others see what it has written if a fence of the device is before
    this. PTX: ``mapa.shared::cluster``, ``mbarrier.arrive.shared::cluster``.
    """

    pointer: Value
    rank: Value
    count: Value

    def check(self, scope: Scope) -> None:
        check_barrier(self, self.pointer)
        good = self.rank.type is u32 and self.count.type is u32
        self.require(good, "the rank and the count are u32")

    def expand(self, b: Builder) -> tuple[Value, ...]:
        """For clusters of one block, whose rank is 0."""
        b.emit(MbarrierArrive(self.pointer, self.count, b.const(0, u32)))
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
        """For clusters of one block."""
        with b.if_(b.binary(arith.Ne, self.blocks, b.const(0, u32))):
            b.emit(TensorLoad(self.box, self.map, self.bar, self.coordinates))
        return ()

"""Clusters: blocks of a launch that run at once, and reach each other's shared memory.

A launch sets the number of blocks in a cluster; by default each block is one of its own. Only the
``cuda`` device launches larger ones, from compute capability 9.0 on.
"""

from __future__ import annotations

from gridlane.core.dtypes import i32, u32, u64
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.ops.memory import element_of, space_of
from gridlane.ir.types import Space, Type
from gridlane.ir.values import Value


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

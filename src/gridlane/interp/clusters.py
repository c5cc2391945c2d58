"""The meaning of ``ir.ops.clusters``, where each block is a cluster of its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridlane.core.errors import KernelError
from gridlane.core.source import describe
from gridlane.interp.grid import wait_for_block
from gridlane.interp.state import Frame
from gridlane.interp.values import Array, Lanes
from gridlane.ir.op import Op
from gridlane.ir.ops import clusters


def _rank(frame: Frame, op: clusters.ClusterRank, mask: Array) -> Array:
    return np.zeros(frame.block.lanes, np.int32)


def _size(frame: Frame, op: clusters.ClusterSize, mask: Array) -> Array:
    return np.ones(frame.block.lanes, np.int32)


def _peer(
    frame: Frame, op: clusters.PeerAddress, mask: Array, pointer: Array, rank: Array
) -> Array:
    wrong = rank[mask] != 0
    if wrong.any():
        text = (
            f"{op.name}: the cluster has no block {rank[mask][wrong][0]}: clusters of several "
            f"blocks are on cuda only (at {op.loc})"
        )
        raise KernelError("\n".join(filter(None, (text, describe(op.loc)))))
    return pointer


OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = {
    clusters.ClusterRank: _rank,
    clusters.ClusterSize: _size,
    clusters.ClusterSync: wait_for_block,
    clusters.PeerAddress: _peer,
}

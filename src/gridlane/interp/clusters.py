"""The meaning of ``ir.ops.clusters``. ``Block.cluster`` has the shared memory of each block."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridlane.core.errors import KernelError
from gridlane.core.source import describe
from gridlane.interp.grid import wait_for_block
from gridlane.interp.mbarriers import arrive, complete, expect
from gridlane.interp.memory import Fault
from gridlane.interp.state import Frame
from gridlane.interp.tensors import loaded
from gridlane.interp.values import Array, Lanes
from gridlane.ir.op import Op
from gridlane.ir.ops import clusters


def _rank(frame: Frame, op: clusters.ClusterRank, mask: Array) -> Array:
    return np.full(frame.block.lanes, frame.block.rank, np.int32)


def _size(frame: Frame, op: clusters.ClusterSize, mask: Array) -> Array:
    return np.full(frame.block.lanes, len(frame.block.cluster), np.int32)


def _arrive(frame: Frame, op: Op, mask: Array) -> None:
    block = frame.block
    if (block.arrivals[mask] > block.waits[mask]).any():
        raise _misused(frame, op, "a thread arrives twice at the barrier without waiting")
    block.arrivals[mask] += 1


def _wait(frame: Frame, op: Op, mask: Array) -> None:
    block = frame.block
    if (block.arrivals[mask] == block.waits[mask]).any():
        raise _misused(frame, op, "a thread waits at the barrier without having arrived")
    block.waits[mask] += 1
    wait_for_block(frame, op, mask)


def _sync(frame: Frame, op: clusters.ClusterSync, mask: Array) -> None:
    _arrive(frame, op, mask)
    _wait(frame, op, mask)


def _misused(frame: Frame, op: Op, reason: str) -> KernelError:
    text = f"{op.name}: {reason} of the cluster of block {frame.block.index} (at {op.loc})"
    return KernelError("\n".join(filter(None, (text, describe(op.loc)))))


def peer_address(frame: Frame, op: Op, mask: Array, pointer: Array, rank: Array) -> Array:
    """The addresses of places of this block's shared memory in blocks of some ranks."""
    block, result = frame.block, pointer.copy()
    wrong = rank[mask] >= len(block.cluster)
    if wrong.any():
        why = f"it has {len(block.cluster)}"
        if len(block.cluster) == 1:
            why = "the launch asks for no clusters of several blocks"
        text = f"{op.name}: the cluster has no block {rank[mask][wrong][0]}: {why} (at {op.loc})"
        raise KernelError("\n".join(filter(None, (text, describe(op.loc)))))
    own = block.cluster[block.rank]
    for lane in np.flatnonzero(mask):
        place = int(pointer[lane])
        distance = own.place_of(place, frame.block.launch)
        if distance is None:
            raise Fault(int(mask[:lane].sum()), "no place in the block's shared memory")
        name, bytes_ = distance
        result[lane] = block.cluster[int(rank[lane])].start(name) + bytes_
    return result


def _arrive_peer(
    frame: Frame,
    op: clusters.MbarrierArrivePeer,
    mask: Array,
    pointer: Array,
    rank: Array,
    count: Array,
) -> None:
    arrive(frame, mask, peer_address(frame, op, mask, pointer, rank), count)


def _expect_peer(
    frame: Frame,
    op: clusters.MbarrierExpectPeer,
    mask: Array,
    pointer: Array,
    rank: Array,
    bytes_: Array,
) -> None:
    expect(frame, mask, peer_address(frame, op, mask, pointer, rank), bytes_)


def _complete_peer(
    frame: Frame,
    op: clusters.MbarrierCompletePeer,
    mask: Array,
    pointer: Array,
    rank: Array,
    bytes_: Array,
) -> None:
    complete(frame, mask, peer_address(frame, op, mask, pointer, rank), bytes_)


def _multicast(
    frame: Frame,
    op: clusters.TensorMulticast,
    mask: Array,
    start: Array,
    map_: Array,
    barrier: Array,
    blocks: Array,
    *coordinates: Array,
) -> None:
    memory, size = frame.block.launch.memory, len(frame.block.cluster)
    for lane, places, values in loaded(frame, mask, start, map_, coordinates):
        one, bytes_ = np.zeros(len(mask), np.bool_), np.zeros(len(mask), np.uint32)
        one[lane], bytes_[lane] = True, values.nbytes
        bits = int(blocks[lane])
        if bits >> size:
            text = f"the blocks {bits:#b} are not all in the cluster, which has {size}"
            raise Fault(int(mask[:lane].sum()), text)
        for rank in range(size):
            if not bits >> rank & 1:
                continue
            ranks = np.full(len(mask), rank, np.uint32)
            moved = int(peer_address(frame, op, one, start, ranks)[lane]) - int(start[lane])
            memory.scatter((places.astype(np.int64) + moved).astype(places.dtype), values)
            complete(frame, one, peer_address(frame, op, one, barrier, ranks), bytes_)


OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = {
    clusters.ClusterRank: _rank,
    clusters.ClusterSize: _size,
    clusters.ClusterArrive: _arrive,
    clusters.ClusterWait: _wait,
    clusters.ClusterSync: _sync,
    clusters.PeerAddress: peer_address,
    clusters.MbarrierArrivePeer: _arrive_peer,
    clusters.MbarrierExpectPeer: _expect_peer,
    clusters.MbarrierCompletePeer: _complete_peer,
    clusters.TensorMulticast: _multicast,
}

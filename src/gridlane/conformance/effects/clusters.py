"""Cases of clusters: of one block, and of two where one block cannot show a wrong answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from gridlane.conformance.cases import Case
from gridlane.conformance.effects.making import THREADS, case, out
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import b1, i32, u32, u64
from gridlane.ir.ops import clusters, grid, mbarriers, memory
from gridlane.ir.ops.tensors import counted
from gridlane.ir.types import Space, pointer


def of_clusters() -> Iterator[Case]:
    for op, cls in (
        ("cluster_rank", clusters.ClusterRank),
        ("cluster_size", clusters.ClusterSize),
    ):

        def ask(kernel: Kernel) -> list[np.ndarray]:
            kernel.store(kernel.builder.value(cls()))
            return [out(i32)]

        yield case(op, "", ask)
        yield _of_two_blocks(op, ask)

    def met(kernel: Kernel) -> list[np.ndarray]:
        """Each thread reads what another one has written before the barrier."""
        b = kernel.builder
        tile = kernel.shared("tile", i32, THREADS)
        b.store(b.offset(tile, kernel.local), kernel.thread)
        b.emit(clusters.ClusterSync())
        kernel.store(b.load(b.offset(tile, b.sub(b.const(THREADS - 1, i32), kernel.local))))
        return [out(i32)]

    yield case("cluster_sync", "", met)
    yield _of_two_blocks("cluster_sync", _exchanged)

    def came(kernel: Kernel) -> list[np.ndarray]:
        """The same, with work between the arrival and the wait."""
        b = kernel.builder
        tile = kernel.shared("tile", i32, THREADS)
        b.store(b.offset(tile, kernel.local), kernel.thread)
        b.emit(clusters.ClusterArrive())
        kernel.store(b.mul(kernel.thread, b.const(3, i32)))
        b.emit(clusters.ClusterWait())
        kernel.store(b.load(b.offset(tile, b.sub(b.const(THREADS - 1, i32), kernel.local))))
        b.emit(clusters.ClusterArrive(relaxed=True))
        b.emit(clusters.ClusterWait())
        return [out(i32), out(i32)]

    yield case("cluster_arrive", "", came)
    yield case("cluster_wait", "", _in_iterations)

    def across(kernel: Kernel) -> list[np.ndarray]:
        """Each thread writes by the address of a peer, and reads what another thread has
        written."""
        b = kernel.builder
        tile = kernel.shared("tile", i32, THREADS)
        zero = b.const(0, u32)
        there = b.value(clusters.PeerAddress(b.offset(tile, kernel.local), zero))
        b.store(b.value(memory.FromAddress(there, pointer(i32, Space.GENERIC))), kernel.thread)
        b.emit(grid.Barrier())
        other = b.sub(b.const(THREADS - 1, i32), kernel.local)
        kernel.store(b.load(b.offset(tile, other)))
        bytes_ = b.cast(b.mul(other, b.const(4, i32)), u64)
        start = b.value(clusters.PeerAddress(tile, zero))
        place = b.value(memory.FromAddress(b.add(start, bytes_), pointer(i32, Space.GENERIC)))
        kernel.store(b.load(place, volatile=True))
        return [out(i32), out(i32)]

    yield case("peer_address", "", across)
    yield case("mbarrier_arrive_peer", "", _arrived)
    yield case("mbarrier_expect_peer", "", _transferred)
    yield case("mbarrier_complete_peer", "", _transferred)


def _of_two_blocks(op: str, fill: Callable[[Kernel], list[np.ndarray]]) -> Case:
    """A case whose two blocks are one cluster."""
    made = case(op, "of-two", fill)
    made.module.cluster = 2, 1, 1
    return made


def _exchanged(kernel: Kernel) -> list[np.ndarray]:
    """Each thread reads what one of the other block has written before the barrier. The blocks end
    behind a second barrier, after which nobody reads their memory."""
    b = kernel.builder
    tile, one = kernel.shared("tile", i32, THREADS), b.const(1, i32)
    b.store(b.offset(tile, kernel.local), b.add(kernel.thread, one))
    b.emit(clusters.ClusterSync())
    other = b.cast(b.sub(one, b.value(clusters.ClusterRank())), u32)
    place = b.offset(tile, b.sub(b.const(THREADS - 1, i32), kernel.local))
    kernel.store(b.load(clusters.peer(b, place, other)))
    b.emit(clusters.ClusterSync())
    return [out(i32)]


def _in_iterations(kernel: Kernel) -> list[np.ndarray]:
    """Each iteration waits for the arrivals of the one before, reads what another thread has
    written there, writes to its own part of the array, and arrives."""
    b, last = kernel.builder, 2
    tile = kernel.shared("tile", i32, last * THREADS)
    total = b.variable("total", i32)
    b.write(total, b.const(0, i32))
    with counted(b, b.const(last + 1, u32)) as number:
        step = b.cast(number, i32)
        start = b.offset(tile, b.mul(step, b.const(THREADS, i32)))
        with b.if_(b.lt(b.const(0, i32), step)):
            b.emit(clusters.ClusterWait())
            other = b.sub(b.const(-1, i32), kernel.local)
            value = b.load(b.offset(start, other))
            b.write(total, b.add(b.mul(b.read(total), b.const(5, i32)), value))
        with b.if_(b.lt(step, b.const(last, i32))):
            mixed = b.add(b.mul(kernel.thread, b.add(step, b.const(3, i32))), b.const(1, i32))
            b.store(b.offset(start, kernel.local), mixed)
            b.emit(clusters.ClusterArrive())
    kernel.store(b.read(total))
    return [out(i32)]


def _arrived(kernel: Kernel) -> list[np.ndarray]:
    """All threads arrive at the mbarrier of a peer, which is their own, twice each."""
    b = kernel.builder
    bar = kernel.shared("bar", u64, 1, 8)
    zero, one = b.const(0, u32), b.const(1, u32)
    with b.if_(b.eq(kernel.local, b.const(0, i32))):
        b.emit(mbarriers.MbarrierInit(bar, b.const(3 * THREADS, u32)))
    for count in (one, b.const(2, u32)):
        b.emit(grid.Barrier())
        kernel.store(b.value(mbarriers.MbarrierPassed(bar, zero, True)))
        b.emit(grid.Barrier())
        b.emit(clusters.MbarrierArrivePeer(bar, zero, count))
    b.emit(grid.Barrier())
    kernel.store(b.value(mbarriers.MbarrierPassed(bar, zero, True)))
    return [out(b1) for _ in range(3)]


def _transferred(kernel: Kernel) -> list[np.ndarray]:
    """The first thread expects bytes at the mbarrier of a peer, which is its own, arrives there,
    and records that they have arrived."""
    b = kernel.builder
    bar = kernel.shared("bar", u64, 1, 8)
    zero, bytes_ = b.const(0, u32), b.const(48, u32)
    first = b.eq(kernel.local, b.const(0, i32))
    with b.if_(first):
        b.emit(mbarriers.MbarrierInit(bar, b.const(1, u32)))
        b.emit(clusters.MbarrierExpectPeer(bar, zero, bytes_))
        b.emit(clusters.MbarrierArrivePeer(bar, zero, b.const(1, u32)))
    for _ in range(2):
        b.emit(grid.Barrier())
        kernel.store(b.value(mbarriers.MbarrierPassed(bar, zero, True)))
        b.emit(grid.Barrier())
        with b.if_(first):
            b.emit(clusters.MbarrierCompletePeer(bar, zero, b.const(24, u32)))
    b.emit(grid.Barrier())
    kernel.store(b.value(mbarriers.MbarrierPassed(bar, zero, True)))
    return [out(b1) for _ in range(3)]

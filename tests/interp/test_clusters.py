"""Clusters of several blocks: their shared memory, barriers, mbarriers and copies."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gridlane import interp
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import i32, u8, u32, u64
from gridlane.core.errors import KernelError
from gridlane.core.tensor_map import SWIZZLES, Element, TensorMap
from gridlane.interp import machine
from gridlane.ir.ops import clusters, grid, memory
from gridlane.ir.ops.mbarriers import MbarrierArrive, MbarrierInit, MbarrierPassed
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Global, Value
from gridlane.ir.verifier import verify

SIZE, BLOCKS = 2, 6
THREADS = 64


def shared(kernel: Kernel, name: str, element: object, count: int, align: int = 8) -> Value:
    kernel.module.globals[name] = Global(name, element, count, Space.SHARED, align)  # type: ignore[arg-type]
    return kernel.builder.value(memory.GlobalAddress(name, pointer(element, Space.SHARED)))  # type: ignore[arg-type]


def run(kernel: Kernel, *arrays: np.ndarray, turns: bool, blocks: int = BLOCKS) -> None:
    module = kernel.module
    module.cluster = SIZE, 1, 1
    verify(module)
    memory_ = interp.Memory()
    kept = machine.warps_take_turns
    machine.warps_take_turns = lambda module: turns
    try:
        interp.run(module, blocks, THREADS, [memory_.map(each) for each in arrays], memory_)
    finally:
        machine.warps_take_turns = kept


@pytest.mark.parametrize("turns", [False, True])
def test_each_block_reads_what_its_peer_wrote(turns):
    kernel = Kernel()
    b = kernel.builder
    tile = shared(kernel, "tile", i32, THREADS)
    b.store(b.offset(tile, kernel.local), kernel.thread)
    b.emit(clusters.ClusterSync())
    rank = b.value(clusters.ClusterRank())
    other = b.cast(b.sub(b.const(1, i32), rank), u32)
    there = b.value(clusters.PeerAddress(b.offset(tile, kernel.local), other))
    kernel.store(b.load(b.value(memory.FromAddress(there, pointer(i32, Space.GENERIC)))))
    kernel.store(rank)
    kernel.store(b.value(clusters.ClusterSize()))
    b.emit(clusters.ClusterSync())
    got = [np.zeros(BLOCKS * THREADS, np.int32) for _ in range(3)]
    run(kernel, *got, turns=turns)
    number = np.arange(BLOCKS * THREADS).reshape(-1, SIZE, THREADS)
    np.testing.assert_array_equal(got[0], number[:, ::-1].ravel())
    np.testing.assert_array_equal(got[1], number.ravel() // THREADS % SIZE)
    np.testing.assert_array_equal(got[2], SIZE)


@pytest.mark.parametrize("late", [0, 1])
def test_arrivals_and_copies_of_a_peer(late):
    """Each block copies half of a box to both, and waits until the peer has read its words; one of
    them is late to expect the bytes."""
    kernel = Kernel()
    b = kernel.builder
    words = 32
    box = shared(kernel, "box", u32, 2 * words, 128)
    full = shared(kernel, "full", u64, 1)
    free = shared(kernel, "free", u64, 1)
    maps = kernel.array(u64)
    rank = b.value(clusters.ClusterRank())
    first = b.eq(kernel.local, b.const(0, i32))
    none, one = b.const(0, u32), b.const(1, u32)
    with b.if_(first):
        b.emit(MbarrierInit(full, one))
        b.emit(MbarrierInit(free, b.const(SIZE, u32)))
    b.emit(clusters.ClusterSync())

    def wait(bar: Value) -> None:
        with b.loop():
            b.emit(grid.RunOthers())
            b.break_if(b.value(MbarrierPassed(bar, none, True, True)))

    with b.if_(first):
        pause = b.variable("pause", i32)
        with b.if_(b.eq(rank, b.const(late, i32))):  # turns of the other block
            with b.loop():
                b.emit(grid.RunOthers())
                b.write(pause, b.add(b.read(pause), b.const(1, i32)))
                b.break_if(b.eq(b.read(pause), b.const(9, i32)))
        b.emit(MbarrierArrive(full, one, b.const(2 * words * 4, u32), True))
        place = b.recast(b.offset(box, b.mul(rank, b.const(words, i32))), pointer(u8, Space.SHARED))
        corner = (b.const(0, i32), b.add(b.value(grid.BlockIdx(grid.Axis.X)), b.const(0, i32)))
        b.emit(clusters.TensorMulticast(place, maps, full, b.const(0b11, u32), corner))
    wait(full)
    place = b.value(grid.BlockIdx(grid.Axis.X))
    place = b.add(b.mul(place, b.const(2 * words, i32)), kernel.local)
    out = kernel.array(u32)
    b.store(b.offset(out, place), b.load(b.offset(box, kernel.local)))
    b.emit(grid.Barrier())
    with b.if_(first):
        for each in range(SIZE):
            b.emit(clusters.MbarrierArrivePeer(free, b.const(each, u32), one))
    wait(free)
    b.emit(clusters.ClusterSync())
    given = np.arange(BLOCKS * words, dtype=np.uint32).reshape(BLOCKS, words)
    module = kernel.module
    module.cluster = SIZE, 1, 1
    verify(module)
    memory_ = interp.Memory()
    tensor = TensorMap(
        memory_.map(given), Element.U32, (words, BLOCKS), (4 * words,), (words, 1), (1, 1),
        SWIZZLES[0],
    )  # fmt: skip
    encoded = np.frombuffer(tensor.encode(), np.uint64).copy()
    got = np.zeros((BLOCKS, 2 * words), np.uint32)
    interp.run(module, BLOCKS, THREADS, [memory_.map(encoded), memory_.map(got)], memory_)
    np.testing.assert_array_equal(got, np.repeat(given.reshape(-1, 2 * words), SIZE, axis=0))


def test_bad_clusters():
    kernel = Kernel()
    b = kernel.builder
    tile = shared(kernel, "tile", i32, 4)
    there = b.value(clusters.PeerAddress(tile, b.const(2, u32)))
    kernel.store(there)
    with pytest.raises(KernelError, match=re.escape("the cluster has no block 2: it has 2")):
        run(kernel, np.zeros(BLOCKS * THREADS, np.uint64), turns=False)
    with pytest.raises(KernelError, match=r"clusters of \(2, 1, 1\) blocks in a grid of \(3, 1"):
        run(kernel, np.zeros(3 * THREADS, np.uint64), turns=False, blocks=3)


@pytest.mark.parametrize("turns", [False, True])
def test_blocks_that_meet_at_different_places(turns):
    """The barrier is the cluster's, wherever a block arrives at it."""
    kernel = Kernel()
    b = kernel.builder
    tile = shared(kernel, "tile", i32, THREADS)
    b.store(b.offset(tile, kernel.local), kernel.thread)
    with b.if_(b.eq(b.value(clusters.ClusterRank()), b.const(0, i32))) as branch:
        b.emit(clusters.ClusterSync())
        with b.inside(branch.orelse):
            b.emit(clusters.ClusterArrive())
            b.emit(clusters.ClusterWait())
    other = b.cast(b.sub(b.const(1, i32), b.value(clusters.ClusterRank())), u32)
    kernel.store(b.load(clusters.peer(b, b.offset(tile, kernel.local), other)))
    b.emit(clusters.ClusterSync())
    got = np.zeros(BLOCKS * THREADS, np.int32)
    run(kernel, got, turns=turns)
    number = np.arange(BLOCKS * THREADS).reshape(-1, SIZE, THREADS)
    np.testing.assert_array_equal(got, number[:, ::-1].ravel())


@pytest.mark.parametrize("turns", [False, True])
def test_work_between_arrival_and_wait(turns):
    """A block that has arrived does what its peer waits for behind its own wait."""
    kernel = Kernel()
    b = kernel.builder
    flag = shared(kernel, "flag", u32, 1)
    rank, one = b.value(clusters.ClusterRank()), b.const(1, u32)
    is_first = b.eq(rank, b.const(0, i32))
    first = b.eq(kernel.local, b.const(0, i32))
    with b.if_(first):
        b.store(flag, b.const(0, u32))
    b.emit(clusters.ClusterSync())
    b.emit(clusters.ClusterArrive())
    with b.if_(is_first):
        with b.loop():
            b.emit(grid.RunOthers())
            b.break_if(b.eq(b.load(flag, volatile=True), one))
    b.emit(clusters.ClusterWait())
    with b.if_(b.and_(first, b.not_(is_first))):
        b.store(clusters.peer(b, flag, b.const(0, u32)), one, volatile=True)
    b.emit(clusters.ClusterSync())
    kernel.store(b.load(flag))
    got = np.zeros(BLOCKS * THREADS, np.uint32)
    run(kernel, got, turns=turns)
    assert (got.reshape(-1, SIZE, THREADS) == np.array([1, 0])[:, None]).all()


def test_clusters_along_all_axes():
    kernel = Kernel()
    b = kernel.builder
    tile = shared(kernel, "tile", i32, 1)
    b.store(tile, b.value(clusters.ClusterRank()))
    b.emit(clusters.ClusterSync())
    last = b.const(11, u32)
    x, y, z = (b.value(grid.BlockIdx(axis)) for axis in grid.Axis)
    place = b.add(x, b.mul(b.const(4, i32), b.add(y, b.mul(b.const(3, i32), z))))
    out = kernel.array(i32)
    own = b.mul(b.const(100, i32), b.load(tile))
    b.store(b.offset(out, place), b.add(own, b.load(clusters.peer(b, tile, last))))
    b.emit(clusters.ClusterSync())
    kernel.module.cluster = 2, 3, 2
    verify(kernel.module)
    text = print_module(kernel.module)
    assert "cluster (2, 3, 2)" in text and print_module(parse_module(text)) == text
    got, memory_ = np.zeros(48, np.int32), interp.Memory()
    interp.run(parse_module(text), (4, 3, 4), 1, [memory_.map(got)], memory_)
    z, y, x = np.indices((4, 3, 4))
    np.testing.assert_array_equal(got, (100 * (x % 2 + 2 * (y + 3 * (z % 2))) + 11).ravel())


@pytest.mark.parametrize("turns", [False, True])
def test_bad_waits(turns):
    def lost(b, local):
        """Half of the threads of a warp wait for the others, which wait for them."""
        with b.if_(b.lt(local, b.const(16, i32))) as branch:
            b.emit(clusters.ClusterSync())
            with b.inside(branch.orelse):
                b.emit(grid.Barrier())

    def twice(b, local):
        b.emit(clusters.ClusterArrive())
        b.emit(clusters.ClusterArrive())

    def without(b, local):
        b.emit(clusters.ClusterWait())

    for emit, words in (
        (lost, "arrive at its barrier|come to the same barrier"),
        (twice, "arrives twice"),
        (without, "without having arrived"),
    ):
        kernel = Kernel()
        emit(kernel.builder, kernel.local)
        with pytest.raises(KernelError, match=words):
            run(kernel, turns=turns)

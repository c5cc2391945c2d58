"""Which blocks the threads of a job take: each block once, and the same ones again."""

from __future__ import annotations

import ctypes
import itertools
import random
import threading

import llvmlite.binding as llvm
import numpy as np
import pytest

import gridlane
from gridlane import cuda
from gridlane.runtime.drivers import cpu_native, cpu_pool, cpu_shares

_HEAD = """
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
define void @divide_all(ptr %pool, i64 %total, i64 %threads, i64 %least) {
  %least.p = getelementptr i8, ptr %pool, i64 80
  store i64 %least, ptr %least.p
  call void @divide(ptr %pool, i64 %total, i64 %threads)
  ret void
}
define i64 @take_some(ptr %pool, i64 %slot) {
  %taken = call i64 @take_any(ptr %pool, i64 %slot)
  ret i64 %taken
}
"""

_numbers = itertools.count()


class Shares:
    """The ranges of a job, without a pool."""

    def __init__(self) -> None:
        text = cpu_shares.text(cpu_pool.POOL_BYTES) + _HEAD
        names = ("divide_all", "take_some")
        self.code = cpu_native.Linked(
            f"tests.shares.{next(_numbers)}", cpu_native.object_of(text), names
        )
        self.memory = np.zeros(cpu_pool.POOL_BYTES // 8 + 64 * 8, np.int64)
        self.pool = self.memory.ctypes.data
        number, pointer = ctypes.c_int64, ctypes.c_void_p
        self._divide = ctypes.CFUNCTYPE(None, pointer, number, number, number)(
            self.code["divide_all"]
        )
        self._take = ctypes.CFUNCTYPE(number, pointer, number)(self.code["take_some"])

    def divide(self, total: int, threads: int, least: int = 1) -> None:
        self.total = total
        self._divide(self.pool, total, threads, least)

    def take(self, slot: int) -> range:
        """The blocks that a thread takes, as the pool computes them."""
        taken, unit = self._take(self.pool, slot), int(self.memory[15])
        first, count = (taken >> 32) * unit, (taken & 0xFFFFFFFF) * unit
        return range(first, min(first + count, self.total))


@pytest.mark.parametrize("total", [1, 2, 3, 7, 10, 64, 1000, 65537, (1 << 31) + 5, 1 << 40])
@pytest.mark.parametrize("threads", [1, 2, 3, 16, 60])
@pytest.mark.parametrize("least", [1, 5])
def test_each_block_is_taken_once(total, threads, least):
    shares, choose = Shares(), random.Random(total + threads)
    shares.divide(total, threads, least)
    found: list[range] = []
    while blocks := shares.take(choose.randrange(threads)):
        found.append(blocks)
    assert not any(shares.take(slot) for slot in range(threads))
    found.sort(key=lambda each: each.start)
    assert found[0].start == 0 and found[-1].stop == total
    assert all(one.stop == other.start for one, other in itertools.pairwise(found))


def test_threads_begin_where_they_began_before():
    shares = Shares()
    for _ in range(3):
        shares.divide(100, 4)
        begun = [shares.take(slot).start for slot in (3, 1, 0, 2)]
        assert begun == [75, 25, 0, 50]


def test_a_thread_without_blocks_takes_from_the_back_of_others():
    shares = Shares()
    shares.divide(20, 2)
    mine = [shares.take(0) for _ in range(10)]
    assert [each.start for each in mine] == [*range(10)]
    assert [*shares.take(0)] == [*range(15, 20)]
    assert [*shares.take(1)] == [10]
    assert [*shares.take(0)] == [13, 14]


def test_threads_that_take_at_once_share_no_block():
    shares, total = Shares(), 200_000
    shares.divide(total, 4)
    taken: list[list[range]] = [[] for _ in range(4)]

    def work(slot: int) -> None:
        while blocks := shares.take(slot):
            taken[slot].append(blocks)

    threads = [threading.Thread(target=work, args=(slot,)) for slot in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    counts = np.zeros(total, np.int32)
    for blocks in (one for each in taken for one in each):
        counts[blocks.start : blocks.stop] += 1
    assert (counts == 1).all()


@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "another"])
def test_the_text_of_the_pool_is_valid(machine):
    llvm.parse_assembly(cpu_pool.text(machine, 0)).verify()


@cuda.jit
def count(x):
    row = cuda.blockIdx.x
    for _ in range(300):
        x[row, cuda.threadIdx.x] += 1


@pytest.mark.parametrize("blocks", [1, 2, 3, 11, 257, 5000])
def test_a_grid_has_all_of_its_blocks(blocks):
    with gridlane.device("cpu"):
        x = np.zeros((blocks, 64), np.int64)
        for _ in range(4):
            count[blocks, 64](x)
    assert (x == 1200).all()

"""Which blocks the threads of a job take: each block once, and the same ones again."""

from __future__ import annotations

import ctypes
import itertools
import random
import threading

import numpy as np
import pytest
from tests.native.building import HERE, built

import gridlane
from gridlane import cuda


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    made = tmp_path_factory.mktemp("shares") / "shares.so"
    library = ctypes.CDLL(str(built(HERE / "shares.c", made, "-shared", "-fPIC")))
    number, pointer = ctypes.c_uint64, ctypes.c_void_p
    library.divide_all.argtypes = pointer, number, number, number
    library.take_some.argtypes = pointer, number
    library.unit_of.argtypes = (pointer,)
    library.take_some.restype = library.unit_of.restype = number
    return library


class Shares:
    """The ranges of a job, without a pool."""

    def __init__(self, code: ctypes.CDLL) -> None:
        self.code = code
        self.memory = np.zeros(4096 + 64 * 64 + 64, np.uint8)
        self.pool = -(-self.memory.ctypes.data // 64) * 64

    def divide(self, total: int, threads: int, least: int = 1) -> None:
        self.total = total
        self.code.divide_all(self.pool, total, threads, least)

    def take(self, slot: int) -> range:
        """The blocks that a thread takes, as the pool computes them."""
        taken, unit = self.code.take_some(self.pool, slot), self.code.unit_of(self.pool)
        first, count = (taken >> 32) * unit, (taken & 0xFFFFFFFF) * unit
        return range(first, min(first + count, self.total))


@pytest.mark.parametrize("total", [1, 2, 3, 7, 10, 64, 1000, 65537, (1 << 31) + 5, 1 << 40])
@pytest.mark.parametrize("threads", [1, 2, 3, 16, 60])
@pytest.mark.parametrize("least", [1, 5])
def test_each_block_is_taken_once(code, total, threads, least):
    shares, choose = Shares(code), random.Random(total + threads)
    shares.divide(total, threads, least)
    found: list[range] = []
    while blocks := shares.take(choose.randrange(threads)):
        found.append(blocks)
    assert not any(shares.take(slot) for slot in range(threads))
    found.sort(key=lambda each: each.start)
    assert found[0].start == 0 and found[-1].stop == total
    assert all(one.stop == other.start for one, other in itertools.pairwise(found))


def test_threads_begin_where_they_began_before(code):
    shares = Shares(code)
    for _ in range(3):
        shares.divide(100, 4)
        begun = [shares.take(slot).start for slot in (3, 1, 0, 2)]
        assert begun == [75, 25, 0, 50]


def test_a_thread_without_blocks_takes_from_the_back_of_others(code):
    shares = Shares(code)
    shares.divide(20, 2)
    mine = [shares.take(0) for _ in range(10)]
    assert [each.start for each in mine] == [*range(10)]
    assert [*shares.take(0)] == [*range(15, 20)]
    assert [*shares.take(1)] == [10]
    assert [*shares.take(0)] == [13, 14]


def test_threads_that_take_at_once_share_no_block(code):
    shares, total = Shares(code), 200_000
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

"""Programs that wait for each other's locks: no two may run in turns."""

from __future__ import annotations

import numpy as np
import pytest

import gridlane
from gridlane import tiles

tl = tiles.language


@tiles.jit
def larger(left, right):
    return tl.maximum(left, right)


@tiles.jit
def summed_in_turn(data, lock, total):
    i = tl.arange(0, 64)
    while tl.atomic_cas(lock, 0, 1, sem="acquire") == 1:
        pass
    x = tl.load(data + i)
    tl.store(data + i, x + tl.cumsum(i, 0) + 1.0)
    tl.store(total, tl.load(total) + tl.sum(x, 0))
    tl.store(total + 1, tl.reduce(x, 0, larger))
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0, sem="release")


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_a_lock_around_tiles(device):
    data, lock, total = np.zeros(64, np.float32), np.zeros(1, np.int32), np.zeros(2, np.float32)
    with gridlane.device(device):
        summed_in_turn[(20,)](data, lock, total)
    each = np.cumsum(np.arange(64)) + 1.0
    assert (data == 20 * each).all() and lock[0] == 0
    assert total.tolist() == [sum(range(20)) * each.sum(), 19 * each.max()]

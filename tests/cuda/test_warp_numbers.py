"""Bits of a thread's index that are the same in a warp, and those that are not, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device


@cuda.jit
def bits(out, step, start):
    t = cuda.threadIdx.x
    n = np.int32(t)
    out[0, t] = n >> 5
    out[1, t] = n & -32
    out[2, t] = (n + 1) >> 5
    out[3, t] = (n * 3) & 96
    out[4, t] = (n * 2) >> 6
    out[5, t] = (95 - n) >> 5
    out[6, t] = (n * step + start) >> 5


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("threads", [96, 40])
def test_bits(device: str, threads: int) -> None:
    current.choose(get_device(device))
    out = np.zeros((7, threads), np.int32)
    bits[1, threads](out, np.int32(5), np.int32(7))
    n = np.arange(threads)
    want = [n >> 5, n & -32, n + 1 >> 5, n * 3 & 96, n * 2 >> 6, 95 - n >> 5, n * 5 + 7 >> 5]
    assert (out == want).all()

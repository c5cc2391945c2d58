"""Loops that lanes leave at different times by one test, and all at once by another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridlane
from gridlane import cuda

SIZE, MOST = 150, 5


def breaks(out: Any, limit: int, most: int) -> None:
    i = cuda.threadIdx.x
    steps = 0
    while True:
        if i >= limit:
            break
        out[i] += 1
        i += cuda.blockDim.x
        steps += 1
        if steps >= most:
            break


def goes_on(out: Any, limit: int, most: int) -> None:
    i = cuda.threadIdx.x
    steps = 0
    while True:
        if i >= limit:
            break
        at = i
        i += cuda.blockDim.x
        steps += 1
        if steps >= most:
            continue
        out[at] += 1


def returns(out: Any, limit: int, most: int) -> None:
    i = cuda.threadIdx.x
    steps = 0
    while True:
        if i >= limit:
            break
        out[i] += 1
        i += cuda.blockDim.x
        steps += 1
        if steps >= most:
            return
    out[cuda.threadIdx.x] += 1000


def within(out: Any, limit: int, most: int) -> None:
    """The loop is emitted for lanes that agree and for those that do not."""
    for again in range(out[cuda.threadIdx.x], 3):
        i = cuda.threadIdx.x
        steps = 0
        while True:
            if i >= limit:
                break
            out[i] += 1
            i += cuda.blockDim.x
            steps += 1
            if steps >= most + again:
                break


def outer(out: Any, limit: int, most: int) -> None:
    for again in range(3):
        i = cuda.threadIdx.x
        while True:
            if i >= limit:
                break
            steps = 0
            while True:
                if i + steps >= limit:
                    break
                out[i] += 1
                steps += 1
                if steps >= most:
                    break
            if again + 2 >= most:
                break
            i += cuda.blockDim.x


KERNELS = [breaks, goes_on, returns, within, outer]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("threads", [8, 20, 64])
def test_as_the_interpreter(kernel: Any, threads: int) -> None:
    compiled: Any = cuda.jit(kernel)
    for limit, most in ((SIZE, MOST), (SIZE, 1), (SIZE, 99), (threads // 2, MOST), (0, 2)):
        made: list[Any] = []
        for device in ("interp", "cpu"):
            out = np.zeros(SIZE, np.int64)
            with gridlane.device(device):
                compiled[1, threads](out, limit, most)
            made.append(out)
        np.testing.assert_array_equal(made[1], made[0])

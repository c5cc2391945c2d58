"""Which kernels have warps as chunks, because lanes may exchange data through memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridlane
from gridlane import compiler, cuda
from gridlane.backends import backend
from gridlane.codegen.llvm.cpu.exchanges import exchanges, may_exchange
from gridlane.codegen.llvm.cpu.layout import WARP, Layout
from gridlane.codegen.llvm.cpu.shapes import Shapes
from gridlane.compiler import pipeline
from gridlane.core.options import KernelOptions
from gridlane.cuda import float32, int32

BLOCK = (256, 1, 1)


def scaled(x: Any, y: Any) -> None:
    i = cuda.grid(1)
    if i < x.size:
        y[i] += 2 * x[i]


def in_strides(x: Any, y: Any) -> None:
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        x[i] = x[i] * 2 + 1


def neighbours(x: Any, y: Any) -> None:
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        y[i] = x[i - 1] + x[i] + x[i + 1]


def rows_of_two(x: Any, y: Any) -> None:
    i = cuda.grid(1)
    x[2 * i] = x[2 * i + 1] + 1


def filled(x: Any, y: Any) -> None:
    shared = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    i = t
    while i < 1024:
        shared[i] = 0
        i += cuda.blockDim.x
    cuda.syncthreads()
    y[t] = shared[t]


def tiles(x: Any, y: Any) -> None:
    a = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x % 16, cuda.threadIdx.x // 16
    total = np.float32(0)
    for k in range(4):
        a[ty, tx] = x[k * 256 + ty * 16 + tx]
        cuda.syncthreads()
        for j in range(16):
            total += a[ty, j] * a[j, tx]
        cuda.syncthreads()
    y[cuda.threadIdx.x] = total


def counted(x: Any, y: Any) -> None:
    counts = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    counts[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(counts, int(x[t]) & 255, 1)
    cuda.syncthreads()
    y[t] = counts[t]


def swapped(x: Any, y: Any) -> None:
    shared = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    shared[t] = x[t]
    y[t] = shared[t ^ 1]


def elected(x: Any, y: Any) -> None:
    shared = cuda.shared.array(8, int32)
    t = cuda.threadIdx.x
    shared[int(x[t]) & 7] = t
    y[t] = shared[int(x[t]) & 7]


def summed(x: Any, y: Any) -> None:
    shared = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    shared[t] = x[t]
    cuda.syncthreads()
    width = 128
    while width > 0:
        if t < width:
            shared[t] += shared[t + width]
        width //= 2
    y[t] = shared[0]


def after_a_barrier_of_some(x: Any, y: Any) -> None:
    shared = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    shared[t] = x[t]
    if x.size > 2000:
        cuda.syncthreads()
    y[t] = shared[255 - t]


def in_the_next_iteration(x: Any, y: Any) -> None:
    shared = cuda.shared.array(512, float32)
    t = cuda.threadIdx.x
    for k in range(3):
        y[t] = shared[t + k]
        if x.size < 3:
            break
        shared[t] = x[t]


def moved_up(x: Any, y: Any) -> None:
    i = cuda.grid(1)
    if i > 0:
        x[i] = x[i - 1]


APART = [scaled, in_strides, neighbours, rows_of_two, filled, tiles, counted]
TOGETHER = [
    *(swapped, elected, summed, after_a_barrier_of_some, in_the_next_iteration, moved_up),
]


def exchanging(kernel: Any) -> bool:
    """Whether the analysis finds an exchange."""
    types = (float32[::1], float32[::1])
    module = compiler.translate(kernel, types, KernelOptions())
    pipeline.run(module, backend("cpu"))
    shapes = Shapes(module.kernel, Layout(BLOCK, WARP))
    return may_exchange(module.kernel) and exchanges(shapes)


@pytest.mark.parametrize("kernel", APART, ids=lambda kernel: kernel.__name__)
def test_lanes_of_their_own(kernel: Any) -> None:
    assert not exchanging(kernel)


@pytest.mark.parametrize("kernel", TOGETHER, ids=lambda kernel: kernel.__name__)
def test_lanes_that_may_meet(kernel: Any) -> None:
    assert exchanging(kernel)


def test_global_memory() -> None:
    """All lanes of a warp load before one stores."""
    x = np.arange(32, dtype=np.float32)
    with gridlane.device("cpu"):
        cuda.jit(moved_up)[1, 32](x, x)
    np.testing.assert_array_equal(x, np.maximum(np.arange(32) - 1, 0))

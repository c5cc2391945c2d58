"""The kernels of the built-in benchmark in the style of CUDA code, and numpy's equivalents."""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridlane import cuda
from gridlane.core.frozen import frozen

F = np.float32
THREADS = 256
SIZE = 1 << 22
SIDE = 1024
ITERATIONS = 50


@cuda.jit(fastmath=True)
def vecadd(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@cuda.jit(fastmath=True)
def reduction(values, sums):
    partial = cuda.shared.array(THREADS, F)
    t = cuda.threadIdx.x
    total = F(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        total += values[i]
    partial[t] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            partial[t] += partial[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = partial[0]


@cuda.jit(fastmath=True)
def heat(old, new):
    x, y = cuda.grid(2)
    if 0 < x < old.shape[1] - 1 and 0 < y < old.shape[0] - 1:
        new[y, x] = F(0.25) * (old[y, x - 1] + old[y, x + 1] + old[y - 1, x] + old[y + 1, x])


@cuda.jit(fastmath=True)
def mandelbrot(counts, limit):
    x, y = cuda.grid(2)
    cr = F(-2) + F(3) * F(x) / F(SIDE)
    ci = F(-1.5) + F(3) * F(y) / F(SIDE)
    zr = F(0)
    zi = F(0)
    n = 0
    while n < limit and zr * zr + zi * zi <= F(4):
        zr, zi = zr * zr - zi * zi + cr, F(2) * zr * zi + ci
        n += 1
    counts[y, x] = n


@frozen
class Case:
    """Two computations of one result, and their comparison. Arrays are on the device already."""

    what: str
    ours: Callable[[], object]
    numpy: Callable[[], object]
    same: Callable[[], bool]


def _vecadd() -> Case:
    a, b = (np.random.default_rng(n).random(SIZE, F) for n in range(2))
    sums, out = np.empty(SIZE, F), cuda.device_array(SIZE, F)
    da, db = cuda.to_device(a), cuda.to_device(b)
    launch = vecadd[SIZE // THREADS, THREADS]
    return Case(
        "2^22 float32",
        lambda: (launch(da, db, out), cuda.synchronize()),
        lambda: np.add(a, b, out=sums),
        lambda: np.array_equal(out.copy_to_host(), sums),
    )


def _reduction() -> Case:
    values = np.random.default_rng(0).random(SIZE, F)
    on_device, sums = cuda.to_device(values), cuda.device_array(64, F)
    launch = reduction[64, THREADS]
    return Case(
        "2^22 float32, barrier tree",
        lambda: (launch(on_device, sums), cuda.synchronize()),
        values.sum,
        lambda: bool(np.isclose(sums.copy_to_host().sum(), values.sum(), rtol=1e-4)),
    )


def _heat() -> Case:
    old = np.random.default_rng(0).random((SIDE, SIDE), F)
    new, on_device = old.copy(), cuda.to_device(old)
    out = cuda.to_device(old)
    launch = heat[(SIDE // 16, SIDE // 16), (16, 16)]

    def by_numpy() -> None:
        around = old[1:-1, :-2] + old[1:-1, 2:] + old[:-2, 1:-1] + old[2:, 1:-1]
        new[1:-1, 1:-1] = F(0.25) * around

    return Case(
        "1024x1024 stencil",
        lambda: (launch(on_device, out), cuda.synchronize()),
        by_numpy,
        lambda: np.allclose(out.copy_to_host(), new, rtol=1e-5),
    )


def _mandelbrot() -> Case:
    counts, out = np.zeros((SIDE, SIDE), np.int32), cuda.device_array((SIDE, SIDE), np.int32)
    launch = mandelbrot[(SIDE // 16, SIDE // 16), (16, 16)]
    axis = F(3) * np.arange(SIDE, dtype=F) / F(SIDE)
    c = (F(-2) + axis) + 1j * (F(-1.5) + axis)[:, None]

    def by_numpy() -> None:
        counts[:] = 0
        z, inside = np.zeros_like(c), np.ones(c.shape, bool)
        for _ in range(ITERATIONS):
            inside[inside] = np.abs(z[inside]) <= 2
            counts[inside] += 1
            z[inside] = z[inside] ** 2 + c[inside]

    return Case(
        f"1024x1024, {ITERATIONS} iterations, divergent",
        lambda: (launch(out, np.int32(ITERATIONS)), cuda.synchronize()),
        by_numpy,
        # At the border of the set one rounding decides, and fast-math may round either way.
        lambda: bool((out.copy_to_host() == counts).mean() > 0.99),
    )


CASES: dict[str, Callable[[], Case]] = {
    "vecadd": _vecadd,
    "reduction": _reduction,
    "heat": _heat,
    "mandelbrot": _mandelbrot,
}

"""The seven kernels as CUDA code writes them, run by gridlane. See cases.py for sizes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from cases import (
    BINS,
    BLOCKS,
    BODIES,
    ITERATIONS,
    MATRIX,
    OPTIONS,
    PICTURE,
    THREADS,
    VECTOR,
    Inputs,
    Prepared,
)
from gridlane import cuda

F = np.float32
I32 = np.int32
TILE = 16
BODY_TILE = 256
RATE, VOLATILITY = np.float32(0.02), np.float32(0.3)


@cuda.jit(fastmath=True)
def vecadd(a, b, c, n):
    i = cuda.grid(1)
    if i < n:
        c[i] = a[i] + b[i]


@cuda.jit(fastmath=True)
def nbody(bodies, acc, n):
    tile = cuda.shared.array((BODY_TILE, 4), F)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    x = bodies[i, 0]
    y = bodies[i, 1]
    z = bodies[i, 2]
    ax = F(0.0)
    ay = F(0.0)
    az = F(0.0)
    for start in range(0, n, BODY_TILE):
        tile[t, 0] = bodies[start + t, 0]
        tile[t, 1] = bodies[start + t, 1]
        tile[t, 2] = bodies[start + t, 2]
        tile[t, 3] = bodies[start + t, 3]
        cuda.syncthreads()
        for j in range(BODY_TILE):
            dx = tile[j, 0] - x
            dy = tile[j, 1] - y
            dz = tile[j, 2] - z
            r = dx * dx + dy * dy + dz * dz + F(1e-3)
            inv = F(1.0) / math.sqrt(r)
            w = tile[j, 3] * inv * inv * inv
            ax += dx * w
            ay += dy * w
            az += dz * w
        cuda.syncthreads()
    acc[i, 0] = ax
    acc[i, 1] = ay
    acc[i, 2] = az
    acc[i, 3] = F(0.0)


@cuda.jit(fastmath=True)
def mandelbrot(counts, width, limit):
    x, y = cuda.grid(2)
    cr = F(-2.0) + F(3.0) * F(x) / F(width)
    ci = F(-1.5) + F(3.0) * F(y) / F(width)
    zr = F(0.0)
    zi = F(0.0)
    i = 0
    while i < limit:
        rr = zr * zr
        ii = zi * zi
        if rr + ii > F(4.0):
            break
        zi = F(2.0) * zr * zi + ci
        zr = rr - ii + cr
        i += 1
    counts[y, x] = i


@cuda.jit(device=True, fastmath=True)
def normal_cdf(d):
    k = F(1.0) / (F(1.0) + F(0.2316419) * abs(d))
    poly = F(-1.821255978) + k * F(1.330274429)
    poly = F(-0.356563782) + k * (F(1.781477937) + k * poly)
    tail = F(0.39894228) * math.exp(F(-0.5) * d * d) * k * (F(0.31938153) + k * poly)
    return F(1.0) - tail if d > F(0.0) else tail


@cuda.jit(fastmath=True)
def blackscholes(spot, strike, call, put, n):
    i = cuda.grid(1)
    if i < n:
        t = F(1.0)
        spread = VOLATILITY * math.sqrt(t)
        s = spot[i]
        k = strike[i]
        d1 = (math.log(s / k) + (RATE + F(0.5) * VOLATILITY * VOLATILITY) * t) / spread
        d2 = d1 - spread
        n1 = normal_cdf(d1)
        n2 = normal_cdf(d2)
        discounted = k * math.exp(-RATE * t)
        call[i] = s * n1 - discounted * n2
        put[i] = discounted * (F(1.0) - n2) - s * (F(1.0) - n1)


@cuda.jit(fastmath=True)
def matmul(a, b, c, n):
    tile_a = cuda.shared.array((TILE, TILE), F)
    tile_b = cuda.shared.array((TILE, TILE), F)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x, y = cuda.grid(2)
    total = F(0.0)
    for start in range(0, n, TILE):
        tile_a[ty, tx] = a[y, start + tx]
        tile_b[ty, tx] = b[start + ty, x]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    c[y, x] = total


@cuda.jit(fastmath=True)
def reduction(values, sums, n):
    partial = cuda.shared.array(THREADS, F)
    t = cuda.threadIdx.x
    total = F(0.0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
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
def histogram(values, counts, n):
    local = cuda.shared.array(BINS, I32)
    t = cuda.threadIdx.x
    local[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(local, values[i] & 255, 1)
    cuda.syncthreads()
    cuda.atomic.add(counts, t, local[t])


def prepare(name: str, inputs: Inputs) -> Prepared:
    """Put the inputs on the device; return what launches the kernel and waits for it."""
    arrays = {key: cuda.to_device(value) for key, value in inputs.items()}
    launch, result = _PREPARE[name](arrays)

    def run() -> None:
        launch()
        cuda.synchronize()

    return run, result


def _vecadd(d) -> Prepared:
    out = cuda.device_array(VECTOR, F)
    k, n = vecadd[VECTOR // 256, 256], I32(VECTOR)
    return lambda: k(d["a"], d["b"], out, n), out.copy_to_host


def _nbody(d) -> Prepared:
    out = cuda.device_array((BODIES, 4), F)
    k, n = nbody[BODIES // BODY_TILE, BODY_TILE], I32(BODIES)
    return lambda: k(d["bodies"], out, n), out.copy_to_host


def _mandelbrot(_) -> Prepared:
    out = cuda.device_array((PICTURE, PICTURE), I32)
    k = mandelbrot[(PICTURE // 16, PICTURE // 16), (16, 16)]
    return lambda: k(out, I32(PICTURE), I32(ITERATIONS)), out.copy_to_host


def _blackscholes(d) -> Prepared:
    call, put = cuda.device_array(OPTIONS, F), cuda.device_array(OPTIONS, F)
    k, n = blackscholes[OPTIONS // 256, 256], I32(OPTIONS)
    return (
        lambda: k(d["spot"], d["strike"], call, put, n),
        lambda: np.stack([call.copy_to_host(), put.copy_to_host()]),
    )


def _matmul(d) -> Prepared:
    out = cuda.device_array((MATRIX, MATRIX), F)
    k, n = matmul[(MATRIX // TILE, MATRIX // TILE), (TILE, TILE)], I32(MATRIX)
    return lambda: k(d["a"], d["b"], out, n), out.copy_to_host


def _reduction(d) -> Prepared:
    out = cuda.device_array(BLOCKS, F)
    k, n = reduction[BLOCKS, THREADS], I32(VECTOR)
    return lambda: k(d["values"], out, n), lambda: out.copy_to_host().sum(keepdims=True)


def _histogram(d) -> Prepared:
    out = cuda.to_device(np.zeros(BINS, I32))
    k, n = histogram[BLOCKS, THREADS], I32(VECTOR)

    def result() -> np.ndarray:
        # The kernel adds to its output, so the result is what one launch adds.
        before = out.copy_to_host()
        k(d["values"], out, n)
        return out.copy_to_host() - before

    return lambda: k(d["values"], out, n), result


_PREPARE: dict[str, Callable[[dict], Prepared]] = {
    "vecadd": _vecadd,
    "nbody": _nbody,
    "mandelbrot": _mandelbrot,
    "blackscholes": _blackscholes,
    "matmul": _matmul,
    "reduction": _reduction,
    "histogram": _histogram,
}

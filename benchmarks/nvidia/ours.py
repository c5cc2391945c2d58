"""The kernels in Python, some of which ``gridlane bench`` has. theirs.py has the same algorithms in
CUDA C++."""

from __future__ import annotations

import math

from gridlane import cuda
from gridlane.cli.gpu_bench.kernels import TILE
from gridlane.cuda.types import float32, int32, uint32


@cuda.jit
def transpose(a, b, n):
    tile = cuda.shared.array((TILE, TILE + 1), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * TILE + tx
    y = cuda.blockIdx.y * TILE + ty
    for j in range(0, TILE, 8):
        tile[ty + j, tx] = a[y + j, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * TILE + tx
    y = cuda.blockIdx.x * TILE + ty
    for j in range(0, TILE, 8):
        b[y + j, x] = tile[tx, ty + j]


@cuda.jit
def histogram(x, bins, n):
    own = cuda.shared.array(256, uint32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    while i < n:
        cuda.atomic.add(own, x[i], 1)
        i += cuda.gridsize(1)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, own[t])


@cuda.jit(device=True)
def normal_cdf(d):
    return float32(0.5) * math.erfc(-d * float32(0.70710678))


@cuda.jit
def blackscholes(price, strike, years, call, put, rate, volatility, n):
    i = cuda.grid(1)
    if i < n:
        s, x, t = price[i], strike[i], years[i]
        root = math.sqrt(t)
        d1 = (math.log(s / x) + (rate + float32(0.5) * volatility * volatility) * t) / (
            volatility * root
        )
        d2 = d1 - volatility * root
        discounted = x * math.exp(-rate * t)
        c1, c2 = normal_cdf(d1), normal_cdf(d2)
        call[i] = s * c1 - discounted * c2
        put[i] = discounted * (float32(1) - c2) - s * (float32(1) - c1)


@cuda.jit
def stencil(a, b, n):
    x, y = cuda.grid(2)
    if 0 < x < n - 1 and 0 < y < n - 1:
        b[y, x] = float32(0.25) * (a[y, x - 1] + a[y, x + 1] + a[y - 1, x] + a[y + 1, x])


@cuda.jit
def scan(x, out, sums, n):
    """The inclusive sums of each block of 256."""
    warp_sums = cuda.shared.array(8, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    lane, warp = t % 32, t // 32
    value = x[i] if i < n else float32(0)
    for power in range(5):
        other = cuda.shfl_up_sync(0xFFFFFFFF, value, 1 << power)
        if lane >= 1 << power:
            value += other
    if lane == 31:
        warp_sums[warp] = value
    cuda.syncthreads()
    before = float32(0)
    for w in range(8):
        if w < warp:
            before += warp_sums[w]
    value += before
    if i < n:
        out[i] = value
    if t == 255:
        sums[cuda.blockIdx.x] = value


@cuda.jit
def mandelbrot(out, width, height, limit):
    x, y = cuda.grid(2)
    if x < width and y < height:
        cr = float32(x) / float32(width) * float32(3.5) - float32(2.5)
        ci = float32(y) / float32(height) * float32(2) - float32(1)
        zr = zi = float32(0)
        steps = int32(0)
        while steps < limit and zr * zr + zi * zi <= float32(4):
            following = zr * zr - zi * zi + cr
            zi = float32(2) * zr * zi + ci
            zr = following
            steps += int32(1)
        out[y, x] = steps

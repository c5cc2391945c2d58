"""Kernels that measure a GPU, in the style of CUDA code."""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

import math

from gridlane import cuda
from gridlane.cuda.types import float32

TILE = 32


@cuda.jit
def add(a, b, c, n):
    """Do so little that a launch of it costs no more than launching."""
    i = cuda.grid(1)
    if i < n:
        c[i] = a[i] + b[i]


@cuda.jit
def vecadd(a, b, c, n):
    i = cuda.grid(1)
    if i < n:
        c[i] = a[i] + b[i]


@cuda.jit(fastmath=True)
def nbody(p, f, n):
    tile = cuda.shared.array(256 * 4, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    px, py, pz = p[i, 0], p[i, 1], p[i, 2]
    ax = ay = az = float32(0)
    for base in range(0, n, 256):
        for k in range(4):
            tile[t * 4 + k] = p[base + t, k]
        cuda.syncthreads()
        for j in range(256):
            dx = tile[j * 4] - px
            dy = tile[j * 4 + 1] - py
            dz = tile[j * 4 + 2] - pz
            r = dx * dx + dy * dy + dz * dz + float32(1e-3)
            inverse = float32(1) / math.sqrt(r)
            w = tile[j * 4 + 3] * inverse * inverse * inverse
            ax += dx * w
            ay += dy * w
            az += dz * w
        cuda.syncthreads()
    f[i, 0] = ax
    f[i, 1] = ay
    f[i, 2] = az


@cuda.jit(fastmath=True)
def matmul(a, b, c, n):
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * TILE + tx
    y = cuda.blockIdx.y * TILE + ty
    total = float32(0)
    for k in range(n // TILE):
        sa[ty, tx] = a[y, k * TILE + tx]
        sb[ty, tx] = b[k * TILE + ty, x]
        cuda.syncthreads()
        for j in range(TILE):
            total += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    c[y, x] = total


@cuda.jit
def reduction(x, out, n):
    sums = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    i = cuda.grid(1)
    while i < n:
        total += x[i]
        i += cuda.gridsize(1)
    for shift in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, shift)
    if t % 32 == 0:
        sums[t // 32] = total
    cuda.syncthreads()
    if t < 32:
        total = sums[t] if t < cuda.blockDim.x // 32 else float32(0)
        for shift in (16, 8, 4, 2, 1):
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, shift)
        if t == 0:
            cuda.atomic.add(out, 0, total)

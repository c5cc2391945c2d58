"""Kernels for random chains of launches, each with a way to touch its arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gridlane import cuda


@cuda.jit
def affine(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] * np.float32(1.7) + np.float32(0.3)


@cuda.jit
def product(x, y, n):
    i = cuda.grid(1)
    if i >= n:
        return
    y[i] = x[i] * y[i]


@cuda.jit
def difference(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] * x[i] - y[i]


@cuda.jit
def wide(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] * 0.1 + 2.5


@cuda.jit
def strides(x, y, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        y[i] = y[i] + x[i] * np.float32(0.5)


@cuda.jit
def steps(x, y, n):
    i = cuda.grid(1)
    while i < n:
        y[i] = x[i] - np.float32(0.25)
        i += cuda.gridsize(1)


@cuda.jit
def shifted(x, y, n):
    i = cuda.grid(1)
    if i + 1 < n:
        y[i] = x[i + 1]


@cuda.jit
def ahead(x, y, n):
    i = cuda.grid(1)
    if i + 1 < n:
        y[i + 1] = x[i] + np.float32(1)


@cuda.jit
def reversed_(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[n - 1 - i]


@cuda.jit
def first(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = y[i] + x[0]


@cuda.jit
def gathered(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[(i * 7 + 3) % n]


@cuda.jit
def roots(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = math.sqrt(abs(x[i])) + math.exp(np.float32(-0.5) * abs(y[i]))


@cuda.jit
def branches(x, y, n):
    i = cuda.grid(1)
    if i < n:
        if x[i] > y[i]:
            y[i] = x[i]
        elif x[i] < np.float32(0):
            return
        else:
            y[i] = y[i] * np.float32(0.5)


@cuda.jit
def looped(x, y, n):
    i = cuda.grid(1)
    if i < n:
        s = np.float32(0)
        for k in range(3):
            s = s * x[i] + y[i]
        y[i] = s * np.float32(0.125)


@cuda.jit
def lonely(x, y, n):
    if cuda.grid(1) == 0:
        y[n // 2] = x[0] + np.float32(3)


@cuda.jit
def turned(x, y, n):
    """A block turns its part around, through shared memory."""
    part = cuda.shared.array(32, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    if i < n:
        y[i] = part[31 - t] + y[i]


@cuda.jit
def blockwise(x, y, n):
    """A thread reads what its neighbour in the block has."""
    i = cuda.grid(1)
    j = cuda.blockIdx.x * 32 + (31 - cuda.threadIdx.x)
    if i < n and j < n:
        y[i] = y[i] + x[j]


@cuda.jit
def summed(x, y, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.max(y, 0, x[i])


@cuda.jit
def pairs(x, y, n):
    i = 2 * cuda.grid(1)
    if i + 1 < n:
        a, b = x[i], x[i + 1]
        y[i] = a + b
        y[i + 1] = a - b


@cuda.jit
def table(x, y, n):
    j, i = cuda.grid(2)
    w = 4
    if j < w and i < n // w:
        y[i * w + j] = x[i * w + j] * np.float32(1.25) + np.float32(j)


@cuda.jit
def swapped(x, y, n):
    j, i = cuda.grid(2)
    w = 4
    if j < w and i < n // w:
        y[i * w + j] = x[j * (n // w) + i]


@cuda.jit
def axpy(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = np.float32(1.1) * x[i] + y[i]


@cuda.jit
def axpby(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = np.float32(1.1) * x[i] + np.float32(0.7) * y[i]


@cuda.jit
def spread(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = np.float32(0.6) * y[i] + x[(i * 5) % n]


@cuda.jit
def parted(x, y, n):
    i = cuda.grid(1)
    if i < n:
        v = x[i] * y[i]
        if v > np.float32(0):
            y[i] = v + x[i]
        else:
            y[i] = x[i] - v


@cuda.jit
def polynomial(x, y, n):
    i = cuda.grid(1)
    if i < n:
        v = x[i]
        y[i] = ((v * np.float32(0.3) + np.float32(0.1)) * v - np.float32(0.9)) * v + y[i]


@cuda.jit
def distance(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = math.sqrt(x[i] * x[i] + y[i] * y[i])


@cuda.jit
def bits(x, y, n):
    i = cuda.grid(1)
    if i < n:
        k = int(x[i] * np.float32(100)) ^ i
        y[i] = np.float32(k % 17) * np.float32(0.25)


@cuda.jit
def wave(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = math.sin(x[i]) * np.float32(0.5)


LINES: list[Any] = [
    affine, product, difference, wide, strides, steps, shifted, ahead, reversed_, first, gathered,
    roots, branches, looped, lonely, turned, blockwise, summed, pairs, axpy, axpby, spread, parted,
    polynomial, distance, bits, wave,
]  # fmt: skip
"""Kernels over lines of elements, in blocks of 32 threads."""
TABLES: list[Any] = [table, swapped]
"""Kernels over tables with rows of four elements, in blocks of 4 x 8 threads."""
OWN: set[Any] = {
    affine, product, difference, wide, strides, steps, roots, branches, looped, pairs, turned,
    table, axpy, axpby, parted, polynomial, distance, bits, wave,
}  # fmt: skip
"""Kernels whose threads touch the same element of both arrays."""

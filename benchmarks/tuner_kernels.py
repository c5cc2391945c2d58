"""The kernels of tuner.py: of the dialect, and over tiles, each with a space of schedules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gridlane import cuda, tiles

tl = tiles.language
RNG = np.random.default_rng(7)


@dataclass
class Case:
    """A kernel with its space; ``size`` is multiplied on a GPU.

    Attributes:
        args: makes the arguments for a scale.
        options: of ``tune`` besides the space.
    """

    name: str
    kernel: Any
    space: Mapping[str, Any]
    args: Callable[[int], tuple[Any, ...]]
    grid: Any
    options: dict[str, Any] = field(default_factory=dict)


def over(x, block, ITEMS):
    return -(-x.size // (block * ITEMS))


def over_index(index, block, ITEMS):
    return over(index, block, ITEMS)


def over_plane(x, block, ROWS):
    return -(-x.shape[1] // block[0]), -(-x.shape[0] // (block[1] * ROWS))


def over_out(out, block, ROWS=1):
    return over_plane(out, block, ROWS)


def f32(*shape: int) -> np.ndarray:
    return RNG.random(shape, np.float32)


@cuda.jit
def scale(x, out, ITEMS):
    first = cuda.blockIdx.x * cuda.blockDim.x * ITEMS + cuda.threadIdx.x
    for k in range(ITEMS):
        i = first + k * cuda.blockDim.x
        if i < x.size:
            out[i] = 3 * x[i]


@cuda.jit
def scale_rows(x, out, ITEMS):
    first = cuda.grid(1) * ITEMS
    for k in range(ITEMS):
        if first + k < x.size:
            out[first + k] = 3 * x[first + k]


@cuda.jit
def striding(x, y, out, BLOCKS):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] = x[i] * y[i] + out[i] * 0.5


@cuda.jit
def polynomial(x, out, ITEMS):
    first = cuda.blockIdx.x * cuda.blockDim.x * ITEMS + cuda.threadIdx.x
    for k in range(ITEMS):
        i = first + k * cuda.blockDim.x
        if i < x.size:
            total = np.float32(0)
            for n in range(24):
                total = total * x[i] + np.float32(n)
            out[i] = total


@cuda.jit
def exponentials(x, out, ITEMS):
    first = cuda.blockIdx.x * cuda.blockDim.x * ITEMS + cuda.threadIdx.x
    for k in range(ITEMS):
        i = first + k * cuda.blockDim.x
        if i < x.size:
            out[i] = math.exp(-x[i]) * math.sqrt(x[i]) + math.sin(x[i])


@cuda.jit
def smooth(x, out, ITEMS):
    first = cuda.grid(1) * ITEMS
    for i in range(first, min(first + ITEMS, x.size)):
        if 2 <= i < x.size - 2:
            out[i] = x[i - 2] + x[i - 1] + x[i] + x[i + 1] + x[i + 2]


@cuda.jit
def stencil(x, out, ROWS):
    j, first = cuda.grid(2)
    for k in range(ROWS):
        i = first * ROWS + k
        if 1 <= i < x.shape[0] - 1 and 1 <= j < x.shape[1] - 1:
            out[i, j] = 0.2 * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@cuda.jit
def transpose(x, out, TILE, ROWS):
    tile = cuda.shared.array((TILE, TILE + 1), np.float32)
    j, i = cuda.blockIdx.x * TILE + cuda.threadIdx.x, cuda.blockIdx.y * TILE
    for k in range(cuda.threadIdx.y, TILE, ROWS):
        if i + k < x.shape[0] and j < x.shape[1]:
            tile[k, cuda.threadIdx.x] = x[i + k, j]
    cuda.syncthreads()
    j, i = cuda.blockIdx.y * TILE + cuda.threadIdx.x, cuda.blockIdx.x * TILE
    for k in range(cuda.threadIdx.y, TILE, ROWS):
        if i + k < out.shape[0] and j < out.shape[1]:
            out[i + k, j] = tile[cuda.threadIdx.x, k]


@cuda.jit(fastmath=True)
def row_sums(x, out, THREADS):
    part = cuda.shared.array(THREADS, np.float32)
    t, row = cuda.threadIdx.x, cuda.blockIdx.x
    total = np.float32(0)
    for j in range(t, x.shape[1], THREADS):
        total += x[row, j]
    part[t] = total
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[row] = part[0]


@cuda.jit
def histogram(x, out, ITEMS):
    counts = cuda.shared.array(256, np.int32)
    for k in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        counts[k] = 0
    cuda.syncthreads()
    first = cuda.blockIdx.x * cuda.blockDim.x * ITEMS + cuda.threadIdx.x
    for k in range(ITEMS):
        i = first + k * cuda.blockDim.x
        if i < x.size:
            cuda.atomic.add(counts, x[i], 1)
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        cuda.atomic.add(out, k, counts[k])


@cuda.jit
def tiled_product(a, b, out, TILE):
    left = cuda.shared.array((TILE, TILE), np.float32)
    right = cuda.shared.array((TILE, TILE), np.float32)
    j, i = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for k in range(0, a.shape[1], TILE):
        left[ty, tx] = a[i, k + tx]
        right[ty, tx] = b[k + ty, j]
        cuda.syncthreads()
        for n in range(TILE):
            total += left[ty, n] * right[n, tx]
        cuda.syncthreads()
    out[i, j] = total


@cuda.jit
def row_product(a, b, out, ROWS):
    j, first = cuda.grid(2)
    total = cuda.local.array(ROWS, np.float32)
    for r in range(ROWS):
        total[r] = 0
    for k in range(a.shape[1]):
        for r in range(ROWS):
            total[r] += a[first * ROWS + r, k] * b[k, j]
    for r in range(ROWS):
        out[first * ROWS + r, j] = total[r]


@cuda.jit
def mandelbrot(out, STEPS):
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        re, im = j * 3.0 / out.shape[1] - 2, i * 2.0 / out.shape[0] - 1
        x = y = 0.0
        count = 0
        while count < 64 and x * x + y * y < 4:
            x, y = x * x - y * y + re, 2 * x * y + im
            count += 1
        out[i, j] = count + STEPS * 0


@cuda.jit(fastmath=True)
def bodies(position, force, TILE):
    shared = cuda.shared.array((TILE, 4), np.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    x, y, z = position[i, 0], position[i, 1], position[i, 2]
    fx = fy = fz = np.float32(0)
    for first in range(0, position.shape[0], TILE):
        for k in range(t, TILE, cuda.blockDim.x):
            for n in range(4):
                shared[k, n] = position[first + k, n]
        cuda.syncthreads()
        for k in range(TILE):
            dx, dy, dz = shared[k, 0] - x, shared[k, 1] - y, shared[k, 2] - z
            near = dx * dx + dy * dy + dz * dz + np.float32(0.01)
            pull = shared[k, 3] / (near * math.sqrt(near))
            fx += dx * pull
            fy += dy * pull
            fz += dz * pull
        cuda.syncthreads()
    force[i, 0], force[i, 1], force[i, 2] = fx, fy, fz


@cuda.jit
def convolution(x, taps, out, ITEMS):
    first = cuda.grid(1) * ITEMS
    for k in range(ITEMS):
        i = first + k
        if i + 16 < x.size:
            total = np.float32(0)
            for n in range(16):
                total += x[i + n] * taps[n]
            out[i] = total


@cuda.jit
def gather(x, index, out, ITEMS):
    first = cuda.blockIdx.x * cuda.blockDim.x * ITEMS + cuda.threadIdx.x
    for k in range(ITEMS):
        i = first + k * cuda.blockDim.x
        if i < index.size:
            out[i] = x[index[i]]


@cuda.jit
def columns(x, out, ROWS):
    j = cuda.grid(1)
    if j < x.shape[1]:
        first = cuda.blockIdx.y * ROWS
        total = 0
        for i in range(first, min(first + ROWS, x.shape[0])):
            total += x[i, j]
        cuda.atomic.add(out, j, total)


@tiles.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n)
    tl.store(out + i, total, mask=i < n)


@tiles.jit
def tile_softmax(x, out, rows, width: tl.constexpr, ROWS: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    place = i[:, None] * width + tl.arange(0, width)[None, :]
    values = tl.load(x + place)
    powers = tl.exp(values - tl.max(values, axis=1)[:, None])
    tl.store(out + place, powers / tl.sum(powers, axis=1)[:, None])


@tiles.jit
def tile_product(a, b, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    step = tl.arange(0, K)
    left = a + i[:, None] * k + step[None, :]
    right = b + step[:, None] * n + j[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, k, K):
        total = tl.dot(tl.load(left), tl.load(right), total, input_precision="ieee")
        left += K
        right += K * n
    tl.store(c + i[:, None] * n + j[None, :], total)


@tiles.jit
def tile_sums(x, out, width, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS,), dtype=tl.int32)
    for first in range(0, width, COLUMNS):
        place = i[:, None] * width + first + tl.arange(0, COLUMNS)[None, :]
        total += tl.sum(tl.load(x + place), axis=1)
    tl.store(out + i, total)


BLOCKS = 64, 128, 256, 512
ITEMS = 1, 2, 4, 8
SHAPES = (32, 4), (32, 1), (32, 8), (64, 2), (64, 4), (128, 1), (16, 16), (8, 8), (256, 1)
ONE = {"block": BLOCKS, "ITEMS": ITEMS}


def line(make: Callable[[int], np.ndarray] = f32, size: int = 1 << 18) -> Any:
    """Arguments x and out of one axis."""
    return lambda scale: (x := make(size * scale), np.zeros_like(x))


def plane(rows: int, width: int, dtype: Any = np.float32) -> Any:
    """Arguments x and out of two axes."""

    def make(scale: int) -> tuple[Any, ...]:
        x = RNG.integers(0, 9, (rows * scale, width)).astype(dtype)
        return x, np.zeros_like(x)

    return make


def product_args(size: int) -> Any:
    def make(scale: int) -> tuple[Any, ...]:
        n = size * scale
        return f32(n, n), f32(n, n), np.zeros((n, n), np.float32)

    return make


def _bodies(scale: int) -> tuple[Any, ...]:
    return f32(1024 * scale, 4), np.zeros((1024 * scale, 3), np.float32)


CASES = (
    Case("scale", scale, ONE, line(), over),
    Case("scale, rows of a thread", scale_rows, ONE, line(), over),
    Case(
        "grid-stride loop", striding, {"block": BLOCKS, "BLOCKS": (8, 2, 32, 128, 512)},
        lambda scale: (f32(1 << 18), f32(1 << 18), np.ones(1 << 18, np.float32)),
        lambda BLOCKS: BLOCKS,
    ),
    Case("polynomial", polynomial, ONE, line(), over),
    Case("exponentials", exponentials, ONE, line(size=1 << 16), over),
    Case("five points", smooth, ONE, line(), over),
    Case(
        "stencil", stencil, {"block": SHAPES, "ROWS": (1, 2, 4)}, plane(512, 512),
        over_plane,
    ),
    Case(
        "transpose", transpose, {"block": ((32, 8), (32, 4), (16, 16), (16, 4), (32, 32)),
                                 "TILE": (32, 16), "ROWS": (8, 4, 16, 32)},
        plane(512, 512), lambda x, TILE: (-(-x.shape[1] // TILE), -(-x.shape[0] // TILE)),
        {"where": lambda block, TILE, ROWS: block == (TILE, ROWS)},
    ),
    Case(
        "sums of rows", row_sums, {"block": (128, 32, 64, 256, 512),
                                   "THREADS": (128, 32, 64, 256, 512)},
        lambda scale: (f32(256 * scale, 1024), np.zeros(256 * scale, np.float32)),
        lambda x: x.shape[0], {"where": lambda block, THREADS: block == THREADS},
    ),
    Case(
        "histogram", histogram, {"block": BLOCKS, "ITEMS": (1, 4, 16, 64)},
        lambda scale: (RNG.integers(0, 256, 1 << 17).astype(np.uint8), np.zeros(256, np.int32)),
        over,
    ),
    Case(
        "product by tiles", tiled_product, {"block": ((16, 16), (8, 8), (32, 32)),
                                            "TILE": (16, 8, 32)},
        product_args(128), over_out, {"where": lambda block, TILE: block == (TILE, TILE)},
    ),
    Case(
        "product by rows", row_product, {"block": SHAPES[:7], "ROWS": (1, 2, 4, 8)},
        product_args(128), over_out,
        {"where": lambda block, ROWS: 128 % (block[1] * ROWS) == 0 and 128 % block[0] == 0},
    ),
    Case(
        "mandelbrot", mandelbrot, {"block": SHAPES, "STEPS": (0,)},
        lambda scale: (np.zeros((256 * scale, 256), np.int32),), over_out,
    ),
    Case(
        "bodies", bodies, {"block": (64, 32, 128, 256), "TILE": (64, 32, 128, 256)}, _bodies,
        lambda position, block: position.shape[0] // block, {"tolerance": 1e-3},
    ),
    Case(
        "convolution", convolution, ONE,
        lambda scale: (f32(1 << 16), f32(16), np.zeros(1 << 16, np.float32)), over,
    ),
    Case(
        "gather", gather, ONE,
        lambda scale: (
            f32(1 << 18), RNG.permutation(1 << 18).astype(np.int32), np.zeros(1 << 18, np.float32)
        ), over_index,
    ),
    Case(
        "sums of columns", columns, {"block": BLOCKS, "ROWS": (8, 32, 128, 512)},
        lambda scale: (RNG.integers(0, 9, (512, 1024)), np.zeros(1024, np.int64)),
        lambda x, block, ROWS: (-(-x.shape[1] // block), -(-x.shape[0] // ROWS)),
    ),
    Case(
        "tiles: add", add, {"BLOCK": (128, 256, 512, 1024, 2048, 4096), "num_warps": (4, 2, 8)},
        lambda scale: (f32(1 << 18), f32(1 << 18), np.zeros(1 << 18, np.float32), 1 << 18),
        lambda meta: tiles.cdiv(meta["n"], meta["BLOCK"]),
    ),
    Case(
        "tiles: softmax", tile_softmax, {"ROWS": (1, 2, 4, 8), "num_warps": (4, 2, 8)},
        lambda scale: (f32(256, 256), np.zeros((256, 256), np.float32), 256, 256),
        lambda meta: meta["rows"] // meta["ROWS"], {"tolerance": 1e-4},
    ),
    Case(
        "tiles: product", tile_product,
        {"M": (32, 16, 64), "N": (32, 16, 64), "K": (32, 16, 64), "num_warps": (4, 8)},
        lambda scale: (*product_args(256)(1), 256, 256),
        lambda meta: (meta["n"] // meta["M"], meta["n"] // meta["N"]), {"tolerance": 1e-4},
    ),
    Case(
        "tiles: sums of rows", tile_sums,
        {"COLUMNS": (64, 128, 256, 512), "ROWS": (1, 2, 4, 8), "num_warps": (4,)},
        lambda scale: (
            RNG.integers(0, 9, (256, 512)).astype(np.int32), np.zeros(256, np.int32), 512
        ), lambda meta: 256 // meta["ROWS"],
    ),
)  # fmt: skip

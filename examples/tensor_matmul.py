"""Matrix product on tensor cores: float16 in, float32 out, the next tile on its way meanwhile.

Tensor cores are those of NVIDIA GPUs of compute capability 7.5 and later; other devices compute the
same, slowly.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from gridlane import cuda
from gridlane.cuda.types import float16, float32
from measure import milliseconds

TILE = 64
STEP = 32
PAD = 8  # 16 bytes more a row, so that eight rows start in different banks of shared memory
WARPS = 4
CHUNK = 8  # elements of an asynchronous copy: 16 bytes
THREADS = 32 * WARPS


@cuda.jit(device=True)
def fetch(tile, stage, source, row, column, rows, columns):
    """Start to copy a part of a matrix to a stage of a tile; every thread takes its share."""
    for chunk in range(cuda.threadIdx.x, rows * columns // CHUNK, THREADS):
        line = chunk // (columns // CHUNK)
        at = chunk % (columns // CHUNK) * CHUNK
        cuda.async_copy(tile, (stage, line, at), source, (row + line, column + at), CHUNK)


@cuda.jit
def matmul(a, b, c):
    """c = a @ b. A block computes a tile of c, and each of its warps a quarter of that."""
    tile_a = cuda.shared.array((2, TILE, STEP + PAD), float16)
    tile_b = cuda.shared.array((2, STEP, TILE + PAD), float16)
    row = cuda.blockIdx.y * TILE
    column = cuda.blockIdx.x * TILE
    warp = cuda.threadIdx.x // 32
    down = warp // 2 * 32
    right = warp % 2 * 32
    total = cuda.wmma.fill((32, 32), float32, 0)
    fetch(tile_a, 0, a, row, 0, TILE, STEP)
    fetch(tile_b, 0, b, 0, column, STEP, TILE)
    cuda.async_commit()
    for step in range(a.shape[1] // STEP):
        stage = step % 2
        following = (step + 1) * STEP
        if following < a.shape[1]:
            fetch(tile_a, 1 - stage, a, row, following, TILE, STEP)
            fetch(tile_b, 1 - stage, b, following, column, STEP, TILE)
        cuda.async_commit()
        cuda.async_wait(1)  # all but the group of the following step are there
        cuda.syncthreads()
        left = cuda.wmma.load_a(tile_a[stage], (down, 0), (32, STEP))
        over = cuda.wmma.load_b(tile_b[stage], (0, right), (STEP, 32))
        total = cuda.wmma.mma(left, over, total)
        cuda.syncthreads()  # before the next step's copies overwrite this stage
    cuda.wmma.store(c, (row + down, column + right), total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiles", type=int, default=16, help=f"tiles of {TILE} along each side")
    args = parser.parse_args()
    size = args.tiles * TILE

    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((size, size)).astype(np.float16) for _ in range(2))
    d_a, d_b = cuda.to_device(a), cuda.to_device(b)
    d_c = cuda.device_array((size, size), np.float32)
    grid = (args.tiles, args.tiles)
    time_ms = milliseconds(lambda: matmul[grid, THREADS](d_a, d_b, d_c))

    want = a.astype(np.float64) @ b.astype(np.float64)
    error = np.abs(d_c.copy_to_host() - want).max() / np.abs(want).max()
    if not error < 1e-4:
        sys.exit(f"tensor_matmul: wrong, relative error {error:.1e}")
    rate = 2 * size**3 / time_ms * 1e-9
    print(
        f"tensor_matmul: {size}x{size}, relative error {error:.1e}, {rate:.3g} TFLOP/s, "
        f"{time_ms:.2f} ms"
    )


if __name__ == "__main__":
    main()

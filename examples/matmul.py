"""Matrix product in 16x16 tiles through shared memory, for any sizes."""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numba import cuda, float32

from measure import milliseconds

TILE = 16


@cuda.jit(fastmath=True)
def matmul(a, b, c):
    """c = a @ b for float32 matrices. A thread computes one element of c."""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    inner = a.shape[1]
    total = float32(0.0)
    for start in range(0, inner, TILE):
        tile_a[ty, tx] = float32(0.0)
        tile_b[ty, tx] = float32(0.0)
        if row < a.shape[0] and start + tx < inner:
            tile_a[ty, tx] = a[row, start + tx]
        if column < b.shape[1] and start + ty < inner:
            tile_b[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--inner", type=int, default=400)
    parser.add_argument("--columns", type=int, default=520)
    args = parser.parse_args()

    rng = np.random.default_rng(1)
    a = rng.random((args.rows, args.inner), dtype=np.float32)
    b = rng.random((args.inner, args.columns), dtype=np.float32)
    d_a, d_b = cuda.to_device(a), cuda.to_device(b)
    d_c = cuda.device_array((args.rows, args.columns), np.float32)
    grid = (-(-args.columns // TILE), -(-args.rows // TILE))
    time_ms = milliseconds(lambda: matmul[grid, (TILE, TILE)](d_a, d_b, d_c))

    want = a.astype(np.float64) @ b
    error = np.abs(d_c.copy_to_host() - want).max() / np.abs(want).max()
    if not error < 1e-5:
        sys.exit(f"matmul: wrong, relative error {error:.1e}")
    size = f"{args.rows}x{args.inner} @ {args.inner}x{args.columns}"
    print(f"matmul: {size}, relative error {error:.1e}, {time_ms:.2f} ms")


if __name__ == "__main__":
    main()

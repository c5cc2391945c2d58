"""Laplace's equation on a square by Jacobi's iteration: a plate with one hot edge."""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numba import cuda, float32

from measure import milliseconds
from png import to_bytes, write_png

BLOCK = (32, 8)


@cuda.jit
def jacobi(old, new, change):
    """One sweep. change[0] becomes the largest change of any cell, if it was smaller."""
    largest = cuda.shared.array(1, float32)
    x, y = cuda.grid(2)
    height, width = old.shape
    first = cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0
    if first:
        largest[0] = float32(0.0)
    cuda.syncthreads()
    if 0 < x < width - 1 and 0 < y < height - 1:
        value = float32(0.25) * (old[y, x - 1] + old[y, x + 1] + old[y - 1, x] + old[y + 1, x])
        new[y, x] = value
        cuda.atomic.max(largest, 0, abs(value - old[y, x]))
    cuda.syncthreads()
    if first:
        cuda.atomic.max(change, 0, largest[0])


def solve(plate: np.ndarray, sweeps: int) -> tuple[np.ndarray, float]:
    """The plate after `sweeps` sweeps, and the largest change that the last one made."""
    old, new = cuda.to_device(plate), cuda.to_device(plate)
    change = cuda.to_device(np.zeros(1, np.float32))
    grid = tuple(-(-size // edge) for size, edge in zip(plate.shape[::-1], BLOCK, strict=True))
    for _ in range(sweeps):
        change.copy_to_device(np.zeros(1, np.float32))
        jacobi[grid, BLOCK](old, new, change)
        old, new = new, old
    return old.copy_to_host(), float(change.copy_to_host()[0])


def reference(plate: np.ndarray, sweeps: int) -> np.ndarray:
    old = plate.astype(np.float64)
    for _ in range(sweeps):
        new = old.copy()
        new[1:-1, 1:-1] = 0.25 * (old[1:-1, :-2] + old[1:-1, 2:] + old[:-2, 1:-1] + old[2:, 1:-1])
        old = new
    return old


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--out", help="PNG file to draw")
    args = parser.parse_args()

    plate = np.zeros((args.size, args.size), np.float32)
    plate[0] = np.sin(np.linspace(0, np.pi, args.size))
    result: list[tuple[np.ndarray, float]] = []
    time_ms = milliseconds(lambda: result.append(solve(plate, args.sweeps)))
    got, change = result[-1]
    error = float(np.abs(got - reference(plate, args.sweeps)).max())
    if not error < 1e-5:
        sys.exit(f"laplace2d: wrong, off by {error:.1e}")
    if args.out:
        heat = np.sqrt(got)[..., None]
        write_png(args.out, to_bytes(heat * np.array([1.6, 0.9, 0.5]) + np.array([0, 0, 0.1])))
    print(
        f"laplace2d: {args.size}x{args.size}, {args.sweeps} sweeps, last change {change:.1e}, "
        f"error {error:.1e}, {time_ms:.1f} ms"
    )


if __name__ == "__main__":
    main()

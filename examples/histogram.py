"""Histogram: a block counts in shared memory with atomics, then adds to the total."""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numba import cuda, int32

from measure import milliseconds

BINS = 256
THREADS = 256
BLOCKS = 64


@cuda.jit
def histogram(values, low, high, counts):
    """counts: int32 (BINS,). Values outside [low, high) are not counted."""
    local = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    local[t] = 0
    cuda.syncthreads()
    scale = BINS / (high - low)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        value = values[i]
        if value >= low and value < high:
            cuda.atomic.add(local, int32((value - low) * scale), 1)
    cuda.syncthreads()
    cuda.atomic.add(counts, t, local[t])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1 << 22)
    args = parser.parse_args()

    values = np.random.default_rng(4).normal(0.0, 1.0, args.size).astype(np.float32)
    d_values = cuda.to_device(values)
    d_counts = cuda.to_device(np.zeros(BINS, np.int32))
    low, high = np.float64(-4.0), np.float64(4.0)  # bins of 1/32: exact in binary, as in numpy
    launches = 0

    def launch() -> None:
        nonlocal launches
        launches += 1
        histogram[BLOCKS, THREADS](d_values, low, high, d_counts)

    time_ms = milliseconds(launch)
    inside = values[(values >= low) & (values < high)].astype(np.float64)
    want = np.bincount(((inside - low) * (BINS / (high - low))).astype(np.int64), minlength=BINS)
    got = d_counts.copy_to_host()
    if not np.array_equal(got, launches * want):
        wrong = int((got != launches * want).sum())
        sys.exit(f"histogram: wrong, {wrong} of {BINS} bins differ from numpy")
    print(f"histogram: {args.size} values, {BINS} bins exact, {time_ms:.2f} ms")


if __name__ == "__main__":
    main()

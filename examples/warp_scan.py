"""Inclusive prefix sum: shuffles in a warp, shared memory in a block, a second pass for all."""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numba import cuda, int64

from measure import milliseconds

THREADS = 256
WARP = 32
ALL = 0xFFFFFFFF  # every lane takes part


@cuda.jit(device=True)
def warp_inclusive(value):
    """Prefix sum over a warp, Hillis and Steele (1986): log2(32) shuffles."""
    lane = cuda.laneid
    step = 1
    while step < WARP:
        below = cuda.shfl_up_sync(ALL, value, step)
        if lane >= step:
            value += below
        step *= 2
    return value


@cuda.jit
def scan_blocks(values, sums, block_totals):
    """sums = the prefix sum within each block of THREADS values; its last one in block_totals."""
    warp_totals = cuda.shared.array(WARP, int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    lane = t % WARP
    warp = t // WARP
    value = values[i] if i < values.size else 0
    total = warp_inclusive(value)
    if lane == WARP - 1:
        warp_totals[warp] = total
    cuda.syncthreads()
    if warp == 0:
        partial = warp_totals[lane] if lane < THREADS // WARP else 0
        warp_totals[lane] = warp_inclusive(partial)
    cuda.syncthreads()
    if warp > 0:
        total += warp_totals[warp - 1]
    if i < values.size:
        sums[i] = total
    if t == THREADS - 1:
        block_totals[cuda.blockIdx.x] = total


@cuda.jit
def add_before(sums, block_sums):
    """Add to each block what all blocks before it add up to."""
    i = cuda.grid(1)
    if cuda.blockIdx.x > 0 and i < sums.size:
        sums[i] += block_sums[cuda.blockIdx.x - 1]


def scan(values, sums) -> None:
    """Prefix sum of the device array `values` into `sums`, recursing over the block totals."""
    blocks = -(-values.size // THREADS)
    totals = cuda.device_array(blocks, np.int64)
    scan_blocks[blocks, THREADS](values, sums, totals)
    if blocks > 1:
        block_sums = cuda.device_array(blocks, np.int64)
        scan(totals, block_sums)
        add_before[blocks, THREADS](sums, block_sums)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000)
    args = parser.parse_args()

    values = np.random.default_rng(6).integers(-1000, 1000, args.size)
    d_values = cuda.to_device(values)
    d_sums = cuda.device_array(args.size, np.int64)
    time_ms = milliseconds(lambda: scan(d_values, d_sums))
    wrong = int((d_sums.copy_to_host() != np.cumsum(values)).sum())
    if wrong:
        sys.exit(f"warp_scan: wrong, {wrong} of {args.size} sums differ from numpy")
    print(f"warp_scan: {args.size} values, prefix sums exact, {time_ms:.2f} ms")


if __name__ == "__main__":
    main()

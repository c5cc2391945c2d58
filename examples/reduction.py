"""Sum of an array: a tree in each block's shared memory, then the same kernel over the blocks."""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numba import cuda, float32

from measure import milliseconds

THREADS = 256
BLOCKS = 64


@cuda.jit(fastmath=True)
def block_sums(values, sums):
    """sums[b] = what block b adds up, walking `values` with the stride of the whole grid."""
    partial = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    total = float32(0.0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1 << 22)
    args = parser.parse_args()

    values = np.random.default_rng(2).random(args.size, dtype=np.float32)
    d_values = cuda.to_device(values)
    d_sums = cuda.device_array(BLOCKS, np.float32)
    d_total = cuda.device_array(1, np.float32)

    def launch() -> None:
        block_sums[BLOCKS, THREADS](d_values, d_sums)
        block_sums[1, THREADS](d_sums, d_total)

    time_ms = milliseconds(launch)
    want = float(values.sum(dtype=np.float64))
    got = float(d_total.copy_to_host()[0])
    if not abs(got - want) <= 1e-5 * want:
        sys.exit(f"reduction: wrong, got {got}, numpy has {want}")
    print(f"reduction: {args.size} values, sum {got:.1f}, {time_ms:.2f} ms")


if __name__ == "__main__":
    main()

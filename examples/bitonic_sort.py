"""Bitonic sort (Batcher 1968): near pairs in shared memory, far pairs in global memory."""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numba import cuda, float32

from measure import milliseconds

CHUNK = 512  # elements a block sorts in shared memory; a power of two
THREADS = CHUNK // 2


@cuda.jit(device=True)
def exchange(values, low, high, ascending):
    """Order values[low] and values[high]."""
    a = values[low]
    b = values[high]
    if (a > b) == ascending:
        values[low] = b
        values[high] = a


@cuda.jit
def merge_near(values, first_run, last_run):
    """All steps of the runs first_run..last_run whose pairs are less than CHUNK apart."""
    chunk = cuda.shared.array(CHUNK, float32)
    t = cuda.threadIdx.x
    base = cuda.blockIdx.x * CHUNK
    chunk[t] = values[base + t]
    chunk[t + THREADS] = values[base + t + THREADS]
    run = first_run
    while run <= last_run:
        distance = min(run, CHUNK) // 2
        while distance > 0:
            cuda.syncthreads()
            low = 2 * distance * (t // distance) + t % distance
            exchange(chunk, low, low + distance, ((base + low) & run) == 0)
            distance //= 2
        run *= 2
    cuda.syncthreads()
    values[base + t] = chunk[t]
    values[base + t + THREADS] = chunk[t + THREADS]


@cuda.jit
def merge_far(values, run, distance):
    """One step of a run: order all pairs that are `distance` apart."""
    t = cuda.grid(1)
    low = 2 * distance * (t // distance) + t % distance
    exchange(values, low, low + distance, (low & run) == 0)


def sort(values) -> None:
    """Sort the device array `values`, float32, whose size is a power of two and at least CHUNK."""
    blocks = values.size // CHUNK
    merge_near[blocks, THREADS](values, 2, CHUNK)
    run = 2 * CHUNK
    while run <= values.size:
        distance = run // 2
        while distance >= CHUNK:
            merge_far[blocks, THREADS](values, run, distance)
            distance //= 2
        merge_near[blocks, THREADS](values, run, run)
        run *= 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=200_000)
    args = parser.parse_args()

    values = np.random.default_rng(8).normal(0, 1, args.size).astype(np.float32)
    padded_size = max(CHUNK, 1 << (args.size - 1).bit_length())
    padded = np.full(padded_size, np.inf, np.float32)  # what fills up sorts to the end
    padded[: args.size] = values
    d_values = cuda.to_device(padded)

    def launch() -> None:
        d_values.copy_to_device(padded)
        sort(d_values)

    time_ms = milliseconds(launch)
    if not np.array_equal(d_values.copy_to_host()[: args.size], np.sort(values)):
        sys.exit("bitonic_sort: wrong, the order differs from numpy's")
    print(f"bitonic_sort: {args.size} values in order, {time_ms:.2f} ms")


if __name__ == "__main__":
    main()

"""Pi from random points, with a random stream of its own for each thread."""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np
from numba import cuda, float32
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

from measure import milliseconds

THREADS = 64
MASK = (1 << 64) - 1


@cuda.jit
def count_inside(states, points, inside):
    """inside[i] = how many of thread i's random points fall into the quarter circle."""
    i = cuda.grid(1)
    if i < inside.size:
        hits = 0
        for _ in range(points):
            x = xoroshiro128p_uniform_float32(states, i)
            y = xoroshiro128p_uniform_float32(states, i)
            if x * x + y * y <= float32(1.0):
                hits += 1
        inside[i] = hits


def reference_count(s0: int, s1: int, points: int) -> int:
    """What a thread with this state counts. xoroshiro128+ after Blackman and Vigna (2016)."""

    def uniform() -> np.float32:
        nonlocal s0, s1
        value = (s0 + s1) & MASK
        s1 ^= s0
        s0 = rotate(s0, 55) ^ s1 ^ (s1 << 14) & MASK
        s1 = rotate(s1, 36)
        return np.float32((value >> 11) * 2.0**-53)

    hits = 0
    for _ in range(points):
        x, y = uniform(), uniform()
        hits += bool(x * x + y * y <= np.float32(1.0))
    return hits


def rotate(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & MASK


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=4096)
    parser.add_argument("--points", type=int, default=2000, help="points a thread")
    args = parser.parse_args()

    # The second launch goes on where the streams stopped, so the first one's counts are kept.
    states = create_xoroshiro128p_states(args.threads, seed=42)
    start = states.copy_to_host()
    d_inside = cuda.device_array(args.threads, np.int32)
    grid = (args.threads + THREADS - 1) // THREADS
    rounds: list[np.ndarray] = []

    def launch() -> None:
        count_inside[grid, THREADS](states, args.points, d_inside)
        rounds.append(d_inside.copy_to_host())

    time_ms = milliseconds(launch)
    for i in range(min(4, args.threads)):
        want = reference_count(int(start[i]["s0"]), int(start[i]["s1"]), args.points)
        if rounds[0][i] != want:
            sys.exit(f"montecarlo_pi: wrong, thread {i} counts {rounds[0][i]} and not {want}")
    total = 2 * args.threads * args.points
    pi = 4.0 * sum(int(counts.sum(dtype=np.int64)) for counts in rounds) / total
    deviation = 4.0 * math.sqrt(math.pi / 4 * (1 - math.pi / 4) / total)
    if not abs(pi - math.pi) < 5 * deviation:
        sys.exit(f"montecarlo_pi: wrong, {pi} is {abs(pi - math.pi) / deviation:.1f} sigma off")
    print(f"montecarlo_pi: {total // 2} points, pi = {pi:.5f} +- {deviation:.5f}, {time_ms:.2f} ms")


if __name__ == "__main__":
    main()

"""Jacobi iterations whose steps meet at a barrier of the grid, and as one launch for each step.

Devices other than NVIDIA's run the kernel with barriers in parts, so both launch as often; the
first keeps its loop and reads after each step where the threads are. Milliseconds for all steps,
the least of several turns; both give the same numbers, which is checked.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable

import numpy as np

import gridlane
import results
from gridlane import cuda

STEPS = 200
BLOCK = 64, 4


def step_of(old, new, x, y):
    if 0 < x < old.shape[1] - 1 and 0 < y < old.shape[0] - 1:
        around = old[y - 1, x] + old[y + 1, x] + old[y, x - 1] + old[y, x + 1]
        new[y, x] = around * np.float32(0.25)


step_of = cuda.jit(device=True)(step_of)


@cuda.jit
def one_step(old, new):
    x, y = cuda.grid(2)
    step_of(old, new, x, y)


@cuda.jit
def all_steps(a, b, steps):
    x, y = cuda.grid(2)
    grid = cuda.cg.this_grid()
    for _ in range(steps // 2):
        step_of(a, b, x, y)
        grid.sync()
        step_of(b, a, x, y)
        grid.sync()


def by_launches(grid, a, b):
    """One launch for each step."""
    for _ in range(STEPS // 2):
        one_step[grid, BLOCK](a, b)
        one_step[grid, BLOCK](b, a)


def by_barriers(grid, a, b):
    """One launch of all steps."""
    all_steps[grid, BLOCK](a, b, STEPS)


def measure(n: int, turns: int) -> None:
    start = np.random.default_rng(1).random((n, n), dtype=np.float32)
    grid = -(-n // BLOCK[0]), -(-n // BLOCK[1])
    ways: dict[str, Callable[..., None]] = {"launches": by_launches, "barriers": by_barriers}
    best, made = dict.fromkeys(ways, np.inf), {}
    for turn in range(turns + 1):
        for name, way in ways.items():
            a, b = cuda.to_device(start), cuda.to_device(start)
            cuda.synchronize()
            began = time.perf_counter()
            way(grid, a, b)
            cuda.synchronize()
            if turn:  # the first compiles
                best[name] = min(best[name], time.perf_counter() - began)
            made[name] = a.copy_to_host()
    assert np.array_equal(made["launches"], made["barriers"])
    one, other = best["launches"] * 1e3, best["barriers"] * 1e3
    case = f"{n} x {n}"
    results.add(case, "launches", one, "ms")
    results.add(case, "barriers", other, "ms")
    results.add(case, "barriers/launches", other / one, "ratio")
    print(f"{n:>5} x {n:<5}{one:>12.2f}{other:>12.2f}{other / one:>10.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", nargs="+", default=["cpu"])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 256, 1024])
    results.option(parser)
    args = parser.parse_args()
    for name in args.device:
        with gridlane.device(name):
            print(f"{name}, {platform.machine()}: {STEPS} steps of Jacobi, milliseconds")
            print(f"{'array':<13}{'launches':>12}{'barriers':>12}{'ratio':>10}")
            for n in args.sizes:
                measure(n, args.turns)
        results.write(f"grid_sync_{name}", args.record, name)
        results.forget()


if __name__ == "__main__":
    main()

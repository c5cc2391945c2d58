"""Kernels of the examples on the CPU: from Python, and from the PTX that numba-cuda makes of them.

    python benchmarks/ptx_speed.py [--rounds N] [--only EXAMPLE] [--strict]

Milliseconds of the processor for a launch by one thread on the same arrays, which take turns;
medians, and the median of the ratios. The results of both are compared. Prints the geometric mean,
whose bar is 1.1. --strict is without the kernels' ``fastmath=True``, on both sides.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import io
import math
import os
import runpy
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ |= {"GRIDLANE_DEVICE": "cpu", "GRIDLANE_THREADS": "1"}

import numpy as np

import results
from gridlane import cuda
from gridlane.cuda.kernels.dispatcher import Dispatcher
from timing import machine, milliseconds

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
BAR = 1.1

CASES = {
    ("bitonic_sort", "merge_near"): "--size 200000",
    ("blackscholes", "price"): "--options 1000000",
    ("game_of_life", "generation"): "--generations 1",
    ("histogram", "histogram"): "--size 4000000",
    ("laplace2d", "jacobi"): "--size 1024 --sweeps 1",
    ("mandelbrot", "mandelbrot"): "",
    ("matmul", "matmul"): "",
    ("nbody", "accelerations"): "--bodies 4096 --steps 1",
    ("nqueens", "count_solutions"): "--queens 8",
    ("raytracer", "render"): "--width 320 --height 200 --samples 2",
    ("reduction", "block_sums"): "--size 4000000",
    ("warp_scan", "scan_blocks"): "--size 1000000",
}
"""The kernels, with arguments for their programs."""


@dataclass(frozen=True)
class Launch:
    """The first launch of a kernel, with its arguments as they were."""

    kernel: Dispatcher
    grid: Any
    block: Any
    args: tuple[Any, ...]

    def types(self) -> list[str]:
        """The types of the arguments, as numba writes them."""
        return [
            f"{value.dtype}[{':, ' * (value.ndim - 1)}::1]"
            if isinstance(value, np.ndarray)
            else {int: "int64", float: "float64"}.get(type(value)) or str(value.dtype)
            for value in self.args
        ]

    def arguments(self) -> tuple[Any, ...]:
        """The arguments, with new device arrays."""
        return tuple(cuda.to_device(v) if isinstance(v, np.ndarray) else v for v in self.args)


def launch_of(example: str, kernel: str, words: str) -> Launch:
    """The first launch of a kernel by its example."""
    launches: list[Launch] = []
    configured = Dispatcher.__getitem__

    def recorded(self: Dispatcher, item: Any) -> Callable[..., None]:
        run = configured(self, item)

        def launched(*args: Any) -> None:
            if self.py_func.__name__ == kernel and not launches:
                kept = (v.copy_to_host() if hasattr(v, "copy_to_host") else v for v in args)
                kept = (np.array(v) if isinstance(v, np.ndarray) else v for v in kept)
                launches.append(Launch(self, item[0], item[1], tuple(kept)))
            run(*args)

        return launched

    before, sys.argv = sys.argv, [f"{example}.py", *words.split()]
    sys.path.insert(0, str(EXAMPLES))
    Dispatcher.__getitem__ = recorded
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(EXAMPLES / f"{example}.py"), run_name="__main__")
    finally:
        Dispatcher.__getitem__ = configured
        sys.path.remove(str(EXAMPLES))
        sys.argv = before
    return launches[0]


def flat(args: tuple[Any, ...]) -> list[Any]:
    """The parameters that numba makes of arguments: an array is its owner, its size, the size of an
    element, its data, shape and strides."""
    made: list[Any] = []
    for value in args:
        if hasattr(value, "strides") and value.ndim:
            made += [0, 0, value.size, value.dtype.itemsize, value, *value.shape, *value.strides]
        elif isinstance(value, int | float):
            made.append(np.int64(value) if isinstance(value, int) else np.float64(value))
        else:
            made.append(value)
    return made


def compared(example: str, kernel: str, words: str, rounds: int, strict: bool) -> float:
    """Time a kernel both ways and print the row; the ratio."""
    launch = launch_of(example, kernel, words)
    fast = "strict" if strict else "fast"
    command = [sys.executable, HERE / "ptx_by_numba.py", example, kernel, fast, *launch.types()]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    name = next(line.split()[2].rstrip("(") for line in made.splitlines() if ".entry" in line)
    raw = cuda.RawModule(code=made).get_function(name)
    python_args, ptx_args = launch.arguments(), launch.arguments()
    dispatcher = cuda.jit(launch.kernel.py_func) if strict else launch.kernel
    run = dispatcher[launch.grid, launch.block]
    params = tuple(flat(ptx_args))

    def by_python() -> None:
        run(*python_args)
        cuda.synchronize()

    def by_ptx() -> None:
        raw(launch.grid, launch.block, params)
        cuda.synchronize()

    by_python()
    by_ptx()
    worst = max(difference(a, b) for a, b in zip(python_args, ptx_args, strict=True))
    # Other programs may run, so that it is the time of the process.
    clock = time.process_time
    pairs = [
        (milliseconds(by_python, 5, clock), milliseconds(by_ptx, 5, clock)) for _ in range(rounds)
    ]
    a, b = (statistics.median(x for each in pairs for x in each[side]) for side in (0, 1))
    ratio = statistics.median(min(ptx) / min(python) for python, ptx in pairs)
    results.add(f"{example}, {kernel}", "Python", a, "ms")
    results.add(f"{example}, {kernel}", "PTX", b, "ms")
    results.add(f"{example}, {kernel}", "PTX/Python", ratio, "ratio")
    print(
        f"{example + ', ' + kernel:<32}{a:>10.3f}{b:>10.3f}{ratio:>8.2f}{worst:>12.1e}", flush=True
    )
    return ratio


def difference(a: Any, b: Any) -> float:
    """The largest difference, as a fraction of the largest value."""
    if not hasattr(a, "copy_to_host"):
        return 0.0
    x, y = (each.copy_to_host().astype(np.float64) for each in (a, b))
    known = np.isfinite(x)
    if not np.array_equal(x[~known], y[~known], equal_nan=True):
        return math.inf
    x, y = x[known], y[known]
    return float(np.abs(x - y).max() / max(1e-30, np.abs(x).max())) if x.size else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", help="an example")
    parser.add_argument("--strict", action="store_true", help="without fastmath")
    results.option(parser)
    args = parser.parse_args()
    cuda.install_as_numba(children=False)
    strict = ", without fastmath" if args.strict else ""
    print(f"{datetime.date.today()}, {machine()}{strict}")
    print(f"{'milliseconds':<32}{'Python':>10}{'PTX':>10}{'ratio':>8}{'difference':>12}")
    ratios = [
        compared(example, kernel, words, args.rounds, args.strict)
        for (example, kernel), words in CASES.items()
        if args.only in (None, example)
    ]
    mean = statistics.geometric_mean(ratios)
    results.add("geometric mean", "PTX/Python", mean, "ratio")
    results.write("ptx_speed", args.record)
    told = "met" if mean <= BAR else "missed"
    print(f"geometric mean {mean:.2f}, worst {max(ratios):.2f}; bar {BAR}: {told}")


if __name__ == "__main__":
    main()

"""What splitting a large kernel for the CPU into functions costs and gains.

    python benchmarks/large_kernels.py [--rounds N] [--groups N]

The kernel of ``literals.py`` with N groups of six lines, as it is; inside a loop; inside a loop
with short loops; the same with indices that no iteration changes, so that one function has what to
hoist; and without loops. Each is compiled as one function and as several
(``codegen/llvm/outline``). The columns are the processor's seconds from the launch of a new kernel
to its result, the least milliseconds of a launch of 4,096 threads on one core, and the median of
the ratios of launches that take turns, with their quartiles. Results must be equal bit for bit.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

os.environ |= {"GRIDLANE_DEVICE": "cpu", "GRIDLANE_CACHE": "0", "GRIDLANE_THREADS": "1"}

import numpy as np

import literals
import results
from gridlane import cuda
from gridlane.codegen.llvm.cpu import kernel as cpu_kernel
from timing import machine

THREADS, BLOCK = 4096, 64
LIMITS = 1 << 30, cpu_kernel.LARGE
"""The ops of a kernel that is one function: any number, and as usual."""


def sources(groups: int) -> dict[str, str]:
    """The texts of the kernels."""
    lines = literals.source(groups).split("\n")
    head, body, tail = lines[:5], lines[5:-2], lines[-2:]
    same = [*head, "    for k in range(4):", *(f"    {line}" for line in body), *tail]
    same_short = [re.sub(r"range\(\d+\)", "range(3)", line) for line in same]
    texts = {
        "literals": lines,
        "in a loop": [line.replace("[(i + ", "[(i + k + ") for line in same],
        "short loops": [line.replace("[(i + ", "[(i + k + ") for line in same_short],
        "invariant": same_short,
        "no loops": [line for line in lines if "range" not in line],
    }
    return {name: "\n".join(text) for name, text in texts.items()}


@dataclass
class Compiled:
    """A kernel with its arguments on the device."""

    seconds: float
    launch: Callable[[], object]
    result: np.ndarray


def compiled(text: str, name: str, limit: int) -> Compiled:
    """Compile a kernel and run it once."""
    cpu_kernel.LARGE = limit
    kernel = cuda.jit(literals.loaded(text, name))[THREADS // BLOCK, BLOCK]
    a = cuda.to_device(np.linspace(1, 50, THREADS, dtype=np.float32))
    b = cuda.to_device(np.linspace(0.5, 3, 77, dtype=np.float32))
    start = time.process_time()
    kernel(a, b)
    result = a.copy_to_host()
    return Compiled(time.process_time() - start, lambda: kernel(a, b), result)


def row(name: str, text: str, rounds: int) -> str:
    """The figures of a kernel."""
    file = name.replace(" ", "_")
    both = [compiled(text, f"{file}_{limit}", limit) for limit in LIMITS]
    assert np.array_equal(*(each.result.view(np.uint32) for each in both)), "results differ"
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for each, found in zip(both, times, strict=True):
            start = time.perf_counter()
            each.launch()
            cuda.synchronize()
            found.append((time.perf_counter() - start) * 1e3)
    ratios = [after / before for before, after in zip(*times, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    for of, each, found in zip(("one function", "several"), both, times, strict=True):
        results.add(f"{name}, compile", of, each.seconds, "s")
        results.add(f"{name}, run", of, min(found), "ms")
    results.add(f"{name}, run", "several/one function", middle, "ratio")
    seconds = "".join(f"{each.seconds:>8.2f}" for each in both)
    least = "".join(f"{min(found):>10.2f}" for found in times)
    return f"{name:<14}{seconds}{least}   {middle:.3f}  ({low:.3f} to {high:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--groups", type=int, default=166)
    results.option(parser)
    args = parser.parse_args()
    print(f"{datetime.date.today()}, {machine()}; {6 * args.groups + 4} lines")
    print(f"{'':<14}{'compile, s':>16}{'run, ms':>20}   several / one function")
    for name, text in sources(args.groups).items():
        print(row(name, text, args.rounds), flush=True)
    results.write("large_kernels", args.record)


if __name__ == "__main__":
    main()

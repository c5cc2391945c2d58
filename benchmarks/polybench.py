"""PolyBench's programs as loop nests beside gcc with OpenMP: ratios of times, their geometric mean.

    python benchmarks/polybench.py [NAME ...] [--record]

Both run in turn in one process, with a pause between, on copies of the same arguments; a ratio is
the median of those of the rounds. Results are compared first. Both may reassociate sums.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gridlane
from gridlane.compute import Compute

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:  # of a script it is the script's folder
    sys.path.append(str(ROOT))

from benchmarks import results  # noqa: E402
from benchmarks.timing import SETTLE_S, machine  # noqa: E402
from tests.compute.polybench import PROGRAMS  # noqa: E402
from tests.compute.polybench.inputs import Arrays, Program, copies  # noqa: E402

FLAGS = "-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC"
GOAL, WORST = 0.7, 1.2


def library(folder: Path) -> ctypes.CDLL:
    """Compile the programs in C and load them."""
    target, source = folder / "polybench.so", Path(__file__).with_suffix(".c")
    subprocess.run(["gcc", *FLAGS, str(source), "-o", str(target), "-lm"], check=True)
    return ctypes.CDLL(str(target))


def of_c(program: Program, loaded: ctypes.CDLL, values: Arrays) -> Callable[[], Any]:
    """The call of a program in C."""
    nest = program.nest.nest
    sizes: dict[str, int] = {}
    for name, type_ in nest.tensors.items():
        for extent, size in zip(type_.extents, values[name].shape, strict=True):
            sizes[str(extent)] = size
    arguments: list[Any] = [ctypes.c_int(sizes[name]) for name in nest.extents]
    for value in values.values():
        if isinstance(value, np.ndarray):
            arguments.append(value.ctypes.data_as(ctypes.c_void_p))
        else:
            arguments.append((ctypes.c_int if isinstance(value, int) else ctypes.c_double)(value))
    function = getattr(loaded, nest.name)
    return lambda: function(*arguments)


def seconds(run: Callable[[], Any], values: Arrays, fresh: Arrays) -> float:
    """The time of one run on fresh values of the arguments."""
    for name, value in fresh.items():
        if isinstance(value, np.ndarray):
            values[name][:] = value
    time.sleep(SETTLE_S)
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(name: str, program: Program, loaded: ctypes.CDLL, rounds: int) -> float:
    """Measure one program; returns the ratio of our time to gcc's."""
    fresh = program.inputs(program.large)
    ours, theirs = copies(fresh), copies(fresh)
    nest = Compute(program.nest.function, fastmath=True)
    runs = (lambda: nest(*ours.values())), of_c(program, loaded, theirs)
    for run in runs:
        run()
    for key, value in ours.items():
        if isinstance(value, np.ndarray):
            scale = np.abs(theirs[key]).max()
            if not np.allclose(value, theirs[key], 1e-6, 1e-9 * scale):
                raise SystemExit(f"{name}: {key} differs from the program in C")
    times = [
        (seconds(runs[0], ours, fresh), seconds(runs[1], theirs, fresh)) for _ in range(rounds)
    ]
    ratio = statistics.median(one / other for one, other in times)
    medians = [statistics.median(each) * 1e3 for each in zip(*times, strict=True)]
    print(f"{name:16}{medians[0]:10.2f} ms{medians[1]:10.2f} ms of gcc{ratio:8.2f}", flush=True)
    results.add(name, "gridlane", medians[0], "ms")
    results.add(name, "gcc", medians[1], "ms")
    results.add(name, "gridlane to gcc", ratio, "ratio")
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="programs; all by default")
    parser.add_argument("--rounds", type=int, default=5)
    results.option(parser)
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder, gridlane.device("cpu"):
        loaded = library(Path(folder))
        ratios = [
            compare(name, PROGRAMS[name], loaded, options.rounds)
            for name in options.names or PROGRAMS
        ]
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    print(f"geometric mean {mean:.2f} (goal {GOAL}), worst {max(ratios):.2f} (goal {WORST})")
    results.add("geometric mean", "gridlane to gcc", mean, "ratio")
    version = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True)
    results.write("polybench", options.record, versions={"gcc": version.stdout.strip()})


if __name__ == "__main__":
    main()

"""PolyBench's programs as loop nests beside gcc with OpenMP and numba's parallel njit: ratios of
times, their geometric mean.

    python benchmarks/polybench.py [NAME ...] [--suite DIR] [--record]

All run in turn in one process, with a pause between, on copies of the same arguments; a ratio is
the median of those of the rounds. Results are compared first. All may reassociate sums. numba is
left out where it is not installed. ``--suite`` is a copy of npbench: its programs for NumPy and
numba run once warm at the same sizes, in a process of their own, for at most a minute each.
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
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import gridlane
from gridlane.compute import Compute

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:  # of a script it is the script's folder
    sys.path.append(str(ROOT))

from benchmarks import npbench, results  # noqa: E402
from benchmarks.timing import SETTLE_S, machine  # noqa: E402
from tests.compute.polybench import PROGRAMS  # noqa: E402
from tests.compute.polybench.inputs import Arrays, Program, copies  # noqa: E402

FLAGS = "-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC"
GOAL, WORST = 0.7, 1.2


try:
    from benchmarks import polybench_numba as numba
except ModuleNotFoundError:
    numba = None


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


def check(name: str, other: str, ours: Arrays, theirs: Arrays) -> None:
    """End the run where results of a peer differ."""
    for key, value in ours.items():
        if isinstance(value, np.ndarray):
            scale = np.abs(theirs[key]).max()
            if not np.allclose(value, theirs[key], 1e-6, 1e-9 * scale):
                raise SystemExit(f"{name}: {key} differs from that of {other}")


def compare(name: str, program: Program, loaded: ctypes.CDLL, rounds: int) -> dict[str, float]:
    """Measure one program; returns the ratios of our time to those of the peers."""
    fresh = program.inputs(program.large)
    ours, nest = copies(fresh), Compute(program.nest.function, fastmath=True)
    runs: dict[str, tuple[Callable[[], Any], Arrays]] = {
        "gridlane": (lambda: nest(*ours.values()), ours)
    }
    theirs = copies(fresh)
    runs["gcc"] = of_c(program, loaded, theirs), theirs
    if numba is not None:
        function, others = numba.of(program.nest.nest.name), copies(fresh)
        runs["numba"] = lambda: function(*others.values()), others
    for run, _ in runs.values():
        run()
    for peer in list(runs)[1:]:
        check(name, peer, ours, runs[peer][1])
    times = [
        {key: seconds(run, values, fresh) for key, (run, values) in runs.items()}
        for _ in range(rounds)
    ]
    ratios: dict[str, float] = {}
    text = f"{name:16}"
    for key in runs:
        median = statistics.median(each[key] for each in times) * 1e3
        results.add(name, key, median, "ms")
        text += f"{median:10.2f} ms of {key}"
    for key in list(runs)[1:]:
        ratios[key] = statistics.median(each["gridlane"] / each[key] for each in times)
        results.add(name, f"gridlane to {key}", ratios[key], "ratio")
        text += f"{ratios[key]:8.2f}"
    print(text, flush=True)
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="programs; all by default")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--suite", type=Path, metavar="DIR", help="a copy of npbench")
    results.option(parser)
    options = parser.parse_args()
    print(machine())
    names = options.names or list(PROGRAMS)
    with tempfile.TemporaryDirectory() as folder, gridlane.device("cpu"):
        loaded = library(Path(folder))
        ratios = [compare(name, PROGRAMS[name], loaded, options.rounds) for name in names]
    for peer in ratios[0]:
        each = [one[peer] for one in ratios]
        mean = math.exp(statistics.fmean(map(math.log, each)))
        goal = (f" (goal {GOAL})", f" (goal {WORST})") if peer == "gcc" else ("", "")
        print(f"{peer}: geometric mean {mean:.2f}{goal[0]}, worst {max(each):.2f}{goal[1]}")
        results.add("geometric mean", f"gridlane to {peer}", mean, "ratio")
    if options.suite:
        npbench.measure(options.suite, {name: PROGRAMS[name].large for name in names})
    version = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True)
    versions = {"gcc": version.stdout.strip()}
    if numba is not None:
        versions["numba"] = metadata.version("numba")
    results.write("polybench", options.record, versions=versions)


if __name__ == "__main__":
    main()

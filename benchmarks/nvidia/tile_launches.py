"""Launches of tile programs on the host, and the time to compile a product; see ``tiles.py``.

    python -m benchmarks.nvidia.tile_launches SIDE    prints the seconds of the first launch

Launches are those of a program without arguments and of one with nineteen, ten of which are
arrays, beside a kernel of ``cuda.jit`` with the same arguments. Each is the median over
rounds of 500 launches, which the GPU runs meanwhile; each side is at every place of a round, as the
first one behind an idle time is slower. A compilation is the first launch in a new process, after
imports and the start of the device, with caches that are empty.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from benchmarks import results

LAUNCHES = 500
ARRAYS, NUMBERS = 10, 9
Calls = dict[str, Callable[[], Any]]


def _plain() -> tuple[Any, Any]:
    """The same two as kernels of ``cuda.jit``."""
    from gridlane import cuda

    @cuda.jit
    def nothing():
        pass

    @cuda.jit
    def many(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, n0, n1, n2, n3, n4, n5, n6, n7, n8):
        if n0 < 0:
            total = n1 + n2 + n3 + n4 + n5 + n6 + n7 + n8
            total += a1[0] + a2[0] + a3[0] + a4[0] + a5[0]
            a0[0] = total + a6[0] + a7[0] + a8[0] + a9[0]

    return nothing, many


def _calls(sides: Any, count: int) -> Calls:
    """A launch with so many arguments, by whose it is; arrays are torch's where it is there."""
    from gridlane import cuda

    blank = np.zeros(64, np.float32)
    numbers = [*range(3, 3 + NUMBERS)] if count else []
    given = [sides.array(blank) for _ in range(ARRAYS if count else 0)]
    own = [cuda.to_device(blank) for _ in given]
    plain = _plain()[count > 0][1, 128]
    programs = {
        who: getattr(module, "many" if count else "nothing")[(1,)]
        for who, module in sides.kernels.items()
    }
    runs: Calls = {who: partial(each, *given, *numbers) for who, each in programs.items()}
    runs["plain"] = partial(plain, *given, *numbers)
    if count:
        runs["gridlane, own arrays"] = partial(programs["gridlane"], *own, *numbers)
        runs["plain, own arrays"] = partial(plain, *own, *numbers)
    return runs


def _waiter(sides: Any) -> Callable[[], Any]:
    from gridlane import cuda

    return sides.torch.cuda.synchronize if sides.torch is not None else cuda.synchronize


def launches(sides: Any, count: int, rounds: int) -> dict[str, float]:
    """Microseconds of a launch on the host, by whose it is."""
    wait, runs = _waiter(sides), _calls(sides, count)
    times: dict[str, list[float]] = {who: [] for who in runs}
    for run in runs.values():
        run()
        run()
    order = [*runs.items()]
    for _ in range(max(1, rounds) * len(order)):
        order.append(order.pop(0))  # none is always the first behind an idle time
        for who, run in order:
            wait()
            begin = time.perf_counter()
            for _ in range(LAUNCHES):
                run()
            times[who].append((time.perf_counter() - begin) / LAUNCHES * 1e6)
    wait()
    return {who: median(each) for who, each in times.items()}


def compiled(sides: Any, who: str) -> float:
    """Seconds of the first launch of a product in a new process."""
    small = ["--small"] if sides.small else []
    with tempfile.TemporaryDirectory() as folder:
        empty = dict.fromkeys(("TRITON_CACHE_DIR", "GRIDLANE_CACHE_DIR"), folder)
        off = {"GRIDLANE_CACHE": "0", "CUDA_CACHE_DISABLE": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.nvidia.tile_launches", who, *small],
            env=os.environ | empty | off, capture_output=True, text=True,
        )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr[-300:])
    return float(done.stdout.split()[-1])


def _first_launch(who: str, small: bool) -> float:
    """Seconds of the first launch of a product in this process."""
    from benchmarks.nvidia import tiles as programs

    from gridlane import cuda

    sides = programs.Sides(small)
    wait = _waiter(sides)
    case = programs.product(sides, "f16", (64, 96, 64) if small else (1024, 8192, 1024))
    cuda.to_device(np.zeros(4))
    wait()
    begin = time.perf_counter()
    case.runs[who]()
    wait()
    return time.perf_counter() - begin


def _rows(sides: Any, rounds: int) -> Iterator[tuple[str, Callable[[], dict[str, float]], str]]:
    for count in (0, ARRAYS + NUMBERS):
        yield f"launch {count} arguments", partial(launches, sides, count, rounds), "us"
    yield "compile f16", lambda: {who: compiled(sides, who) for who in sides.kernels}, "s"


def report(sides: Any, only: list[str] | None, rounds: int) -> None:
    """Print and record a row for launches and compilations whose names contain one of ``only``."""
    for name, measure, unit in _rows(sides, rounds):
        if only and not any(each in name for each in only):
            continue
        found = measure()
        cells = [f"{who} {value:8.2f}" for who, value in found.items()]
        print(f"{name:<26}{unit:>8}  {'  '.join(cells)}", flush=True)
        for who, value in found.items():
            results.add(name, who, value, unit)
            ours = who.replace("plain", "gridlane")
            if ours != who:
                results.add(name, f"{ours} / {who}", found[ours] / value, "ratio")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("side", metavar="SIDE")
    parser.add_argument("--small", action="store_true")
    asked = parser.parse_args()
    print(_first_launch(asked.side, asked.small))

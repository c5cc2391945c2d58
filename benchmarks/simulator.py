"""gridlane's device ``cpu`` beside numba's CUDA simulator, on programs of users and examples.

    pip install numba stumpy xarray-spatial
    python benchmarks/simulator.py [PROGRAM ...]

Each program runs in processes of its own: in numba's simulator (``NUMBA_ENABLE_CUDASIM=1``), then
with gridlane and an empty cache of kernels, then with gridlane and the kernels of that run. Sizes
are what the simulator does in seconds. Times are of a first run, which compiles, and of the
shortest of several; the simulator has one. The processor's seconds, of all threads of a process,
are those of a machine without other work. Results are compared.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import results
from simulator_programs import PROGRAMS
from timing import machine

COLUMNS = "simulator", "no cache", "cached", "next runs"
REPEATS = {"simulator": 1, "gridlane": 20}
PACKAGES = ("numba", "stumpy", "xarray-spatial")
CLOCKS = {"clock": "seconds", "processor": "processor seconds"}
CLOSE, SAME = 1e-4, 0.99
"""The simulator computes in Python's float64 what is float32 in a compiled kernel, so points near
the edge of the Mandelbrot set escape at other iterations."""


def timed(way: str, name: str, folder: Path, cache: Path) -> dict[str, dict[str, float]]:
    """The times of a program in a new process."""
    folder.mkdir(exist_ok=True)
    script = Path(__file__).with_name("simulator_programs.py")
    done = subprocess.run(
        [sys.executable, str(script), way, str(folder), str(REPEATS[way]), name],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GRIDLANE_CACHE_DIR": str(cache), "GRIDLANE_DEVICE": "cpu"},
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"program"')]
    found: dict[str, Any] = {"error": done.stderr.strip().splitlines()[-1:]}
    if lines:
        found = json.loads(lines[-1])
    if "error" in found:
        raise SystemExit(f"{name}, {way}: {found['error']}")
    return found


def all_three(name: str, folder: Path) -> dict[str, list[float]]:
    """Times of a program on each clock: the simulator's, gridlane's first run without and with
    compiled kernels on disk, and its next runs.

    Raises:
        SystemExit: the results differ.
    """
    cache = folder / "cache"
    simulated = timed("simulator", name, folder / "simulator", cache)
    new = timed("gridlane", name, folder / "gridlane", cache)
    kept = timed("gridlane", name, folder / "gridlane", cache)
    want = np.load(folder / "simulator" / f"{name}.npy")
    got = np.load(folder / "gridlane" / f"{name}.npy")
    same = np.isclose(got, want, rtol=CLOSE, atol=CLOSE, equal_nan=True).mean()
    if same < SAME:
        raise SystemExit(f"{name}: only {same:.2%} of the results agree")
    return {
        clock: [
            *(simulated[clock]["first"], new[clock]["first"], kept[clock]["first"]),
            min(new[clock]["best"], kept[clock]["best"]),
        ]
        for clock in CLOCKS
    }


def table(title: str, rows: dict[str, list[float]]) -> str:
    """The seconds, and the simulator's divided by gridlane's three."""
    lines = [
        f"\n{title:<18}{'simulator':>10}{'no cache':>10}{'cached':>10}{'next runs':>11}   ratios"
    ]
    for name, (simulated, *ours) in rows.items():
        ratios = "".join(f"{simulated / seconds:>9,.0f}" for seconds in ours)
        lines.append(
            f"{name:<18}{simulated:>10.2f}{ours[0]:>10.3f}{ours[1]:>10.3f}{ours[2]:>11.5f}{ratios}"
        )
    return "\n".join(lines)


def versions() -> str:
    """The packages and their versions."""
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", default=[*PROGRAMS])
    results.option(parser)
    args = parser.parse_args()
    print(f"{datetime.date.today()}, {machine()}, Python {platform.python_version()}")
    print(versions())
    found: dict[str, dict[str, list[float]]] = {}
    for name in args.programs:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = all_three(name, Path(folder))
    for clock, title in CLOCKS.items():
        print(table(title, {name: times[clock] for name, times in found.items()}))
        for name, times in found.items():
            for of, seconds in zip(COLUMNS, times[clock], strict=True):
                results.add(f"{name}, {title}", of, seconds, "s")
    results.write(
        "simulator", args.record, versions=dict(each.split() for each in versions().split(", "))
    )


if __name__ == "__main__":
    main()

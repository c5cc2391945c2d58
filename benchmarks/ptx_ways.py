"""PTX on an NVIDIA GPU: through gridlane's IR, and by the driver's own compiler.

    python benchmarks/ptx_ways.py [--rounds N] [--only EXAMPLE] [--texts FOLDER [--write]]

The kernels of the examples as numba-cuda compiles them, here, or elsewhere: --write puts the PTX
into a folder, which needs no GPU, and without it --texts takes what is there. Microseconds of a
launch in a graph of many, by events; the ways take turns. The ratio is the median of the rounds';
its bar is 1.05.
"""

from __future__ import annotations

import argparse
import datetime
import math
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import results
from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device
from ptx_speed import CASES, Launch, difference, flat, launch_of

HERE = Path(__file__).parent
BAR = 1.05
LAUNCHES = 20


def text_of(example: str, kernel: str, launch: Launch) -> str:
    """The PTX that numba-cuda makes for a launch."""
    command = [sys.executable, HERE / "ptx_by_numba.py", example, kernel, "fast", *launch.types()]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def compared(launch: Launch, title: str, text: str, rounds: int) -> float:
    """Time a kernel both ways and print the row; the ratio."""
    current.choose(get_device("cuda"))
    name = next(line.split()[2].rstrip("(") for line in text.splitlines() if ".entry" in line)
    ways = ("ir", "driver")
    once = {way: launch.arguments() for way in ways}
    graphs = {}
    for way in ways:
        raw = cuda.RawModule(code=text, via=way).get_function(name)
        raw(launch.grid, launch.block, tuple(flat(once[way])))
        graphs[way] = _graph(raw, launch, tuple(flat(launch.arguments())))
    cuda.synchronize()
    worst = max(difference(a, b) for a, b in zip(once["ir"], once["driver"], strict=True))
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            times[way].append(_microseconds(*graphs[way]))
    ratio = statistics.median(a / b for a, b in zip(times["ir"], times["driver"], strict=True))
    a, b = (statistics.median(times[way]) for way in ways)
    results.add(title, "IR", a, "us")
    results.add(title, "driver", b, "us")
    results.add(title, "IR/driver", ratio, "ratio")
    row = f"{title:<32}{a:>10.2f}{b:>10.2f}{ratio:>8.3f}{worst:>12.1e}"
    print(row, flush=True)
    return ratio


def _graph(raw: cuda.RawKernel, launch: Launch, params: tuple[Any, ...]) -> tuple[Any, Any]:
    stream = cuda.stream()
    raw(launch.grid, launch.block, params, stream=stream)
    stream.synchronize()
    with cuda.capture(stream) as graph:
        for _ in range(LAUNCHES):
            raw(launch.grid, launch.block, params, stream=stream)
    return graph.instantiate(), stream


def _microseconds(graph: Any, stream: Any) -> float:
    start, end = cuda.event(), cuda.event()
    graph.launch(stream)
    start.record(stream)
    graph.launch(stream)
    end.record(stream)
    end.synchronize()
    return cuda.event_elapsed_time(start, end) * 1e3 / LAUNCHES


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", help="an example")
    parser.add_argument("--texts", type=Path, help="a folder of PTX")
    parser.add_argument("--write", action="store_true", help="make the PTX there, and end")
    results.option(parser)
    args = parser.parse_args()
    cuda.install_as_numba(children=False)
    made = {}
    for (example, kernel), words in CASES.items():
        if args.only in (None, example):
            current.choose(get_device("cpu"))
            launch = launch_of(example, kernel, words)
            file = args.texts and args.texts / f"{example}.ptx"
            has = file and not args.write
            text = file.read_text() if has else text_of(example, kernel, launch)
            if args.write:
                file.write_text(text)
            made[f"{example}, {kernel}"] = launch, text
    if args.write:
        return
    facts = get_device("cuda").describe()
    print(f"{datetime.date.today()}, {facts['name']}, CUDA {facts['cuda_version']}")
    print(f"{'microseconds':<32}{'IR':>10}{'driver':>10}{'ratio':>8}{'difference':>12}")
    ratios = [compared(launch, title, text, args.rounds) for title, (launch, text) in made.items()]
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    results.add("geometric mean", "IR/driver", mean, "ratio")
    results.write("ptx_ways", args.record, "cuda")
    print(f"geometric mean {mean:.3f}, worst {max(ratios):.3f}; bar {BAR}: ", end="")
    print("met" if mean <= BAR else "missed")


if __name__ == "__main__":
    main()

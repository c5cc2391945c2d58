"""``gridlane bench``: the benchmarks of a checkout, or a few built-in kernels beside numpy; for a
GPU, figures of its own."""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import gridlane
from gridlane.backends import backend, backends
from gridlane.backends.record import loaded
from gridlane.cli.failure import check_settings, fail
from gridlane.core.config import config

PROGRAMS = {"cpu": "cpu.py", "launch": "launch.py"}
HELP = ("-h", "--help")
USAGE = """\
gridlane bench [--device cpu] [cpu|launch] ...  kernels, or launches, on the CPU
{devices}
--help behind each shows what it takes. GRIDLANE_DEVICE chooses as --device does. This is for"""


def bench(arguments: list[str]) -> int:
    """Run the benchmarks; return the exit status."""
    device, arguments = _device(arguments)
    if device is not None:  # before anything reads the configuration
        os.environ["GRIDLANE_DEVICE"] = device
    check_settings()
    kind = config().device.partition(":")[0]
    if not set(HELP).isdisjoint(arguments):
        print(f"{_usage()} {kind}:\n", flush=True)
    measures = backend(kind).bench
    return loaded(measures)(arguments) if measures else _on_the_host(arguments)


def _usage() -> str:
    lines = [
        f"{f'gridlane bench --device {each.name} ...':46}  launches, copies and kernels on "
        f"{each.title}\n"
        for each in backends()
        if each.bench
    ]
    return USAGE.format(devices="".join(lines))


def _device(arguments: list[str]) -> tuple[str | None, list[str]]:
    """The value of --device, and the other arguments."""
    device, rest = None, []
    remaining = iter(arguments)
    for word in remaining:
        name, equals, value = word.partition("=")
        if name != "--device":
            rest.append(word)
            continue
        device = value if equals else next(remaining, "")
        if not device:
            fail("bench: --device needs a value")
    return device, rest


def _on_the_host(arguments: list[str]) -> int:
    folder = Path(gridlane.__file__).parents[2] / "benchmarks"
    name = "cpu"
    if arguments and arguments[0] in PROGRAMS:
        name, arguments = arguments[0], arguments[1:]
    program = folder / PROGRAMS[name]
    if not program.is_file():
        return built_in(arguments, "this is no checkout with benchmarks/")
    if name == "cpu" and shutil.which("gcc") is None and set(HELP).isdisjoint(arguments):
        return built_in(arguments, "gcc, which the benchmarks compare with, is not installed")
    return subprocess.run([sys.executable, str(program), *arguments]).returncode


def built_in(arguments: list[str], reason: str) -> int:
    """Time each kernel of bench_kernels and numpy's equivalent."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from gridlane.cli.bench_kernels import CASES
    from gridlane.cli.tables import console, table

    parser = argparse.ArgumentParser(prog="gridlane bench", description=built_in.__doc__)
    parser.add_argument("--only", action="append", choices=sorted(CASES), metavar="KERNEL")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args(arguments)
    out = console()
    out.print(f"built-in kernels beside numpy: {reason}")
    rows = table("kernel", "", f"gridlane, {config().device}", "numpy", "numpy/gridlane")
    for column in rows.columns[2:]:
        column.justify = "right"
    wrong = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=True) as progress:
        task = progress.add_task("")
        for name in options.only or CASES:
            progress.update(task, description=name)
            case = CASES[name]()
            ours, theirs = (milliseconds(f, options.repeats) for f in (case.ours, case.numpy))
            if not case.same():
                wrong.append(name)
            rows.add_row(
                name, case.what, f"{ours:.2f} ms", f"{theirs:.2f} ms", f"{theirs / ours:.1f}"
            )
    out.print(rows)
    if wrong:
        print(f"gridlane: wrong results: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


def milliseconds(run: Callable[[], object], repeats: int) -> float:
    """The median of ``repeats`` runs after a first one, which compiles."""
    run()
    times = []
    for _ in range(max(1, repeats)):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3

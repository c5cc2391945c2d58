"""Measure and print the tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

from gridlane import cuda
from gridlane.cli.gpu_bench import launching, transfers
from gridlane.cli.gpu_bench.cases import CASES, RIGHT
from gridlane.cli.gpu_bench.timing import timed
from gridlane.cli.tables import console, table
from gridlane.cli.wording import described
from gridlane.launch import current

DESCRIPTION = """\
The cost of a launch, rates of copies and of a few kernels, on the device of GRIDLANE_DEVICE or
--device. Results are checked with numpy. How NVRTC, CuPy, PyTorch, Triton and numba fare beside
gridlane is measured by `python -m benchmarks.nvidia` in a checkout, with these installed."""

Row = tuple[str, str, str, bool | None]
"""The measurement, its time, its rate, and whether the result is right, if there is one."""
_RESULTS = {None: "", True: "right", False: "[red]WRONG[/]"}


def show(arguments: list[str]) -> int:
    """Run the measurements that the arguments select; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="gridlane bench --device cuda",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", action="append", choices=_MEASURES, metavar="NAME", help=_NAMES)
    parser.add_argument(
        "--scale", type=_positive, default=1, metavar="N", help="divide the sizes of arrays by N"
    )
    chosen = parser.parse_args(arguments)
    out = console()
    device = current.device()
    out.print(f"{device.name}: {described(device.describe())}", markup=False)
    rows = table("", "time", "rate", "result")
    for column in rows.columns[1:3]:
        column.justify = "right"
    wrong = []
    for name in dict.fromkeys(chosen.only or _MEASURES):
        with out.status(name):
            for what, took, rate, right in _MEASURES[name](name, chosen.scale):
                rows.add_row(what, took, rate, _RESULTS[right])
                wrong += [name] if right is False else []
    out.print(rows)
    if wrong:
        print(f"gridlane: wrong results: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _launch(_: str, __: int) -> Iterator[Row]:
    for what, microseconds in launching.times():
        yield what, f"{microseconds:.2f} us", "", None


def _copies(_: str, scale: int) -> Iterator[Row]:
    for what, rate in transfers.rates(max(1, transfers.SIZE // scale)):
        yield f"copy, {what}", "", f"{rate:.4g} GB/s", None


def _kernel(name: str, scale: int) -> Iterator[Row]:
    """Launch once and check the result, then time launches."""
    case = CASES[name](scale)
    arrays = [cuda.to_device(array) for array in case.arrays]
    launch = case.kernel[case.grid, case.block]
    launch(*arrays, *case.scalars)
    results = list(case.arrays)
    for number in case.outputs:
        results[number] = arrays[number].copy_to_host()
    right = RIGHT[name](results)
    took = timed(lambda: launch(*arrays, *case.scalars))
    amount, unit = case.work
    yield f"kernel, {name}", f"{took:.4g} ms", f"{amount / took * 1e3:.4g} {unit}/s", right


_MEASURES: dict[str, Callable[[str, int], Iterator[Row]]] = {
    "launch": _launch,
    "copies": _copies,
    **dict.fromkeys(CASES, _kernel),
}
_NAMES = ", ".join(_MEASURES)

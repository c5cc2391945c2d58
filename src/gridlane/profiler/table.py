"""A profile as tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from gridlane.profiler import wording
from gridlane.profiler.figures import Figures, KernelFigures

_COLUMNS: dict[str, Callable[[KernelFigures], str]] = {
    "calls": wording.calls,
    "device": lambda kernel: wording.time(kernel.device_ns if kernel.timed else None),
    "each": lambda kernel: wording.time(kernel.mean_ns),
    "host each": lambda kernel: wording.time(kernel.host_ns / kernel.calls),
    "compile": lambda kernel: wording.time(kernel.compile_ns or None),
    "arrays": lambda kernel: wording.size(kernel.array_bytes),
    "GB/s": lambda kernel: wording.gigabytes(kernel.bytes_per_second),
    "GFLOP/s": lambda kernel: wording.gigaflops(kernel.flops_per_second),
    "occupancy": wording.occupancy,
    "roofline": wording.roofline,
}
_WORTH = 0.05
"""The share of the kernels' time from which a kernel has hints."""
_WIDTH = 140
"""Columns of output that is no terminal."""


def show(figures: Figures, console: Console | None = None) -> None:
    """Print the tables; to stderr by default."""
    if console is None:
        console = Console(stderr=True, highlight=False)
        if not console.is_terminal:
            console = Console(stderr=True, highlight=False, width=_WIDTH)
    console.print(tables(figures))


def tables(figures: Figures) -> Any:
    """The tables, as rich prints them."""
    return Group(*_parts(figures))


def _parts(figures: Figures) -> Iterator[Any]:
    if not figures.kernels:
        yield Text("gridlane profile: no kernel was launched")
    else:
        yield _kernels(figures)
    if figures.copies:
        yield _copies(figures)
    yield from map(Text, notes(figures))
    yield from map(Text, advice(figures))


def notes(figures: Figures) -> Iterator[str]:
    """What the columns mean, as far as that differs between devices."""
    clocks: dict[str, str] = {}
    for kernel in figures.kernels:
        clocks.setdefault(kernel.device, kernel.clock)
    for device, clock in clocks.items():
        yield f"{device}: times by the {clock}'s clock{_peak(figures, device)}"
    if figures.kernels:
        yield (
            "arrays: the bytes of the arrays that a launch reads and of those that it writes, each "
            "once; ~ is an estimate"
        )


def advice(figures: Figures) -> Iterator[str]:
    """The hints of the kernels that take most of the time."""
    total = sum(each.device_ns for each in figures.kernels)
    hints: dict[str, None] = {}
    for kernel in figures.kernels:
        if kernel.hints and kernel.device_ns >= _WORTH * total:
            hints |= {f"{kernel.name}: {hint}": None for hint in kernel.hints}
    yield from hints
    if hints:
        yield "gridlane explain FILE.py:KERNEL shows what became of each line"


def _peak(figures: Figures, device: str) -> str:
    peak = figures.peaks.get(device)
    if peak is None:
        return ""
    memory = wording.gigabytes(peak.bytes_per_second)
    narrow, wide = (
        f"{each / 1e9:.3g}" for each in (peak.flops_per_second, peak.wide_flops_per_second)
    )
    message = f"; at most {memory} GB/s, {narrow} GFLOP/s in float32"
    return message + (f", {wide} in float64" if peak.wide_flops_per_second else "")


def _table(title: str, *columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), title=title)
    table.title_justify = "left"
    for name in columns:
        side = "left" if name in ("kernel", "copies") else "right"
        table.add_column(name, justify=side, overflow="fold")
    return table


def _kernels(figures: Figures) -> Table:
    total = sum(each.device_ns for each in figures.kernels)
    table = _table(f"gridlane profile, {wording.time(figures.wall_ns)}", "kernel", *_COLUMNS, "%")
    for kernel in figures.kernels:
        block = wording.block(kernel)
        title = f"{kernel.name}[{block}]" if block != wording.NOTHING else kernel.name
        name = Text(f"{title} {kernel.device}")
        share = f"{kernel.device_ns / total:.0%}" if total else wording.NOTHING
        cells = [Text(told(kernel)) for told in _COLUMNS.values()]
        table.add_row(name, *cells, share)
    return table


def _copies(figures: Figures) -> Table:
    table = _table("", "copies", "calls", "bytes", "time", "GB/s")
    for each in figures.copies:
        rate = each.size / each.ns * 1e9 if each.ns else None
        table.add_row(
            f"{each.kind}, {each.device}",
            str(each.calls),
            wording.size(each.size),
            wording.time(each.ns if each.timed else None),
            wording.gigabytes(rate),
        )
    return table

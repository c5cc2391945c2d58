"""A profile as one page of HTML: tables, a timeline and a roofline plot, without scripts, styles or
pictures from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from gridlane.profiler import wording
from gridlane.profiler.figures import Figures, KernelFigures
from gridlane.profiler.plots import legend, roofline, timeline
from gridlane.profiler.recorder import Recorder
from gridlane.profiler.table import advice, notes

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
td { white-space: nowrap; }
.wide td:last-child { white-space: normal; text-align: left; font-size: .85em;
  min-width: 12rem; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: currentColor; }
.axis { stroke: currentColor; stroke-width: 1; opacity: .4; }
.roof { stroke: currentColor; stroke-width: 2; fill: none; }
.note { opacity: .75; }
.key { margin-right: 1.2rem; white-space: nowrap; }
.key i { display: inline-block; width: .8em; height: .8em; margin-right: .35em; }
"""


def write(figures: Figures, recorder: Recorder, path: Path) -> None:
    """Write the page."""
    path.write_text(page(figures, recorder), encoding="utf-8")


def page(figures: Figures, recorder: Recorder) -> str:
    """The page as text."""
    return "".join(_page(figures, recorder))


def _page(figures: Figures, recorder: Recorder) -> Iterator[str]:
    yield '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    yield f"<title>gridlane profile</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>gridlane profile</h1><p>{wording.time(figures.wall_ns)} in all.</p>"
    yield "<h2>Kernels</h2>"
    yield from _kernels(figures)
    hints = list(advice(figures))
    if hints:
        items = "".join(f"<li>{escape(hint)}</li>" for hint in hints)
        yield f"<h2>What to try</h2><ul>{items}</ul>"
    if figures.copies:
        yield "<h2>Copies</h2>"
        yield from _copies(figures)
    names = sorted({each.name for each in figures.kernels})
    yield f"<h2>Timeline</h2>{legend(names)}"
    yield timeline(recorder, names)
    if recorder.hidden:
        yield f'<p class="note">{recorder.hidden} later pieces of work are not shown.</p>'
    for device, peak in figures.peaks.items():
        kernels = [each for each in figures.kernels if each.device == device]
        yield f"<h2>Roofline of {escape(device)}</h2>"
        yield roofline(kernels, peak, names)
        yield f'<p class="note">{_ROOF}</p>'
    for note in notes(figures):
        yield f'<p class="note">{escape(note)}</p>'
    yield "</body></html>\n"


_ROOF = (
    "A dot is a kernel. The line is the most that the device can do: on its slope memory is the "
    "limit, on its flat part arithmetic. A kernel far below the line waits for something else."
)
_HEADS = {
    "kernel": "",
    "device": "",
    "block": "threads of a block",
    "calls": "launches",
    "device time": "of all launches, on the device",
    "each": "mean device time of a launch",
    "host each": "mean time of the caller in the device's launch function",
    "compile": "to compile the kernel, or read it from the disk cache, and load it",
    "arrays": "bytes of the arrays that a launch reads, and of those that it writes",
    "GB/s": "arrays over the time",
    "GFLOP/s": "estimated operations on floats over the time",
    "occupancy": "warps that a multiprocessor holds, of the most it can",
    "roofline": "the least time that the device needs, as a share of the time taken, and why",
    "types": "",
}
"""The columns, each with its meaning."""


def _kernels(figures: Figures) -> Iterator[str]:
    heads = "".join(f'<th title="{escape(what)}">{name}</th>' for name, what in _HEADS.items())
    yield f'<table class="wide"><tr>{heads}</tr>\n'
    for kernel in figures.kernels:
        yield _row(_cells(kernel))
    yield "</table>"


def _cells(kernel: KernelFigures) -> tuple[str, ...]:
    return (
        kernel.name,
        kernel.device,
        wording.block(kernel),
        wording.calls(kernel),
        wording.time(kernel.device_ns if kernel.timed else None),
        wording.time(kernel.mean_ns),
        wording.time(kernel.host_ns / kernel.calls),
        wording.time(kernel.compile_ns or None),
        wording.size(kernel.array_bytes),
        wording.gigabytes(kernel.bytes_per_second),
        wording.gigaflops(kernel.flops_per_second),
        wording.occupancy(kernel),
        wording.roofline(kernel),
        kernel.types,
    )


def _copies(figures: Figures) -> Iterator[str]:
    yield _row(("copies", "device", "calls", "bytes", "time", "GB/s"), "th", "<table>")
    for each in figures.copies:
        rate = each.size / each.ns * 1e9 if each.ns else None
        spent = wording.time(each.ns if each.timed else None)
        sized = wording.size(each.size), spent, wording.gigabytes(rate)
        yield _row((each.kind, each.device, str(each.calls), *sized))
    yield "</table>"


def _row(cells: tuple[str, ...], tag: str = "td", before: str = "") -> str:
    inner = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
    return f"{before}<tr>{inner}</tr>\n"

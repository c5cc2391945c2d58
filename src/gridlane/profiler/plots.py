"""The plots of a profile's page, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import log10

from gridlane.profiler import wording
from gridlane.profiler.figures import KernelFigures
from gridlane.profiler.peaks import Peaks
from gridlane.profiler.recorder import Recorder, Shown

_WIDTH, _LEFT, _RIGHT = 1000, 140, 20
_ROW = 26
_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#9d755d", "#eeca3b")
_GREY = "#999999"
MOST_BARS = 4000
"""Pieces of work that the timeline draws; browsers are slow with more."""


def colour(name: str, names: Sequence[str]) -> str:
    """The colour of a kernel; grey of what is none."""
    return _COLOURS[names.index(name) % len(_COLOURS)] if name in names else _GREY


def legend(names: Sequence[str]) -> str:
    """The colours of the plots: of each kernel, of compilation, and of all else."""
    entries = [(name, colour(name, names), "1") for name in names]
    entries += [("pale: compilation of a kernel", _COLOURS[0], "0.45"), ("copies", _GREY, "1")]
    boxes = [
        f'<span class="key"><i style="background:{fill};opacity:{alpha}"></i>{escape(text)}</span>'
        for text, fill, alpha in entries
    ]
    return f'<p class="legend">{"".join(boxes)}</p>'


def timeline(recorder: Recorder, names: Sequence[str]) -> str:
    """What ran when: a row for each thread of the host and each stream of a device.

    Args:
        names: of the kernels, in the order of their colours.
    """
    shown = sorted(recorder.shown, key=lambda each: each.begin)[:MOST_BARS]
    rows: dict[str, list[tuple[float, float, Shown]]] = {}
    threads = list(dict.fromkeys(each.thread for each in shown))
    for each in shown:
        host = f"host, thread {threads.index(each.thread) + 1}"
        rows.setdefault(host, []).append((each.begin, each.end, each))
        if each.ran is not None:
            rows.setdefault(f"{each.device}, stream {each.stream}", []).append((*each.ran, each))
    ends = [end for bars in rows.values() for _, end, _ in bars]
    height = _ROW * (len(rows) + 1) + 30
    scale = (_WIDTH - _LEFT - _RIGHT) / max(1.0, *ends) if ends else 0.0
    parts = [f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="timeline">']
    for n, (title, bars) in enumerate(sorted(rows.items(), key=lambda row: row[0])):
        parts.append(f'<text x="0" y="{n * _ROW + 17}">{escape(title)}</text>')
        for begin, end, each in bars:
            parts.append(_bar(begin, end, each, n * _ROW + 3, scale, colour(each.name, names)))
    parts += _time_axis(max(ends, default=0.0), scale, _ROW * len(rows) + 6)
    return "".join([*parts, "</svg>"])


def _bar(begin: float, end: float, each: Shown, top: int, scale: float, fill: str) -> str:
    x, width = _LEFT + begin * scale, max(0.5, (end - begin) * scale)
    what = f"compile {each.name}" if each.kind == "compile" else each.name
    title = escape(f"{what}: {wording.time(end - begin)} at {wording.time(begin)}")
    box = f'x="{x:.2f}" y="{top}" width="{width:.2f}" height="{_ROW - 6}"'
    pale = ' opacity="0.45"' if each.kind == "compile" else ""
    return f'<rect {box} fill="{fill}"{pale}><title>{title}</title></rect>'


def _time_axis(end: float, scale: float, top: int) -> Iterator[str]:
    right = _WIDTH - _RIGHT
    yield f'<line class="axis" x1="{_LEFT}" x2="{right}" y1="{top}" y2="{top}"/>'
    for n in range(6):
        moment = end * n / 5
        anchor = "end" if n == 5 else "middle" if n else "start"
        place = f'x="{_LEFT + moment * scale:.1f}" y="{top + 18}" text-anchor="{anchor}"'
        yield f"<text {place}>{wording.time(moment) if n else '0'}</text>"


# --- the roofline ---

_HEIGHT, _TOP, _BOTTOM = 420, 20, 380


def roofline(kernels: Sequence[KernelFigures], peak: Peaks, names: Sequence[str]) -> str:
    """Operations in a second over operations per byte, both logarithmic, under the roof of the
    device's memory and arithmetic. Kernels without floating-point operations are left out.

    Args:
        names: of all kernels of the page, in the order of their colours.
    """
    points = [
        (kernel, kernel.flops.total / kernel.array_bytes, kernel.flops_per_second)
        for kernel in kernels
        if kernel.flops and kernel.flops.total and kernel.array_bytes and kernel.flops_per_second
    ]
    most = peak.flops_per_second
    ridge = most / peak.bytes_per_second
    left = min([ridge / 10, *(x for _, x, _ in points)]) / 2
    right = max([ridge * 10, *(x for _, x, _ in points)]) * 2
    high = max([most, *(y for _, _, y in points)]) * 2
    low = min([left * peak.bytes_per_second, *(y for _, _, y in points)]) / 2
    plane = _Plane(left, right, low, high)
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="roofline">']
    parts += plane.axes()
    roof = ((left, left * peak.bytes_per_second), (ridge, most), (right, most))
    corners = " ".join(f"{plane.x(x):.1f},{plane.y(y):.1f}" for x, y in roof)
    parts.append(f'<polyline class="roof" points="{corners}"/>')
    for kernel, x, y in points:
        parts.append(_point(kernel, plane.x(x), plane.y(y), colour(kernel.name, names)))
    if not points:
        message = "no kernel with floating-point operations and known arrays"
        parts.append(f'<text x="{_LEFT + 20}" y="{_BOTTOM - 20}">{message}</text>')
    return "".join([*parts, "</svg>"])


def _point(kernel: KernelFigures, x: float, y: float, fill: str) -> str:
    message = f"{wording.gigaflops(kernel.flops_per_second)} GFLOP/s, {wording.roofline(kernel)}"
    dot = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{fill}">'
    title = f"<title>{escape(f'{kernel.name}: {message}')}</title></circle>"
    side = "end" if x > _WIDTH - 200 else "start"
    place = f'x="{x + (-10 if side == "end" else 10):.1f}" y="{y + 4:.1f}" text-anchor="{side}"'
    return f"{dot}{title}<text {place}>{escape(kernel.name)}</text>"


class _Plane:
    """Two logarithmic axes."""

    def __init__(self, left: float, right: float, low: float, high: float) -> None:
        self._left, self._low = log10(left), log10(low)
        self._across = (_WIDTH - _RIGHT - _LEFT) / (log10(right) - self._left)
        self._up = (_BOTTOM - _TOP) / (log10(high) - self._low)
        self._ends = log10(right), log10(high)

    def x(self, intensity: float) -> float:
        return _LEFT + (log10(intensity) - self._left) * self._across

    def y(self, rate: float) -> float:
        return _BOTTOM - (log10(rate) - self._low) * self._up

    def axes(self) -> Iterator[str]:
        right = _WIDTH - _RIGHT
        for power in range(int(self._left // 1) + 1, int(self._ends[0] // 1) + 1):
            x = self.x(10.0**power)
            yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_BOTTOM}"/>'
            place = f'x="{x:.1f}" y="{_BOTTOM + 16}" text-anchor="middle"'
            yield f"<text {place}>{10.0**power:g}</text>"
        for power in range(int(self._low // 1) + 1, int(self._ends[1] // 1) + 1):
            y = self.y(10.0**power)
            yield f'<line class="axis" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
            label = f"{10.0**power / 1e9:g} GFLOP/s"
            yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        middle = (_LEFT + right) / 2
        message = "operations per byte of the arrays"
        yield f'<text x="{middle}" y="{_BOTTOM + 34}" text-anchor="middle">{message}</text>'

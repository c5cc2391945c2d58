"""Plots for the site, as SVG text: the same data draws the same bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

COLOURS = "#4051b5", "#c2571a", "#557a2b", "#8a3f8f", "#2b7a78", "#a02c2c"
MARKS = "circle", "square", "diamond"
WIDTH, LEFT, RIGHT, TOP, ROW = 760, 190, 24, 46, 24
STEPS = 1, 2, 5


@dataclass(frozen=True, slots=True)
class Series:
    """A name and its value for each row; None where it was not measured."""

    name: str
    values: tuple[float | None, ...]


def dots(title: str, axis: str, rows: list[str], series: list[Series], mark: float | None) -> str:
    """Draw values as dots on a logarithmic axis, a row for each case.

    Args:
        axis: what the axis shows, with its unit.
        mark: where a line is drawn through all rows.
    """
    values = [v for each in series for v in each.values if v is not None]
    low, high = limits([*values, mark] if mark else values)
    scale = (WIDTH - LEFT - RIGHT) / math.log(high / low)
    bottom = TOP + ROW * len(rows)

    def x(value: float) -> str:
        return f"{LEFT + math.log(value / low) * scale:.1f}"

    parts = []
    for value in ticks(low, high):
        parts.append(
            f'<line class="grid" x1="{x(value)}" x2="{x(value)}" y1="{TOP}" y2="{bottom}"/>'
        )
        parts.append(f'<text class="tick" x="{x(value)}" y="{bottom + 16}">{value:g}</text>')
    if mark:
        parts.append(f'<line class="mark" x1="{x(mark)}" x2="{x(mark)}" y1="{TOP}" y2="{bottom}"/>')
    for number, label in enumerate(rows):
        y = TOP + ROW * number + ROW / 2
        parts.append(f'<text class="label" x="{LEFT - 10}" y="{y + 4:g}">{escape(label)}</text>')
        for place, each in enumerate(series):
            value = each.values[number]
            if value is not None:
                parts.append(dot(place, x(value), y, f"{label}, {each.name}: {value:g}"))
    parts += legend(series)
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="axis" x="{middle:g}" y="{bottom + 34}">{escape(axis)}</text>')
    return picture(title, bottom + 44, parts)


def limits(values: list[float]) -> tuple[float, float]:
    """The ends of an axis with some room."""
    return min(values) / 1.15, max(values) * 1.15


def ticks(low: float, high: float) -> list[float]:
    """Round numbers on a logarithmic axis: 1, 2 and 5 of each decade, or only the decades."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = STEPS if high / low < 500 else (1,)
    if high / low < 3:
        steps = tuple(n / 10 for n in range(10, 100))
    found = [step * 10.0**decade for decade in decades for step in steps]
    return [round(value, 9) for value in found if low <= value <= high]


def dot(place: int, x: str, y: float, name: str) -> str:
    """The mark of a series; its name and value show under the pointer."""
    colour, kind = COLOURS[place % len(COLOURS)], MARKS[place % len(MARKS)]
    title = f"<title>{escape(name)}</title>"
    if kind == "circle":
        return f'<circle cx="{x}" cy="{y:g}" r="5.5" fill="{colour}">{title}</circle>'
    turn = f' transform="rotate(45 {x} {y:g})"' if kind == "diamond" else ""
    corner = float(x) - 4.5
    return (
        f'<rect x="{corner:.1f}" y="{y - 4.5:g}" width="9" height="9" fill="{colour}"{turn}>'
        f"{title}</rect>"
    )


def legend(series: list[Series]) -> list[str]:
    """The marks with their names, above the rows."""
    parts, x = [], float(LEFT)
    for place, each in enumerate(series):
        parts.append(dot(place, f"{x:.1f}", TOP - 16, each.name))
        parts.append(f'<text class="name" x="{x + 11:g}" y="{TOP - 12}">{escape(each.name)}</text>')
        x += 30 + 7.2 * len(each.name)
    return parts


def picture(title: str, height: int, parts: list[str]) -> str:
    """The whole file."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="13" role="img" aria-label="{escape(title)}">'
    )
    style = (
        "<style>text { fill: #111; } .grid { stroke: #ddd; } .mark { stroke: #555; "
        "stroke-dasharray: 4 3; } .tick, .axis { text-anchor: middle; fill: #444; } "
        ".label { text-anchor: end; }</style>"
    )
    body = [head, style, f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>', *parts, "</svg>"]
    return "\n".join(body) + "\n"

"""Tunings as pictures: the time of each candidate, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from gridlane.tuning.results import State, Trial, Tuning, time_text
from gridlane.tuning.spaces import Candidate

_WIDTH, _LEFT, _RIGHT = 1000, 380, 110
_ROW, _HEAD = 22, 34
_BEST, _PLAIN, _OTHER = "#54a24b", "#f58518", "#4c78a8"
_STYLE = "text{font:13px sans-serif;fill:#222}.head{font-weight:bold}.why{fill:#888}"


def svg(tunings: Sequence[Tuning]) -> str:
    """A bar for each candidate, the fastest first: green is the best, orange the plain schedule. A
    line is where the estimate says that the time is, if that of the plain one is right."""
    height = sum(_HEAD + _ROW * len(each.trials) + 16 for each in tunings)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {max(height, _ROW)}" '
        f'role="img" aria-label="candidates"><style>{_STYLE}</style>'
        f'<rect width="{_WIDTH}" height="{max(height, _ROW)}" fill="#fff"/>'
    ]
    top = 0
    for tuning in tunings:
        parts += _tuning(tuning, top)
        top += _HEAD + _ROW * len(tuning.trials) + 16
    return "".join([*parts, "</svg>\n"])


def _tuning(tuning: Tuning, top: int) -> Iterator[str]:
    title = f"{tuning.kernel}({tuning.shapes}) on {tuning.device}"
    yield f'<text class="head" x="8" y="{top + 22}">{escape(title)}</text>'
    slowest = max([each.milliseconds for each in tuning.measured], default=1.0)
    scale = (_WIDTH - _LEFT - _RIGHT) / slowest
    best = tuning.best.candidate if tuning.measured else None
    factor = _factor(tuning.plain) if tuning.trials else None
    for number, trial in enumerate(sorted(tuning.trials, key=lambda each: each.milliseconds)):
        yield from _row(trial, top + _HEAD + number * _ROW, scale, _colour(trial, best, tuning))
        is_shown = trial.state is State.MEASURED and math.isfinite(trial.estimate)
        if factor is not None and is_shown:
            x = _LEFT + min(trial.estimate * factor * scale, _WIDTH - _LEFT - 4)
            y = top + _HEAD + number * _ROW
            line = f'x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + _ROW - 6}"'
            yield f'<line {line} stroke="#222" stroke-width="1.5"/>'


def _factor(plain: Trial) -> float | None:
    """Milliseconds of a unit of the estimate."""
    known = math.isfinite(plain.estimate) and math.isfinite(plain.milliseconds)
    return plain.milliseconds / plain.estimate if known and plain.estimate > 0 else None


def _colour(trial: Trial, best: Candidate | None, tuning: Tuning) -> str:
    if trial.candidate == best:
        return _BEST
    return _PLAIN if trial.candidate == tuning.plain.candidate else _OTHER


def _row(trial: Trial, top: int, scale: float, fill: str) -> Iterator[str]:
    name = escape(str(trial.candidate))
    yield f'<text x="{_LEFT - 10}" y="{top + 13}" text-anchor="end">{name}</text>'
    if trial.state is not State.MEASURED:
        yield f'<text class="why" x="{_LEFT}" y="{top + 13}">{escape(_short(trial))}</text>'
        return
    width = max(trial.milliseconds * scale, 1.0)
    box = f'x="{_LEFT}" y="{top}" width="{width:.1f}" height="{_ROW - 6}"'
    yield f'<rect {box} fill="{fill}"><title>{name}: {time_text(trial)}</title></rect>'
    yield f'<text x="{_LEFT + width + 6:.1f}" y="{top + 13}">{time_text(trial)}</text>'


def _short(trial: Trial) -> str:
    text = f"{trial.state}: {trial.reason}" if trial.reason else str(trial.state)
    return text if len(text) <= 80 else f"{text[:79]}…"

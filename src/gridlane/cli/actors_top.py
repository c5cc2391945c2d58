"""``gridlane actors top``: what the actors of this user's running programs do."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gridlane.actors.telemetry.folder import read_all
from gridlane.cli.tables import console, table

NOBODY = (
    "No program of yours publishes its actors. Start one with GRIDLANE_TELEMETRY=1, or with "
    "actors.Runtime(..., telemetry=True)."
)
COLUMNS = (
    "actor", "state", "received", "a second", "waiting", "most", "dead", "failed",
    "wait p50 / p99 / p99.9", "handling p50 / p99", "calls p50 / p99",
)  # fmt: skip
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


class View:
    """The tables of all programs, and the rates between two reads."""

    def __init__(self) -> None:
        self._before: dict[tuple[int, float, int], tuple[float, int]] = {}

    def look(self) -> Group:
        """Read what is published now."""
        programs = read_all()
        tables = [self._program(each) for each in programs]
        return Group(*(tables or [Text(NOBODY)]))

    def _program(self, facts: dict[str, Any]) -> Table:
        numbers = facts["facts"]
        rows = table(
            *COLUMNS,
            title=f"{facts['program']} ({facts['pid']}) on {facts['device']}: {facts['count']} "
            f"actors, {numbers['dead']} dead letters, {numbers['dead_lost']} of them lost, "
            f"up {facts['time'] - facts['begin']:.0f} s",
        )
        for column in rows.columns[2:]:
            column.justify = "right"
        for actor in facts["actors"]:
            rows.add_row(*self._row(facts, actor))
        return rows

    def _row(self, facts: dict[str, Any], actor: dict[str, Any]) -> list[str]:
        key = facts["pid"], facts["begin"], actor["id"]
        now = facts["time"], actor["received"]
        before = self._before.get(key, (facts["begin"], 0))
        self._before[key] = now
        passed = now[0] - before[0]
        rate = (now[1] - before[1]) / passed if passed > 0 else 0.0
        times = actor["latencies"]
        counts = [actor[name] for name in ("waiting", "inbox_high", "dead", "failed")]
        return [
            actor["name"],
            actor["state"],
            f"{actor['received']:,}",
            f"{rate:,.0f}",
            *map(str, counts),
            durations(times["wait"][1:]),
            *(durations(times[name][1:3]) for name in ("handling", "calls")),
        ]


def duration(seconds: float) -> str:
    """A time in three digits and its unit.

    >>> duration(0.00123), duration(0.0), duration(3.4e-7)
    ('1.23 ms', '', '340 ns')
    """
    if not seconds:
        return ""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def durations(seconds: list[float]) -> str:
    """Several times; nothing where there are none."""
    return " / ".join(map(duration, seconds)) if any(seconds) else ""


def top(once: bool, interval: float) -> None:
    """Show the view once, or until Ctrl-C."""
    view, output = View(), console()
    if not output.is_terminal:
        output.width = 160  # a pipe has room for all columns
    if once:
        output.print(view.look())
        return
    try:
        with Live(
            view.look(), console=output, screen=output.is_terminal, auto_refresh=False
        ) as live:
            while True:
                time.sleep(interval)
                live.update(view.look(), refresh=True)
    except KeyboardInterrupt:
        pass

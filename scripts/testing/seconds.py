"""A plugin of pytest: the seconds of each file of tests, kept for ``quick``.

Times are added to ``build/seconds.json``; the files that took longest are printed at the end.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "seconds.json"
_SHOWN = 20
_seconds: Counter[str] = Counter()


def known() -> dict[str, float]:
    """The seconds of each file, as the last run that had its tests took them."""
    try:
        times = json.loads(KEPT.read_text())
        return {str(path): float(seconds) for path, seconds in times.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add a test's setup, call or teardown."""
    _seconds[report.nodeid.partition("::")[0]] += report.duration


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Keep the times, and show the longest."""
    if hasattr(config, "workerinput") or not _seconds:
        return
    KEPT.parent.mkdir(exist_ok=True)
    times = {path: round(seconds, 2) for path, seconds in sorted(_seconds.items())}
    KEPT.write_text(json.dumps({**known(), **times}, indent=0))
    if len(times) > _SHOWN:
        terminalreporter.section(f"seconds of files, {sum(times.values()):.0f} in all")
        for path, seconds in _seconds.most_common(_SHOWN):
            terminalreporter.line(f"{seconds:8.1f}  {path}")

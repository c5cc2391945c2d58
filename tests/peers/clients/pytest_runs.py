"""Runs of pytest on files of other projects' suites: their outcomes, as far as the process came."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

Row = tuple[str, str, str]
"""The outcome of a test: pytest's word or "ended", the test, a reason."""


def outcomes(
    command: Sequence[str], folder: Path, environment: dict[str, str], limit: int, name: str
) -> tuple[list[Row], str]:
    """Run pytest with the plugin ``outcomes`` for at most so many seconds.

    Returns:
        The outcomes of tests that ran, and what pytest printed. A process that ends too early or
        too late has a row "ended" for the test that ran, or for ``name``.
    """
    with TemporaryDirectory() as room:
        file = Path(room, "outcomes")
        file.touch()
        why, printed = "", b""
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment | {"OUTCOMES": str(file)},
                capture_output=True,
                timeout=limit,
            )
            printed = done.stdout
            if done.returncode not in (0, 1, 5):
                why = f"pytest's status {done.returncode}"
        except subprocess.TimeoutExpired:
            why = f"no end in {limit} s"
        return rows_of(file.read_text(), why, name), printed.decode(errors="replace")


def rows_of(text: str, why: str, name: str) -> list[Row]:
    """The outcomes from the plugin's lines; ``why`` the process ended, if it did."""
    by_test: dict[str, Row] = {}
    running = name
    for kind, test, reason in map(json.loads, text.splitlines()):
        if kind == "starts":
            running = test
        elif by_test.get(test, ("passed",))[0] == "passed":
            by_test[test] = (kind, test, reason)
    if why and by_test.get(running, ("passed",))[0] == "passed":
        by_test[running] = ("ended", running, why)
    return list(by_test.values())


def worded(reasons: dict[str, str], test: str, reason: str) -> str:
    """The first words of ``reasons`` whose pattern is in a test's name and reason, or its own."""
    for pattern, words in reasons.items():
        if re.search(pattern, f"{test} {reason}"):
            return words
    return "`" + re.sub(r"[|<>`\s]+", " ", reason)[:110].strip() + "`"

"""A report of errors, of this process or of a file: text for people, JSON for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from gridlane.core.error_file import as_dict, of_dict
from gridlane.core.error_ring import WINDOW_S, Counts, Entry

SHOWN = 20
"""The most errors that the text has."""


class Report(NamedTuple):
    """Errors, and counts of these and of earlier ones.

    Attributes:
        entries: the last errors, oldest first.
        counts: those of all.
        unwritten: how many lines the file of GRIDLANE_ERRORS lacks.
        skipped: how many lines of a file that is read are torn or others'.
    """

    entries: tuple[Entry, ...]
    counts: Counts
    unwritten: int = 0
    skipped: int = 0

    def json(self) -> str:
        """The report as JSON; ``parse`` reads it."""
        counts = self.counts
        return json.dumps(
            {
                "total": counts.total,
                "last_minute": counts.last_minute,
                "last_ten_minutes": counts.last_ten_minutes,
                "categories": counts.categories,
                "codes": [
                    {"name": name, "code": code, "count": number}
                    for (name, code), number in counts.codes.items()
                ],
                "unwritten": self.unwritten,
                "skipped": self.skipped,
                "errors": [as_dict(entry) for entry in self.entries],
            },
            indent=2,
        )

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def parse(text: str) -> Report:
    """The report that ``Report.json`` wrote.

    Raises:
        ValueError: it is none.
    """
    try:
        values: dict[str, Any] = json.loads(text)
        codes = {(each["name"], each["code"]): each["count"] for each in values["codes"]}
        total, minute, ten = (values[name] for name in ("total", "last_minute", "last_ten_minutes"))
        return Report(
            tuple([of_dict(each) for each in values["errors"]]),
            Counts(total, values["categories"], codes, minute, ten),
            values["unwritten"],
            values["skipped"],
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this is no report of errors: {error}") from None


def report_of(entries: Iterable[Entry], now: datetime, skipped: int = 0) -> Report:
    """The report of all errors of a file.

    Args:
        now: what the last minute and the last ten end at, in UTC.
        skipped: how many lines of the file are no errors.
    """
    entries = tuple(sorted(entries, key=lambda entry: entry.microseconds))
    ages = [(now - entry.time).total_seconds() for entry in entries]
    counts = Counts(
        len(entries),
        dict(Counter(entry.category for entry in entries)),
        dict(Counter((entry.name, entry.code) for entry in entries)),
        sum(0 <= age < 60 for age in ages),
        sum(0 <= age < WINDOW_S for age in ages),
    )
    return Report(entries, counts, skipped=skipped)


def _lines(report: Report) -> list[str]:
    counts, shown = report.counts, report.entries[-SHOWN:]
    if not counts.total:
        return ["no errors", *_gaps(report)]
    lines = [
        f"{_errors(counts.total)}; {counts.last_minute} in the last minute, "
        f"{counts.last_ten_minutes / 10:g} a minute in the last ten",
        f"by category: {_most(counts.categories)}",
        "by code: "
        + _most({_name(name, code): number for (name, code), number in counts.codes.items()}),
        *_gaps(report),
    ]
    if len(shown) < counts.total:
        lines.append(f"the last {len(shown)}:" if len(shown) > 1 else "the last one:")
    for entry in shown:
        lines += ["", *_entry(entry)]
    return lines


def _gaps(report: Report) -> list[str]:
    lines: list[str] = []
    if report.unwritten:
        lines.append(f"lines that GRIDLANE_ERRORS' file lacks: {report.unwritten}")
    if report.skipped:
        lines.append(f"lines of the file that are torn or others': {report.skipped}")
    return lines


def _entry(entry: Entry) -> list[str]:
    where = [
        entry.device and f"device {entry.device}",
        entry.kernel and f"kernel {entry.kernel}",
        f"{entry.file}:{entry.line}" if entry.line else "",
        f"process {entry.process}",
        f"thread {entry.thread}",
    ]
    time = entry.time.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    return [
        f"{time} UTC  {_name(entry.name, entry.code)}, {entry.category}",
        f"  {', '.join([each for each in where if each])}",
        *(f"  {line}" for line in entry.message.splitlines()),
        f"  remedy: {entry.suggestion}",
    ]


def _name(name: str, code: int) -> str:
    return f"{name} ({code})"


def _errors(number: int) -> str:
    return "1 error" if number == 1 else f"{number} errors"


def _most(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {number}" for name, number in ordered)

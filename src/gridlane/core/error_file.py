"""The file of GRIDLANE_ERRORS: the errors of any number of processes, a line of JSON each.

Each line is appended at once, so lines of processes and threads do not mix. A reader skips what is
no line of this form, and counts it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from gridlane.core import trace
from gridlane.core.error_ring import EPOCH, Entry

FORM = 1
"""The number of the form of lines, under the key ``gridlane``."""

_TYPES: dict[str, type] = get_type_hints(Entry)


class _State:
    unwritten = 0
    is_torn = False
    """Whether the last line of this process may lack its end."""


def _begin_in_child() -> None:
    _State.unwritten, _State.is_torn = 0, False


os.register_at_fork(after_in_child=_begin_in_child)


def append(path: Path, entry: Entry) -> None:
    """Append an error. One that cannot be written is counted, and the first one reported on
    stderr: the error itself is what the program has to get."""
    _write(path, json.dumps({"gridlane": FORM, **as_dict(entry)}))


def append_taken_back(path: Path, entry: Entry) -> None:
    """Append that an error is taken back; see ``error_history.take_back``."""
    taken = {"gridlane": FORM, "process": entry.process, "taken_back": entry.number}
    _write(path, json.dumps(taken))


def unwritten() -> int:
    """How many lines could not be written."""
    return _State.unwritten


def _write(path: Path, line: str) -> None:
    data = (b"\n" if _State.is_torn else b"") + line.encode() + b"\n"
    try:
        # Opened for each line: the program may close any descriptor, and move the file.
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            written = os.write(file, data)
        finally:
            os.close(file)
        _State.is_torn = written < len(data)
        reason = "the line was written in part" if _State.is_torn else ""
    except OSError as error:
        reason = str(error)
    if reason:
        _State.unwritten += 1
        if _State.unwritten == 1:
            trace.write(f"gridlane: GRIDLANE_ERRORS={path}: {reason}")


def as_dict(entry: Entry) -> dict[str, Any]:
    """An entry as JSON has it: with its time as text, in ISO's form."""
    rest = entry._asdict()
    del rest["microseconds"]
    return {"time": entry.time.isoformat(timespec="microseconds"), **rest}


def of_dict(values: dict[str, Any]) -> Entry:
    """The inverse of ``as_dict``; other keys are ignored.

    Raises:
        ValueError: it is not that of an entry.
    """
    try:
        time = datetime.fromisoformat(values["time"])
        if time.utcoffset() != timedelta(0):
            raise ValueError(f"the time {time} is not in UTC")
        since = (time.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"this is no error of gridlane's: {error}") from None
    fields: dict[str, Any] = {name: values.get(name) for name in _TYPES}
    fields["microseconds"] = since
    for name, kind in _TYPES.items():
        if type(fields[name]) is not kind:
            raise ValueError(f"{name} is {fields[name]!r}, and not of type {kind.__name__}")
    return Entry(**fields)


class Lines(NamedTuple):
    """What a file has.

    Attributes:
        entries: the errors, in the order of the file.
        skipped: how many lines are torn, or others'.
    """

    entries: tuple[Entry, ...]
    skipped: int


def read(path: Path) -> Lines:
    """Read a file.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return parse(file)


def parse(lines: Iterable[bytes]) -> Lines:
    """The errors in lines, without those that are taken back."""
    entries: dict[tuple[int, int, int], Entry] = {}
    last: dict[tuple[int, int], tuple[int, int, int]] = {}
    skipped = 0
    for place, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            values: dict[str, Any] = json.loads(line)
            if type(values) is not dict or values.get("gridlane") != FORM:
                raise ValueError("this is no line of gridlane's")
            if "taken_back" in values:  # of the last process with this number, if two had it
                key = last.get((values["process"], values["taken_back"]))
                if key is not None:
                    entries.pop(key, None)
                continue
            entry = of_dict(values)
        except (ValueError, KeyError, TypeError, RecursionError):
            skipped += 1
            continue
        key = entry.process, entry.number, place
        entries[key] = entry
        last[entry.process, entry.number] = key
    return Lines(tuple(entries.values()), skipped)

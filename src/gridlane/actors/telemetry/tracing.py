"""Traces of messages, as files that Perfetto and Chrome show."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gridlane.actors.errors import ActorError, Reason
from gridlane.actors.layouts.blocks import EVENT_ANSWER, EVENT_DEAD, EVENT_HANDLE, EVENT_POST
from gridlane.actors.local.home import Home

WORDS = ("kind", "time", "end", "source", "actor", "trace", "span")
EVENTS = 1 << 16
_SHORT = 0.05
"""Microseconds of a post's box, from which an arrow begins."""


class Tracing:
    """A trace in progress; ``stop`` writes it. As a context manager, the end of the block does. The
    runtime's end does as well.

    Args:
        path: the file, in Chrome's format of trace events (JSON).
        events: how many are kept at most, a power of two; the oldest are dropped, and counted.

    Raises:
        ActorError: another trace of the runtime is in progress.
        ValueError: ``events`` is not a power of two.
    """

    def __init__(self, home: Home, path: str | os.PathLike[str], events: int = EVENTS) -> None:
        if events < 1 or events & events - 1 or events > 1 << 26:
            raise ValueError(f"events={events} is not a power of two between 1 and {1 << 26}")
        home.require_open()
        self.path = Path(path)
        self.path.touch()  # fail now, rather than at the end
        self._home: Home | None = home
        self._names: dict[int, str] = {}
        try:
            home.engine.trace_begin(events)
        except ValueError:
            raise ActorError("a trace of this runtime is being made; stop it first") from None
        self._note_names()
        home.at_end.append(self.stop)

    def __enter__(self) -> Tracing:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the trace and write its file; a second time it does nothing."""
        home, self._home = self._home, None
        if home is None:
            return
        if self.stop in home.at_end:
            home.at_end.remove(self.stop)
        self._note_names(home)
        data, dropped = home.engine.trace_end()
        content = chrome_trace(data, self._names, dropped)
        self.path.write_text(json.dumps(content, separators=(",", ":")))

    def _note_names(self, home: Home | None = None) -> None:
        for each in (home or self._home or _none()).directory.all():
            self._names[each.number] = each.name


def _none() -> Home:
    raise ActorError("the trace has ended")


def chrome_trace(data: bytes, names: dict[int, str], dropped: int) -> dict[str, Any]:
    """The trace events of the engine's, with times in microseconds from the first one.

    Each actor is a row, and so is the host, 0. A message is a box in its sender's row where it is
    posted, an arrow, and a box in its receiver's row while it is handled.
    """
    rows = np.frombuffer(data, np.uint64).reshape(-1, len(WORDS)).tolist()
    begin = min((row[1] for row in rows), default=0)
    actors = sorted({0, *names, *[number for row in rows for number in _actors_of(row)]})
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "gridlane actors"}}
    ]
    for number in actors:
        name = "host" if not number else names.get(number, f"actor {number}")
        events.append(
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": number, "args": {"name": name}}
        )
    for row in rows:
        events += _DRAW[row[0]](dict(zip(WORDS, row, strict=True)), begin, names)
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"dropped": dropped, "begin_nanoseconds": begin},
    }


def _actors_of(row: list[int]) -> Iterator[int]:
    yield row[3]
    if row[0] != EVENT_DEAD:  # of a dead letter it may be the key of an unknown name
        yield row[4]


Drawn = Iterator[dict[str, Any]]


def _event(fact: dict[str, int], begin: int, row: int, **more: Any) -> dict[str, Any]:
    numbers = {"trace": fact["trace"], "span": fact["span"]}
    when = (fact["time"] - begin) / 1000
    return {"pid": 1, "tid": row, "ts": when, "cat": "message", "args": numbers, **more}


def _post(fact: dict[str, int], begin: int, names: dict[int, str]) -> Drawn:
    to = names.get(fact["actor"], f"actor {fact['actor']}")
    yield _event(fact, begin, fact["source"], ph="X", dur=_SHORT, name=f"to {to}")
    yield _event(fact, begin, fact["source"], ph="s", id=fact["span"], name="message")


def _handle(fact: dict[str, int], begin: int, names: dict[int, str]) -> Drawn:
    last = (fact["end"] - fact["time"]) / 1000
    source = "host" if not fact["source"] else names.get(fact["source"], str(fact["source"]))
    yield _event(fact, begin, fact["actor"], ph="X", dur=last, name=f"of {source}")
    yield _event(fact, begin, fact["actor"], ph="f", bp="e", id=fact["span"], name="message")


def _answer(fact: dict[str, int], begin: int, names: dict[int, str]) -> Drawn:
    yield _event(fact, begin, fact["source"], ph="X", dur=_SHORT, name="to host")
    yield _event(fact, begin, fact["source"], ph="s", id=fact["span"], name="message")
    source = names.get(fact["source"], str(fact["source"]))
    yield _event(fact, begin, 0, ph="X", dur=_SHORT, name=f"of {source}")
    yield _event(fact, begin, 0, ph="f", bp="e", id=fact["span"], name="message")


def _dead(fact: dict[str, int], begin: int, names: dict[int, str]) -> Drawn:
    reason = Reason(fact["end"])
    to = names.get(fact["actor"], str(fact["actor"]))
    name = f"dead letter for {to}: {reason.name}"
    yield _event(fact, begin, fact["source"], ph="i", s="t", name=name)


_DRAW: dict[int, Callable[[dict[str, int], int, dict[int, str]], Drawn]] = {
    EVENT_POST: _post,
    EVENT_HANDLE: _handle,
    EVENT_ANSWER: _answer,
    EVENT_DEAD: _dead,
}

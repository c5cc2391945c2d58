"""Events of native/queue_events.c, on the queues of ``queues.py``: Python and C record them, look
at them and wait for them; only Python has the place in a capture.

A script names the mark of each recording. ``kept`` are the marks of which an event has a use.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.actors.model.checker import Memory, Model, View, step
from tests.native.model.queues import Code, Mark, call, passes, queues


class Event(NamedTuple):
    """``struct gl_event``, and ``place``: Python's mark of a capture."""

    mark: int | None = None
    recorded: bool = False
    captured: bool = False
    place: bool = False


def _event(s: View, e: int) -> Event:
    return s.see("events")[e]


def _set(s: View, e: int, **fields: Any) -> None:
    events = s.see("events")
    s.note("events", (*events[:e], events[e]._replace(**fields), *events[e + 1 :]))


def _mark(s: View, m: int) -> Mark:
    return s.see("marks")[m]


def _drop(s: View, e: int, m: int) -> None:
    """One use of a mark less, that of an event."""
    if m not in s.see("kept"):
        s.note("wrong", "an event drops a mark twice")
    s.note("kept", s.see("kept") - {m})
    _set(s, e, mark=None)


def _put(s: View, q: int, m: int) -> bool:
    """Append the passing of a mark; whether a thread must start."""
    queue = s.see(f"queue{q}")
    marks = s.see("marks")
    s.note("marks", (*marks[:m], Mark(q), *marks[m + 1 :]))
    items = (*queue.items, passes(m))
    s.note(f"queue{q}", queue._replace(items=items, appended=queue.appended + 1))
    if queue.lingers:
        asleep = s.see("asleep")
        s.note("asleep", frozenset(each for each in asleep if each[1:] != (q, "work")))
    return not queue.has_worker


class CodeOfEvents(Code):
    """What threads do with events as well."""

    def further(self, arguments: Any, following: Any, look: Any) -> dict[str, Any]:
        change = self.change

        def record(s: View) -> Any:
            """gl_record_event [record], by "C" or "Python"."""
            e, q, m, by = arguments(s)
            event, queue = _event(s, e), s.see(f"queue{q}")
            has_work = queue.unfinished and change != "records at once"
            is_refused = event.captured and change != "C records what is captured"
            if by == "C" and (is_refused or (has_work and not queue.has_worker)):
                return following(s)  # Python does it
            needs_worker = bool(has_work) and _put(s, q, m)
            if event.mark is not None and change != "keeps the old mark":
                _drop(s, e, event.mark)
            if has_work:
                s.note("kept", s.see("kept") | {m})
            _set(s, e, mark=m if has_work else None, recorded=True, captured=False)
            if by == "C":
                return following(s)
            return start if needs_worker else note

        @step("host_queue.py put", "starts a thread")
        def start(s: View) -> Any:
            q = arguments(s)[1]
            queue = s.see(f"queue{q}")
            s.note(f"queue{q}", queue._replace(starts=queue.starts + 1))
            return note

        @step("streams.py Event.record", "notes that the event is in no capture")
        def note(s: View) -> Any:
            _set(s, arguments(s)[0], place=False)
            return following(s)

        def look_at(s: View) -> Any:
            """gl_mark_of [look at event]."""
            e = arguments(s)[0]
            mark = _event(s, e).mark
            if mark is None or not _mark(s, mark).passed:
                return following(s)
            if change == "drops a mark without the lock":
                s["wait"] = mark
                return drop
            _drop(s, e, mark)
            return following(s)

        @step("queue_events.c gl_mark_of", "drops a mark that it saw before")
        def drop(s: View) -> Any:
            _drop(s, arguments(s)[0], s["wait"])
            return following(s)

        def wait_for_event(s: View) -> Any:
            """gl_mark_of, and a wait for the mark."""
            (e,) = arguments(s)
            mark = _event(s, e).mark
            if mark is None or _mark(s, mark).passed:
                return following(s)
            s["wait"] = ("mark", _mark(s, mark).queue, mark)
            return look

        def capture(s: View) -> Any:
            """streams.py Event.capture: Python's place, then the native flag."""
            first = {"captured": True} if change == "the flag comes first" else {"place": True}
            _set(s, arguments(s)[0], **first)
            return capture_rest

        @step("queue_events.c gridlane_event_capture", "the second of both")
        def capture_rest(s: View) -> Any:
            rest = {"place": True} if change == "the flag comes first" else {"captured": True}
            _set(s, arguments(s)[0], **rest)
            return following(s)

        return {
            "record": record,
            "look at": look_at,
            "wait for event": wait_for_event,
            "capture event": capture,
        }


def _rests(memory: Memory) -> str | None:
    for event in memory["events"]:
        if event.place and not event.captured:
            return "C answers for an event that is recorded in a capture"
        if (event.mark is not None) != (event.mark in memory["kept"]):
            return "an event has a mark without a use"
    if len(memory["kept"]) > len([each for each in memory["events"] if each.mark is not None]):
        return "the use of a mark is lost"
    return None


def _model(
    scripts: tuple[tuple[tuple[Any, ...], ...], ...], change: str, count: int = 1, marks: int = 1
) -> Model:
    state = {"events": (Event(),), "kept": frozenset()}
    return queues(scripts, change, count, marks, kind=CodeOfEvents, further=state, rests=_rests)


def recorded(change: str = "") -> Model:
    """Python records behind its work, C looks, and both wait."""
    one = (
        ("append", 0, call(1)),
        ("record", 0, 0, 0, "Python"),
        ("wait for event", 0),
        ("expect", "ran", 1),
        ("look at", 0),
    )
    return _model((one, (("look at", 0), ("wait for event", 0))), change)


def recorded_first(change: str = "") -> Model:
    """A recording behind a piece whose thread has ended, or has not begun."""
    one = ("append", 0, call(1)), ("record", 0, 0, 0, "Python"), ("wait for event", 0)
    return _model((one, (("over", 0),)), change)


def recorded_again(change: str = "") -> Model:
    """An event is recorded again, by C, while another thread waits for it."""
    one = (
        ("append", 0, call(1)),
        ("record", 0, 0, 0, "Python"),
        ("record", 0, 1, 1, "C"),
        ("wait for event", 0),
    )
    two = ("wait for event", 0), ("look at", 0)
    return _model((one, two), change, count=2, marks=2)


def captured(change: str = "") -> Model:
    """An event is captured, while others record it."""
    one, two = (("capture event", 0),), (("record", 0, 0, 0, "Python"),)
    return _model((one, two, (("record", 0, 0, 0, "C"),)), change)

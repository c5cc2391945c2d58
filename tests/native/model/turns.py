"""The turn of the default stream, with the queues of ``queues.py``: a lock that callbacks of
streams and callers take, and a queue without items. It waits for what the thread waits for that has
the turn.

The queue of the turn has the number ``TURN``. A "turn" of a worker takes the turn in a callback,
and waits for a queue meanwhile, or for none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.actors.model.checker import BLOCKED, Memory, Model, View, step
from tests.native.model.queues import (
    NEVER,
    Code,
    Wait,
    _is_reached,
    _leads_to,
    _queue,
    _set,
    _sleep_for,
    _sleeps,
    call,
    queues,
)

TURN = 0
_Step = Callable[[View], Any]


class CodeOfTurns(Code):
    """What threads do with the turn as well."""

    def of_worker(self, name: str, q: int, following: _Step, wait: _Step) -> dict[str, _Step]:
        change = self.change

        @step("host_queue.py _TurnOfWorker.__enter__", "tries to take the lock")
        def turn(s: View) -> Any:
            if s.see("holder") is not None:
                return begin_wait
            s.note("holder", name)
            return note

        @step("queue_waits.c gridlane_queue_begin_wait [circle of turn] [begin wait]", "looks")
        def begin_wait(s: View) -> Any:
            if change != "looks for no circle of turns" and _leads_to(s, TURN, q):
                s.note("refused", s.see("refused") + 1)
                return following
            _set(s, q, waits=("count", TURN, NEVER))
            return take

        @step("host_queue.py _TurnOfWorker._wait", "takes the lock")
        def take(s: View) -> Any:
            if s.see("holder") is not None:
                return BLOCKED
            s.note("holder", name)
            return end_wait

        @step("queue_waits.c gridlane_queue_end_wait [end wait]", "waits for the turn no longer")
        def end_wait(s: View) -> Any:
            _set(s, q, waits=None)
            return note

        @step("queue_waits.c gridlane_queue_begin_wait [begin wait]", "the turn waits")
        def note(s: View) -> Any:
            if change != "a worker's turn waits for nobody":
                _set(s, TURN, waits=("count", q, NEVER))
            other = (_queue(s, q).current or call(0))[3][1]
            if other is None:
                return leave
            s["wait"], s["then"] = ("count", other, _queue(s, other).appended), "leave"
            return wait

        @step("queue_waits.c gridlane_queue_end_wait [end wait]", "the turn waits no longer")
        def leave(s: View) -> Any:
            s["then"] = None
            if change == "the turn ends before its wait":
                s.note("holder", None)
                return end_late
            _set(s, TURN, waits=None)
            return release

        @step("host_queue.py _TurnOfWorker.__exit__", "releases the lock")
        def release(s: View) -> Any:
            s.note("holder", None)
            return following

        @step("queue_waits.c gridlane_queue_end_wait [end wait]", "ends the wait of who is next")
        def end_late(s: View) -> Any:
            _set(s, TURN, waits=None)
            return following

        return {"turn": turn, "leave": leave}

    def further(self, arguments: Any, following: Any, look: Any) -> dict[str, Any]:
        change = self.change

        @step("default_stream_lock.py Turns.lock", "takes the lock")
        def take(s: View) -> Any:
            if s.see("holder") is not None:
                return BLOCKED
            s.note("holder", "caller")
            return following(s)

        def give(s: View) -> Any:
            s.note("holder", None)
            return following(s)

        def wait(s: View) -> Any:
            """_wait_for, whose _waiter is the turn."""
            (q,) = arguments(s)
            s["wait"] = ("count", q, _queue(s, q).appended)
            return look_with_turn

        @step("queue_waits.c gl_wait_locked [circle] [wait]", "looks, or sleeps, with the turn")
        def look_with_turn(s: View) -> Any:
            target: Wait = s["wait"]
            is_over = _is_reached(s, target)
            if not is_over and change != "a caller looks for no circle":
                is_over = _leads_to(s, target[1], TURN)
                s.note("refused", s.see("refused") + is_over)
            if is_over:
                _set(s, TURN, waits=None)
                return following(s)
            if change != "a caller's turn waits for nobody":
                _set(s, TURN, waits=target)
            _sleep_for(s, "with turn", target)
            return awake

        @step("queue_waits.c slept [sleep]", "wakes")
        def awake(s: View) -> Any:
            return BLOCKED if _sleeps(s, "with turn") else look_with_turn

        return {"take turn": take, "give turn": give, "wait with turn": wait}


def _turns(
    scripts: tuple[tuple[tuple[Any, ...], ...], ...],
    change: str,
    ran: tuple[int, ...],
    has_circle: bool = True,
) -> Model:
    def rests(memory: Memory) -> str | None:
        if memory["holder"] is not None or memory[f"queue{TURN}"].waits is not None:
            return "the turn stays"
        return "a wait that ends is refused" if memory["refused"] and not has_circle else None

    state = {"holder": None}
    return queues(scripts, change, 3, 0, ran=ran, kind=CodeOfTurns, further=state, rests=rests)


def turn_of_caller(change: str = "") -> Model:
    """A callback of the default stream waits for a stream whose callback uses the default one."""
    one = (
        ("append", 1, call(1, does=("turn", None))),
        ("take turn",),
        ("wait with turn", 1),
        ("give turn",),
        ("wait", 1),
    )
    return _turns((one,), change, (1,))


def turns_of_workers(change: str = "") -> Model:
    """A stream's callback uses the default stream and waits for another stream, which does so."""
    one = ("append", 1, call(1, does=("turn", 2))), ("wait", 1)
    two = ("append", 2, call(2, does=("turn", None))), ("wait", 2)
    return _turns((one, two), change, (1, 2))


def turns_in_a_row(change: str = "") -> Model:
    """A stream has the turn twice; another has it between, and waits for the second time."""
    one = (
        ("append", 1, call(1, does=("turn", None))),
        ("append", 1, call(2, does=("turn", None))),
        ("append", 2, call(3, does=("turn", 1))),
        ("wait", 2),
    )
    return _turns((one,), change, (1, 2, 3))


def turns_without_circles(change: str = "") -> Model:
    """A caller and two streams take turns, and nobody is refused."""
    one = ("append", 1, call(1, does=("turn", None))), ("take turn",), ("give turn",), ("wait", 1)
    two = (("append", 2, call(2, does=("turn", None))),)
    return _turns((one, two), change, (1, 2), has_circle=False)

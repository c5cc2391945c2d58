"""Launches of Python in the queues of ``queues.py``: C does them, and Python forgets their pieces.

Each call is such a launch. ``left`` are the pieces of those that are over [over], ``forgotten`` the
ones that Python has forgotten, by a worker without work or by a thread that waited.
"""

from __future__ import annotations

from typing import Any

from tests.actors.model.checker import Memory, Model, View, step
from tests.native.model.queues import Code, call, queues


class CodeOfPieces(Code):
    """What threads do with pieces as well."""

    def finish(self, s: View, q: int) -> None:
        item = s.see(f"queue{q}").current
        super().finish(s, q)
        if item is not None and item[0] == "call":
            s.note("left", s.see("left") | {item[1]})

    def has_left(self, s: View) -> bool:
        return bool(s.see("left")) and self.change != "sleeps with pieces"

    def forget(self, s: View) -> None:
        s.note("forgotten", (*s.see("forgotten"), *s.see("left")))
        s.note("left", frozenset())

    def further(self, arguments: Any, following: Any, look: Any) -> dict[str, Any]:
        change = self.change

        def forget(s: View) -> Any:
            """forget_over, after a wait."""
            if change == "forgets without the lock":
                s["wait"] = s.see("left")
                return forget_seen
            self.forget(s)
            return following(s)

        @step("queue_module.c forget_over", "forgets the pieces that it saw before")
        def forget_seen(s: View) -> Any:
            s.note("forgotten", (*s.see("forgotten"), *s["wait"]))
            s.note("left", s.see("left") - s["wait"])
            return following(s)

        def expect_forgotten(s: View) -> Any:
            (number,) = arguments(s)
            if number not in s.see("forgotten"):
                s.note("wrong", f"a wait is over, and piece {number} is alive")
            if number not in s.see("ran"):
                s.note("wrong", f"piece {number} is forgotten before its launch")
            return following(s)

        return {"forget": forget, "expect forgotten": expect_forgotten}


def pieces(change: str = "") -> Model:
    """One caller waits, and finds its pieces forgotten; another does not wait."""
    one = (
        ("append", 0, call(1)),
        ("append", 0, call(2)),
        ("wait", 0),
        ("forget",),
        ("expect forgotten", 1),
        ("expect forgotten", 2),
    )
    two = (("append", 1, call(3)),)

    def rests(memory: Memory) -> str | None:
        if sorted(memory["forgotten"]) != [1, 2, 3]:
            return f"the pieces that are forgotten are {memory['forgotten']}"
        return None

    state = {"left": frozenset[int](), "forgotten": ()}
    return queues((one, two), change, 2, kind=CodeOfPieces, further=state, rests=rests)

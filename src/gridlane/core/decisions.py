"""The compiler's decisions about places of a kernel, for ``kernel.explain()``.

Passes and code generators record their decisions, which costs a lookup if none are collected.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from gridlane.core.frozen import frozen
from gridlane.core.source import Loc


@frozen
class Decision:
    """What was decided.

    Attributes:
        loc: about which code.
        what: the kind of code: "load", "store", "if", "loop", "integers", "blocks".
        how: what it becomes.
    """

    loc: Loc
    what: str
    how: str


def users_place(loc: Loc, files: set[str]) -> Loc | None:
    """The place in the user's files that a place is of, or that has called it; None if there is
    none."""
    place: Loc | None = loc
    while place is not None and place.file not in files:
        place = place.caller
    return place if place is not None and place.line else None


_found: ContextVar[list[Decision] | None] = ContextVar("decisions", default=None)


@contextmanager
def collecting() -> Generator[list[Decision]]:
    """Collect what is decided in the with block, by this thread."""
    decisions: list[Decision] = []
    token = _found.set(decisions)
    try:
        yield decisions
    finally:
        _found.reset(token)


def asked() -> bool:
    """Whether decisions are collected."""
    return _found.get() is not None


def decided(loc: Loc, what: str, how: str) -> None:
    """Record a decision, if decisions are collected."""
    collected = _found.get()
    if collected is not None:
        collected.append(Decision(loc, what, how))

"""The states of an actor, and the transitions between them."""

from __future__ import annotations

from enum import Enum

from gridlane.actors.errors import StateError

ACCEPTS, RUNS = 1, 2
"""Bits of an actor's phase in the engine: its inbox accepts messages, its handler runs."""


class State(Enum):
    """The state of an actor; the numbers are those of its control block.

    launched and suspended actors accept messages and handle none; a deactivated one accepts none.
    """

    CREATED = 0
    LAUNCHED = 1
    ACTIVE = 2
    DEACTIVATED = 3
    SUSPENDED = 4
    TERMINATING = 5
    TERMINATED = 6

    def __str__(self) -> str:
        return self.name.lower()


PHASES = {
    State.CREATED: 0,
    State.LAUNCHED: ACCEPTS,
    State.ACTIVE: ACCEPTS | RUNS,
    State.DEACTIVATED: 0,
    State.SUSPENDED: ACCEPTS,
    State.TERMINATING: RUNS,
    State.TERMINATED: 0,
}

TRANSITIONS: dict[str, tuple[frozenset[State], State]] = {
    "launch": (frozenset({State.CREATED}), State.LAUNCHED),
    "activate": (frozenset({State.LAUNCHED, State.DEACTIVATED}), State.ACTIVE),
    "deactivate": (frozenset({State.ACTIVE, State.SUSPENDED}), State.DEACTIVATED),
    "suspend": (frozenset({State.ACTIVE}), State.SUSPENDED),
    "resume": (frozenset({State.SUSPENDED}), State.ACTIVE),
    "terminate": (
        frozenset({State.LAUNCHED, State.ACTIVE, State.DEACTIVATED, State.SUSPENDED}),
        State.TERMINATING,
    ),
    "end": (frozenset({State.TERMINATING, State.ACTIVE, State.SUSPENDED}), State.TERMINATED),
}
"""Of each transition: the states that it may begin in, and the one it leads to."""


def after(name: str, state: State, transition: str) -> State:
    """The state after a transition of an actor or a lattice.

    Raises:
        StateError: it is not allowed in this state.
    """
    allowed, wanted = TRANSITIONS[transition]
    if state not in allowed:
        names = ", ".join(sorted(map(str, allowed)))
        raise StateError(
            f"{name} is {state}, and {transition} would make it {wanted}: it must be {names} for "
            "that"
        )
    return wanted

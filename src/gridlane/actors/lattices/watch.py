"""The watchdog of lattices, which finds steps that do not end."""

from __future__ import annotations

import time

from gridlane.actors.errors import ActorError

LONGEST, PART = 2e-3, 1 / 64
"""The longest time between two polls, in seconds and as a part of the time so far: the delay of a
wait."""


class Watch:
    """Polls the progress of a lattice while a thread waits for it.

    Args:
        name: of the lattice, for the error.
        limit: seconds that a step may take; None for any time.
    """

    def __init__(self, name: str, limit: float | None) -> None:
        self._name, self._limit = name, limit
        self._mark: object = None
        self._begun = self._since = 0.0

    def begin(self) -> None:
        """A wait begins."""
        self._mark, self._begun = None, time.monotonic()
        self._since = self._begun

    def look(self, step: int, mark: object, steps: int = 1) -> None:
        """Poll once, at the step ``step``.

        Args:
            mark: a value that changes when the lattice advances.
            steps: that may be done before the mark changes.

        Raises:
            ActorError: nothing has changed for longer than they may take.
        """
        now = time.monotonic()
        if mark != self._mark:
            self._mark, self._since = mark, now
        elif self._limit is not None and now - self._since > self._limit * max(steps, 1):
            raise ActorError(
                f"{self._name} has not ended its step {step} within {self._limit:g} s, the "
                "watchdog's limit: it is ended, but nothing stops the blocks of a GPU from "
                "outside, and they stay there until the process ends"
            )

    def rest(self) -> None:
        """Sleep before the next poll."""
        time.sleep(min(PART * (time.monotonic() - self._begun), LONGEST))

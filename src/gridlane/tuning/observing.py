"""Those who watch tunings while they run, and what the command line asks of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gridlane.tuning.results import Trial, Tuning


class Observer(Protocol):
    """What follows tunings; `gridlane tune` shows them."""

    def begins(self, kernel: str, shapes: str, count: int) -> None:
        """A tuning begins, of a kernel with so many candidates."""
        ...

    def tried(self, kernel: str, trial: Trial) -> None:
        """A candidate was tried."""
        ...

    def ends(self, tuning: Tuning) -> None:
        """A tuning has ended, or was known."""
        ...


@dataclass(slots=True)
class Wishes:
    """What holds for all tunings of the process.

    Attributes:
        seconds: of each, in place of the program's.
        again: measure also what is known.
    """

    seconds: float | None = None
    again: bool = False


observers: list[Observer] = []
wishes = Wishes()

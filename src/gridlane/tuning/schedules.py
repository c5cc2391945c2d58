"""A kernel with its schedules: tuned for arguments, and launched with the fastest one."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.launch import current
from gridlane.tuning.results import Tuning
from gridlane.tuning.search import MOST, SECONDS, Subject, agree, tune
from gridlane.tuning.spaces import Candidate, Space

_MOST_KNOWN = 1024


class Schedules(ABC):
    """What ``tune`` returns.

    Attributes:
        tunings: by the device and the class of arguments.
        tuning: the last one.
    """

    def __init__(
        self,
        space: Space,
        seconds: float = SECONDS,
        most: int = MOST,
        tolerance: float | None = None,
        rank: Callable[..., float] | None = None,
    ) -> None:
        self.space, self.rank = space, rank
        self._options = {"seconds": seconds, "most": most, "tolerance": tolerance}
        self.tunings: dict[tuple[str, str], Tuning] = {}
        self.tuning: Tuning | None = None
        self._chosen: dict[Hashable, Candidate] = {}

    @property
    def best(self) -> dict[str, Any]:
        """The values of the fastest schedule for the arguments that were tuned last."""
        assert self.tuning is not None
        return self.tuning.best.candidate.named

    @abstractmethod
    def subject(self, args: tuple[Any, ...]) -> Subject:
        """The kernel with arguments."""

    @abstractmethod
    def launch(self, candidate: Candidate, args: tuple[Any, ...]) -> None:
        """Launch a candidate on the default stream."""

    def tune(self, *args: Any, seconds: float | None = None) -> Tuning:
        """Tune for arguments, in addition to those that it is tuned for.

        Raises:
            TuningError, GridlaneError: see ``tuning.search.tune``.
        """
        subject = self.subject(args)
        options = {**self._options, **({} if seconds is None else {"seconds": seconds})}
        tuning = tune(subject, self.space, **options)  # type: ignore[arg-type]  # its options
        self.tuning = self.tunings[current.name(), subject.shapes] = tuning
        self._chosen[exact_key(args)] = tuning.best.candidate
        return tuning

    def __call__(self, *args: Any) -> None:
        """Launch the schedule that was found for the class of the arguments. Its results for other
        shapes of the class are compared with the plain schedule's once.

        Raises:
            ArgumentError: it was not tuned for this class, on this device.
        """
        key = exact_key(args)
        candidate = self._chosen.get(key)
        if candidate is None:
            candidate = self._choose(args)
            if len(self._chosen) >= _MOST_KNOWN:
                self._chosen.clear()
            self._chosen[key] = candidate
        self.launch(candidate, args)

    def _choose(self, args: tuple[Any, ...]) -> Candidate:
        subject = self.subject(args)
        tuning = self.tunings.get((current.name(), subject.shapes))
        if tuning is None:
            known = "; ".join(f"({shapes}) on {device}" for device, shapes in self.tunings)
            raise ArgumentError(
                f"{subject.name} is tuned for {known}, and called with ({subject.shapes}) on "
                f"{current.name()}; its method tune() takes such arguments"
            )
        best = tuning.best.candidate
        tolerance: Any = self._options["tolerance"]
        if best == self.space.plain or agree(subject, self.space.plain, best, tolerance):
            return best
        warnings.warn(
            f"{subject.name}: the schedule {best} gives other results than the plain one for these "
            "arguments, though not for those of the same class that it was tuned with; the plain "
            "one is launched",
            RuntimeWarning,
            stacklevel=3,
        )
        return self.space.plain


def exact_key(args: tuple[Any, ...]) -> Hashable:
    """The types and shapes of arguments, and the values of numbers."""
    parts: list[Hashable] = [current.name()]
    for value in args:
        shape = getattr(value, "shape", None)
        if shape:
            parts.append((type(value), tuple(shape), str(getattr(value, "dtype", ""))))
        elif isinstance(value, tuple):
            parts.append(exact_key(value))  # type: ignore[arg-type]  # of any items
        else:
            parts.append((type(value), value if isinstance(value, int | str) else None))
    return tuple(parts)

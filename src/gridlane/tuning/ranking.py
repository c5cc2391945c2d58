"""Which candidate is tried next: that with the least time by the estimate, corrected by what was
measured near it."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Sequence
from typing import Protocol

from gridlane.core.errors import GridlaneError
from gridlane.tuning.results import State, Trial
from gridlane.tuning.spaces import Candidate, Space

_REACH = 0.4
"""Of a parameter's range: how far a measurement says something about others."""
_BAD = 2.0
"""How much slower than estimated a candidate counts that is wrong or does not run."""
_DOUBT = 0.5
"""The weight of the estimate against one measurement beside it."""


class Estimating(Protocol):
    """What has estimates."""

    def estimate(self, candidate: Candidate) -> float:
        """A number that is larger for slower candidates."""
        ...


class Ranking:
    """The candidates of a space in an order that measurements change.

    Args:
        first: those that come first, such as a table's.
        seconds: for estimates; candidates behind have none, and come last.
    """

    def __init__(
        self, space: Space, subject: Estimating, first: Sequence[Candidate], seconds: float
    ) -> None:
        self.space, self.first = space, [*first]
        self.estimates: dict[Candidate, float] = {}
        end = time.monotonic() + seconds
        for candidate in space.candidates:
            if time.monotonic() > end:
                break
            try:
                estimate = subject.estimate(candidate)
                self.estimates[candidate] = (
                    math.inf if estimate != estimate else max(estimate, 1e-9)
                )
            except (GridlaneError, ValueError, TypeError, ArithmeticError):
                self.estimates[candidate] = math.inf  # its trial shows the error

    def estimate(self, candidate: Candidate) -> float:
        """The estimate of a candidate; infinite where there is none."""
        return self.estimates.get(candidate, math.inf)

    def next(self, trials: Sequence[Trial], tried: Collection[Candidate]) -> Candidate | None:
        """The candidate to try; None if none is left."""
        for each in self.first:
            if each not in tried:
                return each
        left = [each for each in self.space.candidates if each not in tried]
        if not left:
            return None
        known = self._known(trials)
        return min(left, key=lambda each: self._score(each, known))

    def _known(self, trials: Sequence[Trial]) -> list[tuple[Candidate, float]]:
        """Candidates with the logarithm of how much slower they are than estimated."""
        pairs = [
            (each.candidate, math.log(each.milliseconds / self.estimate(each.candidate)))
            for each in trials
            if each.state is State.MEASURED and math.isfinite(self.estimate(each.candidate))
        ]
        if not pairs:
            return []
        mean = sum(value for _, value in pairs) / len(pairs)
        bad = [(each.candidate, _BAD) for each in trials if each.state is not State.MEASURED]
        return [*((candidate, value - mean) for candidate, value in pairs), *bad]

    def _score(self, candidate: Candidate, known: list[tuple[Candidate, float]]) -> float:
        total, weights = 0.0, _DOUBT
        for other, value in known:
            weight = math.exp(-((self.space.distance(candidate, other) / _REACH) ** 2))
            total += weight * value
            weights += weight
        return math.log(self.estimate(candidate)) + total / weights

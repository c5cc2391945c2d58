"""Candidates of a caller's own, each measured by a function of its own, until a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import nullcontext
from typing import Any, TypeVar

from gridlane.core.frozen import frozen
from gridlane.launch import current
from gridlane.tuning.errors import Overran
from gridlane.tuning.limits import limited

C = TypeVar("C", bound=Hashable)
_LEAST_S, _FIRST_S = 0.5, 30.0
"""Seconds that a candidate has at least before it is stopped, and where none has run yet."""
_PATIENCE = 5.0
"""A candidate that was stopped after so many times what another one took does not end."""


@frozen
class Measured:
    """What came of candidates.

    Attributes:
        timings: those that run, with their times.
        failures: the errors of others.
        complete: False where the deadline left some out.
        seconds: that all took.
    """

    timings: dict[Any, Any]
    failures: list[BaseException]
    complete: bool
    seconds: float


def measure_each(
    candidates: Iterable[C],
    measure: Callable[[C], Any],
    kind: Callable[[C], Hashable],
    deadline: float | None,
    known: Mapping[C, Any],
    errors: tuple[type[BaseException], ...],
    keep: Callable[[dict[C, Any]], None],
) -> Measured:
    """Measure candidates in their order.

    Args:
        kind: candidates of one kind have one time.
        deadline: seconds after which none begins, and one that runs is stopped; None for any time.
        known: times from before.
        errors: what a candidate that does not run raises, besides being stopped.
        keep: called with all times after each one.
    """
    begin, device = time.perf_counter(), current.device()
    timings, failures = dict[C, Any](known), list[BaseException]()
    kinds: dict[Hashable, Any] = {kind(each): value for each, value in known.items()}
    complete, quickest = True, float("inf")
    for candidate in candidates:
        past = time.perf_counter() - begin
        if deadline is not None and past > deadline and timings:
            complete = False
            break
        own = kind(candidate)
        if own not in kinds:
            kinds[own] = None
            limit = max((deadline or 0.0) - past, _LEAST_S if timings else _FIRST_S)
            watch = limited(device, limit) if deadline is not None else nullcontext()
            try:
                with watch:
                    kinds[own] = measure(candidate)
                quickest = min(quickest, time.perf_counter() - begin - past)
            except Overran as error:
                failures.append(error)
                complete = complete and limit > _PATIENCE * quickest
            except errors as error:
                failures.append(error)
        if kinds[own] is not None and candidate not in timings:
            timings[candidate] = kinds[own]
            keep(timings)
    return Measured(timings, failures, complete, time.perf_counter() - begin)

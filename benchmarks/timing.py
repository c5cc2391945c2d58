"""Timing that both sides of a comparison share."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

# After a parallel region OpenMP's threads spin for some milliseconds before they sleep, and so may
# others'. Nobody is timed while another's threads still spin.
SETTLE_S = 0.05


def milliseconds(run: Callable[[], object], repeats: int) -> list[float]:
    """Time `repeats` runs, after a pause and one run that warms caches and wakes threads."""
    time.sleep(SETTLE_S)
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def interleaved(
    runs: dict[str, Callable[[], object]], rounds: int, repeats: int
) -> dict[str, float]:
    """The median milliseconds of each, all taking turns so that a slow phase meets them all."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name] += milliseconds(run, repeats)
    return {name: statistics.median(values) for name, values in times.items()}

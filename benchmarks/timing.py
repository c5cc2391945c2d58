"""Timing that both sides of a comparison share."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

# After a parallel region OpenMP's threads spin for some milliseconds before they sleep, and so may
# others'. Nobody is timed while another's threads still spin.
SETTLE_S = 0.05


def milliseconds(
    run: Callable[[], object], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Time `repeats` runs, after a pause and one run that warms caches and wakes threads."""
    time.sleep(SETTLE_S)
    run()
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        times.append((clock() - start) * 1e3)
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


def machine() -> str:
    """The processor's name and how many cores this process may use."""
    return f"{processor_name()}, {cores()} cores"


def processor_name() -> str:
    """As the system has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

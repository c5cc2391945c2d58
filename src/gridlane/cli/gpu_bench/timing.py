"""Times, by the device's clock and by the host's."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from gridlane import cuda

ROUNDS = 15
LAUNCHES, ROUND_TRIPS = 500, 300
"""Calls between two readings of the clock."""


def timed(launch: Any, count: int = ROUNDS) -> float:
    """Median milliseconds of a launch."""
    start, end = cuda.event(), cuda.event()
    times = []
    for _ in range(3):
        launch()
    for _ in range(count):
        start.record()
        launch()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return median(times)


def host_us(call: Callable[[], object], wait: Callable[[], object]) -> float:
    """Microseconds of a call that does not wait."""
    times = []
    for _ in range(7):
        wait()
        start = time.perf_counter()
        for _ in range(LAUNCHES):
            call()
        times.append((time.perf_counter() - start) / LAUNCHES * 1e6)
    return median(times)


def round_trip_us(call: Callable[[], object], wait: Callable[[], object]) -> float:
    """Microseconds of a call and the wait for it."""
    times = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(ROUND_TRIPS):
            call()
            wait()
        times.append((time.perf_counter() - start) / ROUND_TRIPS * 1e6)
    return median(times)

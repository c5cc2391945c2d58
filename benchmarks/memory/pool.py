"""Nanoseconds of an allocation with its free, and of a lease with its end, from Python.

    python benchmarks/memory/pool.py [--device cpu] [--rounds 30] [--record]

A figure is the least mean of the rounds, as on a machine with other work. ``device`` is
``device.memory.allocate``, ``pool`` the same in a with block of ``cuda.memory.pool()``, ``traced``
with ``cuda.memory.trace(True)``, ``array`` is ``cuda.device_array``, ``numpy`` ``numpy.empty`` of
the same bytes. ``stream`` and ``event`` are leases of pools; ``new stream`` and ``new event`` make
one each time. All take turns; Python's collection of garbage is off.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import results
from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device
from timing import machine

SIZES = 64, 4096, 1 << 20
CALLS = 500

Run = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=30)
    results.option(parser)
    args = parser.parse_args()
    current.choose(get_device(args.device))
    print(f"nanoseconds, the least of {args.rounds} rounds; {args.device}; {machine()}")
    for case, runs in cases().items():
        for who, value in measured(runs, args.rounds).items():
            results.add(case, who, value, "ns")
            print(f"{case:16} {who:12} {value:10.0f}")
    results.write("memory_pool", args.record, args.device)


def cases() -> dict[str, dict[str, Run]]:
    """What is measured, by case and by who does it."""
    by_size = {f"{size} bytes": allocations(size) for size in SIZES}
    streams, events = cuda.stream_pool(1), cuda.event_pool(1)
    leases: dict[str, Run] = {
        "stream": lambda: streams.acquire().release(),
        "event": lambda: events.acquire().release(),
        "new stream": cuda.stream,
        "new event": cuda.event,
    }
    return {**by_size, "leases": leases}


def allocations(size: int) -> dict[str, Run]:
    memory, pool = current.device().memory, cuda.memory.pool()
    allocate = memory.allocate
    return {
        "device": lambda: allocate(size),
        "pool": within(pool, lambda: allocate(size)),
        "traced": traced(lambda: allocate(size)),
        "array": lambda: cuda.device_array(size, np.uint8),
        "numpy": lambda: np.empty(size, np.uint8),
    }


def within(pool: cuda.memory.Pool, run: Run) -> Run:
    """Calls in a with block, which each round enters once."""

    def calls() -> None:
        with pool:
            repeat(run)

    return many(calls)


def traced(run: Run) -> Run:
    """Calls with a trace, which each round begins once."""

    def calls() -> None:
        before = cuda.memory.trace(True)
        try:
            repeat(run)
        finally:
            cuda.memory.trace(before)

    return many(calls)


MANY: set[Run] = set()
"""Functions that make all calls of a round."""


def many(run: Run) -> Run:
    MANY.add(run)
    return run


def repeat(run: Run) -> None:
    for _ in range(CALLS):
        run()


def measured(runs: dict[str, Run], rounds: int) -> dict[str, float]:
    """The least nanoseconds of a call of each."""
    least = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    gc.disable()
    for _ in range(rounds):
        for who, run in runs.items():
            start = time.perf_counter_ns()
            run() if run in MANY else repeat(run)
            least[who] = min(least[who], (time.perf_counter_ns() - start) / CALLS)
    gc.enable()
    return least


if __name__ == "__main__":
    main()

"""How long Ctrl-C takes to end a kernel of the device in use: from the signal to the exception.

Each kernel is endless. The signal comes at a random moment of it, from another thread.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import threading
import time
from collections.abc import Callable

import numpy as np

import results
from gridlane import cuda
from gridlane.core.config import config


@cuda.jit
def spin(x):
    while True:
        pass


@cuda.jit
def spin_on_memory(x):
    while cuda.atomic.add(x, 0, 0) == 0:
        pass


@cuda.jit
def compute(x):
    i = cuda.grid(1)
    value = np.float32(i)
    while x[0] == 0:
        value = value * np.float32(1.5) + np.float32(0.5)
    x[1] = value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    results.option(parser)
    args = parser.parse_args()
    x, stream = cuda.to_device(np.zeros(2, np.int32)), cuda.stream()
    print(f"{'':<40}{'median':>10}{'worst':>10}")
    for kernel in (spin, spin_on_memory, compute):
        for grid in ((1, 32), (256, 256)):
            for queue in (0, stream):
                name = f"{kernel.__name__} {grid}{', on a stream' if queue else ''}"
                run = launcher(kernel[(*grid, queue)], x)
                times = [latency(run) * 1e3 for _ in range(args.times)]
                middle = statistics.median(times)
                results.add(name, "median", middle, "ms")
                results.add(name, "worst", max(times), "ms")
                print(f"{name:<40}{middle:7.1f} ms{max(times):7.1f} ms", flush=True)
    results.write("interrupt", args.record, config().device)


def launcher(configured: Callable, x: object) -> Callable[[], None]:
    """A launch that is waited for."""

    def run() -> None:
        configured(x)
        cuda.synchronize()

    return run


def latency(run: Callable[[], None]) -> float:
    """Seconds from a signal to the exception."""
    sent = 0.0

    def send() -> None:
        nonlocal sent
        sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5 + random.random() / 5, send)
    timer.start()
    try:
        run()
    except KeyboardInterrupt:
        found = time.perf_counter() - sent
    else:
        raise SystemExit("an endless kernel came back")
    timer.join()
    return found


if __name__ == "__main__":
    main()

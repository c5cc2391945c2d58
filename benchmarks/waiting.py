"""What a launch and the wait for it cost, where the wait polls and where it blocks; microseconds.

Each device has a process of its own. Batches that poll and batches that block take turns; each call
is timed by itself. The bar is the median of ``kernel[grid, block](...)`` and ``cuda.synchronize()``
on Vulkan on an NVIDIA H200. Software devices block unless they are told to poll, as here.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, cast

import numpy as np

import results
from gridlane.core.errors import DeviceError
from gridlane.launch.devices import get_device
from gridlane.runtime.queues.host_driven_context import HostDrivenContext

DEVICES = "vulkan", "opengl", "webgpu", "metal"
BAR_US = 20.0
BATCH = 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=DEVICES, help="all there are, where none is given")
    parser.add_argument("--batches", type=int, default=8, help=f"of {BATCH} calls, of each kind")
    results.option(parser)
    args = parser.parse_args()
    if args.device:
        measure(args.device, args.batches)
        results.write(f"waiting_{args.device}", args.record, args.device)
        return
    for name in DEVICES:  # the device that cuda means is one of a process
        options = ["--device", name, "--batches", str(args.batches)]
        options += ["--record", str(args.record)] if args.record else []
        subprocess.run([sys.executable, __file__, *options], check=True)


def measure(name: str, batches: int) -> None:
    """Print the table of a device."""
    os.environ["GRIDLANE_DEVICE"] = name  # read when gridlane.cuda is imported
    try:
        device = get_device(name)
    except DeviceError as error:
        print(f"{name}: {str(error).splitlines()[0]}", flush=True)
        return
    context = cast("Any", device.default_stream).context
    print(", ".join(map(str, device.describe().values())))
    print(f"{name} {'polls, then blocks' if context.polls else 'blocks'} where nobody asks")
    print(f"{'microseconds, p50 (p10 to p90)':40}{'polling':>24}{'blocking':>24}")
    for what, work in works():
        cells, medians = [], []
        for times in in_turns(context, work, batches):
            low, middle, high = (statistics.quantiles(times, n=10)[n] for n in (0, 4, 8))
            cells.append(f"{middle:8.1f} ({low:.1f} to {high:.1f})")
            medians.append(middle)
        for of, median in zip(("polling", "blocking"), medians, strict=True):
            results.add(what, of, median, "us")
        print(f"{what:40}{cells[0]:>24}{cells[1]:>24}", flush=True)
        if name == "vulkan" and context.polls and work.__name__ == "default":
            told = "met" if medians[0] <= BAR_US else "missed"
            print(f"{f'the bar on an H200 is {BAR_US:.0f}':40}{told:>24}")


def in_turns(
    context: HostDrivenContext, work: Callable[[], None], batches: int
) -> tuple[list[float], list[float]]:
    """Microseconds of each call, polling and blocking."""
    polling: list[float] = []
    blocking: list[float] = []
    before = context.polls
    for n in range(-1, batches):  # the first of both is to warm up
        for polls, times in (True, polling), (False, blocking):
            context.polls = polls
            found = [timed(work) for _ in range(BATCH)]
            if n >= 0:
                times += found
    context.polls = before
    return polling, blocking


def timed(work: Callable[[], None]) -> float:
    """Microseconds of a call."""
    start = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - start) / 1e3


def works() -> list[tuple[str, Callable[[], None]]]:
    """A launch and a wait, as users write them."""
    from gridlane import cuda

    @cuda.jit
    def kernel(x, y, out, n):
        i = cuda.grid(1)
        if i < n:
            out[i] = x[i] + y[i]

    arrays = [cuda.to_device(np.ones(256, np.float32)) for _ in range(3)]
    stream, event = cuda.stream(), cuda.event(timing=False)

    def default() -> None:
        kernel[1, 256](*arrays, 256)
        cuda.synchronize()

    def own() -> None:
        kernel[1, 256, stream](*arrays, 256)
        stream.synchronize()

    def by_event() -> None:
        kernel[1, 256, stream](*arrays, 256)
        event.record(stream)
        event.synchronize()

    return [
        ("kernel, cuda.synchronize()", default),
        ("kernel on a stream, its synchronize()", own),
        ("kernel on a stream, an event's", by_event),
    ]


if __name__ == "__main__":
    main()

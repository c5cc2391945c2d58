"""The cost of profiling: a cached launch of a small kernel, until it returns to Python, before the
process has profiled anything, during a profile, and after it.

The three take turns with fresh processes; medians, in microseconds. During a profile the time has
all that the launch itself waits for: events of the device's clock, and the reading of old ones.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import results

HERE = Path(__file__).parent
DEVICES = ("cpu", "vulkan", "webgpu", "opengl")
BATCHES = 30


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", nargs="+", default=DEVICES)
    parser.add_argument("--processes", type=int, default=5, help="for each median")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    results.option(parser)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(one()))
        return
    print(f"{'device':<10}{'before':>10}{'during':>10}{'after':>10}{'cost of one':>14}  us")
    for device in args.devices:
        environment = {**os.environ, "GRIDLANE_DEVICE": device}
        command = [sys.executable, __file__, "--one"]
        runs = [
            json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE).stdout)
            for _ in range(args.processes)
        ]
        before, during, after = (statistics.median(column) for column in zip(*runs, strict=True))
        for of, each in (("before", before), ("during", during), ("after", after)):
            results.add(device, of, each, "us")
        times = "".join(f"{each:>10.2f}" for each in (before, during, after))
        print(f"{device:<10}{times}{during - before:>14.2f}", flush=True)
    results.write("profiling", args.record)


def one() -> tuple[float, float, float]:
    """The medians of one process."""
    sys.path.insert(0, str(HERE))
    from gridlane import cuda
    from launch import microseconds, our_launch

    launch, finish = our_launch()
    before = microseconds(launch, finish, BATCHES)
    with cuda.profiling(show=False):
        during = microseconds(launch, finish, BATCHES)
    return before, during, microseconds(launch, finish, BATCHES)


if __name__ == "__main__":
    main()

"""The same kernels from the same source through Vulkan and through CUDA, on one GPU.

Each device has a process of its own, and they take turns. Times are on the device's clock; the
costs of a launch are the host's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from statistics import median
from typing import Any

import results

ROUNDS = 3
DEVICES = ("cuda", "vulkan")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", default=",".join(DEVICES), help="the second is compared")
    parser.add_argument("--scale", type=int, default=1, help="divides the sizes")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    results.option(parser)
    args = parser.parse_args()
    if args.child:
        measure(args.scale)
        return
    reference, device = args.devices.split(",")
    rounds = [(run(reference, args.scale), run(device, args.scale)) for _ in range(ROUNDS)]
    show(reference, device, rounds)
    results.write("vulkan_cuda", args.record, reference)


def run(device: str, scale: int) -> dict[str, Any]:
    """All measurements on a device, made by a process of its own."""
    command = [sys.executable, __file__, "--child", device, "--scale", str(scale)]
    environment = {**os.environ, "GRIDLANE_DEVICE": device}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{device}: {done.stderr[-4000:]}")
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))


def show(reference: str, device: str, rounds: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """A line for each figure; the ratio is the median over the rounds."""
    first, second = rounds[0]
    print(f"{reference}: {first.pop('device')}\n{device}: {second.pop('device')}")
    print(f"{'':24}{reference:>12}{device:>12}   ratio")
    for name in first:
        ours = median(r[1][name] for r in rounds)
        theirs = median(r[0][name] for r in rounds)
        ratio = median(r[1][name] / r[0][name] for r in rounds)
        case, _, unit = name.rpartition(", ")
        results.add(case, reference, theirs, unit)
        results.add(case, device, ours, unit)
        results.add(case, f"{device}/{reference}", ratio, "ratio")
        print(f"{name:24}{theirs:12.4f}{ours:12.4f}   {ratio:.3f}")


def measure(scale: int) -> None:
    """What the process of one device does: prints a JSON pair for each figure."""
    for pair in figures(scale):
        print(json.dumps(pair), flush=True)


def figures(scale: int) -> Iterator[tuple[str, Any]]:
    """Names with numbers; a wrong result ends the process."""
    import numpy as np

    from gridlane import cuda
    from gridlane.cli.gpu_bench.cases import CASES, RIGHT
    from gridlane.cli.gpu_bench.kernels import add
    from gridlane.cli.gpu_bench.timing import host_us, round_trip_us, timed
    from gridlane.core.config import config
    from gridlane.launch.devices import get_device

    facts = get_device(config().device).describe()
    yield "device", ", ".join(str(facts[key]) for key in ("name", "driver") if key in facts)
    for name, make in CASES.items():
        case = make(scale)
        arrays = [cuda.to_device(array) for array in case.arrays]

        def launch(case=case, arrays=arrays) -> None:
            case.kernel[case.grid, case.block](*arrays, *case.scalars)

        launch()
        if not RIGHT[name]([array.copy_to_host() for array in arrays]):
            raise SystemExit(f"{name}: the result is wrong")
        yield f"{name}, ms", timed(launch)
    small = [cuda.to_device(np.zeros(256, np.float32)) for _ in range(3)]
    configured = add[1, 256]

    def once() -> None:
        configured(*small, 256)

    once()
    yield "launch, us", host_us(once, cuda.synchronize)
    yield "launch and wait, us", round_trip_us(once, cuda.synchronize)


if __name__ == "__main__":
    main()

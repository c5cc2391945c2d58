"""What a launch on WebGPU and on OpenGL costs the host, and waiting for one, in microseconds.

The kernel of the driver's part does nothing; it is launched on the default stream, through
``bound.launch``. "in a long row" is the time of many launches until the last is done, divided by
their count. The user's launches are ``kernel[grid, block](x, y, out)`` with arrays of the device,
until they return.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import results
from gridlane.core.artifact import Artifact, ParamSlot
from gridlane.launch.devices import get_device
from gridlane.runtime.protocol import Device
from vulkan_launch import microseconds

ROW = 2000

TEXTS = {
    "webgpu": ("wgsl", "nothing", "@compute @workgroup_size(32) fn nothing() {}"),
    "opengl": ("glsl", "main", "#version 430 core\nlayout(local_size_x = 32) in;\nvoid main() {}"),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", help="webgpu or opengl; both, where none is given")
    parser.add_argument("--batches", type=int, default=50)
    results.option(parser)
    args = parser.parse_args()
    if args.device:
        measure(args.device, args.batches)
        results.write(f"shader_launch_{args.device}", args.record, args.device)
        return
    for name in TEXTS:  # the device that cuda means is one of a process
        options = ["--device", name, "--batches", str(args.batches)]
        options += ["--record", str(args.record)] if args.record else []
        subprocess.run([sys.executable, __file__, *options], check=True)


def measure(name: str, batches: int) -> None:
    """Print the table of a device."""
    os.environ["GRIDLANE_DEVICE"] = name  # read when gridlane.cuda is imported
    device = get_device(name)
    bound = device.load(nothing(name)).bind((32, 1, 1))
    buffer = device.allocate(1 << 20)
    params = struct.pack("<4Q", *[buffer.address] * 4)
    stream = device.new_stream()

    def launch() -> None:
        bound.launch(params, 1, 1, 1, 0)

    def launch_and_wait() -> None:
        bound.launch(params, 1, 1, 1, 0)
        device.synchronize()

    def fill() -> None:
        stream.fill(buffer.address, 0, 4096)

    print(", ".join(map(str, device.describe().values())))
    for what, work in (
        *user_launches(),
        ("launch, until it returns", launch),
        ("launch and synchronize", launch_and_wait),
        ("fill 4 KiB on a stream, until it returns", fill),
    ):
        cost = microseconds(work, device.synchronize, batches)
        results.add(what, name, cost, "us")
        print(f"{what:<48}{cost:>10.2f} us", flush=True)
    cost = all_told(device, launch)
    results.add("launch, in a long row", name, cost, "us")
    print(f"{'launch, in a long row':<48}{cost:>10.2f} us", flush=True)


def all_told(device: Device, launch: Callable[[], None]) -> float:
    """Microseconds of a launch in a row that is waited for at its end; the best of five rows."""
    costs = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(ROW):
            launch()
        device.synchronize()
        costs.append((time.perf_counter() - start) / ROW * 1e6)
    return min(costs)


def user_launches() -> list[tuple[str, Callable[[], None]]]:
    """Launches as users write them, on the default stream and another."""
    from gridlane import cuda

    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        out[i] = x[i] + y[i]

    arrays = [cuda.to_device(np.ones(32, np.float32)) for _ in range(3)]
    stream = cuda.stream()
    return [
        ("kernel[grid, block](...)", lambda: kernel[1, 32](*arrays)),
        ("kernel[grid, block, stream](...)", lambda: kernel[1, 32, stream](*arrays)),
    ]


def nothing(target: str) -> Artifact:
    """A kernel with four pointers that does nothing."""
    slots = tuple(ParamSlot(f"p{n}", 8 * n, None, n) for n in range(4))
    format_, entry, text = TEXTS[target]
    return Artifact(target, format_, text.encode(), entry, slots, 32, block=(32, 1, 1))


if __name__ == "__main__":
    main()

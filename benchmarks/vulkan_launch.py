"""What a launch on a Vulkan device costs the host, and waiting for one, in microseconds.

The kernel of the driver's part is a few words of SPIR-V with nothing to do, assembled here; it is
launched on the default stream, through ``bound.launch``. The user's launches are ``kernel[grid,
block](x, y, out, n)`` with arrays of the device, until they return.
"""

from __future__ import annotations

import argparse
import os
import statistics
import struct
import time
from collections.abc import Callable

import numpy as np

import results
from gridlane.core.artifact import Artifact, ParamSlot
from gridlane.launch.devices import get_device

BATCH = 200


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="vulkan")
    parser.add_argument("--batches", type=int, default=50)
    results.option(parser)
    args = parser.parse_args()
    os.environ["GRIDLANE_DEVICE"] = args.device  # read when gridlane.cuda is imported
    device = get_device(args.device)
    bound = device.load(nothing()).bind((32, 1, 1))
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
    for name, work in (
        *user_launches(),
        ("launch, until it returns", launch),
        ("launch and synchronize", launch_and_wait),
        ("fill 4 KiB on a stream, until it returns", fill),
    ):
        cost = microseconds(work, device.synchronize, args.batches)
        results.add(name, args.device, cost, "us")
        print(f"{name:<48}{cost:>10.2f} us", flush=True)
    results.write("vulkan_launch", args.record, args.device)


def user_launches() -> list[tuple[str, Callable[[], None]]]:
    """Launches as users write them, on the default stream and another."""
    from gridlane import cuda

    @cuda.jit
    def kernel(x, y, out, n):
        i = cuda.grid(1)
        if i < n:
            out[i] = x[i] + y[i]

    arrays = [cuda.to_device(np.ones(32, np.float32)) for _ in range(3)]
    stream = cuda.stream()
    return [
        ("kernel[grid, block](...)", lambda: kernel[1, 32](*arrays, 32)),
        ("kernel[grid, block, stream](...)", lambda: kernel[1, 32, stream](*arrays, 32)),
    ]


def microseconds(work: Callable[[], None], finish: Callable[[], None], batches: int) -> float:
    """The median cost of a call; ``finish`` empties the queue between batches, untimed."""
    work()
    finish()
    costs = []
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(BATCH):
            work()
        costs.append((time.perf_counter() - start) / BATCH * 1e6)
        finish()
    return statistics.median(costs)


def nothing() -> Artifact:
    """A kernel with four pointers that does nothing."""
    slots = tuple(ParamSlot(f"p{n}", 8 * n, None, n) for n in range(4))
    name = (0x6E69616D, 0)  # "main"
    void, function, main, label, shape, word, vector = range(1, 8)
    sizes = range(8, 11)
    code = [
        *(0x07230203, 0x00010500, 0, 11, 0),
        *op(17, 1),  # Shader
        *op(14, 0, 1),  # logical addresses, GLSL450
        *op(15, 5, main, *name),
        *op(16, main, 17, 1, 1, 1),
        *(number for n, size in enumerate(sizes) for number in op(71, size, 1, n)),
        *op(71, shape, 11, 25),
        *op(19, void),
        *op(33, function, void),
        *op(21, word, 32, 0),
        *op(23, vector, word, 3),
        *(number for size in sizes for number in op(50, word, size, 1)),
        *op(51, vector, shape, *sizes),
        *op(54, void, main, 0, function),
        *op(248, label),
        *op(253),
        *op(56),
    ]
    words = struct.pack(f"<{len(code)}I", *code)
    return Artifact("vulkan", "spirv", words, "main", slots, 32)


def op(number: int, *operands: int) -> tuple[int, ...]:
    """An instruction."""
    return (len(operands) + 1) << 16 | number, *operands


if __name__ == "__main__":
    main()

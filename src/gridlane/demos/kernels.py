"""One kernel on every device of this machine, with the same bits."""

# pyright: reportMissingParameterType=false

from __future__ import annotations

from argparse import Namespace

import numpy as np

import gridlane
from gridlane import cuda
from gridlane.demos.checking import check, run

_DEVICES = "cpu", "interp", "cuda", "vulkan", "webgpu", "opengl", "metal"


@cuda.jit
def hailstones(steps, start):
    """Each thread counts the steps of n → n / 2 or 3 n + 1 until n is 1; a block keeps its most."""
    most = cuda.shared.array(1, np.int32)
    if cuda.threadIdx.x == 0:
        most[0] = 0
    cuda.syncthreads()
    n, count = start + cuda.grid(1), 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    cuda.atomic.max(most, 0, count)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        steps[cuda.blockIdx.x] = most[0]


def expected(first: int) -> int:
    """The steps of a number, in Python."""
    n, count = first, 0
    while n != 1:
        n, count = n // 2 if n % 2 == 0 else 3 * n + 1, count + 1
    return count


def demo(options: Namespace) -> None:
    """Launch it on the device of ``--device``, or on each that is here."""
    most = [max(expected(64 * block + n) for n in range(1, 65)) for block in range(options.size)]
    devices = [options.device] if options.device else _DEVICES
    ran = 0
    for name in devices:
        try:
            with gridlane.device(name):
                steps = cuda.device_array(options.size, np.int32)
                hailstones[options.size, 64](steps, 1)
                got = steps.copy_to_host()
        except (ImportError, OSError, RuntimeError) as error:
            if options.device:
                raise
            print(f"{name}: not here ({str(error).splitlines()[0][:60]})")
            continue
        check(f"{name}: most steps of each block", got, most)
        ran += 1
    print(f"{ran} devices")


if __name__ == "__main__":
    run(demo, size=16)

"""Copies between page-locked host memory and the device, and on the device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gridlane import cuda
from gridlane.cli.gpu_bench.timing import timed
from gridlane.launch import current

SIZE = 1 << 28
"""Bytes between host and device; four times as many on the device."""


def rates(size: int = SIZE) -> Iterator[tuple[str, float]]:
    """(what, GB/s) of each; a copy on the device counts both reads and writes."""
    host = cuda.pinned_array(size, np.uint8)
    host[:] = 1
    device = cuda.device_array(size, np.uint8)
    large = 4 * size
    big, other = (cuda.device_array(large, np.uint8) for _ in range(2))
    queue = current.device().default_stream
    for name, amount, copy in (
        ("pinned to device", size, lambda: queue.upload(device.address, host.data)),
        ("device to pinned", size, lambda: queue.download(host.data, device.address)),
        ("device to device", 2 * large, lambda: queue.copy(other.address, big.address, large)),
    ):
        yield name, amount / timed(copy, 7) / 1e6

"""The host's cost of a launch, and of a launch with the wait for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from gridlane import cuda
from gridlane.cli.gpu_bench.kernels import add
from gridlane.cli.gpu_bench.timing import host_us, round_trip_us

Pair = tuple[Callable[[], object], Callable[[], object]]
"""A launch and a wait for it."""


def pair() -> Pair:
    """A launch of four arguments, with device arrays."""
    x, y, z = (cuda.device_array(1024, np.float32) for _ in range(3))
    configured = add[4, 256]
    return lambda: configured(x, y, z, 1024), cuda.default_stream().synchronize


def times() -> Iterator[tuple[str, float]]:
    """(what, microseconds) of each."""
    call, wait = pair()
    for _ in range(100):
        call()
    wait()
    yield "launch, the host's part", host_us(call, wait)
    wait()
    yield "launch and wait", round_trip_us(call, wait)

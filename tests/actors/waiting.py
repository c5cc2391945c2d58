"""Waiting for what other threads and devices do."""

from __future__ import annotations

import time
from collections.abc import Callable

from gridlane.actors import Runtime


def until(holds: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something holds; an assertion where it does not in time."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it has not come in time"
        time.sleep(0.001)


def until_ways_are_open(runtime: Runtime) -> None:
    """Wait until actors with kernels that do not end send to each other without the host; where a
    sender was busy when its way was to be opened, they send by the host until then."""
    until(lambda: runtime._home.directory.channels.is_settled)

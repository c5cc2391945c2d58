"""Waiting for what other threads and devices do."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(holds: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something holds; an assertion where it does not in time."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it has not come in time"
        time.sleep(0.001)

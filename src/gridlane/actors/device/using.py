"""A device as a thread's current one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from gridlane.launch import current
from gridlane.runtime.protocol import Device


@contextmanager
def using(device: Device) -> Generator[None]:
    """Make an open device this thread's, whatever its name: that of a stand-in opens none."""
    before = current.choose(device)
    try:
        yield
    finally:
        current.choose(before)

"""The devices that programs see: gridlane's of the current kind, by number."""

from __future__ import annotations

import os

from gridlane.abi.failure import INVALID_DEVICE, NOT_INITIALIZED, Failure, fail
from gridlane.core.errors import DeviceError
from gridlane.launch import current
from gridlane.runtime.protocol import Device

VERSION = 13000
"""The CUDA that the driver answers to be."""


def count() -> int:
    """The number of devices; 0 if none opens."""
    try:
        return current.count()
    except DeviceError:
        return 0


def device(ordinal: int) -> Device:
    """A device by its number.

    Raises:
        Failure: INVALID_DEVICE, there is none with it.
        DeviceError: it does not open.
    """
    if not 0 <= ordinal < count():
        fail(INVALID_DEVICE, f"device {ordinal}; there are {count()}")
    return current.numbered(ordinal)


def process() -> int:
    """The number of this process."""
    return os.getpid()


class _Driver:
    """Whether the driver is initialised, in this process."""

    def __init__(self) -> None:
        self.process = 0


_driver = _Driver()


def initialise() -> None:
    """Make the driver ready, for this process.

    Raises:
        Failure: NOT_INITIALIZED, the process is the child of one that had initialised it.
        DeviceError: NO_DEVICE and others, no device opens.
    """
    if _driver.process == process():
        return
    check_not_forked()
    current.device()  # opens it, or raises why it does not open
    _driver.process = process()


def check_initialised() -> None:
    """Raise NOT_INITIALIZED if the driver is not ready in this process."""
    if _driver.process != process():
        raise Failure(NOT_INITIALIZED, "call cuInit(0) first, and again after a fork")


def check_not_forked() -> None:
    """Raise NOT_INITIALIZED in the child of a process that had initialised the driver: its threads
    and devices are the parent's."""
    if _driver.process not in (0, process()):
        fail(NOT_INITIALIZED, "the process forked after cuInit: use CUDA in the parent or here")

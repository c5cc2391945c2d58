"""The devices that programs see: gridlane's of the current kind, by number."""

from __future__ import annotations

import os
import uuid
from functools import cache

from gridlane.abi.failure import INVALID_DEVICE, NO_DEVICE, NOT_INITIALIZED, Failure, fail
from gridlane.core import epochs
from gridlane.core.config import config
from gridlane.core.device_errors import handled
from gridlane.core.errors import DeviceError
from gridlane.launch import current
from gridlane.runtime.protocol import Device

VERSION = 13000
"""The CUDA that the driver answers to be."""


def count() -> int:
    """The number of devices; 0 if none opens."""
    return len(_visible())


def device(ordinal: int) -> Device:
    """A device by its number.

    Raises:
        Failure: INVALID_DEVICE, there is none with it.
        DeviceError: it does not open.
    """
    known = _visible()
    if not 0 <= ordinal < len(known):
        fail(INVALID_DEVICE, f"device {ordinal}; there are {len(known)}")
    return current.numbered(known[ordinal])


def identity(ordinal: int) -> bytes:
    """The 16 bytes of a device's UUID; made of its name where the driver has none."""
    device(ordinal)
    return _identity(_visible()[ordinal])


def _identity(number: int) -> bytes:
    device = current.numbered(number)
    uuid_text = str(device.describe().get("uuid", "")).removeprefix("GPU-")
    try:
        first = uuid.UUID(uuid_text)
    except ValueError:
        first = uuid.uuid5(uuid.NAMESPACE_OID, f"{uuid_text} {device.name}")
    return first.bytes if not number else uuid.uuid5(first, str(number)).bytes


def _visible() -> tuple[int, ...]:
    """The numbers of the current kind's devices that CUDA_VISIBLE_DEVICES names, in its order."""
    try:
        there, kind = current.count(), current.kind()
    except DeviceError as error:
        handled(error)
        return ()
    setting = config().visible_devices
    if setting is None or kind == "cuda":  # NVIDIA's driver has done it
        return tuple(range(there))
    return _named(setting, there, kind)


@cache
def _named(setting: str, there: int, kind: str) -> tuple[int, ...]:
    """The devices of a list of numbers and UUIDs; it ends at the first that names none.

    Args:
        there: how many there are; ``kind``: of which kind.
    """
    numbers: list[int] = []
    for each in setting.split(","):
        number = _one(each.strip(), there)
        if number is None or number in numbers:
            break
        numbers.append(number)
    return tuple(numbers)


def _one(name: str, there: int) -> int | None:
    if name.isdecimal():
        return int(name) if int(name) < there else None
    if not name.startswith("GPU-"):
        return None
    fits = [n for n in range(there) if f"GPU-{uuid.UUID(bytes=_identity(n))}".startswith(name)]
    return fits[0] if len(fits) == 1 else None


class _Driver:
    """Whether the driver is initialised, and in which process.

    Attributes:
        process: the number of that process; 0 for none.
        own: the number of this one.
    """

    def __init__(self) -> None:
        self.process, self.own = 0, os.getpid()

    def begin_in_child(self) -> None:
        """Note that this is another process."""
        self.own = os.getpid()


_driver = _Driver()
os.register_at_fork(after_in_child=_driver.begin_in_child)


def initialise() -> None:
    """Make the driver ready, for this process.

    Raises:
        Failure: NOT_INITIALIZED, the process is the child of one that had initialised it.
        DeviceError: NO_DEVICE and others, no device opens.
    """
    if is_initialised():
        return
    check_not_forked()
    current.device()  # opens it, or raises why it does not open
    if not _visible():
        fail(NO_DEVICE, "CUDA_VISIBLE_DEVICES names no device that is there")
    _driver.process = _driver.own
    epochs.state.changed()


def is_initialised() -> bool:
    """Whether the driver is ready in this process."""
    return _driver.process == _driver.own


def check_initialised() -> None:
    """Raise NOT_INITIALIZED if the driver is not ready in this process."""
    if not is_initialised():
        raise Failure(NOT_INITIALIZED, "call cuInit(0) first, and again after a fork")


def check_not_forked() -> None:
    """Raise NOT_INITIALIZED in the child of a process that had initialised the driver: its threads
    and devices are the parent's."""
    if _driver.process not in (0, _driver.own):
        fail(NOT_INITIALIZED, "the process forked after cuInit: use CUDA in the parent or here")

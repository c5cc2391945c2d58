"""The device that ``cuda`` means in this process, and its memory."""

from __future__ import annotations

import weakref
from functools import cache

from gridlane.core.config import config
from gridlane.runtime.devices import get_device
from gridlane.runtime.errors import INVALID_VALUE, device_error
from gridlane.runtime.protocol import Buffer, Device

_live: weakref.WeakValueDictionary[int, Buffer] = weakref.WeakValueDictionary()


@cache
def device() -> Device:
    """The device that GRIDLANE_DEVICE names; opened at the first call."""
    return get_device(config().device)


def allocate(size: int) -> Buffer:
    """Device memory of ``size`` bytes; DeviceError OUT_OF_MEMORY when there is none.

    Nothing is allocated for 0 bytes: the address is 0, as CUDA's is.
    """
    if not size:
        return Buffer(0, 0)
    try:
        buffer = device().allocate(size)
    except MemoryError:
        raise device_error(2, f"{size} bytes") from None
    _live[buffer.address] = buffer
    return buffer


def allocated_bytes() -> int:
    """Bytes of the arrays that are alive."""
    return sum(buffer.size for buffer in list(_live.values()))


def buffer_at(address: int, size: int) -> Buffer:
    """The live allocation that holds ``size`` bytes at ``address``, inside it or at its start.

    Raises:
        DeviceError: INVALID_VALUE, the memory is not this device's.
    """
    if not size:
        return Buffer(0, 0)
    exact = _live.get(address)
    if exact is not None and size <= exact.size:
        return exact
    for buffer in list(_live.values()):
        if buffer.address <= address and address + size <= buffer.address + buffer.size:
            return buffer
    name = device().name
    raise device_error(
        INVALID_VALUE,
        f"{size} bytes at {address:#x} are not in an array of the device {name!r}",
        f"copy the data to the device {name!r} with cuda.to_device",
    )

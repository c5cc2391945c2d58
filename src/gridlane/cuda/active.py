"""The device that ``cuda`` means on this thread, and its memory."""

from __future__ import annotations

import threading
import weakref
from functools import cache

from gridlane.core.config import config
from gridlane.cuda import launcher
from gridlane.runtime.devices import device_count, family, get_device
from gridlane.runtime.errors import INVALID_DEVICE, device_error, fail
from gridlane.runtime.protocol import Buffer, Device, HostMemory

_live: weakref.WeakValueDictionary[int, Buffer] = weakref.WeakValueDictionary()
_thread = threading.local()


def device() -> Device:
    """The device of this thread: the one that ``select`` chose, else GRIDLANE_DEVICE's. It is
    opened at the first call."""
    chosen = getattr(_thread, "device", None)
    return chosen if chosen is not None else _first()


@cache
def _first() -> Device:
    return get_device(config().device)


@cache
def count() -> int:
    """Devices of the kind in use."""
    return device_count(family(config().device)[0])


def numbered(ordinal: int) -> Device:
    """A device of the kind in use.

    Raises:
        DeviceError: INVALID_DEVICE, there are not so many.
    """
    if not 0 <= ordinal < count():
        last = count() - 1
        there = f"there are devices 0 to {last}" if last else "there is device 0 only"
        fail(INVALID_DEVICE, f"device {ordinal}; {there}")
    kind = family(config().device)[0]
    return get_device(f"{kind}:{ordinal}" if ordinal else kind)


def select(ordinal: int | None) -> int | None:
    """Make a device this thread's; None for the first choice. Returns what was selected before."""
    before = getattr(_thread, "device", None)
    _thread.device = None if ordinal is None else numbered(ordinal)
    launcher.select(ordinal)
    if ordinal is not None or before is not None:
        device().activate()  # a launch that goes to the driver without us goes there too
    return None if before is None else before.ordinal


def allocate(size: int) -> Buffer:
    """Device memory of ``size`` bytes; DeviceError OUT_OF_MEMORY when there is none.

    Nothing is allocated for 0 bytes: the address is 0, as CUDA's is.
    """
    if not size:
        return Buffer(0, 0)
    owner = device()
    try:
        buffer = owner.allocate(size)
    except MemoryError:
        raise device_error(2, f"{size} bytes") from None
    buffer.device = owner
    _live[buffer.address] = buffer
    return buffer


def allocate_host(size: int, kind: HostMemory) -> Buffer:
    """Mapped or managed memory, which host and device use at one address or at two.

    Raises:
        DeviceError: NOT_SUPPORTED, the device has memory of its own; OUT_OF_MEMORY.
    """
    if not size:
        return Buffer(0, 0)
    buffer = device().allocate_host(size, kind)
    _live[buffer.address] = buffer
    return buffer


def holds(address: int) -> bool:
    """Whether an address lies in memory that was allocated here."""
    return any(b.address <= address < b.address + b.size for b in list(_live.values()))


def allocated_bytes() -> int:
    """Bytes of the arrays that are alive."""
    return sum(buffer.size for buffer in list(_live.values()))


def buffer_at(address: int, size: int) -> Buffer:
    """The live allocation that holds ``size`` bytes at ``address``, inside it or at its start;
    where another library has made it, the device says whether it knows the address.

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
    return device().adopt(address, size)

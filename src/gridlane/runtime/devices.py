"""The devices by name. Each is made at its first use and lives as long as the process.

A family of devices that a machine may have several of is named once here; ``cuda`` is its first
device, and ``cuda:1`` the second.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from importlib import import_module

from gridlane.core import endings
from gridlane.core.errors import UnsupportedBackend
from gridlane.core.first_use import FirstUse
from gridlane.core.forks import fork_waits
from gridlane.runtime.errors import INVALID_DEVICE, fail, no_device
from gridlane.runtime.protocol import Device

# name: the module with ``open_device(ordinal)`` and ``device_count()``
DRIVERS: dict[str, str] = {
    "cpu": "gridlane.runtime.drivers.cpu",
    "interp": "gridlane.runtime.drivers.interp",
    "cuda": "gridlane.runtime.drivers.cuda",
    "vulkan": "gridlane.runtime.drivers.vulkan",
    "metal": "gridlane.runtime.drivers.metal",
    "webgpu": "gridlane.runtime.drivers.webgpu",
    "opengl": "gridlane.runtime.drivers.opengl",
}

_OF_HOST = ("cpu", "interp")
"""Devices whose work is done when the caller goes on, or is of a thread that Python ends."""

# Names that somebody may try, and why there is no such device.
UNSUPPORTED: dict[str, str] = {
    "webgl2": "WebGL 2 has no compute shaders; use webgpu or opengl",
}

_opened: dict[str, Device] = {}
_lock = threading.RLock()
_opening: defaultdict[str, FirstUse] = defaultdict(lambda: FirstUse("opens the device"))


def names() -> tuple[str, ...]:
    """Every kind of device that gridlane knows."""
    return tuple(DRIVERS)


def family(name: str) -> tuple[str, int]:
    """(kind, ordinal) of a device's name.

    >>> family("cuda:1"), family("cpu")
    (('cuda', 1), ('cpu', 0))

    Raises:
        DeviceError: NO_DEVICE, there is no such kind; INVALID_DEVICE, that is not a number.
        UnsupportedBackend: devices of this kind cannot run kernels.
    """
    kind, colon, number = name.partition(":")
    if kind in UNSUPPORTED:
        raise UnsupportedBackend(UNSUPPORTED[kind])
    if kind not in DRIVERS and kind not in _opened:
        no_device("", f"{name!r}", f"devices are {', '.join(DRIVERS)}")
    if colon and not (number.isascii() and number.isdigit()):
        fail(INVALID_DEVICE, f"{name!r}: a number follows the colon")
    ordinal = int(number or 0)
    if ordinal >= 2**31:
        fail(INVALID_DEVICE, f"{name!r}: no machine has so many")
    return kind, ordinal


def kind_of(device: Device) -> str:
    """What a device is, without its number."""
    return device.name.partition(":")[0]


def device_count(kind: str) -> int:
    """How many devices of a kind this machine has; 0 where the driver is missing or finds none."""
    module = DRIVERS.get(kind)
    if not module:  # made elsewhere
        return 1
    return import_module(module).device_count()


def get_device(name: str) -> Device:
    """The device called ``name``; the same object at each call.

    Raises:
        DeviceError: NO_DEVICE or INVALID_DEVICE, there is no such device.
        UnsupportedBackend: devices of this kind cannot run kernels.
    """
    device = _opened.get(name)
    if device is not None:
        return device
    kind, ordinal = family(name)
    name = f"{kind}:{ordinal}" if ordinal else kind
    with fork_waits(), _lock, _opening[name]():
        if name not in _opened:
            if endings.over() and kind not in _OF_HOST:  # nothing would close it
                raise endings.at_its_end(f"what would close the device {name}")
            _opened[name] = import_module(DRIVERS[kind]).open_device(ordinal)
        return _opened[name]


def register(name: str, device: Device) -> None:
    """Make a device known that was made elsewhere; tests use it for theirs."""
    DRIVERS.setdefault(name, "")
    _opened[name] = device

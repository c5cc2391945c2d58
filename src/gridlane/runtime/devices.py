"""The devices by name. Each is made at its first use and lives as long as the process."""

from __future__ import annotations

import threading
from importlib import import_module

from gridlane.runtime.errors import NO_DEVICE, fail
from gridlane.runtime.protocol import Device

# name: (module, function without arguments that makes the device)
DRIVERS: dict[str, tuple[str, str]] = {
    "cpu": ("gridlane.runtime.drivers.cpu", "open_device"),
    "interp": ("gridlane.runtime.drivers.interp", "open_device"),
}

_opened: dict[str, Device] = {}
_lock = threading.Lock()


def names() -> tuple[str, ...]:
    """Every device that gridlane knows."""
    return tuple(DRIVERS)


def get_device(name: str) -> Device:
    """The device called ``name``; the same object at each call.

    Raises:
        DeviceError: CUDA_ERROR_NO_DEVICE, there is no such device.
    """
    device = _opened.get(name)
    if device is not None:
        return device
    with _lock:
        if name in _opened:
            return _opened[name]
        if name not in DRIVERS:
            fail(NO_DEVICE, f"{name!r}", f"devices are {', '.join(DRIVERS)}")
        module, function = DRIVERS[name]
        _opened[name] = getattr(import_module(module), function)()
        return _opened[name]


def register(name: str, device: Device) -> None:
    """Make a device known that was made elsewhere; tests use it for theirs."""
    DRIVERS.setdefault(name, ("", ""))
    _opened[name] = device

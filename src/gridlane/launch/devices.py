"""The devices by name, each opened by its backend's driver at its first use, for the lifetime of
the process.

A machine may have several devices of a backend: ``cuda`` is the first of them, and ``cuda:1`` the
second.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from typing import Any

from gridlane.backends import NO_BACKENDS, backend, names
from gridlane.core import endings
from gridlane.core.config import config
from gridlane.core.device_errors import INVALID_DEVICE, NOT_SUPPORTED, fail, no_device, noted
from gridlane.core.errors import DeviceError, UnsupportedBackend
from gridlane.core.first_use import FirstUse
from gridlane.core.forks import fork_waits
from gridlane.core.openings import AT_OPENING, OPENED
from gridlane.core.suggestions import did_you_mean
from gridlane.runtime.protocol import Device

_opened: dict[str, Device] = OPENED
at_opening: list[Callable[[Device], object]] = AT_OPENING
"""What is called with each device when it is opened."""
_lock = threading.RLock()
_opening: defaultdict[str, FirstUse] = defaultdict(lambda: FirstUse("opens the device"))


def family(name: str) -> tuple[str, int]:
    """(kind, ordinal) of a device's name.

    >>> family("cuda:1"), family("cpu")
    (('cuda', 1), ('cpu', 0))

    Raises:
        DeviceError: NO_DEVICE, there is no such kind; INVALID_DEVICE, that is not a number.
        UnsupportedBackend: devices of this kind cannot run kernels.
    """
    kind, colon, number = name.partition(":")
    if kind in NO_BACKENDS:
        raise UnsupportedBackend(NO_BACKENDS[kind])
    if kind not in names():
        no_device("", f"{name!r}{did_you_mean(kind, names())}", f"devices are {', '.join(names())}")
    if colon and not (number.isascii() and number.isdigit()):
        fail(INVALID_DEVICE, f"{name!r}: a number follows the colon")
    ordinal = int(number or 0)
    if ordinal >= 2**31:
        fail(INVALID_DEVICE, f"{name!r}: no machine has so many")
    return kind, ordinal


def kind_of(device: Device) -> str:
    """The kind of a device: its name without the number."""
    return device.name.partition(":")[0]


def device_count(kind: str) -> int:
    """The number of devices of a kind on this machine; 0 without a driver or a device."""
    return _driver(kind).device_count()


def get_device(name: str) -> Device:
    """The device called ``name``; the same object at each call.

    Raises:
        DeviceError: NO_DEVICE or INVALID_DEVICE, there is no such device.
        UnsupportedBackend: devices of this kind cannot run kernels.
    """
    device = _opened.get(name)
    if device is not None:
        return device
    try:
        return _open(name)
    except (DeviceError, UnsupportedBackend) as error:
        raise noted(error, device=name)  # noqa: B904  # it is the same error


def _open(name: str) -> Device:
    kind, ordinal = family(name)
    name = f"{kind}:{ordinal}" if ordinal else kind
    with fork_waits(), _lock, _opening[name]():
        if name not in _opened:
            # Nothing would close it. A thread that Python ends does the work of the host's devices.
            if endings.over() and not backend(kind).on_host:
                raise endings.at_its_end(f"what would close the device {name}")
            if config().timeout and not backend(kind).on_host:
                fail(
                    NOT_SUPPORTED,
                    f"GRIDLANE_TIMEOUT on the device {name}, which cannot stop a running kernel",
                    "unset it, or run on cpu or interp, which can",
                )
            device = _driver(kind).open_device(ordinal)
            for each in at_opening:
                each(device)
            _opened[name] = device
        return _opened[name]


def opened() -> list[Device]:
    """The devices that are open."""
    return list(_opened.values())


def device_for_compiling(name: str) -> Device:
    """A device to try its driver's compiler with, even one that cannot run kernels.

    Raises:
        DeviceError, UnsupportedBackend: as ``get_device``.
    """
    kind, _ = family(name)
    driver = _driver(kind)
    if hasattr(driver, "open_for_compiling"):
        return driver.open_for_compiling()
    return get_device(name)


def _driver(kind: str) -> Any:
    """Import the driver, a module with ``open_device(ordinal)`` and ``device_count()``, and its
    libraries.

    Raises:
        UnsupportedBackend: there is no such module, or it lacks one of them.
    """
    path = backend(kind).driver
    try:
        driver = import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise
        raise UnsupportedBackend(
            f"there is no module {path}, the driver of {kind}, in Python's path; `driver` of its "
            "record names it"
        ) from error
    for name in ("open_device", "device_count"):
        if not hasattr(driver, name):
            raise UnsupportedBackend(
                f"{driver.__name__}, the driver of {kind}, has no function {name}: a driver has "
                "open_device(ordinal) and device_count()"
            )
    return driver

"""Vulkan among the devices that are compared with the interpreter."""

from __future__ import annotations

import os

from gridlane.core.errors import DeviceError


def found() -> list[str]:
    """``["vulkan"]`` where there is such a device.

    In continuous integration always: without one the tests fail there, .ci/run installs one.
    """
    from gridlane.runtime.drivers.vulkan import adapters

    if os.environ.get("CI"):
        return ["vulkan"]
    try:
        adapters.usable()
    except DeviceError:
        return []
    return ["vulkan"]


def has_warps() -> bool:
    """Whether warps are the device's subgroups, rather than threads of a block that meet."""
    from gridlane.launch.devices import get_device

    return "subgroup32" in get_device("vulkan").target((32, 1, 1)).features

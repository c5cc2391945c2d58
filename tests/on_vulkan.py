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


def run_vulkan(module, grid, block, arrays, scalars, shared):
    """As the other functions of this kind in tests/devices.py."""
    from tests.devices import run_artifact

    from gridlane.compiler import generate
    from gridlane.ir.parser import parse_module
    from gridlane.ir.printer import print_module
    from gridlane.runtime.devices import get_device

    device = get_device("vulkan")
    artifact = generate(parse_module(print_module(module)), device.target(block))
    return run_artifact(device, artifact, grid, block, arrays, scalars, shared)

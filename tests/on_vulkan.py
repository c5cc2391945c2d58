"""Vulkan among the devices that are compared with the interpreter."""

from __future__ import annotations

import os
from dataclasses import replace

from gridlane.core.compact import Variant
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
    from gridlane.runtime.devices import get_device

    return "subgroup32" in get_device("vulkan").target((32, 1, 1)).features.split()


def run_vulkan(module, grid, block, arrays, scalars, shared):
    """As the other functions of this kind in tests/devices.py. The code is that for compact
    launches, where this one is; tests/codegen/test_spirv.py runs that for any."""
    from tests.devices import is_compact, run_artifact

    from gridlane.compiler import generate
    from gridlane.ir.parser import parse_module
    from gridlane.ir.printer import print_module
    from gridlane.runtime.devices import get_device

    device = get_device("vulkan")
    variant = Variant(is_compact(module, scalars))
    target = replace(device.target(block), variant=variant)
    artifact = generate(parse_module(print_module(module)), target)
    return run_artifact(device, artifact, grid, block, arrays, scalars, shared)

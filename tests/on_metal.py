"""Metal among the devices that are compared with the interpreter.

It takes part in all comparisons where the tests run with GRIDLANE_METAL=emulated, or on a Mac with
GRIDLANE_TEST_METAL=1: compiling each kernel for itself takes long. Elsewhere tests/runtime/metal
runs a selection on the stand-in, and tests/codegen/test_msl.py all ops' code, without the driver.
"""

from __future__ import annotations

import os

EMULATED = {"GRIDLANE_DEVICE": "metal", "GRIDLANE_METAL": "emulated"}
"""The environment of processes whose device is the stand-in."""


def found() -> list[str]:
    """``["metal"]`` where it takes part."""
    asked = os.environ.get("GRIDLANE_METAL") or os.environ.get("GRIDLANE_TEST_METAL") == "1"
    return ["metal"] if asked else []


def run_metal(module, grid, block, arrays, scalars, shared, device=None):
    """As the other functions of this kind in tests/devices.py."""
    from tests.devices import run_artifact

    from gridlane.compiler import generate
    from gridlane.core.options import KernelOptions
    from gridlane.ir.parser import parse_module
    from gridlane.ir.printer import print_module
    from gridlane.runtime.devices import get_device

    device = device or get_device("metal")
    options = KernelOptions(fp64="exact")  # arrays of f64 need it, and results are compared by bits
    artifact = generate(parse_module(print_module(module)), device.target(block), options)
    return run_artifact(device, artifact, grid, block, arrays, scalars, shared)

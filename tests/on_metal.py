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

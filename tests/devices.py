"""The devices that are compared with the interpreter, and what runs a module on one."""

from __future__ import annotations

import os

from tests import on_metal, on_shaders, on_vulkan

from gridlane.backends import backends
from gridlane.conformance.module_runner import Outcome, arguments, assert_same, bits, run_on

DEVICES = [
    "cpu",
    *(["cuda"] if os.environ.get("GRIDLANE_TEST_GPU") == "1" else []),
    *on_vulkan.found(),
    *on_shaders.found(),
    *on_metal.found(),
]
"""Those that take part: ``cuda`` where GRIDLANE_TEST_GPU=1 says that there is a GPU to test, the
others where there is such a device; in continuous integration all that .ci/run installs."""

WORDS = frozenset(each.name for each in backends() if not each.float64)
"""Those that compute binary64, and 64-bit integers in atomics, in words of 32 bits."""

__all__ = ["DEVICES", "WORDS", "Outcome", "arguments", "assert_same", "bits", "run_on"]

"""How much the tests try.

``make test`` tries what every change needs; ``make test-all`` and ``make fuzz`` as much as a night
allows, on new seeds, which GRIDLANE_TEST_EFFORT=nightly asks for. A test that ``make test`` leaves
out has the mark ``nightly``.
"""

from __future__ import annotations

import os
from zlib import crc32

NIGHTLY = os.environ.get("GRIDLANE_TEST_EFFORT") == "nightly"


def examples(usual: int, nightly: int) -> int:
    """How many random cases a test draws."""
    return nightly if NIGHTLY else usual


FRAGMENTS_BY_DAY = r"f16-f16-f16-cr-global|u8-i8-i32-rc-shared|f16-c-shared|f32-bf16|f16"
"""Labels of conformance cases of fragments that devices without tensor cores try in each run. Their
products are those of the op ``mma``, whose cases are all tried."""

ALIKE = ("opengl", "webgpu")
"""Devices whose code is one emitter's, with an overlay for each language, by the same passes."""
WHOLE = ("ops", "runtime", "examples")
"""Folders of tests that try both of them by day: all ops, the drivers, the examples."""


def by_day(test: str) -> str:
    """The one of ``ALIKE`` on which a test that takes both runs by day: each of them has about half
    of these tests.

    Args:
        test: the file and the function.
    """
    return ALIKE[crc32(test.encode()) % 2]

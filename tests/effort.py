"""How much the tests try.

``make test`` tries what every change needs; ``make test-all`` and ``make fuzz`` as much as a night
allows, on new seeds, which GRIDLANE_TEST_EFFORT=nightly asks for. A test that ``make test`` leaves
out has the mark ``nightly``.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from zlib import crc32

NIGHTLY = os.environ.get("GRIDLANE_TEST_EFFORT") == "nightly"


def examples(usual: int, nightly: int) -> int:
    """How many random cases a test draws."""
    return nightly if NIGHTLY else usual


FRAGMENTS_BY_DAY = r"f16-f16-f16-cr-global|u8-i8-i32-rc-shared|f16-c-shared|f32-bf16|f16"
"""Labels of conformance cases of fragments that devices without tensor cores try in each run. Their
products are those of the op ``mma``, whose cases are all tried."""

ALTERNATIVES = (
    # Devices that run shaders: the same passes make what they take. The code of the last two is one
    # emitter's, with an overlay for each language, so each emitter has half of the tests.
    ("vulkan", "opengl", "vulkan", "webgpu"),
    # Forms of resident kernels, each of which takes LLVM seconds.
    ("short", "deep"),
)
"""Parameters of which by day a test tries one, and at night all."""
WHOLE = ("ops", "runtime")
"""Folders of tests that try all of them by day: all ops, the drivers."""


def by_day(test: str, names: Collection[str], alternatives: Sequence[str]) -> str:
    """The one of some alternatives that a test tries by day.

    Args:
        test: the file and the function.
        names: the alternatives that the test has.
    """
    usual = [each for each in alternatives if each in names]
    return usual[crc32(test.encode()) % len(usual)]

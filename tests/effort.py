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

C_LIKE = ("opengl", "webgpu")
"""Devices whose code is one emitter's, with an overlay for each language."""
ON_SHADERS = ("vulkan", C_LIKE[0], "vulkan", C_LIKE[1])
"""Devices that run shaders, which the same passes make: each of the two emitters has half."""
FORMS = ("short", "deep")
"""Forms of resident kernels, each of which takes LLVM seconds."""


def alternatives(folder: str) -> Sequence[Sequence[str]]:
    """Parameters of which by day a test tries one, and at night all.

    Args:
        folder: of tests. Those of the drivers and of texts try all, those of ops both emitters.
    """
    if folder in ("codegen", "runtime"):
        return ()
    return (C_LIKE if folder == "ops" else ON_SHADERS, FORMS)


def by_day(test: str, names: Collection[str], usual: Sequence[str]) -> str:
    """The one of some alternatives that a test tries by day.

    Args:
        test: the test and its other parameters.
        names: the alternatives that the test has.
        usual: all of them; one that comes twice is taken twice as often.
    """
    here = [each for each in usual if each in names]
    return here[crc32(test.encode()) % len(here)]

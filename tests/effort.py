"""How much the tests try.

``make test`` tries what every change needs; ``make test-all`` and ``make fuzz`` as much as a night
allows, on new seeds, which GRIDLANE_TEST_EFFORT=nightly asks for. A test that ``make test`` leaves
out has the mark ``nightly``.
"""

from __future__ import annotations

import os

NIGHTLY = os.environ.get("GRIDLANE_TEST_EFFORT") == "nightly"


def examples(usual: int, nightly: int) -> int:
    """How many random cases a test draws."""
    return nightly if NIGHTLY else usual


FRAGMENTS_BY_DAY = r"f16-f16-f16-cr-global|u8-i8-i32-rc-shared|f16-c-shared|f32-bf16|f16"
"""Labels of conformance cases of fragments that devices without tensor cores try in each run. Their
products are those of the op ``mma``, whose cases are all tried."""

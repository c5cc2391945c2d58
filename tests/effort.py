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

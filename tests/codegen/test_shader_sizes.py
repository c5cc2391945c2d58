"""How much text kernels become: of literals that make them float64, for one thing."""

from __future__ import annotations

import pytest
from benchmarks.literals import TARGETS, kilobytes

MOST = {("wgsl", 2): 45.0, ("wgsl", 5): 70.0, ("glsl", 2): 40.0, ("glsl", 5): 66.0}


@pytest.mark.parametrize("name, groups", MOST, ids=lambda each: str(each))
def test_literals_do_not_become_long_texts(name: str, groups: int) -> None:
    assert kilobytes(groups, TARGETS[name]) <= MOST[name, groups]

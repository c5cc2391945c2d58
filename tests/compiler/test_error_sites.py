"""The error table of an artifact has what inlining has made of the program's errors."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import compiler, cuda
from gridlane.algorithms.coop import block
from gridlane.core.options import Target

total = block.make_sum(np.int32, (8, 8))


@cuda.jit
def with_too_little(out):
    out[0] = total(cuda.shared.array(255, np.uint8), 1)


TARGETS = [Target("cuda", processor="sm_90"), Target("cpu"), Target("webgpu", block=(8, 8, 1))]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_errors_of_our_own_headers(target):
    """Their places are those of the calls."""
    kernel = with_too_little.compile("void(int32[::1])")
    artifact = compiler.generate(kernel.module, target, kernel.options)
    sites = [site for site in artifact.errors if site.exception == "ValueError"]
    assert {site.loc.function for site in sites} == {"check", "rank"}
    callers = [site.loc for site in sites]
    for _ in range(8):
        callers = [each.caller or each for each in callers]
    assert "with_too_little" in {each.function for each in callers}
    assert not any(site.late for site in sites)

"""Random kernels give on other processors than the host's what the interpreter says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cpus.cases import require
from tests.property.random_ir import random_program

from gridlane.compiler import generate
from gridlane.conformance.module_runner import assert_same, run_artifact, run_on
from gridlane.core.options import KernelOptions, Target
from gridlane.launch.devices import get_device

SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


def check(processor: str, seed: int, size: int) -> None:
    program = random_program(seed, size)
    launch = (program.grid, program.block)
    wanted = run_on("interp", program.module, *launch, program.arrays, program.scalars)
    target = Target("cpu", block=program.block, processor=processor)
    artifact = generate(program.module, target, KernelOptions())
    copies = [np.array(array) for array in program.arrays]
    got = run_artifact(get_device("cpu"), artifact, *launch, copies, program.scalars, 0)
    assert got.raised == wanted.raised
    assert_same(got.arrays, wanted.arrays, program.labels)


@pytest.mark.nightly
@pytest.mark.parametrize("processor", ["x86-64", "haswell"])
@given(seed=st.integers(0, 2**40), size=st.integers(1, 40))
@settings(SETTINGS, max_examples=500)
def test_random_programs(processor: str, seed: int, size: int) -> None:
    require(processor)
    check(processor, seed, size)

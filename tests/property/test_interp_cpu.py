"""Random kernels give the same answer on the interpreter and on each device."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import on_vulkan
from tests.devices import DEVICES, assert_same, run_on
from tests.property.random_ir import random_program

from gridlane.conformance.suite import WORDS
from gridlane.core.errors import TargetError
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.verifier import verify

SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)

QUICK = [device for device in DEVICES if device not in WORDS]
"""Devices for which a kernel takes a fraction of a second; others take seconds to compile some."""

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 40)


def check(device: str, seed: int, size: int) -> None:
    in_hardware = device == "cuda" or (device == "vulkan" and on_vulkan.has_warps())
    program = random_program(seed, size, lockstep=in_hardware)
    launch = (program.module, program.grid, program.block, program.arrays, program.scalars)
    wanted = run_on("interp", *launch)
    try:
        got = run_on(device, *launch)
    except TargetError as error:
        if device not in WORDS or "atomics have 32 bits" not in error.message:
            raise
        return
    try:
        assert got.raised == wanted.raised
        assert_same(got.arrays, wanted.arrays, program.labels)
    except AssertionError as error:
        text = print_module(program.module)
        raise AssertionError(
            f"{error}\ngrid {program.grid}, block {program.block}\n{text}"
        ) from None


@pytest.mark.parametrize("device", QUICK)
@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=200)
def test_devices_agree(device: str, seed: int, size: int) -> None:
    check(device, seed, size)


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("device", [device for device in DEVICES if device in WORDS])
@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=40 if os.environ.get("CI") else 400)
def test_words_agree(device: str, part: int, seed: int, size: int) -> None:
    check(device, seed + (part + 1) * 2**33, size)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))  # so that the workers of a run share them
@pytest.mark.parametrize("device", [device for device in QUICK if device != "vulkan"])
@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=500)
def test_devices_agree_on_many(device: str, part: int, seed: int, size: int) -> None:
    # Other programs in each part, also where CI draws the same seeds for all.
    check(device, seed + (part + 1) * 2**32, size)


@pytest.mark.slow
@pytest.mark.skipif(not ("vulkan" in QUICK or os.environ.get("CI")), reason="no Vulkan driver")
@pytest.mark.parametrize("part", range(4))
@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=150 if os.environ.get("CI") else 500)
def test_vulkan_agrees_on_many(part: int, seed: int, size: int) -> None:
    """Its compiler takes a tenth of a second for each."""
    check("vulkan", seed + (part + 1) * 2**32, size)


@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=200)
def test_random_programs_are_valid_and_print(seed: int, size: int) -> None:
    module = random_program(seed, size).module
    verify(module)
    text = print_module(module)
    assert print_module(parse_module(text)) == text


@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=50)
def test_random_programs_run(seed: int, size: int) -> None:
    program = random_program(seed, size)
    launch = (program.module, program.grid, program.block, program.arrays, program.scalars)
    first, again = run_on("interp", *launch), run_on("interp", *launch)
    assert_same(first.arrays, again.arrays, program.labels)

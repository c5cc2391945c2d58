"""Random kernels give the same answer on the interpreter and on each device."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import on_vulkan
from tests.devices import DEVICES, WORDS, assert_same, run_on
from tests.effort import examples
from tests.property.random_ir import random_program

from gridlane.core.errors import TargetError
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.verifier import verify

SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)

OTHERS = [device for device in DEVICES if device not in (*WORDS, "cpu")]
"""Devices that have 64-bit integers and floats, as the CPU does."""

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 40)


def apart(seed: int, part: int) -> int:
    """The seed of another program in each part, where CI draws the same seeds for all."""
    return seed + part * 2**32


def check(device: str, seed: int, size: int) -> None:
    in_hardware = device == "cuda" or (device == "vulkan" and on_vulkan.has_warps())
    program = random_program(seed, size, lockstep=in_hardware, expanding=True)
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


@pytest.mark.parametrize("part", range(4))  # so that the workers of a run share them
@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=examples(20, 600))
def test_the_cpu_agrees(part: int, seed: int, size: int) -> None:
    check("cpu", apart(seed, part), size)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("device", OTHERS)
@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=examples(8, 200))
def test_devices_agree(device: str, part: int, seed: int, size: int) -> None:
    """Their compilers take from a tenth of a second to seconds for each program."""
    check(device, apart(seed, part + 4), size)


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("device", [device for device in DEVICES if device in WORDS])
@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=examples(5, 200))
def test_words_agree(device: str, part: int, seed: int, size: int) -> None:
    check(device, apart(seed, part + 8), size)


@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=examples(50, 1000))
def test_random_programs_are_valid_and_print(seed: int, size: int) -> None:
    module = random_program(seed, size, expanding=True).module
    verify(module)
    text = print_module(module)
    assert print_module(parse_module(text)) == text


@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=examples(15, 200))
def test_random_programs_run(seed: int, size: int) -> None:
    program = random_program(seed, size)
    launch = (program.module, program.grid, program.block, program.arrays, program.scalars)
    first, again = run_on("interp", *launch), run_on("interp", *launch)
    assert_same(first.arrays, again.arrays, program.labels)

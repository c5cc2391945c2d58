"""Random programs with statements of all kinds do on each device what plain Python does."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES
from tests.property import python_oracle
from tests.property.python_check import check_statements
from tests.property.python_functions import random_statements
from tests.property.python_kernels import BLOCK

from gridlane.launch import current
from gridlane.launch.devices import get_device

PARTS = 25
"""Programs in a kernel."""
KERNELS = {"interp": 6}
"""Kernels of a run, by device; elsewhere one, with some of the programs."""
SOME = {"interp": PARTS, "cpu": 12}
"""Programs in a kernel of a device; elsewhere 1."""


@pytest.fixture(params=["interp", *DEVICES])
def device(request):
    current.choose(get_device(request.param))
    return request.param


def test_devices_do_what_python_does(device: str) -> None:
    for seed in range(KERNELS.get(device, 1)):
        check_statements(seed, device, SOME.get(device, 1))


@pytest.mark.nightly
@given(seed=st.integers(1000, 2**32 - 1))
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_devices_do_what_python_does_in_many(device: str, seed: int) -> None:
    check_statements(seed, device, 4)


def test_every_construct_is_written() -> None:
    text = "".join(random_statements(seed, PARTS).source for seed in range(3))
    words = (
        "while True for break continue elif else return match case if and or not in lambda def "
        "range reversed enumerate zip assert divmod min max sum any all abs len Pair find"
    )
    missing = [word for word in words.split() if not re.search(rf"\b{word}\b", text)]
    symbols = (":=", "//=", ">>=", "*", "::-1", "m.T", " < ", "q=", ", *v", '""')
    missing += [symbol for symbol in symbols if symbol not in text]
    assert not missing


def test_no_program_raises() -> None:
    """What a program reads is assigned on all paths, so that a refusal by a device is a mistake."""
    for seed in range(100, 105):
        program = random_statements(seed, PARTS)
        arrays = program.arrays(seed)
        before = arrays[-1].copy()
        python_oracle.run(program.source, arrays, program.grid, BLOCK)
        assert np.isfinite(arrays[-1]).all()
        # Nearly all parts give something back.
        assert np.count_nonzero((arrays[-1] != before).any((1, 2))) > PARTS - 4

"""Random kernels in Python do on each device what plain Python does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES, WORDS
from tests.property import python_oracle
from tests.property.found_python import FOUND
from tests.property.python_check import TYPES, check, check_program, loaded, program_of
from tests.property.python_kernels import Program

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

COUNTS = {"cpu": 8, "vulkan": 6}
"""Kernels of a run, by device; 2 elsewhere."""


@pytest.fixture(params=DEVICES)
def device(request, monkeypatch):
    found = get_device(request.param)
    current.choose(found)
    return request.param


def test_devices_do_what_python_does(device: str) -> None:
    for seed in range(COUNTS.get(device, 2)):
        check(seed, device)


@pytest.mark.nightly
@given(seed=st.integers(1000, 2**32 - 1))
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_devices_do_what_python_does_in_many(device: str, seed: int) -> None:
    check(seed, device)


@pytest.mark.parametrize("seed", FOUND)
@pytest.mark.parametrize("device", [name for name in DEVICES if name not in WORDS])
def test_found(device: str, seed: int) -> None:
    current.choose(get_device(device))
    program = replace(program_of(seed, device), source=FOUND[seed])
    check_program(program, seed, device)


@cuda.jit
def quotients(o, b, c):
    i = cuda.grid(1)
    v = b[i] // np.uint64(10)
    w = v + np.uint64(18446744073709551615)
    o[0, i] = (c[i] // np.uint64(100)) ^ w
    o[1, i] = (c[i] // np.uint64(100)) | w
    o[2, i] = (c[i] // np.uint64(100)) + (v - np.uint64(1))


def test_sums_of_quotients(device: str) -> None:
    """NVIDIA's Vulkan compiler lost the upper half of a quotient minus 1."""
    b, c = np.arange(64, dtype=np.uint64), np.full(64, 2**32 - 1, np.uint64)
    o = np.zeros((3, 64), np.uint64)
    quotients[2, 32](o, b, c)
    less, other = b // np.uint64(10) - np.uint64(1), c // np.uint64(100)
    assert (o == np.stack([other ^ less, other | less, other + less])).all()


REVERSED = """
@cuda.jit(device=True)
def half(a):
    if a < np.int8(0):
        return np.int8(0)
    return np.int8(a // np.int8(2))

@cuda.jit(OPTIONS)
def k(x, o, a):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s = cuda.shared.array(4, np.int8)
    s[t] = np.int8(x[i] + np.int8(100))
    cuda.syncthreads()
    o[i] = half(np.int8(s[3 - t]))
    if t == 3:
        return
    cuda.atomic.max(a, np.int64(0), np.int32(x[i]))
    cuda.atomic.add(a, np.int64(1), np.int32(1))
"""


def test_the_oracle_knows_barriers_blocks_and_types() -> None:
    x, o = np.arange(20, 28, dtype=np.int8), np.zeros(8, np.int8)
    a = np.zeros(2, np.int32)
    python_oracle.run(REVERSED, [x, o, a], 2, 4)
    # 120 to 127, of which 127 is the last that does not wrap.
    assert o.tolist() == [61, 61, 60, 60, 63, 63, 62, 62]
    assert a.tolist() == [26, 6]
    got = [x, np.zeros(8, np.int8), np.zeros(2, np.int32)]
    loaded(Program(REVERSED, ()))[2, 4](*got)
    assert got[1].tolist() == o.tolist() and got[2].tolist() == a.tolist()


def test_every_construct_is_written() -> None:
    text = "".join(program_of(seed, "cpu").source for seed in range(60))
    words = "while for break continue elif else return syncthreads atomic copysign floor min abs"
    missing = [word for word in words.split() if word not in text]
    assert not missing and all(f"np.{name}" in text for name in TYPES)

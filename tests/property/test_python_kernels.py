"""Random kernels in Python do on each device what plain Python does."""

from __future__ import annotations

import itertools
import linecache
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import on_shaders
from tests.devices import DEVICES
from tests.property import python_oracle
from tests.property.python_kernels import BLOCK, GRID, INTEGERS, Program, random_kernel

from gridlane import cuda
from gridlane.cuda import active
from gridlane.runtime.devices import get_device

TYPES = (*INTEGERS, "float32", "float64")
KEPT = 3
"""How many of the types a kernel has."""
COUNTS = {"cpu": 24, "vulkan": 10}
"""Kernels of a run, by device; 3 elsewhere."""
_files = itertools.count()


def program_of(seed: int, device: str) -> Program:
    kinds = np.random.default_rng(seed).permutation(len(TYPES))
    types = [TYPES[n] for n in kinds]
    if device in (*on_shaders.KINDS, "metal"):  # no float64 in their memory
        types.remove("float64")
    return random_kernel(seed, tuple(types[:KEPT]))


def loaded(program: Program):
    """The kernel, from a file that linecache knows."""
    name = f"<random kernel {next(_files)}>"
    text = "\n" + program.source.replace("cuda.jit(OPTIONS)", "cuda.jit(fma=False)")
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    namespace = {"cuda": cuda, "np": np, "math": math}
    exec(compile(text, name, "exec"), namespace)
    return namespace["k"]


def check(seed: int, device: str) -> None:
    program = program_of(seed, device)
    wanted, got = program.arrays(seed), program.arrays(seed)
    python_oracle.run(program.source, wanted, GRID, BLOCK)
    loaded(program)[GRID, BLOCK](*got)
    for number, (w, g) in enumerate(zip(wanted, got, strict=True)):
        different = np.flatnonzero(w.view(f"u{w.itemsize}") != g.view(f"u{g.itemsize}"))
        if len(different):
            at = different[0]
            raise AssertionError(
                f"seed {seed}: array {number}, element {at}: {g[at]!r}, not {w[at]!r}; "
                f"{len(different)} differ\n{program.source}"
            )


@pytest.fixture(params=DEVICES)
def device(request, monkeypatch):
    found = get_device(request.param)
    monkeypatch.setattr(active, "device", lambda: found)
    return request.param


def test_devices_do_what_python_does(device: str) -> None:
    for seed in range(COUNTS.get(device, 3)):
        check(seed, device)


@pytest.mark.nightly
@given(seed=st.integers(1000, 2**32 - 1))
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_devices_do_what_python_does_in_many(device: str, seed: int) -> None:
    check(seed, device)

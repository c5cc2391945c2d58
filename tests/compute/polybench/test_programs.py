"""PolyBench's programs: the threads' results are those of the plain loops, of CPython, of NumPy."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.compute.polybench import PROGRAMS
from tests.compute.polybench.inputs import Arrays, by_cpython, copies
from tests.devices import DEVICES

import gridlane
from gridlane.compute import programs
from gridlane.compute.known import Known

SHADERS = [name for name in DEVICES if name not in ("cpu", "cuda")][:1]


@cache
def inputs(name: str) -> Arrays:
    return PROGRAMS[name].inputs(PROGRAMS[name].mini)


@cache
def plain(name: str) -> Arrays:
    values = copies(inputs(name))
    with gridlane.device("interp"):
        PROGRAMS[name].nest.plain(*values.values())
    return values


def run(name: str, device: str) -> Arrays:
    values = copies(inputs(name))
    PROGRAMS[name].nest._known = Known()  # of another bound of small arrays
    with gridlane.device(device):
        PROGRAMS[name].nest(*values.values())
    return values


def assert_close(values: Arrays, wanted: Arrays, rtol: float) -> None:
    for name, array in wanted.items():
        np.testing.assert_allclose(values[name], array, rtol, rtol, err_msg=name)


def test_all_programs():
    assert len(PROGRAMS) == 30
    assert len({each.nest.nest.name for each in PROGRAMS.values()}) == 30


@pytest.mark.parametrize("name", PROGRAMS)
def test_plain_loops_are_those_of_cpython(name):
    values = copies(inputs(name))
    by_cpython(PROGRAMS[name].nest, values)
    assert_close(plain(name), values, 1e-12)
    assert any((values[each] != inputs(name)[each]).any() for each in arrays(values))


def arrays(values: Arrays) -> list[str]:
    return [name for name, value in values.items() if isinstance(value, np.ndarray)]


@pytest.mark.parametrize("name", [n for n, each in PROGRAMS.items() if each.reference])
def test_numpys_results(name):
    reference = PROGRAMS[name].reference
    assert reference is not None
    wanted = reference(copies(inputs(name)))
    assert_close(plain(name), wanted, 1e-10)


@pytest.mark.parametrize("name", PROGRAMS)
def test_threads_keep_every_bit(name):
    values = run(name, "interp")
    for each in arrays(values):
        assert (values[each] == plain(name)[each]).all(), each


@pytest.mark.parametrize("name", PROGRAMS)
def test_launches_of_large_arrays_keep_every_bit(name, monkeypatch):
    """Where one block computes small ones."""
    if PROGRAMS[name].nest.emitted.small is None:
        return
    monkeypatch.setattr(programs, "SMALL", 0)
    values = run(name, "interp")
    for each in arrays(values):
        assert (values[each] == plain(name)[each]).all(), each


@pytest.mark.parametrize("small", [0, programs.SMALL])
@pytest.mark.parametrize("name", PROGRAMS)
def test_processors(name, small, monkeypatch):
    monkeypatch.setattr(programs, "SMALL", small)
    assert_close(run(name, "cpu"), plain(name), 1e-12)


@pytest.mark.parametrize("device", SHADERS)
@pytest.mark.parametrize("name", ["gemm", "floyd-warshall", "trisolv", "jacobi-2d"])
def test_shaders(name, device):
    """Their float64 is two of float32 by default: about 44 bits."""
    assert_close(run(name, device), plain(name), 1e-5 if name != "floyd-warshall" else 0)

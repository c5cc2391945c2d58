"""More of ``tests/frontends/ptx/test_numba.py``: expressions and random kernels by numba's PTX."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from tests.frontends.ptx.test_numba import check_random_kernel, ptx_of
from tests.peers.numba_values import compare, kernels

PARTS = 100
USUAL = 4
"""How many of the parts a run has that is none of the night."""


@pytest.fixture(scope="module")
def numba() -> Iterator[Executor]:
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        yield process


def _check(numba: Executor, part: int) -> None:
    found = compare(numba, kernels()[part::PARTS])
    assert not found.wrong, "\n".join(found.wrong)
    assert found.points


@pytest.mark.parametrize("part", range(USUAL))
def test_expressions(numba: Executor, part: int) -> None:
    _check(numba, part)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(USUAL, PARTS))
def test_all_expressions(numba: Executor, part: int) -> None:
    _check(numba, part)


@pytest.mark.parametrize("seed", range(1006, 1040))
def test_a_random_kernel(seed: int) -> None:
    check_random_kernel(seed, ptx_of((seed,))[seed])

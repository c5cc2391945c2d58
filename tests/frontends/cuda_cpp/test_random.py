"""Random numbers that the device draws: Sobol's sequences and what stands on their numbers."""

from __future__ import annotations

from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import PtxError
from gridlane.launch import current
from gridlane.launch.devices import get_device

FOLDER = Path(__file__).parent / "programs"
RNG = np.random.default_rng(19)
LANES = 8


@pytest.fixture
def load():
    current.choose(get_device("cpu"))
    return lambda name, kernel: cuda.RawModule(
        path=FOLDER / f"{name}.cu", name_expressions=(kernel,), backend="clang"
    ).get_function(kernel)


def number(vectors: list[int], place: int, first: int) -> int:
    """The number of a sequence at a place: Bratley and Fox, "Algorithm 659", 1988."""
    gray = place ^ place >> 1
    for k, vector in enumerate(vectors):
        first ^= vector if gray >> k & 1 else 0
    return first


def poisson(u: float, mean: float) -> int:
    """The count at whose sum of probabilities a number is reached."""
    counts = np.arange(1, int(mean + 20 * mean**0.5 + 20))
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(mean / counts))]) - mean
    return int(np.searchsorted(np.cumsum(np.exp(logarithms)), u))


@pytest.mark.parametrize("name, bits, kind", [("narrow", 32, np.uint32), ("wide", 64, np.uint64)])
def test_sobol(load, name, bits, kind):
    vectors = RNG.integers(0, 2**bits, (LANES, bits), kind, endpoint=False)
    words, reals = np.zeros((LANES, 2, 3), kind), np.zeros((LANES, 2, 8))
    load("sobol", name)(1, LANES, (vectors, words, reals))
    quantile = NormalDist().inv_cdf
    for i, each in enumerate([[int(v) for v in row] for row in vectors]):
        for place, first in enumerate((0, 77777 * i)):
            x = [number(each, 1000 * i + n, first) for n in (*range(10), 1011)]
            assert [int(v) for v in words[i, place]] == [x[0], x[1], x[10]]
            u = [(v + 0.5) / 2**bits for v in x]
            want = [u[2], u[3], quantile(u[4]), quantile(u[5])]
            want.append(np.exp(0.5 + 0.25 * quantile(u[6])))
            assert np.allclose(reals[i, place, :5], want, rtol=1e-6, atol=1e-9)
            large = np.floor(5000**0.5 * quantile(u[9]) + 5000.5)
            assert list(reals[i, place, 5:]) == [poisson(u[7], 3.5), poisson(u[8], 900.0), large]


def test_fours(load):
    out = np.zeros((LANES, 4, 4))
    load("sobol", "fours")(1, LANES, (out,))
    normal, logarithmic, double, counts = out.transpose(1, 0, 2)
    assert np.allclose(logarithmic, np.exp(0.1 + 0.2 * normal), rtol=1e-6)
    assert (counts == np.floor(5000**0.5 * double + 5000.5)).all()


def test_what_needs_tables(load):
    with pytest.raises(PtxError, match="curand_discrete_needs_tables_of_the_host"):
        load("sobol", "by_tables")(1, 1, (np.zeros(64, np.uint8), np.uint64(0), np.zeros(1, "u4")))

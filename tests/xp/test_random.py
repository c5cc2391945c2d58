"""Random numbers: NumPy's sequence, and distributions of it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import xp


def numpys(seed: Any) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_floats_are_numpys(device: str):
    own, other = xp.random.default_rng([1, 2], device=device), numpys([1, 2])
    for shape in (5, (3, 2), ()):
        assert np.array_equal(own.random(shape), other.random(shape))
    own, other = xp.random.default_rng(7, device=device), numpys(7)
    assert np.array_equal(own.random(8, dtype="float32"), other.random(8, dtype=np.float32))
    assert own.random(3).device == device


def test_a_generator_goes_on():
    own = xp.random.default_rng(3)
    parts = np.concatenate([np.asarray(own.random(each)) for each in (1, 4, 6)])
    assert np.array_equal(parts, numpys(3).random(11))
    out = xp.zeros(4)
    assert own.random(out=out) is out
    assert np.array_equal(out, numpys(3).random(15)[11:])


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 4), (0, 2**40 + 7), (-(2**63), 2**63)])
def test_integers_are_upper_halves_of_products(low: int, high: int):
    raw = np.random.Philox(5).random_raw(50)
    expected = [low + (int(each) * (high - low) >> 64) for each in raw]
    assert xp.random.default_rng(5).integers(low, high, 50).tolist() == expected


def test_distributions():
    own, count = xp.random.default_rng(11), 100_000
    normal = np.asarray(own.standard_normal(count))
    assert abs(normal.mean()) < 0.02
    assert abs(normal.std() - 1) < 0.02
    assert abs((normal**4).mean() - 3) < 0.15
    assert np.isfinite(np.asarray(own.normal(xp.asarray([0.0, 5.0]), 2.0, (count, 2)))).all()
    exponential = np.asarray(own.exponential(2.0, count))
    assert abs(exponential.mean() - 2) < 0.05
    assert exponential.min() >= 0
    uniform = np.asarray(own.uniform(-1, 3, count))
    assert uniform.min() >= -1
    assert uniform.max() < 3
    assert abs(uniform.mean() - 1) < 0.03
    counts = np.bincount(np.asarray(own.choice(4, count, p=[0.1, 0.0, 0.6, 0.3])), minlength=4)
    assert np.allclose(counts / count, [0.1, 0.0, 0.6, 0.3], atol=0.01)
    assert own.standard_normal(3, dtype="float32").dtype == np.float32


def test_orders():
    own = xp.random.default_rng(13)
    assert sorted(own.permutation(50).tolist()) == list(range(50))
    rows = xp.reshape(xp.arange(12), (4, 3))
    mixed = own.permutation(rows)
    assert sorted(mixed.tolist()) == rows.tolist()
    own.shuffle(rows, axis=1)
    assert sorted(rows.mT.tolist()) == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]
    chosen = own.choice(xp.arange(10), 6, replace=False).tolist()
    assert len(set(chosen)) == 6


@pytest.mark.parametrize(
    ("attempt", "text"),
    [
        (lambda own: own.integers(3, 3), "low >= high"),
        (lambda own: own.integers(300, dtype="int8"), "out of bounds for int8"),
        (lambda own: own.choice(3, 5, replace=False), "larger sample than population"),
        (lambda own: own.choice(3, p=[0.5, 0.5]), "a and p must have same size"),
        (lambda own: own.choice(2, p=[0.5, 0.6]), "do not sum to 1"),
        (lambda own: own.random(-1), "negative dimensions"),
    ],
)
def test_what_is_refused(attempt: Any, text: str):
    with pytest.raises(ValueError, match=text):
        attempt(xp.random.default_rng(0))
    with pytest.raises(TypeError, match="Unsupported dtype"):
        xp.random.default_rng(0).random(3, dtype="int32")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda rng: rng.normal(0, -1, 3), "scale < 0"),
        (lambda rng: rng.normal(0, xp.asarray([1.0, -1.0])), "scale < 0"),
        (lambda rng: rng.exponential(-1.0), "scale < 0"),
        (lambda rng: rng.uniform(2, 1), "high - low < 0"),
        (lambda rng: rng.choice(3, 5, p=[1.5, -0.5, 0]), "not non-negative"),
        (lambda rng: rng.choice(3, 5, p=[np.nan, 0.5, 0.5]), "not non-negative"),
        (lambda rng: rng.choice(0, 1), "cannot be empty"),
        (lambda rng: rng.choice(xp.asarray(3)), "at least 1-dimensional"),
        (lambda rng: rng.permutation(xp.asarray(3)), "at least 1-dimensional"),
        (lambda rng: rng.random(5, out=xp.zeros(3)), r"size must match out\.shape"),
    ],
)
def test_parameters_that_are_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call(xp.random.default_rng(1))


def test_orders_and_choices_of_nothing():
    rng = xp.random.default_rng(1)
    assert rng.permutation(-1).shape == (0,)
    assert rng.choice(0, 0).shape == (0,)


def test_a_pickled_generator_continues_the_sequence():
    rng = xp.random.default_rng(1)
    rng.random(3)
    other = pickle.loads(pickle.dumps(rng))
    assert np.array_equal(other.random(5), rng.random(5))

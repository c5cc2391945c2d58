# ruff: noqa: F821  # extents are names that annotations define
"""Numbers outside of a nest: each is what it was at the decoration, on every device and by every
schedule."""

from __future__ import annotations

import types

import numpy as np
import pytest

import gridlane
from gridlane.compute import Hints, Tensor, compute, f64, grid

FACTOR = 2
settings = types.ModuleType("settings")
settings.step = 3
X = np.arange(6.0)


@pytest.fixture(autouse=True)
def _as_before():
    yield
    globals()["FACTOR"] = 2
    settings.step = 3


def by_global():
    @compute
    def nest(x: Tensor[f64, "N"], out: Tensor[f64, "N"]):
        for i in grid(N):
            out[i] = FACTOR * x[i] + settings.step

    return nest


def by_closure(factor, constant=1):
    def change(value):
        nonlocal factor
        factor = value

    @compute
    def nest(x: Tensor[f64, "N"], out: Tensor[f64, "N"]):
        for i in grid(N):
            out[i] = factor * x[i] + constant

    return nest, change


def result(nest, device):
    with gridlane.device(device):
        out = np.zeros(6)
        nest(X, out)
        return out


@pytest.mark.parametrize("other", [2.5, -7, True, "no number"])
def test_globals_that_change(other):
    """Before the first call on a device, and between calls."""
    nest = by_global()
    for device in ("cpu", "interp"):
        for _ in range(5):
            globals()["FACTOR"], settings.step = other, other
            assert (result(nest, device) == 2 * X + 3).all()
    scheduled = nest.schedule("i/2", "i", threads=("i/2",))
    chosen = nest.with_choices(None, Hints(unroll=2))
    for way in (scheduled, chosen, nest.plain):
        assert (result(way, "cpu") == 2 * X + 3).all()
    same = X.copy()
    nest(same, same)
    assert (same == 2 * X + 3).all()


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_closures(device):
    """Nests of one name and text with other numbers are others, also where these are equal."""
    ways = [2.0, 3.0, 2, True, -0.0, 0.0, float("nan"), float("inf")]
    nests = [by_closure(factor) for factor in ways]
    for _ in range(4):
        for factor, (nest, change) in zip(ways, nests, strict=True):
            change(11.0)
            with np.errstate(invalid="ignore"):
                wanted = factor * X + 1
            np.testing.assert_array_equal(result(nest, device), wanted)


def test_texts_of_one_name():
    def minus():
        @compute
        def nest(x: Tensor[f64, "N"], out: Tensor[f64, "N"]):
            for i in grid(N):
                out[i] = 2.0 * x[i] - 1

        return nest

    plus, minus = by_closure(2.0)[0], minus()
    for _ in range(5):
        assert (result(plus, "cpu") == 2 * X + 1).all()
        assert (result(minus, "cpu") == 2 * X - 1).all()

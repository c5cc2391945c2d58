"""Mathematical functions of tile programs."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import gridlane
from gridlane import tiles

tl = tiles.language
lib = tl.extra.libdevice

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 1e38, -1e38, -104.0, -100.0, 88.7]


@tiles.jit
def functions(x, out, ROW: tl.constexpr):
    i = tl.arange(0, ROW)
    values = tl.load(x + i)
    tl.store(out + i, tl.exp(values))
    tl.store(out + ROW + i, tl.log(values))
    tl.store(out + 2 * ROW + i, tl.sin(values))
    tl.store(out + 3 * ROW + i, lib.tanh(values))


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_functions_of_float32_are_less_than_an_ulp_off(device):
    rng = np.random.default_rng(7)
    values = np.zeros(256, np.float32)
    values[: len(SPECIAL)] = SPECIAL
    values[len(SPECIAL) :] = rng.normal(size=256 - len(SPECIAL)) * 20
    out = np.zeros((4, 256), np.float32)
    with gridlane.device(device):
        functions[(1,)](values, out, ROW=256)
    exact = mpmath.exp, mpmath.log, mpmath.sin, mpmath.tanh
    for row, function in zip(out, exact, strict=True):
        for got, value in zip(row, values, strict=True):
            assert _within_an_ulp(got, function, float(value)), (function, value, got)


def _within_an_ulp(got: np.float32, function, value: float) -> bool:
    with mpmath.workprec(200):
        wanted = mpmath.mpf("nan") if function is mpmath.log and value < 0 else function(value)
        rounded = np.float32(float(wanted))
        if np.isnan(rounded) or np.isinf(rounded):
            return bool(np.isnan(got) if np.isnan(rounded) else got == rounded)
        return abs(mpmath.mpf(float(got)) - wanted) <= float(np.spacing(np.abs(rounded)))


def test_no_library_computes_float32_on_the_cpu():
    with gridlane.device("cpu"):
        compiled = functions.warmup(np.zeros(256, "f"), np.zeros(1024, "f"), ROW=256, grid=(1,))
    assert b"_ZGV" not in compiled.asm["object"]

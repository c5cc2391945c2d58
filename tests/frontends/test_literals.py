"""Expressions of literals fold as CPython folds them; what runs has 64 bits."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.running import device, launch, result_type

from gridlane.core.errors import ConstantError


@pytest.mark.parametrize(
    ("function", "kind", "value"),
    [
        (lambda: 1 << 63, "uint64", 2**63),
        (lambda: 2**64 - 1, "uint64", 2**64 - 1),
        (lambda: 2**62 * 2, "uint64", 2**63),
        (lambda: 0xFFFFFFFF << 32, "uint64", 0xFFFFFFFF << 32),
        (lambda: (1 << 100) >> 90, "int64", 1024),
        (lambda: -(2**63), "int64", -(2**63)),
        (lambda: -1 >> 70, "int64", -1),
        (lambda: ~True, "int64", -2),
        (lambda: True + True, "int64", 2),
        (lambda: True & True, "bool", 1),
        (lambda: 10**-3, "float64", 0.001),
        (lambda: 2**-1, "float64", 0.5),
        (lambda: 7 % -3, "int64", -2),
        (lambda: 1 if 2.5 else 3.5, "int64", 1),
        (lambda: 1.5 and 3, "int64", 3),
        (lambda: 0.0 or 3, "int64", 3),
    ],
)
def test_literals(function, kind, value):
    fold = device(function)

    def kernel(out):
        out[0] = fold()

    out = np.zeros(1, kind)
    assert str(result_type(function)).replace("boolean", "bool") == kind
    launch(kernel, 1, 1, out)
    assert out[0] == value


def test_literals_that_are_complex():
    assert str(result_type(lambda: (-1) ** 0.5)) == "complex128"
    assert str(result_type(lambda: 1 + 2j)) == "complex128"


@pytest.mark.parametrize(
    "function",
    [
        lambda: 1 << 64,
        lambda: 2**64,
        lambda: -(2**63) - 1,
        lambda: 1 << 70,
        lambda: 3 ** (10**9),
        lambda: 1 << 10**12,
    ],
)
def test_literals_beyond_64_bits_are_located_errors(function):
    with pytest.raises(ConstantError, match="fit in 64 bits") as caught:
        result_type(function)
    assert "test_literals.py" in str(caught.value)


def test_what_cannot_be_folded_runs():
    def kernel(out):
        out[0] = 1 // 0
        out[1] = 0**-1
        out[2] = 1 << -1

    out = np.full(3, 7, np.int64)
    launch(kernel, 1, 1, out)
    assert out.tolist() == [0, -(2**63), 0]
    with pytest.raises(ConstantError, match="64 bits"):
        result_type(lambda: 1.5 * 2**2000)


def test_variables_do_not_fold():
    def kernel(out):
        x = 2
        out[0] = x**-1
        y = 1
        out[1] = y << 63
        z = 2**63 - 1
        out[2] = z + 1

    out = np.zeros(3, np.int64)
    launch(kernel, 1, 1, out)
    assert out.tolist() == [0, -(2**63), -(2**63)]

"""Branches that nothing gets to: they compile, though no value is left for the variables there."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from tests.frontends.running import cuda, device, launch

from gridlane.cuda import int32, int64

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.lshift,
    operator.rshift,
    operator.and_,
    operator.or_,
    operator.xor,
    min,
    max,
]


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_operators_of_a_variable_without_values(function):
    def kernel(out):
        i = cuda.grid(1)
        out[1] = i
        if i < -1:
            out[0] = function(1, i & 31) + function(i, 3) + function(i, i)
        if 5 < i < 3:
            out[0] = function(1, i & 31) + function(-i, abs(i))

    out = np.full(2, 7, np.int64)
    launch(kernel, 1, 1, out)
    assert out.tolist() == [7, 0]


def test_loops_over_a_variable_without_values():
    def kernel(out):
        i = cuda.grid(1)
        if i < -1:
            for j in range(i, i & 7, 1 << (i & 3)):
                out[0] = j << (j & 7)
            for j in range(i & 7, i, -(i & 3) - 1):
                out[0] = 1 << (j & 31)

    out = np.full(1, 7, np.int64)
    launch(kernel, 1, 1, out)
    assert out[0] == 7


def test_shift_in_a_dead_branch():
    def kernel(out):
        i = cuda.grid(1)
        if i < -1:
            out[0] = 1 << (i & 31)

    out = np.full(1, 7, np.int64)
    launch(kernel, 1, 1, out)
    assert out[0] == 7


def test_isinstance_selects_a_branch():
    def kind(x):
        if isinstance(x, (tuple, np.ndarray)):
            return len(x)
        if isinstance(x, int):
            return 1
        if isinstance(x, np.float32):
            return 3
        return 4 if isinstance(x, complex) else 5

    kind = device(kind)

    def kernel(out, b, f):
        out[0] = kind(b)
        out[1] = kind(f)
        out[2] = kind(1j)
        out[3] = kind((1, 2))
        out[4] = kind(out)
        out[5] = kind(2.5)
        out[6] = isinstance(b, int32) + 2 * isinstance(b, int64)
        out[7] = isinstance(float("nan"), float) + isinstance(True, int)

    out = np.zeros(8)
    launch(kernel, 1, 1, out, np.int32(3), np.float32(1))
    assert out.tolist() == [1, 3, 4, 2, 8, 5, 1, 1]

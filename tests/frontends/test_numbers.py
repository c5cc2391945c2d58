"""Operators on numbers at the edges of their rules: the values are Python's and numpy's."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import gridlane
from gridlane import cuda

SMALL = [*range(-7, 0), *range(1, 8)]
COMPARISONS = operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne


@pytest.fixture(autouse=True)
def _on_the_interpreter():
    with gridlane.device("interp"):
        yield


def test_quotients_and_remainders_of_each_sign():
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        out[i, 0] = a[i] // b[i]
        out[i, 1] = a[i] % b[i]

    pairs = np.array([(a, b) for a in range(-14, 15) for b in SMALL], np.int64)
    out = np.zeros_like(pairs)
    kernel[len(pairs), 1](pairs[:, 0].copy(), pairs[:, 1].copy(), out)
    assert out.tolist() == [[a // b, a % b] for a, b in pairs.tolist()]


def test_differences_of_numbers_that_are_not_negative():
    @cuda.jit
    def kernel(a, out):
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        i = x - y
        out[x, y, 0] = i // 3
        out[x, y, 1] = i % 3
        out[x, y, 2] = a[i]

    a, out = np.arange(10, 18), np.zeros((4, 8, 3), np.int64)
    kernel[1, (4, 8)](a, out)
    wanted = [[[(x - y) // 3, (x - y) % 3, a[x - y]] for y in range(8)] for x in range(4)]
    assert out.tolist() == wanted


@pytest.mark.parametrize("compare", COMPARISONS, ids=lambda each: each.__name__)
def test_a_signed_number_and_a_uint64(compare):
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        out[i, 0] = compare(a[i], b[i])
        out[i, 1] = compare(b[i], a[i])

    signed, unsigned = (-1, -(2**63), 0, 1, 2**63 - 1), (0, 1, 2**63 - 1, 2**63, 2**64 - 1)
    pairs = [(a, b) for a in signed for b in unsigned]
    a, b = (np.array(side, kind) for side, kind in zip(zip(*pairs), (np.int64, np.uint64)))
    out = np.zeros((len(pairs), 2), np.bool_)
    kernel[len(pairs), 1](a, b, out)
    assert out.tolist() == [[compare(a, b), compare(b, a)] for a, b in pairs]


def test_numpys_functions_of_integers_are_of_float64_from_32_bits_on():
    @cuda.jit
    def kernel(a, b, out):
        out[0] = np.sqrt(a[0])
        out[1] = np.sqrt(b[0])

    out = np.zeros(2)
    kernel[1, 1](np.array([2**31 - 1], np.int32), np.array([32767], np.int16), out)
    assert out.tolist() == [np.sqrt(np.int32(2**31 - 1)), np.sqrt(np.int16(32767))]

"""numpy's functions of two numbers compute in numpy's type of the two, as numpy does."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.running import launch

from gridlane.core.errors import TypingError

DTYPES = (np.bool_, np.int8, np.uint8, np.uint16, np.int64, np.uint64, np.float32)
FUNCTIONS = (np.add, np.subtract, np.multiply, np.floor_divide, np.remainder, np.fmod)


def all_of(a, b, out):
    for i in range(a.size):
        x, y = a[i], b[i]
        out[0][i] = np.add(x, y)
        out[1][i] = np.subtract(x, y)
        out[2][i] = np.multiply(x, y)
        out[3][i] = np.floor_divide(x, y)
        out[4][i] = np.remainder(x, y)
        out[5][i] = np.fmod(x, y)


def edges(dtype):
    if dtype is np.float32:
        return np.array([0.5, -2.5, 3.0], dtype)
    if dtype is np.bool_:
        return np.array([True, False])
    info = np.iinfo(dtype)
    return np.array([info.min, info.max, 0, 1, 7], dtype)


@pytest.mark.parametrize("left", DTYPES)
def test_numbers_of_two_types(left):
    for right in DTYPES:
        if left is right is np.bool_ or np.float32 in (left, right):
            continue  # numpy subtracts no bools; float32 is below
        _compare(left, right)
    if left in (np.int8, np.uint16, np.float32):
        _compare(left, np.float32)


def _compare(left, right):
    a, b = (part.ravel().copy() for part in np.meshgrid(edges(left), edges(right)))
    with np.errstate(all="ignore"):
        wanted = tuple(function(a, b) for function in FUNCTIONS)
    out = tuple(np.ones_like(row) for row in wanted)
    launch(all_of, 1, 1, a, b, out)
    for function, found, row in zip(FUNCTIONS, out, wanted):
        np.testing.assert_array_equal(found, row, f"{function.__name__} {left} {right}")


def bits(u, i, out):
    out[0] = np.left_shift(u, 3)
    out[1] = np.right_shift(u, 2)
    out[2] = np.bitwise_and(6, u)
    out[3] = np.reciprocal(u) + 10 * np.reciprocal(i)
    out[4] = np.reciprocal(np.int8(0)) + np.reciprocal(np.int8(2)) + 4 * np.reciprocal(0.5)


def test_literals_leave_uint64_its_type():
    out = np.zeros(5, np.uint64)
    launch(bits, 1, 1, np.uint64(2**64 - 1), np.int64(1), out)
    assert out.tolist() == [2**64 - 8, 2**62 - 1, 6, 10, 8]


def mixed(u, i, out):
    out[0] = np.left_shift(u, i)


def test_bits_of_uint64_and_int64():
    with pytest.raises(TypingError, match="uint64 and int64 have no common type of integers"):
        launch(mixed, 1, 1, np.uint64(1), np.int64(1), np.zeros(1, np.uint64))

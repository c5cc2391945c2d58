"""Powers of integers: exact modulo 2^64, and finished for every exponent."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.running import launch

INT64, UINT64 = np.iinfo(np.int64), np.iinfo(np.uint64)
BASES = [INT64.min, -7, -1, 0, 1, 2, 3, INT64.max]
EXPONENTS = [INT64.min, INT64.min + 1, -2, -1, 0, 1, 2, 63, 64, 65_536, INT64.max]


def power(a, b, out):
    for i in range(a.size):
        out[i] = a[i] ** b[i]


def wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def exact(base: int, exponent: int) -> int:
    """The power as an int64; a reciprocal is 0, but of 1, -1 and 0."""
    if exponent >= 0:
        return wrapped(pow(base, exponent, 2**64))
    if base in (1, -1):
        return base if exponent % 2 else 1
    return INT64.min if base == 0 else 0


def pairs(bases, exponents, *dtypes):
    grid = np.array([(b, e) for b in bases for e in exponents], object)
    return [grid[:, n].astype(dtype) for n, dtype in enumerate(dtypes)]


def test_signed_exponents():
    a, b = pairs(BASES, EXPONENTS, np.int64, np.int64)
    out = np.zeros(a.size, np.int64)
    launch(power, 1, 1, a, b, out)
    assert out.tolist() == [exact(int(x), int(y)) for x, y in zip(a, b)]


@pytest.mark.parametrize("base", [np.int64, np.uint64])
def test_unsigned_exponents_from_half_the_range_on(base):
    exponents = [0, 1, 3, 2**63 - 1, 2**63, 2**63 + 1, UINT64.max]
    a, b = pairs([0, 1, 3, 2**62 + 1], exponents, base, np.uint64)
    out = np.zeros(a.size, base)
    launch(power, 1, 1, a, b, out)
    wanted = [pow(int(x), int(y), 2**64) for x, y in zip(a, b)]
    assert out.astype(np.uint64).tolist() == wanted


def test_constant_base_and_constant_exponents():
    def powers(n, out):
        out[0] = 2 ** n[0]
        out[1] = n[1] ** -1
        out[2] = n[0] ** -9223372036854775808
        out[3] = n[2] ** -3
        out[4] = n[2] ** 9223372036854775807

    n = np.array([INT64.min, 0, -1], np.int64)
    out = np.full(5, 99, np.int64)
    launch(powers, 1, 1, n, out)
    assert out.tolist() == [0, INT64.min, 0, -1, -1]


def complex_powers(a, b, real, out):
    for i in range(a.size):
        out[0, i] = a[i] ** b[i]
        out[1, i] = a[i] ** real[i]


def test_complex_powers_of_zero_and_nan():
    """As numpy's, but that 0 to a negative power is infinite as of floats, where numpy has NaN."""
    nan = float("nan")
    a = np.array([0, 0, 0, nan, complex(1, nan), complex(np.inf, nan), 2], complex)
    b = np.array([-1, -2.5, 2, 0, 0, 0, 0], complex)
    out = np.ones((2, a.size), complex)
    launch(complex_powers, 1, 1, a, b, b.real.copy(), out)
    assert (out[:, :2].real == np.inf).all()
    assert (out[:, 2:] == (a[2:] ** b[2:])).all()

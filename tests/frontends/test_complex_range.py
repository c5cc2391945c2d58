"""cmath's functions where intermediate results leave the range of floats, against CPython's."""

from __future__ import annotations

import cmath

import numpy as np
import pytest
from tests.frontends.running import launch

NUMBERS = {
    np.complex128: [
        *(complex(709.9, 1), complex(710.2, 1.5), complex(-745, 1), complex(700, 2)),
        *(complex(1.7e308, 1.7e308), complex(-1e308, 5), complex(3e307, -1.7e308)),
        *(
            complex(5e-324, 5e-324),
            complex(-3e-320, 1e-310),
            complex(1e-310, 0),
            complex(0, -1e-320),
        ),
        *(complex(1, 1e-200), complex(-1, -1e-160), complex(1, 1e-150), complex(1, -1e-300)),
        *(complex(1e-200, 1), complex(-1e-160, -1), complex(0.5, 0.5), complex(-2, 0)),
    ],
    np.complex64: [
        *(complex(88.8, 1), complex(89, 1.5), complex(-103, 1)),
        *(complex(3e38, 3e38), complex(-3e38, 5), complex(7e37, -3e38)),
        *(complex(1e-45, 1e-45), complex(-3e-40, 1e-41), complex(1e-40, 0), complex(0, -1e-42)),
        *(complex(1, 1e-25), complex(-1, -1e-20), complex(1, 1e-18), complex(1e-25, 1)),
    ],
}
FUNCTIONS = (cmath.exp, cmath.log, cmath.sqrt, cmath.atanh, cmath.atan, cmath.log10)


def all_of(z, out):
    for i in range(z.size):
        out[0, i] = cmath.exp(z[i])
        out[1, i] = cmath.log(z[i])
        out[2, i] = cmath.sqrt(z[i])
        out[3, i] = cmath.atanh(z[i])
        out[4, i] = cmath.atan(z[i])
        out[5, i] = cmath.log10(z[i])


@pytest.mark.parametrize("kind", NUMBERS)
def test_range(kind):
    z = np.array(NUMBERS[kind], kind)
    out = np.zeros((len(FUNCTIONS), z.size), kind)
    launch(all_of, 1, 1, z, out)
    limits = np.finfo(kind)
    for function, row in zip(FUNCTIONS, out):
        for number, found in zip(z.tolist(), row.tolist()):
            if number.real > 710 and function is cmath.exp:
                continue  # the next test
            with np.errstate(over="ignore"):
                wanted = complex(kind(_of(function, number)))
            for part, other in ((found.real, wanted.real), (found.imag, wanted.imag)):
                near = (
                    abs(part - other) <= 8 * limits.eps * abs(other) + 2 * limits.smallest_subnormal
                )
                assert part == other or near, (function.__name__, number, found, wanted)


def _of(function, number):
    try:
        return function(number)
    except OverflowError:
        return complex(np.exp(number))


def test_exponential_beyond_the_largest_float():
    """e ** 710.2 overflows, its product with a cosine of 0.07 does not; the sine's does."""
    z, out = np.array([complex(710.2, 1.5)]), np.zeros((len(FUNCTIONS), 1), complex)
    launch(all_of, 1, 1, z, out)
    small = cmath.exp(complex(700.2, 1.5)).real * np.exp(10.0)
    assert abs(out[0, 0].real / small - 1) < 1e-14 and out[0, 0].imag == np.inf


def grown(z, out):
    for i in range(z.size):
        out[0, i] = cmath.sinh(z[i])
        out[1, i] = cmath.cosh(z[i])
        out[2, i] = cmath.sin(z[i])
        out[3, i] = cmath.cos(z[i])
        out[4, i] = cmath.exp(z[i])


def test_small_parts_beside_large_ones():
    """cosh 100 overflows in float32, its product with a sine of 1e-30 does not."""
    numbers = np.array([complex(100, 1e-30), complex(-100, 1e-30), complex(1e-30, 100)])
    z, out = numbers.astype(np.complex64), np.zeros((5, 3), np.complex64)
    launch(grown, 1, 1, z, out)
    for function, row in zip(("sinh", "cosh", "sin", "cos", "exp"), out):
        with np.errstate(over="ignore"):
            wanted = getattr(np, function)(z.astype(complex)).astype(np.complex64)
        for part, right in ((row.real, wanted.real), (row.imag, wanted.imag)):
            assert np.allclose(part, right, rtol=1e-6, atol=0), function

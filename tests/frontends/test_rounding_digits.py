"""``round(x, n)`` for numbers of digits that x does not have."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.running import launch

X = np.array([0.25, -0.0, 1e300, 1.7e308, 123.456, -1250.0, 4503599627370497.5, np.inf, np.nan])
DIGITS = [-400, -309, -308, -2, -1, 0, 1, 2, 5, 300, 308, 309, 323, 400, 10**9]


def variable(x, n, out):
    for i in range(x.size):
        out[i] = round(x[i], n)


def wanted(n):
    """Python's; 1.7e308 to -308 is an OverflowError there, and infinite here."""
    return [np.inf if x > 1e308 and n == -308 else round(x, n) for x in X.tolist()]


@pytest.mark.parametrize("n", DIGITS)
def test_digits(n):
    def constant(x, out):
        for i in range(x.size):
            out[i] = round(x[i], n)

    found = np.zeros((2, X.size))
    launch(constant, 1, 1, X, found[0])
    launch(variable, 1, 1, X, np.int64(n), found[1])
    for row in found:
        np.testing.assert_array_equal(row, wanted(n))
        assert (np.signbit(row) == np.signbit(wanted(n))).all()

"""What runs in conditions, and the variables that they assign, against Python."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.running import device, returned


def noted(a, i, value):
    """``value``; notes that it was asked for."""
    a[i] += 1
    return value


def chained(a, n, f):
    a[0] = f(a, 1, 1) < f(a, 2, n) < f(a, 3, 4) < f(a, 4, 10)
    a[5] = f(a, 6, n) in (f(a, 7, 1), f(a, 8, 3)) != f(a, 9, (1, 3))
    if f(a, 10, n) == f(a, 11, 3) == f(a, 12, 3) or f(a, 13, n) != 2 < f(a, 14, n):
        a[15] = 1
    while 0 <= f(a, 16, n) < f(a, 17, 3) and not (f(a, 18, 1) < f(a, 19, 1) < f(a, 20, 1)):
        n += 1
    a[21] = n


def assigned(a, n, f):
    if (m := n + 1) > 3 and (q := m * 2) < 10:
        a[0] = q
    a[1] = m
    a[2] = (n > 3 or (n := 50)) and n
    a[3] = n
    k = (p := n + 1.5) if n > 10 else (p := n)
    a[4] = k + p
    a[5] = 0 < n < (n := n - 2) + 5 < (n := n - 1) + 10
    a[6] = n
    while n > 0 and (n := n - 3) != 1:
        a[7] += 1
    a[8] = n
    if not (n > 1 or (n := 5) > 7) and (f(a, 9, n) or (m := 0)):
        a[10] = m
    a[11] = n
    z = 1 if n > 4 else (n := n + 7)
    a[12] = z + n
    a[13] = n > 2 and 1 and (n := n * 2)
    a[14] = (True and (n := n + 1)) + n


@pytest.mark.parametrize("function", [chained, assigned])
def test_as_in_python(function):
    inner = device(noted)

    def kernel(out, a, n):
        function(a, n, inner)

    function, plain = device(function), function
    for n in range(7):
        found, wanted = np.zeros(24), np.zeros(24)
        plain(wanted, n, noted)
        returned(kernel, found, n)
        assert found.tolist() == wanted.tolist(), n


def test_elements_that_a_chain_guards():
    """The index is one of the array where it is used, which the interpreter checks."""

    def kernel(out, a, n):
        for i in range(-2, 5):
            if 0 <= i < n < a[i]:
                out[0] += a[i]

    assert returned(kernel, np.array([4.0, 2.0, 8.0]), 3) == 12

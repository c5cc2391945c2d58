"""Functions that a kernel defines and passes on, or that are not one expression."""

from __future__ import annotations

import pytest
from tests.frontends.running import device, returned

from gridlane.core.errors import ConstantError

AROUND = 100


@device
def applied(function, *args):
    return function(*args)


@device
def composed(first, second, x):
    return second(first(x))


def test_lambdas_of_one_line():
    def kernel(out, x):
        out[0] = applied(lambda a: a + 1, x) * applied(lambda a: a * 2, x) + composed(
            lambda a: a + 3, lambda a: applied(lambda a: a - 1, a) * 5, x
        )

    assert returned(kernel, 4.0) == 5 * 8 + (4 + 3 - 1) * 5


def test_constants_around():
    def kernel(out, x):
        step, sizes = 3, (1, 2.5)

        def move(a, by=step, twice=-0.0):
            b = a + by
            if b > AROUND:
                return b - AROUND
            return b * step + sizes[1] + twice

        def nested(a):
            return move(a) + move(a, 98)

        out[0] = applied(move, x) + move(x, by=97.0)
        out[1] = applied(nested, x)

    assert list(returned(kernel, 4.0, count=2)) == [23.5 + 1, 23.5 + 2]


def test_the_same_definition_with_other_constants():
    def kernel(out, x):
        total = 0.0
        for by in (1, 2, 3):

            def add(a, by=by):
                return a + by

            total += applied(add, x)
        out[0] = total

    assert returned(kernel, 10.0) == 36


def test_all_of_the_arguments():
    def kernel(out, x):
        def most(*values, floor=1):
            best = floor
            for value in values:
                best = max(best, value)
            return best

        out[0] = most(x, 7, 3) + applied(most, x) + most(-1)

    assert returned(kernel, 4.0) == 7 + 4 + 1


def test_variables_are_arguments():
    def kernel(out, x):
        y = x + 1

        def add(a):
            return a + y

        out[0] = add(x)  # inlined, with the value of y
        out[0] = applied(add, x)

    with pytest.raises(ConstantError, match=r"non-constant value associated .* 'y'") as caught:
        returned(kernel, 4.0)
    assert "applied(add, x)" in str(caught.value)

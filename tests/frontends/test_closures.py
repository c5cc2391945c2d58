"""Functions that a kernel defines and passes on, or that are not one expression."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.running import device, returned

from gridlane.core.errors import ConstantError, TypingError

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


def _as_python(kernel, *args, count):
    wanted = np.zeros(count)
    kernel(wanted, *args)
    return wanted.tolist()


def test_variables_around_have_the_values_of_the_call():
    def kernel(out, n):
        x = n

        def plus(a, by=x):
            return a + by + x

        last = lambda: x  # noqa: E731
        x = n * 10
        out[0], out[1] = plus(1), last()
        for i in range(3):
            x = i * n
            out[2] += last()
        while x > 0:
            x -= 1
            out[3] += last()
        out[4] = last()
        if n > 2:
            x = 50

            def late():
                return x

        out[5], out[6] = last(), late()
        x = 60
        out[7] = last() + late()

        def named(a, *, first=out[1:], by=x):
            return a * 100 + first[0] + by

        x = 70
        out[7] += named(1) + named(a=2, by=last(), first=out)
        for i in range(2):

            def counted(a, i=i):
                return a * 10 + i

        out[8] = counted(7)

    assert list(returned(kernel, 3, count=9)) == _as_python(kernel, 3, count=9)


def test_functions_without_a_return():
    def kernel(out, n):
        def put(i, value):
            out[i] = value
            if value > n:
                out[i] += 100

        def refuse(value):
            if value < 0:
                raise ValueError("it is negative")

        def nothing():
            """Does nothing."""

        for i in range(5):
            put(i, i)
        refuse(n)
        out[5] = nothing() is None
        refuse(1 - n)
        out[6] = 1

    assert list(returned(kernel, 3, count=7)) == [0, 1, 2, 3, 104, 1, 0]


def test_names_of_callers_are_not_seen():
    def kernel(out, n):
        own = 1

        def around():
            return AROUND

        def reads():
            return own

        def calls(AROUND):
            own = 7
            return around() + reads() + own + AROUND

        def shifted(own):
            before = lambda: own  # noqa: E731
            own = own + 1
            return before() + reads()

        out[0], out[1] = calls(5), shifted(10)

    assert list(returned(kernel, 3, count=2)) == _as_python(kernel, 3, count=2)


def test_variables_of_a_function_are_not_those_around_it():
    def kernel(out, n):
        x = 1
        if n > 2:
            x = 2

        def counted(m):
            s = 0
            for x in range(m):
                s += x
            return s

        for i in range(3):
            x += 1
            out[1] += counted(i + 1)
        out[0] = x

    assert list(returned(kernel, 3, count=2)) == _as_python(kernel, 3, count=2)


def test_functions_outlive_the_one_around_them():
    def kernel(out, n):
        x = 1

        def make(y):
            w = y * 2

            def inner(z):
                return w * z + x

            w = y * 3
            return inner

        def compose(f, g):
            return lambda a: f(g(a))

        if n > 2:
            made = make(n)
            x = 7
            out[0] = made(2)
        x = 8
        out[1] = made(2) + compose(made, make(5))(3)
        for i in range(3):
            made = make(made(i))
        out[2] = made(1)

    assert list(returned(kernel, 3, count=3)) == _as_python(kernel, 3, count=3)


def test_a_device_function_returns_functions_with_constants():
    @device
    def make():
        step = 5
        return (lambda a: a + step), (lambda a: a * step)

    def kernel(out, n):
        add, times = make()
        out[0], out[1] = add(n), times(n)

    assert list(returned(kernel, 3, count=2)) == [8, 15]


def test_a_variable_holds_one_function():
    def kernel(out, n):
        f = lambda a: a  # noqa: E731
        for _ in range(n):
            f = lambda a: a + 1  # noqa: E731
        out[0] = f(1)

    with pytest.raises(TypingError, match="f has a type here that depends on the path taken"):
        returned(kernel, 3)


def test_recursion_of_a_function_inside():
    def kernel(out, n):
        def product(n):
            if n <= 1:
                return 1
            return n * product(n - 1)

        out[0] = product(n)

    def inlined(out, n):
        def product(n):
            return 1 if n <= 1 else n * product(n - 1)

        out[0] = product(5)
        out[0] += product(n)

    for each in (kernel, inlined):
        with pytest.raises(ConstantError, match="product calls itself") as caught:
            returned(each, 3)
        assert "product(n" in str(caught.value)

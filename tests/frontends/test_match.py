"""``match`` statements against Python itself, and what of them is refused."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.frontends.running import launch

from gridlane.core.errors import UnsupportedError

LIMITS = np.array([3, 5])


class Level(IntEnum):
    LOW = 1
    HIGH = 9


def literals(out, a, b):
    match a:
        case 0:
            out[0] = 10
        case 1 | 2 | -3:
            out[0] = 20
        case Level.HIGH:
            out[0] = 30
        case _:
            out[0] = 40


def nothing_matches(out, a, b):
    out[0] = 7
    match a:
        case 1:
            out[0] = 1
        case 2:
            return
    out[1] = 8


def captures(out, a, b):
    match a + b:
        case 0:
            out[0] = -1
        case total:
            out[0] = total
            out[1] = total * 2


def guards(out, a, b):
    match a:
        case 0 if b > 2:
            out[0] = 1
        case n if n > b:
            out[0] = 2
            out[1] = n
        case 0 | 1 as low if low == b:
            out[0] = 3
            out[1] = low
        case 0 | 1 as low:
            out[0] = 4
            out[1] = low
        case _:
            out[0] = 5


def a_guard_that_fails_binds(out, a, b):
    n = 100
    match a:
        case n if n > 1000:
            out[0] = 1
        case _:
            out[0] = n


def tuples(out, a, b):
    match a, (b, a - b):
        case 0, _:
            out[0] = 1
        case (x, (0, y)):
            out[0] = 2
            out[1] = x + y
        case (1 | 2, whole) if b > 1:
            out[0] = 3
            out[1] = whole[0] + whole[1]
        case [x, [y, 0]]:
            out[0] = 4
            out[1] = x * y
        case _, _, _:
            out[0] = 5
        case 1:
            out[0] = 6
        case _:
            out[0] = 7


def types_beside_a_guard(out, a, b):
    """A case sees nothing of those before it but what they capture."""
    v, n = a, (a, b)
    match a, b:
        case 0, n if n > 0:
            v = 2.5
            out[0] = n & 3
        case 1, m if (m := m + 1) > 2:
            out[0] = v & m
        case 2, c if v & 1 == c:
            out[0] = v & 7
        case _:
            out[0] = v & 5
    out[1] = v


def every_case_returns(out, a, b):
    def result(a, b):
        match a, b:
            case 0, n if n > 1:
                return n
            case _, n:
                return 7 - n

    out[0] = result(a, b) + 1


def nested(out, a, b):
    match a:
        case 0 | 1:
            match b:
                case 0:
                    out[0] = 1
                case other:
                    out[0] = other + 10
        case _:
            out[0] = -1


def in_loops(out, a, b):
    total = 0
    for i in range(10):
        match i:
            case 3:
                continue
            case 7:
                break
            case n if n == a:
                total += 100
            case _:
                total += i
    out[0] = total


def the_subject_is_evaluated_once(out, a, b):
    x = a
    match x:
        case 0:
            x = 5
        case n if n == 1:
            x = 0
        case _:
            x = x + 1
    match x:
        case 5:
            out[0] = 50
        case _:
            out[0] = x


def none(out, a, b):
    c = None
    match c:
        case 1:
            out[0] = 1
        case None:
            out[0] = 2


CASES = [
    *(literals, nothing_matches, captures, guards, a_guard_that_fails_binds, tuples, nested),
    *(types_beside_a_guard, every_case_returns, in_loops, the_subject_is_evaluated_once, none),
]


@pytest.mark.parametrize("function", CASES, ids=[each.__name__ for each in CASES])
@given(a=st.integers(-4, 10), b=st.integers(-4, 10))
def test_as_in_python(function, a, b):
    wanted, found = np.zeros(2, np.int64), np.zeros(2, np.int64)
    function(wanted, a, b)
    launch(function, 1, 1, found, a, b)
    assert found.tolist() == wanted.tolist()


def a_mapping(out, a, b):
    match a:
        case {"x": 1}:
            out[0] = 1


def a_class(out, a, b):
    match a:
        case int(n):
            out[0] = n


def a_star(out, a, b):
    match a, b:
        case [x, *rest]:
            out[0] = x


def a_sequence(out, a, b):
    match a:
        case [x, y]:
            out[0] = x + y


def a_capture_in_an_alternative(out, a, b):
    match a, b:
        case (0, x) | (x, 0):
            out[0] = x


REFUSED = {
    a_mapping: "mapping",
    a_class: "class",
    a_star: "starred",
    a_sequence: r"match \(x, y\)",
    a_capture_in_an_alternative: "two cases",
}


@pytest.mark.parametrize("function", REFUSED, ids=[each.__name__ for each in REFUSED])
def test_refused_with_its_line(function):
    with pytest.raises(UnsupportedError, match=REFUSED[function]) as found:
        launch(function, 1, 1, np.zeros(2, np.int64), 1, 2)
    assert found.value.loc.line > function.__code__.co_firstlineno + 1

"""Methods of namedtuples, and functions that run when a kernel is compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.frontends.running import device, module_of, returned

from gridlane.core.errors import ConstantError, TypingError
from gridlane.frontends.python.device_function import ConstantFunction
from gridlane.frontends.python.fingerprint import fingerprint


class Counter(NamedTuple):
    """A namedtuple with methods for kernels, and one for Python alone."""

    values: Any
    step: int

    def host(self):
        return self.step


def _add(self, n):
    self.values[0] += n * self.step
    return self.values[0]


def _twice(self, n):
    self.add(n)
    return self.add(n)


Counter.add = device(_add)
Counter.twice = device(_twice)


def test_methods_take_the_tuple_first():
    def kernel(out, values, step):
        counter = Counter(values, step)
        out[0] = counter.add(2)
        out[1] = counter.twice(n=10)
        out[2] = counter.step

    assert returned(kernel, np.zeros(1), 3, count=3).tolist() == [6, 66, 3]


def test_a_plain_method_is_refused():
    def kernel(out):
        out[0] = Counter(out, 1).host()

    with pytest.raises(TypingError, match="no attribute host"):
        module_of(kernel, np.zeros(1))


class Strict(Counter):
    """A namedtuple whose own ``_replace`` is no device function."""

    def _replace(self, **fields):
        raise AssertionError


def test_replace_changes_fields():
    def kernel(out, values, step):
        counter = Counter(values, step)
        other = counter._replace(step=counter.step + 4)
        out[0] = other.add(2)
        out[1], out[2] = counter.step, other._replace().step

    assert returned(kernel, np.zeros(1), 3, count=3).tolist() == [14, 3, 7]
    assert Counter(None, 3)._replace(step=7).step == 7


def test_replace_in_a_loop():
    def kernel(out, n):
        counter = Counter(0, 1)
        for i in range(n):
            counter = counter._replace(values=counter.values + i)
        out[0] = counter.values

    assert returned(kernel, 5) == 10


def test_replace_takes_fields_by_keywords():
    def other(out):
        out[0] = Counter(1, 2)._replace(other=1).step

    def unnamed(out):
        out[0] = Counter(1, 2)._replace(1).step

    for kernel in (other, unnamed):
        with pytest.raises(TypingError, match="takes the fields values, step by keywords"):
            module_of(kernel, np.zeros(1))


def test_a_replace_of_the_program_is_refused():
    def kernel(out):
        out[0] = Strict(1, 2)._replace(step=3).step

    with pytest.raises(TypingError, match="no attribute _replace"):
        module_of(kernel, np.zeros(1))


def test_the_key_has_the_methods():
    """A kernel that calls a method by the name of a local variable depends on its text."""

    def kernel(out):
        counter = Counter(out, 1)
        counter.add(1)

    before = fingerprint(kernel)
    kept = Counter.add
    Counter.add = device(lambda self, n: n)
    try:
        assert fingerprint(kernel) != before
    finally:
        Counter.add = kept
    assert fingerprint(kernel) == before


def _length(text, extra):
    if extra > 99:
        raise ValueError("at most 99")
    return len(text) + extra


LENGTH = ConstantFunction(_length)


def test_constant_functions_run_when_the_kernel_is_compiled():
    def kernel(out):
        out[0] = LENGTH("four", 3)

    assert returned(kernel) == 7


def test_constant_functions_need_constants():
    def kernel(out, n):
        out[0] = LENGTH("four", n)

    with pytest.raises(ConstantError, match=r"argument 2 of _length\(\) must be known"):
        module_of(kernel, np.zeros(1), 3)


def test_errors_of_constant_functions_have_the_line():
    def kernel(out):
        out[0] = LENGTH("four", 100)

    with pytest.raises(TypingError, match="at most 99") as caught:
        module_of(kernel, np.zeros(1))
    assert 'LENGTH("four", 100)' in str(caught.value)


def test_the_key_has_the_facts_of_constant_functions():
    def kernel_for(function):
        def kernel(out):
            out[0] = function("a", 1)

        return kernel

    one, two, same = (
        fingerprint(kernel_for(ConstantFunction(_length, facts))) for facts in (1, 2, 1)
    )
    assert one != two
    assert one == same

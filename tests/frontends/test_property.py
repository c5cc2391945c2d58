"""Random integer and float expressions, against Python with 64-bit wrap-around."""

from __future__ import annotations

import itertools
import linecache
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.frontends.running import returned

INT = st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9)
FLOAT = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 0.5, -2.5])
_numbers = itertools.count()


def expressions(leaves, binary):
    def grow(inner):
        return st.one_of(
            st.tuples(inner, st.sampled_from(binary), inner).map(
                lambda t: f"({t[0]} {t[1]} {t[2]})"
            ),
            inner.map(lambda e: f"(-{e})"),
            st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} > 0 else {t[2]})"),
            st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
            st.tuples(inner, inner).map(lambda t: f"({t[0]} and {t[1]})"),
        )

    return st.recursive(st.sampled_from(leaves), grow, max_leaves=8)


def kernel_of(expression):
    """A kernel ``out[0] = expression`` of a, b, c; its source is registered like a file's."""
    file = f"<property {next(_numbers)}>"
    text = f"def kernel(out, a, b, c):\n    out[0] = {expression}\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {}
    exec(compile(text, file, "exec"), space)
    return space["kernel"]


class Wrapped(int):
    """An int64 with Python's operators and wrap-around; // and % by zero give 0."""

    def __new__(cls, value):
        return super().__new__(cls, (value + 2**63) % 2**64 - 2**63)


def _operator(name):
    plain = getattr(int, name)

    def apply(self, *other):
        if name in ("__floordiv__", "__mod__") and int(other[0]) == 0:
            return Wrapped(0)
        return Wrapped(plain(int(self), *map(int, other)))

    return apply


for _name in "add sub mul floordiv mod and or xor neg".split():
    setattr(Wrapped, f"__{_name}__", _operator(f"__{_name}__"))


@settings(max_examples=150, deadline=None)
@given(expressions("a b c".split(), "+ - * // % & | ^".split()), INT, INT, INT)
def test_integers(expression, a, b, c):
    wanted = np.zeros(1, object)
    space = {name: Wrapped(value) for name, value in zip("abc", (a, b, c))}
    wanted = int(eval(expression, space))
    arguments = [np.int64(value) for value in (a, b, c)]
    assert int(returned(kernel_of(expression), *arguments, dtype=np.int64)) == wanted


def larger(x, y):
    """``max`` as numba-cuda has it for two floats: NaN loses, and -0.0 is below 0.0."""
    if not (isinstance(x, float) and isinstance(y, float)):
        return max(x, y)
    if math.isnan(x) or math.isnan(y):
        return y if math.isnan(x) else x
    return max(x, y, key=lambda value: (value, math.copysign(1, value)))


@settings(max_examples=150, deadline=None)
@given(expressions("a b c".split(), "+ - * // % /".split()), FLOAT, FLOAT, FLOAT)
def test_floats(expression, a, b, c):
    try:
        wanted = eval(expression, {"a": a, "b": b, "c": c, "max": larger})
    except (ZeroDivisionError, OverflowError):
        return
    found = float(returned(kernel_of(expression), a, b, c))
    assert found == wanted or (math.isnan(found) and math.isnan(wanted)), expression
    if found == 0:
        assert math.copysign(1, found) == math.copysign(1, wanted), expression

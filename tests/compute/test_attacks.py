# ruff: noqa: F821  # extents are names that annotations define
"""What strangers write: hidden names, decorators in the way, arguments that are no arrays."""

from __future__ import annotations

import builtins
import copy
import functools
import linecache
import math
import pickle

import numpy as np
import pytest

from gridlane import cuda
from gridlane.compute import Tensor, compute, f32, f64, grid
from gridlane.core.errors import ArgumentError, CompileError, NameLookupError, UnsupportedError

M = 2
"""Extents have this name too."""


@compute
def filled(x: Tensor[f64, "M"], value: float):
    for i in range(M):
        x[i] = value + M


@compute
def tabled(x: Tensor[f64, "M", "M"]):
    for i, j in grid(M, M):
        if i < M - 1:
            x[M - 1 - i, j] = M


def test_an_extent_hides_a_global_of_its_name():
    for n in (1, 2, 5):
        x, table = np.zeros(n), np.zeros((n, n))
        filled(x, 1.0)
        assert x.tolist() == [1.0 + n] * n
        tabled(table)
        assert table.tolist() == [[0.0] * n] + [[float(n)] * n] * (n - 1)


def hidden_range():
    def range(n):
        return [0]

    def nest(x: Tensor[f64, "N"]):
        for i in range(N):
            x[i] = 1.0

    return nest


def hidden_grid():
    grid = 5

    def nest(x: Tensor[f64, "N"]):
        for i in grid(N):
            x[i] = 1.0

    return nest


def hidden_function():
    abs = math.sqrt

    def nest(x: Tensor[f64, "N"]):
        for i in grid(N):
            x[i] = abs(x[i])

    return nest


def hidden_maximum():
    max = min

    def nest(x: Tensor[f64, "N"], out: Tensor[f64, 1]):
        for i in grid(N):
            out[0] = max(out[0], x[i])

    return nest


def hidden_bound():
    min = max

    def nest(x: Tensor[f64, "N"]):
        for i in range(0, min(N, 3)):
            x[i] = 1.0

    return nest


def hidden_softmax():
    exp = math.sqrt

    def nest(x: Tensor[f32, "N", "K"], out: Tensor[f32, "N", "K"]):
        for i in range(N):
            top = x[i, 0]
            for k in range(1, K):
                top = max(top, x[i, k])
            total = 0.0
            for k in range(K):
                total += exp(x[i, k] - top)
            for k in range(K):
                out[i, k] = exp(x[i, k] - top) / total

    return nest


HIDDEN = [
    hidden_range, hidden_grid, hidden_function, hidden_maximum, hidden_bound, hidden_softmax,
]  # fmt: skip


@pytest.mark.parametrize("make", HIDDEN)
def test_words_that_mean_something_else_are_refused(make):
    with pytest.raises(NameLookupError, match=r"here, and in loop nests it is that of") as error:
        compute(make())
    assert "test_attacks.py" in str(error.value)


def test_other_names_of_functions_are_these():
    root = math.sqrt

    @compute
    def nest(x: Tensor[f64, "N"]):
        for i in grid(N):
            x[i] = root(x[i])

    x = np.full(3, 4.0)
    nest(x)
    assert x.tolist() == [2.0] * 3


def test_a_decorator_in_the_way_is_not_dropped():
    def negated(function):
        @functools.wraps(function)
        def nest(x: Tensor[f64, "N"]):
            for i in grid(N):
                x[i] = -1.0

        return nest

    @compute
    @negated
    def nest(x: Tensor[f64, "N"]):
        for i in grid(N):
            x[i] = 1.0

    x = np.zeros(3)
    nest(x)
    assert x.tolist() == [-1.0] * 3


def test_a_wrapper_of_any_arguments_is_refused():
    def traced(function):
        @functools.wraps(function)
        def inner(*args):
            return function(*args)

        return inner

    with pytest.raises(CompileError, match="arguments are positional") as error:

        @compute
        @traced
        def nest(x: Tensor[f64, "N"]):
            for i in grid(N):
                x[i] = 1.0

    assert "def inner(*args)" in str(error.value)


@pytest.mark.parametrize("given", [filled, filled.plain, 5, len, functools.partial(len)])
def test_what_is_no_function_is_refused(given):
    with pytest.raises(UnsupportedError, match="compute takes a function of `def`"):
        compute(given)


class Interface:
    def __init__(self, array):
        self.array, self.__array_interface__ = array, array.__array_interface__


@pytest.mark.parametrize("given", [[1.0, 2.0], (1.0,), 3.0, None, "text", Interface(np.ones(2))])
def test_what_is_no_array_is_refused_by_name(given):
    with pytest.raises(ArgumentError, match=r"x is Tensor\[f64, M\], and a \w+ is given"):
        filled(given, 1.0)


def test_read_only_arrays_are_refused_by_name_before_and_after_a_launch():
    x = np.zeros(3)
    for _ in range(2):
        filled(x, 1.0)
    x.flags.writeable = False
    with pytest.raises(Exception, match="read-only"):  # by the kernel, where the call is known
        filled(x, 1.0)
    with pytest.raises(ArgumentError, match="x is written, and the array is read-only"):
        filled(np.frombuffer(bytes(24)), 1.0)
    assert x.tolist() == [4.0] * 3


def test_arguments_by_name():
    x = np.zeros(2)
    filled(value=3.0, x=x)
    assert x.tolist() == [5.0] * 2
    with pytest.raises(ArgumentError, match="'y'"):
        filled(x, 1.0, y=3.0)
    with pytest.raises(ArgumentError, match="missing"):
        filled(x=x)


def test_functions_are_pickled_by_name_or_source():
    assert pickle.loads(pickle.dumps(filled)) is filled
    assert copy.deepcopy(filled) is filled and copy.copy(filled) is filled
    local = compute(hidden_local())
    again, x = pickle.loads(pickle.dumps(local)), np.zeros(2)
    again(x)
    assert again is not local and x.tolist() == [1.0, 1.0] and copy.copy(local) is local


def hidden_local():
    def nest(x: Tensor[f64, "N"]):
        for i in grid(N):
            x[i] = 1.0

    return nest


def test_device_arrays_and_views_of_any_stride():
    whole = cuda.to_device(np.zeros(12))
    filled(whole[::-3], 1.0)
    assert whole.copy_to_host().tolist() == [0, 0, 5.0] * 4


NAMED = {
    "a loop": "def nest(x: Tensor[f64, 'N']):\n    for {0} in range(N):\n        x[{0}] = 1.0\n",
    "an extent": "def nest(x: Tensor[f64, '{0}']):\n    for i in range({0}):\n        x[i] = 1.0\n",
    "a number": "def nest(x: Tensor[f64, 'N'], {0}: int):\n"
    "    for i in range(N):\n        x[i] = {0}\n",
}


def named(text: str, name: str):
    file, text = f"<{text} {name}>", NAMED[text].format(name)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"Tensor": Tensor, "f64": f64}
    exec(builtins.compile(text, file, "exec"), scope)
    return scope["nest"]


@pytest.mark.parametrize("name", ["nan", "mod", "floor", "infty", "rat", "é", "cuda", "c__first"])
@pytest.mark.parametrize("text", NAMED)
def test_names_that_isl_or_kernels_cannot_have_are_refused(text: str, name: str) -> None:
    with pytest.raises(NameLookupError, match="take another"):
        compute(named(text, name))


@pytest.mark.parametrize(
    "name", ["i0", "o0", "e0", "i1", "e1", "c0", "S0", "G0", "x_first", "host"]
)
@pytest.mark.parametrize("text", NAMED)
def test_names_that_look_like_those_of_isls_texts(text: str, name: str) -> None:
    x = np.zeros(4)
    compute(named(text, name))(x, *([1] if text == "a number" else []))
    assert x.tolist() == [1.0] * 4


def test_an_extent_of_any_name_bounds_its_array() -> None:
    @compute
    def nest(x: Tensor[f64, "e0"], count: int):
        for i in range(count):
            x[i + 3] = 1.0

    with pytest.raises(ArgumentError, match="x has 2 elements along axis 0"):
        nest(np.zeros(2), 5)

"""Implementations chosen by types, on every device."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.encoding import NotEncodable
from gridlane.core.errors import ConstantError, TypingError, UnsupportedError
from gridlane.cuda import types
from gridlane.cuda.extending import (
    intrinsic,
    overload,
    overload_attribute,
    overload_classmethod,
    overload_method,
    register_jitable,
)
from gridlane.cuda.numba_compat.host import njit
from gridlane.frontends.python.fingerprint import fingerprint
from gridlane.launch import current
from gridlane.launch.devices import get_device


def launched(kernel, *args, count=4, dtype=np.float32):
    out = np.zeros(count, dtype)
    cuda.jit(kernel)[1, 1](out, *args)
    return out.tolist()


def on_interpreter():
    current.choose(get_device("interp"))


def test_functions_by_type(device):
    def size(x, unit=2): ...

    @overload(size)
    def _(x, unit=2):
        if isinstance(x, types.Integer):
            return lambda x, unit=2: 10 * unit + x
        if isinstance(x, types.Array):
            ndim = x.ndim

            def of_array(x, unit=2):
                return x.size * ndim * unit

            return of_array
        return None

    @overload(size)
    def _(x, unit=2):
        if isinstance(x, types.UniTuple) and isinstance(x.dtype, types.Float):
            return lambda x, unit=2: x[0] + x[1] * unit
        return None

    def kernel(out, a):
        out[0] = size(np.int32(3))
        out[1] = size(a, 3)
        out[2] = size((np.float32(1.5), np.float32(2)), unit=np.float32(4))
        out[3] = size(np.int32(1), unit=np.int32(5))

    assert launched(kernel, np.zeros((2, 5), np.float32)) == [23, 60, 9.5, 51]


def test_members(device):
    @overload_attribute(types.Array, "middle")
    def _(a):
        return lambda a: a[a.size // 2]

    @overload_method(types.Array, "scaled")
    def _(a, by, plus=1):
        return lambda a, by, plus=1: a[0] * by + plus

    @overload_method(types.Array, "sum")
    def _(a):
        return lambda a: a[0]  # of the program's, and not the dialect's

    @overload_classmethod(types.Array, "answer")
    def _(cls, n):
        return lambda cls, n: n + 1

    def kernel(out, a):
        out[0] = a.middle
        out[1] = a.scaled(np.float32(3)) + a.scaled(by=np.float32(1), plus=2)
        out[2] = a.sum() + types.Array.answer(4)
        out[3] = a.max()

    a = np.array([2, 7, 5], np.float32)
    assert launched(kernel, a) == [7, 7 + 4, 2 + 5, 7]


def test_constants():
    on_interpreter()

    def power(x, n): ...

    @overload(power, prefer_literal=True)
    def _(x, n):
        if isinstance(n, types.IntegerLiteral) and n.literal_value == 2:
            return lambda x, n: x * x
        return lambda x, n: x + n

    def plain(x): ...

    @overload(plain)
    def _(x):
        return None if isinstance(x, types.Literal) else lambda x: x + 1

    def named(mode): ...

    @overload(named)
    def _(mode):
        if not isinstance(mode, types.StringLiteral):
            return None
        known = len(mode.literal_value)
        return lambda mode: known

    def kernel(out, n):
        x = np.float32(3)
        out[0], out[1] = power(x, 2), power(x, 4)
        out[2] = power(x, n)
        out[3] = plain(5) + named("four")

    assert launched(kernel, np.int32(2)) == [9, 7, 5, 10]


def test_own_functions_are_the_fallback():
    on_interpreter()

    @overload(math.sqrt)
    def _(x):
        if isinstance(x, types.Integer):
            return lambda x: math.sqrt(np.float32(x)) + np.float32(100)
        return None

    @overload(abs)
    def _(x):
        return lambda x: abs(x) + 1  # the dialect's, within the implementation

    def kernel(out, x):
        out[0], out[1] = math.sqrt(np.int32(4)), math.sqrt(x)
        out[2] = abs(-x)

    assert launched(kernel, np.float32(9)) == [102, 3, 10, 0]


def test_the_more_specific_target_is_used():
    on_interpreter()

    def f(x): ...

    overload(f, target="generic")(lambda x: lambda x: x + 1)
    overload(f, target="cuda")(lambda x: lambda x: x + 2)
    overload(f, target="cpu")(lambda x: lambda x: x + 3)

    def kernel(out, x):
        out[0] = f(x)

    assert launched(kernel, np.float32(1), count=1) == [3]


def test_signatures_and_results():
    on_interpreter()

    def f(x): ...

    def rows(a): ...

    @overload(f)
    def _(x):
        return types.float32(types.float32), lambda x: x / 2

    overload(rows, inline="always", jit_options={"fastmath": True})(lambda a: lambda a: a[:, 1])

    def kernel(out, a):
        out[0] = f(np.int32(3))
        r = rows(a)
        r[0] += 5
        out[1], out[2] = a[0, 1], r.size

    assert launched(kernel, np.ones((3, 2), np.float32)) == [1.5, 6, 3, 0]


def test_operators_of_tuples():
    on_interpreter()

    @overload(operator.sub)
    def _(a, b):
        if isinstance(a, types.BaseTuple) and isinstance(b, types.BaseTuple):
            return lambda a, b: (a[0] - b[0], a[1] - b[1])
        return None

    def kernel(out, x):
        d = (x, x) - (np.float32(1), np.float32(2))
        d -= (np.float32(1), np.float32(1))
        out[0], out[1] = d
        out[2] = x - 1
        s = (x,) + (x,)
        out[3] = len(s)

    assert launched(kernel, np.float32(5)) == [3, 2, 4, 2]


@register_jitable
def squared(x):
    return x * x


def test_jitable():
    on_interpreter()

    def kernel(out, x):
        out[0] = squared(x)

    assert launched(kernel, np.float32(5), count=1) == [25]
    assert squared(3) == 9


def f(x): ...


def other(a, b): ...


def _typing_error(x):
    raise TypingError(f"not for {x}")


WRONG = [
    (lambda x: None, r"No implementation of function f found for the types \(float32\)"),
    (lambda x: 3, "returned 3; it returns a function, or None"),
    (lambda x: other, 'argument names: <Parameter "x"> only in the function of types'),
    (lambda x, y: None, "missing a required argument: 'y'"),
    (_typing_error, "raised TypingError: not for float32"),
]


@pytest.mark.parametrize(("choose", "words"), WRONG)
def test_refusals(choose, words):
    on_interpreter()
    overload(f)(choose)

    def kernel(out, x):
        out[0] = f(x)

    with pytest.raises(TypingError, match=words) as caught:
        launched(kernel, np.float32(1))
    assert "out[0] = f(x)" in str(caught.value)


@pytest.mark.parametrize("kind", ["function", "method", "attribute"])
def test_errors_of_functions_of_types(kind):
    """As in numba: an error of typing is a refusal, and the next one is asked; any other error is
    the program's bug, which a later implementation does not hide, with the line added."""
    on_interpreter()
    register, text = {
        "function": (overload(f), "f(x)"),
        "method": (overload_method(types.Float, "m"), "x.m()"),
        "attribute": (overload_attribute(types.Float, "m"), "x.m"),
    }[kind]
    error: Exception | None = None

    @register
    def _(x):
        if error is not None:
            raise error

    register = {
        "function": overload(f),
        "method": overload_method(types.Float, "m"),
        "attribute": overload_attribute(types.Float, "m"),
    }[kind]
    register(lambda x: lambda x: x + 1)

    def launch():
        source = f"def kernel(out, x):\n    out[0] = {text}\n"
        space = {"f": f}
        exec(source, space)
        return launched(cuda.jit(source=source)(space["kernel"]).py_func, np.float32(1), count=1)

    for error in (None, TypingError("no"), UnsupportedError("no"), ConstantError("no")):
        assert launch() == [2]
    for error in (ValueError("no"), AttributeError("no"), AssertionError("no"), KeyError("no")):
        with pytest.raises(type(error), match="no") as caught:
            launch()
        assert caught.value is error
        assert f"out[0] = {text}" in "\n".join(error.__notes__)


def test_an_implementation_that_is_none_hides_no_other():
    on_interpreter()
    overload(f)(lambda x: 3)
    overload(f)(lambda x: lambda x: x)

    def kernel(out, x):
        out[0] = f(x)

    with pytest.raises(TypingError, match="returned 3; it returns a function, or None"):
        launched(kernel, np.float32(1))


def test_an_error_in_an_implementation_names_both_lines():
    on_interpreter()
    overload(f)(lambda x: lambda x: x.nothing)

    def kernel(out, x):
        out[0] = f(x)

    with pytest.raises(TypingError, match="float32 has no attribute nothing") as caught:
        launched(kernel, np.float32(1))
    assert "x.nothing" in str(caught.value) and "called from" in str(caught.value)


@pytest.mark.parametrize("kind", ["overload", "intrinsic"])
def test_targets(kind):
    """As numba's targets derive from each other: cuda from gpu, gpu from generic. A name that is
    none was accepted, and its implementations never used."""
    on_interpreter()

    def kernel(out, x):
        out[0] = f(x)

    for number, target in enumerate(("generic", "gpu", "cuda"), 1):
        overload(f, target=target)(
            {1: lambda x: lambda x: 1, 2: lambda x: lambda x: 2, 3: lambda x: lambda x: 3}[number]
        )
        overload(f, target="cpu")(lambda x: lambda x: 9)
        overload(f, target="npyufunc")(lambda x: lambda x: 9)
        assert launched(kernel, np.float32(5), count=1) == [number]
    for name in ("cdua", "CPU0", None):
        with pytest.raises(ValueError, match=r"No target is registered against .*: cuda, gpu"):
            (overload(f, target=name) if kind == "overload" else intrinsic(target=name))(
                lambda ctx: None
            )


def test_options_are_checked():
    with pytest.raises(ValueError, match="overload: source= is the text of one function"):
        overload(f, jit_options={"source": "def f(x): pass"})(lambda x: None)
    with pytest.raises(ValueError, match="fp64 is an option of kernels"):
        overload(f, jit_options={"fp64": "exact"})(lambda x: None)
    with pytest.raises(ValueError, match=r"cuda\.jit: fp64 is an option of kernels"):
        cuda.jit(device=True, fp64="exact")(lambda x: x)
    with pytest.raises(ValueError, match="give inline itself"):
        overload(f, jit_options={"inline": "always"})(lambda x: None)
    with pytest.raises(TypeError, match="overload has no option 'speed'"):
        overload(f, jit_options={"speed": 2})(lambda x: None)
    with pytest.raises(TypeError, match="has no option 'colour'"):
        overload_method(types.Array, "m", colour=1)(lambda x: None)


@pytest.mark.parametrize("source", ["out[0] = len(x)", "out[0] = x.m", "out[0] = x - x"])
def test_kernels_with_extensions_are_not_cached(source, tmp_path):
    """The key of a kernel cannot tell the implementations of another process."""
    path = tmp_path / "program.py"
    path.write_text(f"def kernel(out, x):\n    {source}\n")
    space: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    fingerprint(space["kernel"])
    if "len" in source:
        overload(len)(lambda x: lambda x: x)
    elif ".m" in source:
        overload_attribute(types.Array, "m")(lambda x: lambda x: x[0])
    else:
        overload(operator.sub)(lambda a, b: None)
    with pytest.raises(NotEncodable):
        fingerprint(space["kernel"])


def on_the_host(x): ...


@njit
def doubled(x):
    return 2 * on_the_host(x)


def test_functions_of_the_host_use_overloads():
    overload(on_the_host, target="cuda")(lambda x: lambda x: x + 1)
    with pytest.raises(TypingError, match=r"on the host: its overloads are for kernels"):
        doubled(1)
    overload(on_the_host, target="generic")(lambda x: lambda x: x + 2)
    assert doubled(1) == 6

    def inner(x):
        return on_the_host(x)

    overload(f, target="cpu")(lambda x: inner)
    assert njit(lambda x: f(x))(5) == 7

    def kernel(out, x):
        out[0] = doubled(x)

    on_interpreter()
    assert launched(kernel, np.float32(1), count=1) == [4]

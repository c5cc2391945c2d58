"""Sources, fingerprints, raises, and the time that a translation takes."""

from __future__ import annotations

import ast
import functools
import linecache
import types

import numpy as np
import pytest
from tests.frontends.running import DEBUG, cuda, device, launch, module_of, returned

from gridlane.core.argtypes import float64, int32, int64
from gridlane.core.errors import KernelError, UnsupportedError
from gridlane.core.options import KernelOptions
from gridlane.frontends.python.device_function import DeviceFunction, device_function_of
from gridlane.frontends.python.fingerprint import fingerprint
from gridlane.frontends.python.source import source_of
from gridlane.frontends.python.stubs import NAMESPACE
from gridlane.frontends.python.translation import translate

OPTIONS = KernelOptions()


def marked(function):
    return function


# fmt: off
@functools.lru_cache
@marked
def decorated(
    a,
    b=(
1
    ),
):
    """A text that
ends at the margin.
"""
    a[0] = b  # the marked line
# fmt: on


def test_source_of_decorated_functions():
    function = decorated.__wrapped__
    source = source_of(function)
    (store,) = [node for node in source.body if type(node).__name__ == "Assign"]
    loc = source.locate(store)
    assert linecache.getline(loc.file, loc.line).strip() == "a[0] = b  # the marked line"
    assert (loc.column, loc.end_column, loc.function) == (5, 13, "decorated")


def test_source_of_lambdas():
    pair = (lambda a: a[0], lambda a: a[1])
    assert [source_of(f).node.body.slice.value for f in pair] == [0, 1]


def test_source_of_lambdas_that_return_constants():
    """Python 3.12 keeps no places of their code; the last of a line was taken for all."""
    made = (lambda: 0.0), (lambda: -0.0), (lambda: 2), (lambda: (2, True)), (lambda: lambda: 2.0)()
    sources = [ast.literal_eval(source_of(f).node.body) for f in made]
    assert [repr(source) for source in sources] == [repr(f()) for f in made]


__scale = 100  # of no class
_Private__scale = 2
_Inner__scale = 3


class Private:
    def kernel(out, __x):
        __y = __x * __scale

        def __shifted(__z):
            return __z + __y

        out[0], out[1] = __y, __shifted(0.5)

    class __Inner:
        apply = lambda __x: __x * __scale  # noqa: E731

    def factory(self):
        return lambda __x: __x * __scale

    class _:
        apply = lambda __x: __x * __scale  # noqa: E731

    apply = __Inner.apply, _.apply


def test_private_names_of_classes():
    applied = [*Private.apply, Private().factory()]
    inner, plain, outer = [device(function) for function in applied]

    def kernel(out, x):
        out[0], out[1], out[2] = inner(x), plain(x), outer(x)

    assert list(returned(Private.kernel, 4.0, count=2)) == [8.0, 8.5]
    assert list(returned(kernel, 4.0, count=3)) == [each(4.0) for each in applied]


def test_source_of_lambdas_without_places():
    """As of -X no_debug_ranges."""
    whole = lambda x: x + 1  # noqa: E731
    bare = types.FunctionType(whole.__code__.replace(co_linetable=b""), {})
    with pytest.raises(UnsupportedError, match="no_debug_ranges"):
        source_of(bare)


def make(scale, inner):
    def kernel(a):
        a[0] = inner(a[0]) * scale

    return kernel


def test_fingerprints():
    @device
    def one(x):
        return x + 1

    @device
    def two(x):
        return x + 2

    same = fingerprint(make(2, one))
    assert fingerprint(make(2, one)) == same
    others = [
        fingerprint(make(3, one)),
        fingerprint(make(2.0, one)),
        fingerprint(make(2, two)),
        fingerprint(make(np.float32(2), one)),
        fingerprint(make(np.arange(2), one)),
        fingerprint(make(np.arange(3), one)),
    ]
    assert len({same, *others}) == len(others) + 1


def test_fingerprint_of_module_attributes():
    import types

    settings = types.ModuleType("settings")
    settings.SIZE = 3

    def kernel(a):
        a[0] = settings.SIZE

    before = fingerprint(kernel)
    settings.SIZE = 4
    assert fingerprint(kernel) != before


def test_anything_with_the_attribute_is_a_device_function():
    class Dispatcher:
        def __init__(self, function):
            self.__gridlane_function__ = DeviceFunction(function)

    helper = Dispatcher(lambda x: x * 3)

    def kernel(out):
        out[0] = helper(2)

    assert device_function_of(helper) is helper.__gridlane_function__
    assert returned(kernel) == 6


class Mine(Exception):
    pass


def test_raises():
    def kernel(a, n):
        if n == 1:
            raise ValueError("too", 3)
        elif n == 2:
            raise Mine
        assert n < 4, "small"
        a[0] = 1

    for number, name, text in (
        (1, "ValueError", "too, 3"),
        (2, f"{Mine.__module__}:Mine", ""),
        (5, "AssertionError", "small"),
    ):
        module, result = launch(kernel, 1, 1, np.zeros(1), number, options=DEBUG)
        site = module.errors[result.error[0]]
        assert (site.exception, site.message) == (name, text)
    out = np.zeros(1)
    launch(kernel, 1, 1, out, 5)  # without debug the thread just ends
    assert out[0] == 0


def test_division_by_zero():
    def kernel(out, n, x):
        out[0] = 7 // n
        out[1] = 7 % n
        out[2] = 1.0 / x
        out[3] = -1.0 // x

    out = returned(kernel, 0, 0.0, count=4)
    assert out.tolist() == [0, 0, np.inf, -np.inf]
    _, result = launch(kernel, 1, 1, np.zeros(4), 0, 1.0, options=DEBUG)
    assert result.error is not None


def test_the_interpreter_reports_bad_accesses():
    def kernel(a):
        a[7] = 1

    with pytest.raises(KernelError):
        launch(kernel, 1, 1, np.zeros(2))


def test_unused_functions_and_globals_are_dropped():
    from gridlane.core.argtypes import float32

    @device
    def add(a, b):
        return a + b

    def kernel(out, n):
        total = 0
        for i in range(n):
            total = add(total, i * 0.5)  # compiled for integers first
        out[0] = total

    assert sorted(module_of(kernel, float64[::1], int32).functions) == ["add_1", "kernel"]
    assert returned(kernel, 4) == 3
    assert float32 is not None


def test_names_are_exported():
    for name in ("grid", "threadIdx", "shared", "atomic", "syncthreads", "shfl_sync", "ldcg"):
        assert NAMESPACE[name].__doc__


def test_retries_do_not_multiply():
    def kernel(out, n):
        a = b = c = 0
        for i in range(n):
            a += 0.5
            for j in range(n):
                b = b + a
                for k in range(n):
                    c = c * 2 + b
        out[0] = c

    from gridlane.frontends.python.statements import STATEMENTS

    count = 0
    original = STATEMENTS[ast.AugAssign]

    def counted(t, node):
        nonlocal count
        count += 1
        original(t, node)

    STATEMENTS[ast.AugAssign] = counted
    try:
        translate(kernel, (float64[::1], int64), OPTIONS)
    finally:
        STATEMENTS[ast.AugAssign] = original
    assert count <= 8
    assert returned(kernel, 2) == run_plainly(2)


def run_plainly(n):
    a = b = c = 0
    for i in range(n):
        a += 0.5
        for j in range(n):
            b = b + a
            for k in range(n):
                c = c * 2 + b
    return c


def test_threads_of_a_grid():
    def kernel(out):
        x, y = cuda.grid(2)
        if x < out.shape[1] and y < out.shape[0]:
            out[y, x] = x + 100 * y + 10000 * cuda.gridsize(2)[0]

    out = np.zeros((3, 5), np.int64)
    launch(kernel, (3, 2), (2, 2), out)
    y, x = np.mgrid[:3, :5]
    assert (out == x + 100 * y + 60000).all()

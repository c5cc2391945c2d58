"""Every message: what was found, what was required, what to write, and the caret."""

# ruff: noqa: F401, F821, RUF059 - the kernels are wrong on purpose

from __future__ import annotations

import inspect
import linecache
import math
import random
import re

import numpy as np
import pytest
from tests.frontends.running import cuda, device, module_of

from gridlane.core.argtypes import float32, float64, int32, int64, none
from gridlane.core.errors import (
    CompileError,
    ConstantError,
    NameLookupError,
    TypingError,
    UnsupportedError,
)
from gridlane.core.options import KernelOptions
from gridlane.frontends.python.libdevice_stubs import libdevice
from gridlane.frontends.python.stubs import KernelOnlyError
from gridlane.frontends.python.translation import translate, translate_device

ARRAY = float64[::1]


def plain(x):
    return x


def error_of(function, *kinds) -> CompileError:
    with pytest.raises(CompileError) as caught:
        translate(function, kinds or (ARRAY, int64), KernelOptions())
    return caught.value


def caret(error: CompileError) -> str:
    """The text over the caret of an error."""
    shown = str(error).splitlines()
    at = next(n for n, line in enumerate(shown) if re.fullmatch(r"\s+\| *\^+", line))
    marks = shown[at]
    return shown[at - 1][marks.index("^") : marks.rindex("^") + 1]


def list_display(a, n):
    x = [1, 2]


def comprehension(a, n):
    a[0] = sum(x for x in a)


def with_statement(a, n):
    with a:
        pass


def try_statement(a, n):
    try:
        a[0] = 1
    except ValueError:
        pass


def imports(a, n):
    import math


def unknown_name(a, n):
    a[0] = unheard_of + 1


def unbound_local(a, n):
    a[0] = later
    later = 1


def unknown_attribute(a, n):
    a[0] = math.sine(n)


def array_attribute(a, n):
    a[0] = a.sorted


def plain_function(a, n):
    a[0] = plain(n)


def numpy_array(a, n):
    a[0] = np.arange(3)[n]


def numpy_full(a, n):
    a[0] = np.full(n / 2, 1.0)[n]


def host_function(a, n):
    a[0] = random.random()


def whole_array(a, n):
    b = a + (1, 2)


def array_truth(a, n):
    if a:
        a[0] = 1


def array_comparison(a, n):
    if a > n:
        a[0] = 1


def float_index(a, n):
    a[n / 2] = 1


def too_many_indices(a, n):
    a[n, n] = 1


def float_bits(a, n):
    a[0] = a[1] & 1


def unpack_number(a, n):
    x, y = n


def unpack_count(a, n):
    x, y = 1, 2, 3


def returns_value(a, n):
    return n


def mixed_join(a, n):
    if n:
        x = 1
    else:
        x = a
    a[0] = x


def mixed_loop(a, n):
    x = 1, 2
    for i in range(n):
        x = i
    a[0] = x


def dynamic_shape(a, n):
    tile = cuda.shared.array(n, float32)


def bad_dtype(a, n):
    tile = cuda.shared.array(4, "flaot32")


def bad_grid(a, n):
    a[0] = cuda.grid(4)


def wrong_arguments(a, n):
    cuda.atomic.add(a, 0)


def wrong_keyword(a, n):
    tile = cuda.local.array(shape=4, type=float32)


def atomic_on_view(a, n):
    cuda.atomic.add(a, slice_of(a), 1)


@device
def slice_of(a):
    return a


def assigns_tuple(a, n):
    t = (1, 2)
    t[0] = 3


def tuple_out_of_range(a, n):
    a[0] = (1, 2)[5]


def heterogeneous_index(a, n):
    a[0] = (1, a)[n]


def raises_message(a, n):
    raise ValueError(n)


def raises_nothing(a, n):
    raise n


def not_callable(a, n):
    a[0] = n()


def complex_to_real(a, n):
    a[0] = 1j


def constant_write(a, n):
    TABLE[0] = n


TABLE = np.zeros(3)


def loops_over_number(a, n):
    for x in n:
        a[0] = x


def keywords_of_a_call(a, n):
    a[0] = max(**n)


def huge(a, n):
    a[0] = 123456789012345678901234567890


@device
def two_results(n):
    if n > 0:
        return n
    return (n, n)


def mixed_results(a, n):
    two_results(n)


def launches(a, n):
    two_results[1, 1](n)


def writes_to_a_number(a, n):
    n[0] = 1


def index_of_all_axes(a, n):
    a[cuda.threadIdx] = n


def root_of_an_array(a, n):
    a[0] = math.sqrt(a)


CASES = [
    (
        list_display,
        UnsupportedError,
        "lists cannot be compiled for a device; write a tuple",
        "[1, 2]",
    ),
    (comprehension, UnsupportedError, "generator expressions cannot be compiled", None),
    (with_statement, UnsupportedError, "with statements cannot be compiled", "with a:"),
    (try_statement, UnsupportedError, "try statements cannot be compiled", None),
    (imports, UnsupportedError, "write an import at the top of the file instead", "import math"),
    (unknown_name, NameLookupError, "unheard_of is not defined", "unheard_of"),
    (unbound_local, NameLookupError, "nothing has been assigned to it on this path", "later"),
    (unknown_attribute, NameLookupError, "module 'math' has no attribute 'sine'", "math.sine"),
    (array_attribute, TypingError, "has no attribute sorted; it has shape", "a.sorted"),
    (plain_function, UnsupportedError, "decorate it with @cuda.jit(device=True)", "plain(n)"),
    (host_function, UnsupportedError, "cannot be called in a kernel", "random.random()"),
    (numpy_array, UnsupportedError, "numpy.arange cannot be called in a kernel; cuda.local", None),
    (numpy_full, TypingError, "an extent is required here, not float64", "np.full(n / 2, 1.0)"),
    (whole_array, TypingError, "index other arrays, as in a[i]", "a + (1, 2)"),
    (array_truth, TypingError, "an array has no truth value", "a"),
    (array_comparison, TypingError, "an array has no truth value; compare", "a > n"),
    (float_index, TypingError, "an integer index is required here, not float64", "a[n / 2]"),
    (too_many_indices, TypingError, "2 indices for an array of 1 dimensions", "a[n, n]"),
    (float_bits, TypingError, "& takes integers and bools, not float64", "a[1] & 1"),
    (unpack_number, TypingError, "only tuples and arrays can; give it one name", "x, y"),
    (launches, TypingError, "a kernel launches no kernel: call it", "two_results[1, 1]"),
    (writes_to_a_number, TypingError, "cannot be indexed; to write a result, pass an", "n[0]"),
    (index_of_all_axes, TypingError, "write its .x, .y or .z", "a[cuda.threadIdx]"),
    (root_of_an_array, TypingError, "required here, not array(float64, 1d, C); index the", None),
    (unpack_count, TypingError, "3 values cannot be unpacked to 2 names", "x, y"),
    (
        returns_value,
        TypingError,
        "CUDA kernel must have void return type: this returns int64",
        "return n",
    ),
    (mixed_join, TypingError, "int64 or array(float64, 1d, C); give it one type", "x"),
    (mixed_loop, TypingError, "tuple(int64, int64) or int64; give it one type on all paths", "x"),
    (dynamic_shape, ConstantError, "must be known when the kernel is compiled", None),
    (bad_dtype, TypingError, "Invalid NumPy dtype specified: 'flaot32'", None),
    (bad_grid, ConstantError, "cuda.grid takes 1, 2 or 3, not 4", "cuda.grid(4)"),
    (wrong_arguments, TypingError, "takes (ary, idx, val), but this call gives (array(", None),
    (wrong_keyword, TypingError, "takes (shape, dtype, alignment=)", None),
    (atomic_on_view, TypingError, "is indexed by integers, slices and tuples", None),
    (assigns_tuple, TypingError, "a tuple cannot be changed", "t[0]"),
    (tuple_out_of_range, ConstantError, "tuple index 5 out of range: it has 2", "(1, 2)[5]"),
    (heterogeneous_index, TypingError, "needs items of one type", "(1, a)[n]"),
    (raises_message, ConstantError, "must be constant text or numbers", None),
    (raises_nothing, TypingError, "an exception class is required here, not int64", "raise n"),
    (not_callable, TypingError, "int64 cannot be called", "n()"),
    (complex_to_real, TypingError, "take .real or .imag", "a[0]"),
    (constant_write, TypingError, "this array is read-only", "TABLE[0]"),
    (loops_over_number, TypingError, "int64 cannot be iterated over", None),
    (keywords_of_a_call, UnsupportedError, "**keywords cannot be compiled", "max(**n)"),
    (huge, ConstantError, "does not fit in 64 bits", "123456789012345678901234567890"),
    (mixed_results, TypingError, "returns int64 on one path and tuple(int64, int64)", None),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_message(case):
    function, kind, message, marked = case
    error = error_of(function)
    assert isinstance(error, kind), error
    assert message in str(error)
    assert error.loc.file == __file__
    if marked is not None:
        assert caret(error) == marked


def test_both_lines_of_a_conflict():
    error = error_of(mixed_join)
    first = inspect.getsourcelines(mixed_join)[1]
    assert error.loc.line == first + 5
    assert [loc.line for _, loc in error.related] == [first + 2, first + 4]
    text = str(error)
    assert text.index("int64 here:") < text.index("x = 1") < text.index("x = a")


def test_the_chain_of_calls():
    @device
    def inner(x):
        return x.nothing

    @device
    def outer(x):
        return inner(x) + 1

    def kernel(a):
        a[0] = outer(a)

    text = str(error_of(kernel, ARRAY))
    assert text.count("called from") == 2
    assert text.index("in inner") < text.index("in outer") < text.index("in kernel")


def test_wrong_number_of_types():
    error = error_of(plain_function, int32)
    assert "plain_function() takes 2 arguments (a, n), but 1 types are given (int32)" in str(error)


def test_no_source():
    space = {}
    exec("def made(a):\n    a[0] = 1\n", space)
    error = error_of(space["made"], ARRAY)
    assert isinstance(error, UnsupportedError)
    assert "put it in a file" in str(error)


def test_the_source_of_another_function_with_its_name_is_not_taken(monkeypatch):
    """As linecache has that of ``python -c`` under the name of what exec runs, from 3.13 on."""
    text = "def made(a):\n    a[0] = 1\n"
    lines = text.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, "<string>", (len(text), None, lines, "<string>"))
    space = {}
    exec(text.replace("1", "2"), space)
    assert "put it in a file" in str(error_of(space["made"], ARRAY))
    exec(text, space)
    assert module_of(space["made"], np.ones(1)).kernel.name.startswith("made")


def test_frames_of_the_compiler_are_stripped():
    error = error_of(plain_function)
    frames = 0
    trace = error.__traceback__
    while trace is not None:
        frames += 1
        trace = trace.tb_next
    assert frames <= 2


def test_declared_signatures_that_do_not_fit():
    from gridlane.core.argtypes import Signature
    from gridlane.frontends.python.device_function import DeviceFunction

    declared = DeviceFunction(plain, signatures=(Signature(None, (int64,)),))  # type: ignore

    def kernel(a):
        declared(1j)

    text = str(error_of(kernel, ARRAY))
    assert "Invalid use of type plain() with parameters (complex128)" in text


def test_device_functions_alone():
    with pytest.raises(TypingError, match="has no attribute"):
        translate_device(lambda x: x.nothing, (ARRAY,), KernelOptions())


@pytest.mark.parametrize(
    "use",
    [
        lambda: cuda.grid(1),
        lambda: cuda.threadIdx.x + 1,
        lambda: int(cuda.laneid),
        lambda: cuda.shared.array(3, float32),
        lambda: cuda.atomic.add(None, 0, 1),
        lambda: 1 < cuda.blockDim.x,
    ],
)
def test_outside_of_kernels(use):
    with pytest.raises(KernelOnlyError, match="only inside a kernel"):
        use()


def test_device_functions_outside_of_kernels():
    with pytest.raises(RuntimeError, match=r"call it in a kernel"):
        slice_of(1)


def test_missing_members_name_what_there_is():
    with pytest.raises(AttributeError, match=r"cuda\.atomic has no mul; it has add, and_"):
        _ = cuda.atomic.mul
    with pytest.raises(AttributeError, match=r"cuda\.threadIdx has no X; it has x, y, z"):
        _ = cuda.threadIdx.X
    with pytest.raises(AttributeError, match=r"cuda\.libdevice has no cosff; did you mean \w+\?$"):
        _ = libdevice.cosff


def test_none_argument_is_typed():
    error = error_of(lambda a, n: n[0], ARRAY, none)
    assert "cannot be indexed" in str(error)

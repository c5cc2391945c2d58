"""What became float64 and why: the causes that the translator notes, left in the IR."""

from __future__ import annotations

import linecache
import math

import numpy as np
import pytest
from hypothesis import given, settings
from tests.effort import examples
from tests.frontends.running import cuda, device, module_of
from tests.frontends.test_floats import (
    IN_COMPLEX64,
    IN_FLOAT32,
    KINDS,
    LEAVES,
    NARROW,
    SAME_AS_NUMPY,
    STAY_FLOAT64,
    STAY_INTEGERS,
    VALUES,
    WIDE,
    doubles,
    function_of,
    listed,
    trees,
)
from tests.frontends.test_floats import shown as expression_of
from tests.frontends.test_property import kernel_of

from gridlane.core.argtypes import (
    ArrayType,
    TupleType,
    complex64,
    complex128,
    float32,
    float64,
    int32,
    int64,
    uint64,
)
from gridlane.core.numpy_types import from_numpy
from gridlane.cuda.ufuncs.generated import define
from gridlane.frontends.python.explain import explain

HALF = 0.5
TENTH = np.float64(0.1)
TABLE = np.arange(3.0)
F32 = float32[::1]
RECORD = ArrayType(from_numpy(np.dtype([("a", "f8"), ("b", "f4")])), 1, "C")
OPTION = 'use floats="float32"'


def told(function, *types, options=WIDE):
    """(the expression, the reason, what to write) of each cause, and the other lines' texts."""
    found = explain(function, types, options)
    causes = [(shown(cause.place), cause.reason, cause.instead) for cause in found.causes]
    return causes, [line_of(place).strip() for place in found.others]


def line_of(place):
    return linecache.getline(place.file, place.line)


def shown(place):
    return line_of(place)[place.column - 1 : place.end_column - 1]


@device
def half(v):
    return v * 0.5


def expressions(text, number):
    """A kernel ``out[0] = text`` of float32 x, int32 i, int64 n, uint64 u."""
    return define(
        f"k{number}",
        f"def k{number}(out, x, i, n, u):\n    out[0] = {text}\n",
        {"math": math, "np": np, "cuda": cuda, "HALF": HALF, "TENTH": TENTH, "TABLE": TABLE}
        | {"float64": float64, "half": half},
    )


ROUND = f"write float32(...) around the {{}}, or {OPTION}"
ONE_CAUSE = {
    "x * 0.5": ("0.5", "the literal 0.5 is float64", f"write float32(0.5), or {OPTION}"),
    "x + -2.5": ("-2.5", "the literal -2.5 is float64", f"write float32(-2.5), or {OPTION}"),
    "x * (1 / 4)": ("1 / 4", "the literal 0.25 is float64", f"write float32(0.25), or {OPTION}"),
    "x if x > 0.5 else x": (
        *("0.5", "the literal 0.5 is float64"),
        f"write float32(0.5), or {OPTION}",
    ),
    "x ** 0.5": ("0.5", "the literal 0.5 is float64", f"write float32(0.5), or {OPTION}"),
    "x * HALF": (
        *("HALF", "the captured number 0.5 is float64"),
        f"capture np.float32(0.5), or {OPTION}",
    ),
    "x * math.pi": (
        *("math.pi", "the captured number 3.141592653589793 is float64"),
        f"capture np.float32(3.141592653589793), or {OPTION}",
    ),
    "x * -HALF": (
        *("HALF", "the captured number 0.5 is float64"),
        f"capture np.float32(0.5), or {OPTION}",
    ),
    "x * (np.float32(2) * (1 / HALF))": (
        *("HALF", "the captured number 0.5 is float64"),
        f"capture np.float32(0.5), or {OPTION}",
    ),
    "x * TENTH": (
        *("TENTH", "the captured number is numpy's float64, 0.1"),
        "capture np.float32(0.1)",
    ),
    "i / n": ("i / n", "true division of int32 by int64 gives float64", ROUND.format("int32")),
    "n / 3": ("n / 3", "true division of int64 by int64 gives float64", ROUND.format("int64")),
    "x / n": ("x / n", "float32 with int64 gives float64", ROUND.format("int64")),
    "i * x": ("i * x", "int32 with float32 gives float64", ROUND.format("int32")),
    "x // i": ("x // i", "float32 with int32 gives float64", ROUND.format("int32")),
    "math.sqrt(i)": ("math.sqrt(i)", "math.sqrt of int32 gives float64", ROUND.format("int32")),
    "math.floor(n)": ("math.floor(n)", "math.floor of int64 gives float64", ROUND.format("int64")),
    "math.atan2(i, x)": (
        *("math.atan2(i, x)", "math.atan2 of int32 and float32 gives float64"),
        ROUND.format("int32"),
    ),
    "np.sin(n)": ("np.sin(n)", "np.sin of int64 gives float64", ROUND.format("int64")),
    "float(i)": ("float(i)", "float of int32 gives float64", ROUND.format("int32")),
    "round(x, 1)": ("round(x, 1)", "round of float32 is computed in float64", OPTION),
    "min(u, n)": ("min(u, n)", "uint64 with int64 gives float64", ROUND.format("uint64")),
    "x if i > 0 else n": (
        *(
            "x if i > 0 else n",
            "this value is float32 and int64 on two paths, which join as float64",
        ),
        f"make it float32 on both, or {OPTION}",
    ),
    "abs(x * 1j)": ("1j", "the literal 1j is complex128", f"write complex64(1j), or {OPTION}"),
    "complex(n).real": (
        *("complex(n)", "int64 as a complex number is complex128"),
        ROUND.format("int64"),
    ),
    "float64(x)": ("float64(x)", "this is a conversion to float64", "write float32(...)"),
    "np.float64(x) * 2.5": (
        *("np.float64(x)", "this is a conversion to float64"),
        "write float32(...)",
    ),
    "x * float64(0.5)": (
        *("float64(0.5)", "this is a conversion to float64"),
        "write float32(...)",
    ),
    "x * np.complex128(1j).imag": (
        *("np.complex128(1j)", "this is a conversion to complex128"),
        "write complex64(...)",
    ),
    "TABLE[i]": ("TABLE", "this array is of float64", "give it float32 elements"),
    "half(x)": ("0.5", "the literal 0.5 is float64", f"write float32(0.5), or {OPTION}"),
}


@pytest.mark.parametrize("number", range(len(ONE_CAUSE)))
def test_each_cause_has_its_reason_and_what_to_write(number):
    text, wanted = list(ONE_CAUSE.items())[number]
    causes, _ = told(expressions(text, number), F32, float32, int32, int64, uint64)
    assert causes == [wanted]


def test_every_float64_has_a_cause_and_nothing_else_has():
    """Of all the expressions that the option is tried with: a cause where there is float64."""
    lists = SAME_AS_NUMPY, IN_FLOAT32, IN_COMPLEX64, STAY_INTEGERS, STAY_FLOAT64
    for text in (each for some in lists for each in listed(some) if each != "(0.5, x)[i]"):
        kernel, kinds = kernel_calling(device(function_of(text))), TupleType((*KINDS.values(),))
        for options in (WIDE, NARROW):
            found = explain(kernel, (kinds,), options)
            wide = doubles(module_of(kernel, kinds, options=options))
            assert bool(found.causes) == any(op.operands() for op in wide), (text, found)
            assert found.causes or not found.others, text


@settings(max_examples=examples(60, 1000), deadline=None)
@given(trees(LEAVES))
def test_random_expressions(tree):
    """float64 has a cause, and what has none is not float64."""
    kernel = kernel_of(expression_of(tree).replace("k", "c"))
    kernel.__globals__["np"] = np
    types = F32, float32, float32, int32
    for options in (WIDE, NARROW):
        found = explain(kernel, types, options)
        wide = [op for op in doubles(module_of(kernel, *types, options=options)) if op.operands()]
        assert bool(found.causes) == bool(wide), expression_of(tree)
        assert options is WIDE or not wide


def kernel_calling(function):
    def kernel(arguments):
        kept = function(*arguments)
        print(kept)

    return kernel


def test_a_chain_is_told_from_its_root():
    def image(img, i):
        x = float32(i) / img.shape[1]
        y = x + n_of(img)
        img[0, i] = math.sqrt(y)

    n_of = device(lambda img: img.shape[0])
    causes, others = told(image, float32[:, ::1], int64)
    assert causes == [
        (
            *("float32(i) / img.shape[1]", "float32 with int64 gives float64"),
            ROUND.format("int64"),
        )
    ]
    assert others == ["y = x + n_of(img)", "img[0, i] = math.sqrt(y)"]


def test_float32_has_no_causes():
    """Literals that are folded into float32, and arguments that nothing reads, are none."""

    def kernel(out, unused, b):
        total = np.float32(0)
        for i in range(out.size):
            total += out[i] * np.float32(0.5)
            out[i] = 0.25
        if total > np.float32(HALF):
            out[0] = 1.5 + 2.5
        out[1] = b.size / np.float32(2) if False else total
        out[2] = max(total, np.float32(1e-3))

    assert told(kernel, F32, float64, float64[::1]) == ([], [])


def test_variables_of_loops_and_branches():
    def literal(out):
        total = 0.0
        for i in range(out.size):
            total += out[i]
        out[0] = total

    def integer(out):
        total = 0
        for i in range(out.size):
            total += out[i]
        out[0] = total

    def carried(out, n):
        x = n
        while x > 1:
            x = x / 2
        out[0] = x

    def branch(out, n):
        x = 1
        if n > 3:
            x = out[0]
        out[1] = x

    assert told(literal, F32)[0] == [
        ("0.0", "the literal 0.0 is float64", f"write float32(0.0), or {OPTION}")
    ]
    assert told(literal, F32)[1] == [
        *("for i in range(out.size):", "total += out[i]", "out[0] = total")
    ]
    assert told(integer, F32)[0] == [
        ("total += out[i]", "int64 with float32 gives float64", ROUND.format("int64"))
    ]
    assert told(carried, F32, int64)[0] == [
        ("x / 2", "true division of int64 by int64 gives float64", ROUND.format("int64"))
    ]
    assert [reason for _, reason, _ in told(branch, F32, int64)[0]] == [
        "x is float32 and int64 on two paths, which join as float64"
    ]


@pytest.mark.parametrize("layout", ["C", "F", "A"])
def test_a_literal_beside_an_array_of_float64(layout):
    def kernel(b):
        b[1, 2] = b[0, 1] * 2.5

    kind = ArrayType(float64, 2, layout)
    assert [cause for cause, _, _ in told(kernel, kind)[0]] == ["b"]
    assert [cause for cause, _, _ in told(kernel, ArrayType(float32, 2, layout))[0]] == ["2.5"]


def test_what_is_float64_by_its_arguments_has_one_cause():
    """Literals take their type from there, and are none."""

    def kernel(out, b, s):
        total = 0.0
        for i in range(b.size):
            total += b[i] * 0.5 + s
        out[0] = float64(total)

    wanted = [
        (
            *("b", "the argument b is array(float64, 1d, C)"),
            "pass an array of float32, as b.astype(np.float32)",
        ),
        ("s", "the argument s is float64", "pass float32, as np.float32(s)"),
    ]
    assert told(kernel, F32, float64[::1], float64)[0] == wanted
    assert told(kernel, F32, float64[::1], float32)[0] == wanted[:1]


def test_integers_of_a_loop_that_an_argument_makes_float64_are_no_cause():
    def kernel(out, b):
        total = 0
        for i in range(b.size):
            out[i] = total / 2 + total * out[i]
            total = total + b[i]
        out[0] = i / 2

    assert [(text, reason) for text, reason, _ in told(kernel, F32, float64[::1])[0]] == [
        ("b", "the argument b is array(float64, 1d, C)"),
        ("i / 2", "true division of int64 by int64 gives float64"),
    ]


@pytest.mark.parametrize(
    ("kind", "instead"),
    [
        (ArrayType(complex128, 1, "C"), "pass an array of complex64, as b.astype(np.complex64)"),
        (RECORD, "pass an array of float32, as b.astype(np.float32)"),
    ],
)
def test_other_arguments(kind, instead):
    def parts(out, b):
        out[0] = b[0].real

    def field(out, b):
        out[0] = b[0].a

    causes, _ = told(field if kind is RECORD else parts, F32, kind)
    assert causes == [("b", f"the argument b is {kind}", instead)]


def test_arrays_of_the_kernels_own():
    def kernel(out):
        mine = cuda.local.array(4, float64)
        tile = cuda.shared.array(4, np.float64)
        cuda.local.array(4, float64)
        mine[0] = tile[1]
        out[0] = mine[0]

    of_array = "this array is of float64", "give it float32 elements"
    assert told(kernel, F32)[0] == [
        ("cuda.local.array(4, float64)", *of_array),
        ("cuda.shared.array(4, np.float64)", *of_array),
    ]


def test_a_device_function_of_two_types_is_told_of_the_wide_one():
    def both(v):
        return v / 2

    inner = device(both)

    def kernel(out, n):
        out[0] = inner(out[0] * out[1])
        out[1] = inner(n)

    reasons = {reason for _, reason, _ in told(kernel, F32, int32)[0]}
    assert reasons == {
        "float32 with int64 gives float64",
        "true division of int32 by int64 gives float64",
    }


def test_complex_arguments_of_the_narrow_kind():
    def kernel(out, n):
        out[0] = out[1] * 2

    assert [reason for _, reason, _ in told(kernel, ArrayType(complex64, 1, "C"), int64)[0]] == [
        "int64 as a complex number is complex128"
    ]


def test_it_says_nothing_of_kernels_with_the_option():
    def kernel(out, i):
        x = float32(i) / out.size
        y = x * 0.5 + math.pi
        out[0] = math.sqrt(y) * VALUES_I + i / 3

    VALUES_I = float(VALUES["i"])
    assert told(kernel, F32, int32, options=NARROW) == ([], [])

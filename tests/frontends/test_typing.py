"""numba's typing rules, as a table."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from tests.frontends.running import cuda, device, result_type

from gridlane.core import argtypes

NAMES = ("boolean", "int8", "int32", "int64", "uint8", "uint32", "uint64", "float32", "float64")
SHORT = {"b": "boolean", "q": "int64", "Q": "uint64", "f": "float32", "d": "float64"}
SHORT |= {"B": "int8", "i": "int32", "I": "uint32", "C": "uint8", "h": "int16"}

# A row for each left type, a column for each right type, both in the order of NAMES.
ARITHMETIC = (
    "qqqqqqqfd qqqqqqqfd qqqqqqqdd qqqqqqqdd qqqqQQQfd qqqqQQQdd qqqqQQQdd ffddfddfd ddddddddd"
)
DIVISION = (
    "dddddddfd dddddddfd ddddddddd ddddddddd dddddddfd ddddddddd ddddddddd ffddfddfd ddddddddd"
)
BITWISE = "bqqqqqq qqqqqqq qqqqqqq qqqqqqq qqqqQQQ qqqqQQQ qqqqQQQ"
SHIFT = "qqqqqqq qqqqqqq qqqqqqq qqqqqqq QQQQQQQ QQQQQQQ QQQQQQQ"
JOIN = "bBiqCIQfd BBiqhqdfd iiiqiqddd qqqqqqddd ChiqCIQfd IqqqIIQdd QdddQQQdd ffddfddfd ddddddddd"

TABLES = {
    operator.add: ARITHMETIC,
    operator.sub: ARITHMETIC,
    operator.mul: ARITHMETIC,
    operator.floordiv: ARITHMETIC,
    operator.mod: ARITHMETIC,
    operator.truediv: DIVISION,
    operator.and_: BITWISE,
    operator.or_: BITWISE,
    operator.lshift: SHIFT,
    operator.rshift: SHIFT,
}


def kinds(names: str) -> list[argtypes.ArgType]:
    return [getattr(argtypes, name) for name in names.split()]


@pytest.mark.parametrize("function", TABLES, ids=lambda f: f.__name__)
def test_operators(function):
    def apply(a, b):
        return function(a, b)

    for left, row in zip(NAMES, TABLES[function].split()):
        for right, letter in zip(NAMES, row):
            found = result_type(apply, *kinds(f"{left} {right}"))
            assert found.name == getattr(argtypes, SHORT[letter]).name, (left, right)


def test_joins():
    def join(flag, a, b):
        if flag:
            x = a
        else:
            x = b
        return x

    def minimum(flag, a, b):
        return min(a, b)

    for function in (join, minimum):
        for left, row in zip(NAMES, JOIN.split()):
            for right, letter in zip(NAMES, row):
                found = result_type(function, *kinds(f"boolean {left} {right}"))
                assert found.name == getattr(argtypes, SHORT[letter]).name, (left, right)


UNARY = {
    "neg": (lambda a: -a, "int64 int64 int64 int64 uint64 uint64 uint64 float32 float64"),
    "pos": (lambda a: +a, "int64 int64 int64 int64 uint64 uint64 uint64 float32 float64"),
    "not": (lambda a: not a, " ".join(["boolean"] * 9)),
    "abs": (lambda a: abs(a), " ".join(["int8", *NAMES[1:]])),
    "round": (lambda a: round(a), " ".join(["int64"] * 9)),
    "bool": (lambda a: bool(a), " ".join(["boolean"] * 9)),
    "int": (lambda a: int(a), "int64 int8 int32 int64 uint8 uint32 uint64 int64 int64"),
    "float": (lambda a: float(a), " ".join(["float64"] * 7 + ["float32", "float64"])),
    "sqrt": (lambda a: math.sqrt(a), " ".join(["float64"] * 7 + ["float32", "float64"])),
    "floor": (lambda a: math.floor(a), " ".join(["float64"] * 7 + ["float32", "float64"])),
    "np.sin": (
        lambda a: np.sin(a),
        "float32 float32 float64 float64 float32 float64 float64 float32 float64",
    ),
    "np.square": (
        lambda a: np.square(a),
        "boolean int8 int32 int64 uint8 uint32 uint64 float32 float64",
    ),
    "half": (lambda a: a * 0.5, " ".join(["float64"] * 9)),
    "plus one": (
        lambda a: a + 1,
        "int64 int64 int64 int64 int64 int64 int64 float64 float64",
    ),
    "square": (
        lambda a: a**2,
        "int64 int64 int64 int64 int64 int64 int64 float32 float64",
    ),
}


@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name):
    function, wanted = UNARY[name]
    for source, target in zip(NAMES, wanted.split()):
        found = result_type(function, getattr(argtypes, source))
        assert found.name == getattr(argtypes, target).name, source


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda: cuda.grid(1), "int64"),
        (lambda: cuda.gridsize(1), "int64"),
        (lambda: cuda.threadIdx.x, "int32"),
        (lambda: cuda.blockDim.y, "int32"),
        (lambda: cuda.laneid, "int32"),
        (lambda: cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x, "int64"),
        (lambda: cuda.ballot_sync(1, True), "uint32"),
        (lambda: cuda.syncthreads_count(True), "int32"),
        (lambda: 2**63, "uint64"),
        (lambda: 0xFFFFFFFFFFFFFFFF, "uint64"),
        (lambda: 1.5, "float64"),
        (lambda: np.float32(1) * 2, "float64"),
        (lambda: np.float32(1) * np.int16(2), "float32"),
        (lambda: math.pow(np.float32(2), 3), "float64"),
        (lambda: 1j * np.float32(2), "complex128"),
        (lambda: abs(np.complex64(1)), "float32"),
        (lambda: np.complex64(1) + np.float32(1), "complex64"),
        (lambda: np.float16(1) + np.float16(1), "float16"),
        (lambda: np.float16(1) + np.float32(1), "float32"),
        (lambda: cuda.grid(2), "Tuple(int64, int64)"),
        (lambda: None, "none"),
    ],
)
def test_expressions(function, wanted):
    assert str(result_type(function)) == wanted


def test_range_types():
    def last(n):
        x = n
        for i in range(n):
            x = i
        return x

    wanted = {"int8": "int32", "int32": "int32", "int64": "int64", "uint64": "uint64"}
    for source, target in wanted.items():
        unified = {"int8": "int32"}.get(source, target)
        assert str(result_type(last, getattr(argtypes, source))) == unified


def test_straight_line_redefinition_may_change_the_type():
    def f(a):
        x = a
        x = x * 0.5
        x = x > 1
        return x

    assert result_type(f, argtypes.int32) is argtypes.boolean


def test_device_function_result():
    @device
    def pair(a, b):
        return b, a

    def f(a, b):
        return pair(a, b)

    found = result_type(f, argtypes.int32, argtypes.float32)
    assert str(found) == "Tuple(float32, int32)"

"""``floats="float32"``: literals and what integers become beside floats are float32.

The oracle is Python with numpy's float32, beside which a Python number is weak (NEP 50).
"""

from __future__ import annotations

import cmath
import functools
import math
import operator
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.frontends.running import cuda, launch, module_of
from tests.frontends.test_property import kernel_of

from gridlane.core import argtypes
from gridlane.core.dtypes import f64
from gridlane.core.options import KernelOptions
from gridlane.cuda.ufuncs.generated import define
from gridlane.frontends.python.device_function import DeviceFunction
from gridlane.frontends.python.translation import translate_device
from gridlane.ir.types import ArrayType, PointerType, StructType

NARROW = KernelOptions(floats="float32", fma=False)
WIDE = KernelOptions(fma=False)
KINDS = {
    "x": argtypes.float32,
    "y": argtypes.float32,
    "z": argtypes.complex64,
    "h": argtypes.float16,
    "d": argtypes.float64,
    "i": argtypes.int32,
    "n": argtypes.int64,
    "u": argtypes.uint64,
    "w": argtypes.uint16,
    "s": argtypes.int8,
    "t": argtypes.boolean,
}
VALUES = {
    "x": np.float32(2.7),
    "y": np.float32(-1.3),
    "z": np.complex64(1.5 - 0.7j),
    "i": 7,
    "n": 12,
    "t": True,
}
HALF = 0.5
PAIR = (0.25, 3)
TURN = 1j
DOUBLE = np.float64(0.1)
SINGLE = np.float32(0.1)


class Limits(NamedTuple):
    low: float
    high: float


LIMITS = Limits(-0.5, 0.5)
NAMES = {
    "math": math,
    "cmath": cmath,
    "np": np,
    "HALF": HALF,
    "PAIR": PAIR,
    "TURN": TURN,
    "DOUBLE": DOUBLE,
    "SINGLE": SINGLE,
    "LIMITS": LIMITS,
    "float64": argtypes.float64,
    "float32": argtypes.float32,
    "cuda": cuda,
}


def function_of(expression):
    """A function of all of KINDS that returns an expression."""
    return define("f", f"def f({', '.join(KINDS)}):\n    return {expression}\n", dict(NAMES))


def doubles(module):
    """The ops of a module that have to do with float64."""
    return [
        op
        for function in module.functions.values()
        for op in function.body.walk()
        if any(_holds_double(value.type) for value in (*op.operands(), *op.results))
    ]


def _holds_double(kind):
    if isinstance(kind, PointerType | ArrayType):
        return _holds_double(kind.element)
    if isinstance(kind, StructType):
        return any(map(_holds_double, kind.types))
    return kind is f64


def type_of(expression, options=NARROW):
    """The type of an expression, and the ops on float64 that it takes."""
    module, kind = translate_device(function_of(expression), tuple(KINDS.values()), options)
    return str(kind), doubles(module)


SAME_AS_NUMPY = """
x * 2.5 | 2.5 * x | x + 1 | x - 1e-3 | x / 3 | 1 / x | 2 / y | x % 0.7 | x // 0.7 | -x + 0.5 | +x
x ** 2 | x ** 0.5 | 2 ** x | x ** -1 | x ** 3 * 0.1 | abs(y) * 0.5 | x * 0.1 + y * 0.2 - 0.3
x if x > 2.5 else 0.5 | 0.5 if x > 2.5 else x | max(x, 0.5) | min(x, 0.5) | min(0.5, y)
HALF * x | x + PAIR[0] | x * math.pi | x + LIMITS.high | x * SINGLE | x * (1 / 3) | x * 2 ** 0.5
x * i | i * x | x + n | n - x | x / n | n / x | x // i | x % i | i / n * x | x + i / n | x * t
(i + 0.5) * x | x and 0.5 | x or 0.5 | round(x, 1) | (i / n) ** 2 + x | x * (n // i) | x + float(i)
np.float32(0.5) * i | np.float32(i) / n | x < 2.7 | x == 2.7 | y > -1.3 | x <= 0.5 | 0.5 < x < 2.7
z * 2.5 | z + 1j | z * i | z / 2 | 1 / z | TURN * x | x + 1j | (1 + 2j) * x | abs(z) * 0.5 | z == 1
complex(x, 0.5) * x | z.real * 0.5 | np.add(x, 2.5) | np.maximum(x, 0.5) | np.hypot(x, 0.5)
np.arctan2(x, 0.5) | np.true_divide(x, 3) | np.power(x, 0.5) | np.multiply(z, 0.5)
""".replace("\n", "|")

IN_FLOAT32 = """
0.5 | HALF | math.pi | i / n | n / n | 1 / i | i * 0.5 | n + 0.5 | u * 0.5 | w * x | w / s
math.sqrt(x) | math.sqrt(i) | math.sqrt(n) | math.sin(n) | math.exp(0.5) | math.floor(n)
math.atan2(i, n) | math.hypot(i, 0.5) | math.pow(x, 0.5) | math.pow(n, 2) | math.fmod(x, 0.7)
math.copysign(1.0, x) | math.degrees(i) | math.radians(n) | math.ldexp(0.5, i) | math.modf(h)[0]
math.frexp(n)[0] | math.remainder(x, 0.7) | math.log(n) | math.gamma(i) | math.erf(0.3) | n ** 0.5
i ** 0.5 | x ** i | float(i) | float(x) | float() | float(t) | divmod(x, 0.7)[0] | divmod(u, n)[1]
round(x, 1) | round(n, 1) | sum((x, 0.5)) | pow(x, 0.5) | min(u, n) | max(i, 0.5) | abs(0.5)
np.sqrt(i) | np.sqrt(n) | np.sin(n) | np.true_divide(i, n) | np.reciprocal(0.5) | np.sign(0.5)
np.copysign(i, n) | np.degrees(n) | np.float32(0.5) * n | h * 0.5 | h * n | cuda.fma(x, 0.5, n)
cuda.cbrt(n) | cuda.selp(t, x, n) | x if t else n | 0.5 if t else i | (i or x) | max(x, 3)
2.0 ** i | abs(1j) | abs(z * n) | (z + n).real | cmath.phase(n) | cmath.polar(i)[0]
(1j).imag | complex(n).real
""".replace("\n", "|")

IN_COMPLEX64 = """
1j | TURN | z * 1j | z + n | z + 0.5 | z ** 2 | z ** 0.5 | cmath.sqrt(n) | cmath.exp(i) | n * 1j
complex(n) | complex(i, 0.5) | complex(z) | z if t else n | cmath.log(n, 10) | cmath.rect(i, 0.5)
""".replace("\n", "|")

STAY_FLOAT64 = """
d | d * 2 | d * x | x * DOUBLE | DOUBLE | float64(x) | float64(0.5) * x | math.sqrt(d) | d / n
np.float64(x) + 1 | round(d, 1) | x if t else d | max(x, d) | math.atan2(d, x) | float(d) | d ** 0.5
abs(d * 1j) | complex(d, 1).imag | divmod(d, x)[0] | math.sqrt(float64(i)) | np.float64(i) / n
""".replace("\n", "|")

STAY_INTEGERS = """
i + n | i // n | n % 7 | u // 3 | int(x * 0.5) | round(x) | i << 2 | n ** 2 | abs(i) | max(i, n)
int(math.sqrt(n)) | np.int32(0.5 * x) | np.floor_divide(i, n) | min(3, i)
""".replace("\n", "|")


def listed(text):
    return [item.strip() for item in text.split("|") if item.strip()]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [(IN_FLOAT32, "float32"), (IN_COMPLEX64, "complex64")],
    ids=["float32", "complex64"],
)
def test_what_becomes_float32(text, wanted):
    for expression in listed(text):
        assert type_of(expression) == (wanted, []), expression


def test_what_is_float64_explicitly_stays():
    for expression in listed(STAY_FLOAT64):
        assert type_of(expression)[0] == "float64", expression


def test_items_of_a_tuple_have_one_type():
    assert type_of("(0.5, x)[i]") == ("float32", [])


def test_integers_stay():
    for expression in listed(STAY_INTEGERS):
        assert type_of(expression) == (type_of(expression, WIDE)[0], []), expression


def test_it_is_opt_in():
    """The same expressions without the option: some of each list are float64."""
    kinds = [type_of(each, WIDE)[0] for each in listed(IN_FLOAT32)]
    assert kinds.count("float64") > len(kinds) // 2
    assert {type_of(each, WIDE)[0] for each in ("1j", "complex(n)", "z + n")} == {"complex128"}


def numpys(expression):
    """What numpy has for an expression, with its type: a Python number is weak."""
    with np.errstate(all="ignore"):
        found = eval(expression, {**NAMES, "float32": np.float32}, dict(VALUES))
    weak = {float: np.float32, complex: np.complex64, int: np.int64, bool: np.bool_}
    return weak.get(type(found), type(found))(found)


def test_answers_and_types_are_numpys():
    for expression in listed(SAME_AS_NUMPY):
        wanted = numpys(expression)
        kind, wide = type_of(expression)
        assert (kind, wide) == (str(wanted.dtype), []), expression
        found = interpreted(expression, wanted.dtype)
        assert np.allclose(found, wanted, rtol=4e-7), (expression, found, wanted)


def interpreted(expression, dtype):
    out = np.zeros(1, dtype)
    function = function_of(expression)
    inner = DeviceFunction(function)
    kinds = dict.fromkeys(KINDS, 0) | VALUES
    arguments = [np.dtype(KINDS[name].numpy).type(value) for name, value in kinds.items()]

    def kernel(out, arguments):
        out[0] = inner(*arguments)

    launch(kernel, 1, 1, out, tuple(arguments), options=NARROW)
    return out[0]


# ---- random expressions


def trees(leaves):
    def grow(inner):
        return st.one_of(
            st.tuples(st.sampled_from(["+", "-", "*", "/"]), inner, inner),
            st.tuples(st.just("neg"), inner),
            st.tuples(st.just("max"), inner, inner),
            st.tuples(st.just("if"), inner, inner, inner),
        )

    return st.recursive(leaves, grow, max_leaves=8)


LEAVES = (
    st.sampled_from(["a", "b", "k"])
    | st.floats(-100, 100, width=64).map(lambda number: number + 0.0)
    | st.integers(-20, 20)  # eight of them do not overflow
)


def shown(tree):
    """A tree as Python."""
    if not isinstance(tree, tuple):
        return f"({tree!r})" if not isinstance(tree, str) else tree
    kind, *parts = tree[0], *map(shown, tree[1:])
    if kind == "neg":
        return f"(-{parts[0]})"
    if kind == "max":
        return f"max(np.float32({parts[0]}), np.float32({parts[1]}))"
    if kind == "if":
        return f"({parts[0]} if {parts[1]} > 0.1 else {parts[2]})"
    return f"({parts[0]} {kind} {parts[1]})"


def larger(a, b):
    """``max`` of two floats in the dialect: NaN loses, and -0.0 is below 0.0."""
    return max(a, b, key=lambda side: -math.copysign(1, -side)) if a == b else np.fmax(a, b)


def valued(tree, names):
    """Its value by the rule: an operation with a float in it, and a division, is one on float32."""
    if isinstance(tree, str):
        return names[tree]
    if isinstance(tree, float):
        return np.float32(tree)
    if isinstance(tree, int):
        return tree
    kind, parts = tree[0], [valued(part, names) for part in tree[1:]]
    single = np.float32
    if kind == "neg":
        return -parts[0]
    if kind == "max":
        return larger(*map(single, parts))
    if kind == "if":
        chosen = parts[0] if single(parts[1]) > single(0.1) else parts[2]
        mixed = any(isinstance(parts[at], np.floating) for at in (0, 2))
        return single(chosen) if mixed else chosen
    floats = kind == "/" or any(isinstance(part, np.floating) for part in parts)
    a, b = (single(part) if floats else part for part in parts)
    if kind == "/":
        return a / b
    return a + b if kind == "+" else a - b if kind == "-" else a * b


def constant(tree):
    """Whether a part of a tree that is more than a leaf has no name in it: Python folds it."""
    if not isinstance(tree, tuple):
        return False
    return not names_in(tree) or any(constant(part) for part in tree[1:])


def names_in(tree):
    if isinstance(tree, tuple):
        return any(names_in(part) for part in tree[1:])
    return isinstance(tree, str)


@settings(max_examples=examples(60, 2000), deadline=None)
@given(
    trees(LEAVES).filter(lambda tree: not constant(tree)),
    st.floats(-100, 100, width=32),
    st.floats(-100, 100, width=32),
    st.integers(-50, 50),
)
def test_random_expressions(tree, a, b, k):
    kernel = kernel_of(shown(tree).replace("k", "c"))
    kernel.__globals__["np"] = np
    arguments = np.float32(a), np.float32(b), np.int32(k)
    with np.errstate(all="ignore"):
        wanted = np.float32(valued(tree, {"a": arguments[0], "b": arguments[1], "k": k}))
    out = np.zeros(1, np.float32)
    module, _ = launch(kernel, 1, 1, out, *arguments, options=NARROW)
    assert doubles(module) == []
    assert np.array_equal(out[0], wanted, equal_nan=True), shown(tree)


# ---- statements


def test_variables_of_branches_and_loops():
    def kernel(out, x, n):
        total = 0.0
        for i in range(n):
            total += x[i] * 0.5
        scale = 1
        if n > 3:
            scale = 0.25
        while total > 1e6:
            total /= 10
        out[0] = total * scale

    out, x = np.zeros(1, np.float32), np.arange(8, dtype=np.float32)
    module, _ = launch(kernel, 1, 1, out, x, 8, options=NARROW)
    assert doubles(module) == [] and out[0] == 3.5
    assert doubles(module_of(kernel, out, x, 8, options=WIDE))


def test_a_float64_array_stays():
    def kernel(out, x):
        total = 0.0
        for i in range(x.size):
            total += x[i]
        out[0] = total

    out, x = np.zeros(1), np.full(10, 0.1)
    launch(kernel, 1, 1, out, x, options=NARROW)
    assert out[0] == functools.reduce(operator.add, x.tolist())  # sum() is exact from 3.12 on


def test_local_arrays_have_the_type_that_they_say():
    def kernel(out, n):
        wide, own = cuda.local.array(1, np.float64), cuda.local.array(1, float)
        wide[0] = 1 / 3
        own[0] = wide[0]
        out[0] = own[0]
        wide[0] = n / 3
        out[1] = wide[0]

    out = np.zeros(2)
    launch(kernel, 1, 1, out, 1, options=NARROW)
    assert out.tolist() == [1 / 3, np.float32(1) / np.float32(3)]


def test_a_number_beside_float64_has_all_its_digits():
    """As in NumPy, where a Python float is of the type that it meets."""

    def kernel(out, d, k, z):
        x, total, number = 0.1, 0.1, np.float64(1e300)
        for _ in range(1):
            total += d
        out[0] = d * x
        out[1] = total
        out[2] = np.float64(0.1)
        out[3] = number
        out[4] = d == 0.1
        out[5] = min(d, HALF / 5, PAIR[0]) + math.pi
        out[6] = x if k else d
        out[7] = (z * 0.1j).imag
        out[8] = 0.1
        out[8] += 1e-17
        out[9] = np.float32(x)
        out[10] = x * np.float32(3)

    d, z = np.float64(0.1), np.complex128(0.1)
    out = np.zeros(11)
    launch(kernel, 1, 1, out, 0.1, 1, 0.1 + 0j, options=NARROW)
    single = np.float32(0.1)
    wanted = [d * 0.1, 0.1 + d, 0.1, 1e300, 1, min(d, 0.25) + math.pi, 0.1, (z * 0.1j).imag]
    assert out.tolist() == [*wanted, 0.1 + 1e-17, single, single * np.float32(3)]


# ---- device functions


@pytest.mark.parametrize("caller", ["float32", "float64"])
@pytest.mark.parametrize("own", [None, "float32", "float64"])
def test_a_device_function_follows_its_caller(caller, own):
    def third(n, scale=0.1):
        return n / 3 + scale

    inner = DeviceFunction(third, floats=own)

    def middle(n):
        return inner(n)

    outer = DeviceFunction(middle)

    def kernel(out, n):
        out[0] = outer(n)

    out = np.zeros(1)
    launch(kernel, 1, 1, out, 1, options=KernelOptions(floats=caller, fma=False))
    kind = np.dtype(own or caller).type
    assert out[0] == kind(1) / kind(3) + kind(0.1)


def test_one_device_function_for_two_callers_with_floats_of_their_own():
    def third(n):
        return n / 3

    shared = DeviceFunction(third)
    narrow = DeviceFunction(lambda n: shared(n), floats="float32")
    wide = DeviceFunction(lambda n: shared(n), floats="float64")

    def kernel(out, n):
        out[0] = narrow(n)
        out[1] = wide(n)

    for floats in ("float32", "float64"):
        out = np.zeros(2)
        launch(kernel, 1, 1, out, 1, options=KernelOptions(floats=floats))
        assert out.tolist() == [np.float32(1) / np.float32(3), 1 / 3]


def test_the_random_numbers_of_cuda_are_the_same():
    from gridlane.cuda import random

    state = np.zeros(1, random.xoroshiro128p_dtype)
    names = [
        f"xoroshiro128p_{kind}_float{bits}" for kind in ("uniform", "normal") for bits in (32, 64)
    ]
    found = {}
    for options in (NARROW, WIDE):
        for name in names:
            state["s0"], state["s1"] = 12345, 67890
            out = np.zeros(1)
            launch(kernel_calling(getattr(random, name)), 1, 1, out, state, options=options)
            found.setdefault(name, []).append(out[0])
    assert all(one == other for one, other in found.values()), found


def kernel_calling(draw):
    def kernel(out, state):
        out[0] = draw(state, 0)

    return kernel

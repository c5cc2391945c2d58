"""The interpreter's arithmetic against Python's integers and fractions."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.devices import bits, run_on
from tests.interp import oracle

from gridlane.conformance.cases import over
from gridlane.conformance.special import grid_of, special
from gridlane.core import dtypes
from gridlane.core.dtypes import ALL, FLOATS, INTEGERS, b1, i8, i32, u8, u64
from gridlane.interp.arith import cast, exact_fma
from gridlane.interp.values import narrowed
from gridlane.ir.op import REGISTRY
from gridlane.ir.ops import arith
from gridlane.ir.ops import math as math_ops


def results(op: str, types, columns, make=None) -> list[np.ndarray]:
    """What the interpreter gives for an op on columns."""
    cls = make or REGISTRY[op]
    case = over(op, "", types, columns, lambda b, *values: b.emit(cls(*values)).results)
    outcome = run_on("interp", case.module, case.grid, case.block, case.arrays)
    return outcome.arrays[len(columns) :]


def same(got: np.ndarray, wanted: list, columns) -> None:
    """Bit for bit."""
    expected = np.array(wanted).astype(got.dtype) if got.dtype.kind in "fV" else None
    if expected is None:
        expected = np.array(wanted, dtype=got.dtype)
    for at in np.flatnonzero(bits(got) != bits(expected)):
        operands = [column[at] for column in columns]
        raise AssertionError(f"{operands}: {got[at]!r}, not {expected[at]!r}")


def python(column: np.ndarray) -> list:
    """Elements as Python's bool, int or float."""
    return column.astype(np.float64).tolist() if column.dtype.kind in "fV" else column.tolist()


def rows(columns) -> list[tuple]:
    return list(zip(*map(python, columns), strict=True))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", oracle.INTEGER_BINARY)
def test_integer_binary(op, dtype):
    columns = grid_of(special(dtype), special(dtype))
    (got,) = results(op, [dtype, dtype], columns)
    function = oracle.INTEGER_BINARY[op]
    same(got, [dtype.wrap(function(a, b, dtype)) for a, b in rows(columns)], columns)


@pytest.mark.parametrize("op", ["and", "or", "xor"])
def test_bool_binary(op):
    columns = grid_of(special(b1), special(b1))
    (got,) = results(op, [b1, b1], columns)
    same(got, [oracle.INTEGER_BINARY[op](a, b, b1) for a, b in rows(columns)], columns)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", oracle.FLOAT_BINARY)
def test_float_binary(op, dtype):
    columns = grid_of(special(dtype), special(dtype))
    (got,) = results(op, [dtype, dtype], columns)
    function = oracle.FLOAT_BINARY[op]
    same(got, [function(a, b, dtype) for a, b in rows(columns)], columns)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", oracle.INTEGER_UNARY)
def test_integer_unary(op, dtype):
    columns = [special(dtype, 30)]
    (got,) = results(op, [dtype], columns)
    same(got, [dtype.wrap(oracle.INTEGER_UNARY[op](a, dtype)) for (a,) in rows(columns)], columns)


def test_bool_not():
    (got,) = results("not", [b1], [special(b1)])
    assert got.tolist() == [True, False]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", oracle.FLOAT_UNARY)
def test_float_unary(op, dtype):
    columns = [special(dtype, 30)]
    (got,) = results(op, [dtype], columns)
    same(got, [oracle.FLOAT_UNARY[op](a) for (a,) in rows(columns)], columns)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sqrt(dtype):
    columns = [special(dtype, 30)]
    (got,) = results("sqrt", [dtype], columns)
    same(got, [oracle.sqrt(a, dtype) for (a,) in rows(columns)], columns)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("amount", [i8, u8, i32, u64], ids=str)
@pytest.mark.parametrize("op", ["shl", "shr"])
def test_shift(op, amount, dtype):
    columns = grid_of(special(dtype), special(amount))
    (got,) = results(op, [dtype, amount], columns)
    function = getattr(oracle, op)
    wanted = [function(a, b % (1 << amount.bits), dtype) for a, b in rows(columns)]
    same(got, wanted, columns)


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("op", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_compare(op, dtype):
    if dtype is b1 and op not in ("eq", "ne"):
        return
    columns = grid_of(special(dtype), special(dtype))
    (got,) = results(op, [dtype, dtype], columns)
    same(got, [getattr(operator, op)(a, b) for a, b in rows(columns)], columns)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_select(dtype):
    columns = grid_of(special(b1), special(dtype)[:5], special(dtype)[-5:])
    (got,) = results("select", [b1, dtype, dtype], columns)
    same(got, [a if c else b for c, a, b in rows(columns)], columns)


@pytest.mark.parametrize("target", ALL, ids=str)
@pytest.mark.parametrize("source", ALL, ids=str)
def test_cast(source, target):
    columns = [special(source, 60)]
    (got,) = results("cast", [source], columns, lambda value: arith.Cast(value, target))
    same(got, [oracle.cast(a, source, target) for (a,) in rows(columns)], columns)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_fma(dtype):
    columns = grid_of(special(dtype, 3), special(dtype, 3), special(dtype, 3))
    (got,) = results("fma", [dtype] * 3, columns)
    same(got, [oracle.fma(a, b, c, dtype) for a, b, c in rows(columns)], columns)


@given(*[st.floats(width=64)] * 3)
@settings(max_examples=300, deadline=None)
def test_exact_fma(a, b, c):
    got, wanted = exact_fma(a, b, c), oracle.fma(a, b, c, dtypes.f64)
    assert repr(got) == repr(wanted) or (math.isnan(got) and math.isnan(wanted))


@pytest.mark.parametrize("dtype", [dtypes.f16, dtypes.bf16], ids=str)
@given(value=st.floats(width=64))
@settings(max_examples=300, deadline=None)
def test_narrowing_rounds_once(dtype, value):
    with np.errstate(all="ignore"):
        got = float(narrowed(np.array([value]), dtype.numpy)[0])
    wanted = oracle.cast(value, dtypes.f64, dtype)
    assert repr(got) == repr(wanted) or (math.isnan(got) and math.isnan(wanted))


@given(st.integers(-(2**63), 2**64 - 1), st.sampled_from(FLOATS))
@settings(max_examples=500, deadline=None)
def test_integer_to_float_rounds_once(value, target):
    source = dtypes.i64 if value < 2**63 else u64
    with np.errstate(all="ignore"):
        got = float(cast(np.array([value], source.numpy), target.numpy)[0])
    assert got == oracle.cast(value, source, target)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_ldexp(dtype):
    exponents = np.array([-(2**31), -2000, -1074, -130, -20, -1, 0, 1, 20, 1030, 2**31 - 1], "i4")
    columns = grid_of(special(dtype), exponents)
    (got,) = results("ldexp", [dtype, i32], columns)

    def exact(a, e):
        clipped = max(-5000, min(5000, e))
        return oracle.rounded(oracle.Fraction(a) * oracle.Fraction(2) ** clipped, dtype, a)

    wanted = [exact(a, e) if math.isfinite(a) else a for a, e in rows(columns)]
    # A result that underflows keeps the sign of the operand.
    wanted = [math.copysign(w, a) for w, (a, _) in zip(wanted, rows(columns), strict=True)]
    same(got, wanted, columns)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_frexp(dtype):
    columns = [special(dtype, 30)]
    fraction, exponent = results("frexp", [dtype], columns)
    wanted = [math.frexp(a) if math.isfinite(a) else (a, 0) for (a,) in rows(columns)]
    same(fraction, [f for f, _ in wanted], columns)
    same(exponent, [e for _, e in wanted], columns)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nextafter(dtype):
    columns = grid_of(special(dtype), special(dtype))
    (got,) = results("nextafter", [dtype, dtype], columns)
    unsigned = f"u{dtype.size}"

    def order(x):
        return int(x) if not int(x) >> (dtype.bits - 1) else (1 << (dtype.bits - 1)) - int(x)

    for g, a, b in zip(got, *columns, strict=True):
        if math.isnan(float(a)) or math.isnan(float(b)):
            assert math.isnan(float(g))
            continue
        start, end, stop = (order(x.view(unsigned)) for x in (a, b, g))
        step = (float(b) > float(a)) - (float(b) < float(a))
        assert stop == (start + step if step else end), (a, b, g)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_copysign(dtype):
    columns = grid_of(special(dtype), special(dtype))
    (got,) = results("copysign", [dtype, dtype], columns)
    wanted = [math.copysign(a, b) for a, b in rows(columns)]
    same(got, wanted, columns)


INEXACT = {
    "rsqrt": lambda a: 1 / math.sqrt(a),
    "cbrt": math.cbrt,
    "exp": math.exp,
    "exp2": lambda a: 2.0**a,
    "exp10": lambda a: 10.0**a,
    "expm1": math.expm1,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "log1p": math.log1p,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": math.acosh,
    "atanh": math.atanh,
    "erf": math.erf,
    "erfc": math.erfc,
    "tgamma": math.gamma,
    "lgamma": math.lgamma,
    "pow": math.pow,
    "atan2": math.atan2,
    "hypot": math.hypot,
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", INEXACT)
def test_inexact(op, dtype):
    """Near what Python's math module says, where that has an answer."""
    count = 2 if issubclass(REGISTRY[op], math_ops.MathBinary) else 1
    columns = grid_of(*[special(dtype, 12)] * count)
    (got,) = results(op, [dtype] * count, columns)
    checked = 0
    for value, row in zip(python(got), rows(columns), strict=True):
        try:
            wanted = INEXACT[op](*row)
        except (ValueError, OverflowError, ZeroDivisionError):
            continue
        checked += 1
        wanted = oracle.cast(wanted, dtypes.f64, dtype)
        wide = dtype.name == "f64"
        relative = 4e-16 if wide else 0
        if wide and op == "lgamma":  # Python's cancels near its zeros
            relative = 1e-13 if abs(wanted) > 0.01 else 1
        close = math.isclose(value, wanted, rel_tol=relative)
        assert close or (math.isnan(value) and math.isnan(wanted)), (row, value, wanted)
    assert checked > 5


SPECIAL = [
    ("log", -1.0, math.nan),
    ("log", 0.0, -math.inf),
    ("log2", -0.0, -math.inf),
    ("log10", math.inf, math.inf),
    ("log1p", -1.0, -math.inf),
    ("exp", 1e4, math.inf),
    ("exp", -math.inf, 0.0),
    ("exp10", 400.0, math.inf),
    ("exp10", -400.0, 0.0),
    ("exp2", 1e5, math.inf),
    ("rsqrt", 0.0, math.inf),
    ("rsqrt", -0.0, -math.inf),
    ("rsqrt", math.inf, 0.0),
    ("rsqrt", -1.0, math.nan),
    ("sin", math.inf, math.nan),
    ("acos", 1.5, math.nan),
    ("acosh", 0.5, math.nan),
    ("atanh", 1.0, math.inf),
    ("atanh", -1.0, -math.inf),
    ("cosh", -1e4, math.inf),
    ("sinh", -1e4, -math.inf),
    ("tgamma", 0.0, math.inf),
    ("tgamma", -0.0, -math.inf),
    ("tgamma", -3.0, math.nan),
    ("tgamma", -math.inf, math.nan),
    ("tgamma", 1e3, math.inf),
    ("lgamma", -3.0, math.inf),
    ("lgamma", 0.0, math.inf),
]


@pytest.mark.parametrize(("op", "value", "wanted"), SPECIAL)
def test_special_cases_are_those_of_c(op, value, wanted):
    column = np.array([value])
    (got,) = results(op, [dtypes.f64], [column])
    assert repr(float(got[0])) == repr(wanted)


POWERS = [
    (0.0, -1.0, math.inf),
    (-0.0, -1.0, -math.inf),
    (-0.0, -2.0, math.inf),
    (-8.0, 1 / 3, math.nan),
    (-2.0, 3.0, -8.0),
    (math.nan, 0.0, 1.0),
    (1.0, math.nan, 1.0),
    (-1.0, math.inf, 1.0),
    (10.0, 400.0, math.inf),
    (-10.0, 401.0, -math.inf),
]


@pytest.mark.parametrize(("base", "exponent", "wanted"), POWERS)
def test_powers_are_those_of_c(base, exponent, wanted):
    (got,) = results("pow", [dtypes.f64] * 2, [np.array([base]), np.array([exponent])])
    assert repr(float(got[0])) == repr(wanted)

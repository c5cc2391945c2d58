"""The functions of ``math``."""

from __future__ import annotations

import math
from collections.abc import Callable

from gridlane.core.dtypes import DType, b1, f16, f32, f64, i32, i64
from gridlane.frontends.python import promotion
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.conversion import cast_scalar, integer, scalar
from gridlane.frontends.python.operands import ComplexNumber, Operand, Scalar, TupleOperand
from gridlane.frontends.python.power import float_power
from gridlane.frontends.python.translator import Translator
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.ir.ops import math as ops
from gridlane.ir.values import Value

UNARY: dict[str, type[Op]] = {
    **{name: getattr(ops, name.capitalize()) for name in ("sqrt", "exp", "expm1", "log", "log2")},
    **{name: getattr(ops, name.capitalize()) for name in ("log10", "log1p", "sin", "cos", "tan")},
    **{name: getattr(ops, name.capitalize()) for name in ("asin", "acos", "atan", "sinh", "cosh")},
    **{name: getattr(ops, name.capitalize()) for name in ("tanh", "asinh", "acosh", "atanh")},
    **{name: getattr(ops, name.capitalize()) for name in ("erf", "erfc", "lgamma", "cbrt", "exp2")},
    "gamma": ops.Tgamma,
    "fabs": arith.Abs,
}
"""Functions of one float by their name in ``math``: float32 stays, others become float64."""

BINARY: dict[str, type[Op]] = {
    "atan2": ops.Atan2,
    "hypot": ops.Hypot,
    "copysign": ops.Copysign,
    "fmod": arith.Rem,
    "nextafter": ops.Nextafter,
}


OF_HALVES = {"cos", "exp", "exp2", "fabs", "log", "log10", "log2", "sin", "sqrt", "tanh"}
"""Those of them that compute on float16 in float16; the others do in float32."""

Rule = Callable[[DType, DType], DType]
FloatRule = Callable[[DType], DType]


def float_operand(
    t: Translator,
    x: Operand,
    rule: FloatRule = promotion.floating_without_half,
) -> Scalar:
    """A number in the float type that a rule computes in."""
    number = scalar(t, x)
    return cast_scalar(t, number, t.promoted(rule, number.dtype))


def float_operands(
    t: Translator, x: Operand, y: Operand, rule: Rule = promotion.math_pair
) -> tuple[Value, Value, DType]:
    """Two numbers in their common float type."""
    a, b = scalar(t, x), scalar(t, y)
    dtype = t.promoted(rule, a.dtype, b.dtype)
    return t.b.cast(a.value, dtype), t.b.cast(b.value, dtype), dtype


def _register() -> None:
    for name, op in UNARY.items():
        target = getattr(math, name, None)
        if target is None:
            continue

        rule = promotion.floating if name in OF_HALVES else promotion.floating_without_half

        def one(t: Translator, x: Operand, op: type[Op] = op, rule: FloatRule = rule) -> Operand:
            return Scalar(t.b.unary(op, float_operand(t, x, rule).value))

        register((target,), f"math.{name}", one, "x")
    for name, op in BINARY.items():
        target = getattr(math, name)

        rule = promotion.math_floats if name in ("atan2", "hypot") else promotion.math_pair

        def two(
            t: Translator, x: Operand, y: Operand, op: type[Op] = op, rule: Rule = rule
        ) -> Operand:
            a, b, _ = float_operands(t, x, y, rule)
            return Scalar(t.b.binary(op, a, b))

        register((target,), f"math.{name}", two, "x, y")


_register()


def _rounded(t: Translator, x: Operand, op: type[Op]) -> Operand:
    """A float of the operand's type, float64 of an integer, as in numba; an integer by the option
    ``integral``."""
    given = scalar(t, x)
    if t.unit.options.integral and given.dtype.is_integer:
        return given
    number = float_operand(t, x, promotion.floating)
    if not given.dtype.is_float:
        return number
    rounded = t.b.unary(op, number.value)
    kind = {f32: i32, f64: i64}.get(number.dtype) if t.unit.options.integral else None
    return Scalar(rounded if kind is None else t.b.cast(rounded, kind))


register((math.floor,), "math.floor", lambda t, x: _rounded(t, x, ops.Floor), "x")
register((math.ceil,), "math.ceil", lambda t, x: _rounded(t, x, ops.Ceil), "x")
register((math.trunc,), "math.trunc", lambda t, x: _rounded(t, x, ops.Trunc), "x")


@handles(math.pow, params="x, y")
def _pow(t: Translator, x: Operand, y: Operand) -> Operand:
    base, exponent = scalar(t, x), scalar(t, y)
    dtype = t.promoted(promotion.math_power, base.dtype, exponent.dtype)
    return Scalar(float_power(t, t.b.cast(base.value, dtype), exponent))


# ---- classification


def is_nan(t: Translator, x: Operand) -> Value:
    """Whether a number is NaN."""
    if isinstance(x, ComplexNumber):
        return t.b.or_(is_nan(t, Scalar(x.real)), is_nan(t, Scalar(x.imag)))
    number = scalar(t, x)
    if not number.dtype.is_float:
        return t.b.const(False, b1)
    return _exact(t, arith.Ne, number.value, number.value)


def is_infinite(t: Translator, x: Operand) -> Value:
    """Whether a number is an infinity."""
    if isinstance(x, ComplexNumber):
        return t.b.or_(is_infinite(t, Scalar(x.real)), is_infinite(t, Scalar(x.imag)))
    number = scalar(t, x)
    if not number.dtype.is_float:
        return t.b.const(False, b1)
    size = t.b.unary(arith.Abs, number.value)
    return _exact(t, arith.Eq, size, t.b.const(math.inf, number.dtype))


def is_finite(t: Translator, x: Operand) -> Value:
    """Whether a number is neither NaN nor an infinity."""
    return t.b.not_(t.b.or_(is_nan(t, x), is_infinite(t, x)))


def _exact(t: Translator, op: type[Op], lhs: Value, rhs: Value) -> Value:
    """A comparison without fast-math, which would assume that there is no NaN or infinity."""
    return t.b.value(op(lhs, rhs))  # type: ignore[call-arg]  # a Compare


for _target, _test in ((math.isnan, is_nan), (math.isinf, is_infinite), (math.isfinite, is_finite)):
    register(
        (_target,),
        f"math.{_target.__name__}",
        lambda t, x, test=_test: Scalar(test(t, x)),
        "x",
    )


# ---- the rest


@handles(math.degrees, params="x")
def degrees(t: Translator, x: Operand) -> Operand:
    """Radians to degrees."""
    number = float_operand(t, x)
    return Scalar(t.b.mul(number.value, t.b.const(180 / math.pi, number.dtype)))


@handles(math.radians, params="x")
def radians(t: Translator, x: Operand) -> Operand:
    """Degrees to radians."""
    number = float_operand(t, x)
    return Scalar(t.b.mul(number.value, t.b.const(math.pi / 180, number.dtype)))


@handles(math.modf, params="x")
def _modf(t: Translator, x: Operand) -> Operand:
    """(fraction, whole), both with the sign of x; of an infinity (0, inf)."""
    half = scalar(t, x).dtype is f16
    number, b = float_operand(t, x, promotion.widest if half else promotion.floating), t.b
    whole = b.unary(ops.Trunc, number.value)
    fraction = b.sub(number.value, whole)
    fraction = b.select(is_infinite(t, number), b.const(0.0, number.dtype), fraction)
    signed = b.binary(ops.Copysign, fraction, number.value)
    return TupleOperand((Scalar(signed), Scalar(whole)))


@handles(math.frexp, params="x")
def _frexp(t: Translator, x: Operand) -> Operand:
    op = t.b.emit(ops.Frexp(float_operand(t, x, promotion.math_narrow).value))
    return TupleOperand((Scalar(op.results[0]), Scalar(op.results[1])))


@handles(math.ldexp, params="x, i")
def _ldexp(t: Translator, x: Operand, i: Operand) -> Operand:
    """The exponent is taken as int32; larger ones saturate."""
    exponent = integer(t, i, "an integer exponent")
    value = exponent.value
    if exponent.dtype.bits > 32:
        b, kind = t.b, exponent.dtype
        value = b.binary(arith.Min, value, b.const(1 << 20, kind))
        if kind.is_signed:
            value = b.binary(arith.Max, value, b.const(-(1 << 20), kind))
    base = float_operand(t, x, promotion.math_narrow)
    return Scalar(t.b.value(ops.Ldexp(base.value, t.b.cast(value, i32))))


@handles(math.remainder, params="x, y")
def _remainder(t: Translator, x: Operand, y: Operand) -> Operand:
    """IEEE 754's remainder: x less the nearest multiple of y, ties to the even one; exact, with the
    sign of x where it is 0. The fmod by 2y determines on which side of the multiples x is."""
    a, c, dtype = float_operands(t, x, y)
    b = t.b
    size, step = b.unary(arith.Abs, a), b.unary(arith.Abs, c)
    rest = b.rem(size, step)
    twice = b.rem(size, b.add(step, step))
    odd = b.binary(arith.Ge, twice, step)
    other = b.sub(step, rest)
    nearer = b.lt(other, rest)
    tie = b.and_(b.eq(other, rest), odd)
    remainder = b.select(b.or_(nearer, tie), b.neg(other), rest)
    sign = b.binary(ops.Copysign, b.const(1.0, dtype), a)
    remainder = b.mul(remainder, sign)
    remainder = b.select(is_infinite(t, Scalar(c)), a, remainder)
    nan = b.const(math.nan, dtype)
    bad = b.or_(is_infinite(t, Scalar(a)), is_nan(t, Scalar(c)))
    return Scalar(b.select(bad, nan, remainder))


@handles(math.gcd, params="x, y")
def _gcd(t: Translator, x: Operand, y: Operand) -> Operand:
    """Euclid's loop, on magnitudes."""
    a, c = integer(t, x), integer(t, y)
    dtype = promotion.integer(a.dtype, c.dtype)
    b = t.b
    first, second = b.variable("gcd", dtype), b.variable("rest", dtype)
    for var, number in ((first, a), (second, c)):
        value = b.cast(number.value, dtype)
        b.write(var, b.unary(arith.Abs, value) if dtype.is_signed else value)
    with b.loop():
        rest = b.read(second)
        b.break_if(b.eq(rest, b.const(0, dtype)))
        previous = b.read(first)
        b.write(first, rest)
        b.write(second, b.rem(previous, rest))
    return Scalar(b.read(first), 0, dtype.max)

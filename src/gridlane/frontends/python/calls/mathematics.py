"""The functions of ``math`` and of ``cmath`` that kernels may call."""

from __future__ import annotations

import cmath
import math
from typing import TYPE_CHECKING

from gridlane.core.dtypes import DType, b1, i32, i64
from gridlane.core.errors import TypingError
from gridlane.frontends.python import complexes, promotion
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.conversion import cast_scalar, integer, scalar, to_complex
from gridlane.frontends.python.operands import ComplexNumber, Operand, Scalar, TupleOperand
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.ir.ops import math as ops
from gridlane.ir.values import Value

if TYPE_CHECKING:
    from gridlane.frontends.python.translator import Translator

UNARY: dict[str, type[Op]] = {
    **{name: getattr(ops, name.capitalize()) for name in ("sqrt", "exp", "expm1", "log", "log2")},
    **{name: getattr(ops, name.capitalize()) for name in ("log10", "log1p", "sin", "cos", "tan")},
    **{name: getattr(ops, name.capitalize()) for name in ("asin", "acos", "atan", "sinh", "cosh")},
    **{name: getattr(ops, name.capitalize()) for name in ("tanh", "asinh", "acosh", "atanh")},
    **{name: getattr(ops, name.capitalize()) for name in ("erf", "erfc", "lgamma", "cbrt", "exp2")},
    "gamma": ops.Tgamma,
    "fabs": arith.Abs,
}
"""Functions of one float by their name in ``math``: float32 stays, the rest is float64."""

BINARY: dict[str, type[Op]] = {
    "atan2": ops.Atan2,
    "hypot": ops.Hypot,
    "copysign": ops.Copysign,
    "fmod": arith.Rem,
    "nextafter": ops.Nextafter,
}


def float_operand(t: Translator, x: Operand) -> Scalar:
    """A number in the float type that ``math`` computes in."""
    number = scalar(t, x)
    return cast_scalar(t, number, promotion.floating(number.dtype))


def float_operands(t: Translator, x: Operand, y: Operand) -> tuple[Value, Value, DType]:
    """Two numbers in their common float type."""
    a, b = scalar(t, x), scalar(t, y)
    dtype = promotion.floating(promotion.arithmetic(a.dtype, b.dtype))
    return t.b.cast(a.value, dtype), t.b.cast(b.value, dtype), dtype


def _register() -> None:
    for name, op in UNARY.items():
        target = getattr(math, name, None)
        if target is None:
            continue

        def one(t: Translator, x: Operand, op=op) -> Operand:  # type: ignore[no-untyped-def]
            return Scalar(t.b.unary(op, float_operand(t, x).value))

        register((target,), f"math.{name}", one, "x")
    for name, op in BINARY.items():
        target = getattr(math, name)

        def two(t: Translator, x: Operand, y: Operand, op=op) -> Operand:  # type: ignore
            a, b, _ = float_operands(t, x, y)
            return Scalar(t.b.binary(op, a, b))

        register((target,), f"math.{name}", two, "x, y")


_register()


def _rounded(t: Translator, x: Operand, op: type[Op]) -> Operand:
    """To int64, as Python's math.floor, ceil and trunc."""
    number = scalar(t, x)
    if not number.dtype.is_float:
        return cast_scalar(t, number, i64)
    return Scalar(t.b.cast(t.b.unary(op, number.value), i64))


register((math.floor,), "math.floor", lambda t, x: _rounded(t, x, ops.Floor), "x")
register((math.ceil,), "math.ceil", lambda t, x: _rounded(t, x, ops.Ceil), "x")
register((math.trunc,), "math.trunc", lambda t, x: _rounded(t, x, ops.Trunc), "x")


@handles(math.pow, params="x, y")
def _pow(t: Translator, x: Operand, y: Operand) -> Operand:
    """An integer exponent keeps the type of a float base."""
    base, exponent = scalar(t, x), scalar(t, y)
    dtype = promotion.floating(promotion.power(base.dtype, exponent.dtype))
    a, b = t.b.cast(base.value, dtype), t.b.cast(exponent.value, dtype)
    return Scalar(t.b.binary(ops.Pow, a, b))


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
    number, b = float_operand(t, x), t.b
    whole = b.unary(ops.Trunc, number.value)
    fraction = b.sub(number.value, whole)
    fraction = b.select(is_infinite(t, number), b.const(0.0, number.dtype), fraction)
    signed = b.binary(ops.Copysign, fraction, number.value)
    return TupleOperand((Scalar(signed), Scalar(whole)))


@handles(math.frexp, params="x")
def _frexp(t: Translator, x: Operand) -> Operand:
    op = t.b.emit(ops.Frexp(float_operand(t, x).value))
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
    return Scalar(t.b.value(ops.Ldexp(float_operand(t, x).value, t.b.cast(value, i32))))


@handles(math.gcd, params="x, y")
def _gcd(t: Translator, x: Operand, y: Operand) -> Operand:
    raise t.fail(TypingError, "math.gcd cannot be compiled; write Euclid's loop")


# ---- cmath


def _complex(t: Translator, x: Operand) -> ComplexNumber:
    if isinstance(x, ComplexNumber):
        return x
    number = scalar(t, x)
    return to_complex(t, number, promotion.numpy_floating(number.dtype))


_CMATH = {
    cmath.exp: complexes.exponential,
    cmath.log: complexes.logarithm,
    cmath.sqrt: complexes.square_root,
    cmath.phase: complexes.phase,
}
for _target, _emit in _CMATH.items():
    register(
        (_target,),
        f"cmath.{_target.__name__}",
        lambda t, x, emit=_emit: emit(t, _complex(t, x)),
        "x",
    )
for _target, _test in ((cmath.isnan, is_nan), (cmath.isinf, is_infinite)):
    register(
        (_target,), f"cmath.{_target.__name__}", lambda t, x, test=_test: Scalar(test(t, x)), "x"
    )


@handles(cmath.isfinite, params="x")
def _complex_isfinite(t: Translator, x: Operand) -> Operand:
    return Scalar(is_finite(t, x))


@handles(cmath.polar, params="x")
def _polar(t: Translator, x: Operand) -> Operand:
    number = _complex(t, x)
    return TupleOperand((complexes.magnitude(t, number), complexes.phase(t, number)))


@handles(cmath.rect, params="r, phi")
def _rect(t: Translator, r: Operand, phi: Operand) -> Operand:
    radius, angle, _ = float_operands(t, r, phi)
    return complexes.polar(t, radius, angle)

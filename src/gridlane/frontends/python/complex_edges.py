"""Values of the complex functions at zeros, infinities and NaN.

They are those of annex G of ISO C, as in CPython's cmath. Where cmath raises, a part whose value is
undefined is NaN.
"""

from __future__ import annotations

import math

from gridlane.core.dtypes import DType
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import arith
from gridlane.ir.ops import math as functions
from gridlane.ir.values import Value


def constant_of(t: Translator, number: float, like: Value) -> Value:
    """A constant of another value's type."""
    dtype: DType = like.type  # type: ignore[assignment]  # parts of complex numbers are scalars
    return t.b.const(number, dtype)


def is_nan(t: Translator, x: Value) -> Value:
    """Whether x is NaN. Compared without fast-math, which would assume that there is none."""
    return t.b.value(arith.Ne(x, x))


def is_infinite(t: Translator, x: Value) -> Value:
    """Whether x is an infinity. Compared without fast-math."""
    size = t.b.unary(arith.Abs, x)
    return t.b.value(arith.Eq(size, constant_of(t, math.inf, x)))


def is_zero(t: Translator, x: Value) -> Value:
    """Whether x is 0 of either sign."""
    return t.b.eq(x, constant_of(t, 0.0, x))


def like(t: Translator, size: float, sign: Value) -> Value:
    """A number with the sign of another; the undefined sign of a NaN is taken as +."""
    number = constant_of(t, size, sign)
    signed = t.b.binary(functions.Copysign, number, sign)
    return t.b.select(is_nan(t, sign), number, signed)


def product(t: Translator, a: Value, b: Value) -> Value:
    """a * b, where 0 times anything is 0: +0, if the sign would be a NaN's."""
    build, plain = t.b, t.b.mul(a, b)
    lost = build.and_(build.or_(is_zero(t, a), is_zero(t, b)), is_nan(t, plain))
    signed = build.mul(like(t, 1.0, a), like(t, 0.0, b))
    unknown = build.or_(is_nan(t, a), is_nan(t, b))
    return build.select(lost, build.select(unknown, constant_of(t, 0.0, a), signed), plain)


def scaled(t: Translator, size: Value, b: Value) -> Value:
    """size * b, where 0 times anything is 0. The size is not negative: a zero b keeps its sign."""
    build, plain = t.b, t.b.mul(size, b)
    zero = constant_of(t, 0.0, size)
    lost = build.and_(is_zero(t, size), is_nan(t, plain))
    return build.select(is_zero(t, b), b, build.select(lost, zero, plain))


def directed(t: Translator, x: Value, size: Value, b: Value) -> Value:
    """size * b, where size grows with x as e**x does: infinite with x, even if b is NaN."""
    lost = t.b.and_(is_infinite(t, x), is_nan(t, b))
    return t.b.select(lost, t.b.unary(arith.Abs, size), product(t, size, b))

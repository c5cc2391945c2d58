"""Values of the complex functions at zeros, infinities and NaN.

They are those of annex G of ISO C, as in CPython's cmath. Where cmath raises, a part whose value is
undefined is NaN.
"""

from __future__ import annotations

import math

from gridlane.core.dtypes import DType
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith
from gridlane.ir.ops import math as functions
from gridlane.ir.values import Value


def constant_of(b: Builder, number: float, like: Value) -> Value:
    """A constant of another value's type."""
    dtype: DType = like.type  # type: ignore[assignment]  # parts of complex numbers are scalars
    return b.const(number, dtype)


def is_nan(b: Builder, x: Value) -> Value:
    """Whether x is NaN. Compared without fast-math, which would assume that there is none."""
    return b.value(arith.Ne(x, x))


def is_infinite(b: Builder, x: Value) -> Value:
    """Whether x is an infinity. Compared without fast-math."""
    size = b.unary(arith.Abs, x)
    return b.value(arith.Eq(size, constant_of(b, math.inf, x)))


def is_zero(b: Builder, x: Value) -> Value:
    """Whether x is 0 of either sign."""
    return b.eq(x, constant_of(b, 0.0, x))


def like(b: Builder, size: float | Value, sign: Value) -> Value:
    """A positive number with the sign of another; the undefined sign of a NaN is taken as +."""
    number = size if isinstance(size, Value) else constant_of(b, size, sign)
    signed = b.binary(functions.Copysign, number, sign)
    return b.select(is_nan(b, sign), number, signed)


def product(b: Builder, x: Value, y: Value) -> Value:
    """x * y, where 0 times anything is 0: +0, if the sign would be a NaN's."""
    plain = b.mul(x, y)
    lost = b.and_(b.or_(is_zero(b, x), is_zero(b, y)), is_nan(b, plain))
    signed = b.mul(like(b, 1.0, x), like(b, 0.0, y))
    unknown = b.or_(is_nan(b, x), is_nan(b, y))
    return b.select(lost, b.select(unknown, constant_of(b, 0.0, x), signed), plain)


def scaled(b: Builder, size: Value, y: Value) -> Value:
    """size * y, where 0 times anything is 0. The size is not negative: a zero y keeps its sign."""
    plain = b.mul(size, y)
    zero = constant_of(b, 0.0, size)
    lost = b.and_(is_zero(b, size), is_nan(b, plain))
    return b.select(is_zero(b, y), y, b.select(lost, zero, plain))


def directed(b: Builder, x: Value, size: Value, y: Value) -> Value:
    """size * y, where size grows with x as e**x does: infinite with x, even if y is NaN."""
    lost = b.and_(is_infinite(b, x), is_nan(b, y))
    return b.select(lost, b.unary(arith.Abs, size), product(b, size, y))

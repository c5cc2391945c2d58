"""Quotients and roots of f32 rounded in a direction, by f64."""

from __future__ import annotations

from gridlane.core.dtypes import f32, f64, u32
from gridlane.ir.builder import Builder
from gridlane.ir.ops import math
from gridlane.ir.ops.arith import Ne
from gridlane.ir.ops.floating import Towards, neighbour_towards
from gridlane.ir.values import Value


def root(b: Builder, way: Towards, value: Value) -> Value:
    """A square root; its square is exact in f64."""
    result = b.unary(math.Sqrt, value)
    wide = b.cast(result, f64)
    error = b.sub(b.cast(value, f64), b.mul(wide, wide))
    return neighbour_towards(b, way, result, wide, error)


def quotient(b: Builder, way: Towards, first: Value, second: Value) -> Value:
    """A quotient of f64 that have the bits of f32, as an f32. The nearest one times the divisor is
    exact in f64: its comparison with the dividend determines the side of the quotient."""
    near = b.div(first, second)
    result = b.cast(near, f32)
    back = b.mul(b.cast(result, f64), second)
    rest = b.sub(first, back)  # its sign is right, as the two are close
    negative = b.lt(second, b.zero(f64))
    error = b.select(negative, b.neg(rest), rest)
    # An infinite or zero quotient of finite numbers is off by more than a comparison shows.
    plain = b.and_(_is_finite(b, result), b.binary(Ne, result, b.zero(f32)))
    error = b.select(plain, error, b.sub(near, b.cast(result, f64)))
    return neighbour_towards(b, way, result, near, error)


def _is_finite(b: Builder, value: Value) -> Value:
    bits = b.and_(b.bitcast(value, u32), b.const(0x7FFFFFFF, u32))
    return b.lt(bits, b.const(0x7F800000, u32))

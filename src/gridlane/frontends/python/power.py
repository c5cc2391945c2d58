"""``**``: constant integer exponents by multiplication, all others by loops or ``pow``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gridlane.core.dtypes import DType, b1, f32, i64, u64
from gridlane.core.errors import TypingError
from gridlane.frontends.python import complexes, promotion
from gridlane.frontends.python.conversion import cast_scalar
from gridlane.frontends.python.operands import ComplexNumber, Operand, Scalar
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import Builder, constant
from gridlane.ir.ops import arith, control, math
from gridlane.ir.values import Function, Param, Region, Value

Base = TypeVar("Base", Value, ComplexNumber)

MULTIPLIED = 0x10000
"""Constant exponents below this become multiplications, as in numba."""


def power(t: Translator, lhs: Operand, rhs: Operand) -> Operand:
    """lhs ** rhs."""
    if isinstance(lhs, ComplexNumber) or isinstance(rhs, ComplexNumber):
        return _complex_power(t, lhs, rhs)
    if not (isinstance(lhs, Scalar) and isinstance(rhs, Scalar)):
        raise t.fail(
            TypingError, f"** between {lhs.type_name} and {rhs.type_name}: it takes numbers"
        )
    exponent = constant(rhs.value)
    dtype = t.promoted(promotion.power, lhs.dtype, rhs.dtype)
    base = cast_scalar(t, lhs, dtype)
    if type(exponent) is int and abs(exponent) < MULTIPLIED:
        return _constant_power(t, base, exponent, dtype)
    if dtype.is_float:
        return Scalar(float_power(t, base.value, rhs))
    wide = cast_scalar(t, rhs, promotion.integer(rhs.dtype))
    return Scalar(_integer_power(t, base.value, wide.value))


def float_power(t: Translator, base: Value, exponent: Scalar) -> Value:
    """base ** exponent in the type of the base. An int32 may lose its low bits in float32, among
    them the one that decides the sign of the power of a negative base; a 64-bit exponent counts as
    the float that it converts to, as in C."""
    b, dtype, kind = t.b, base.type, exponent.dtype
    assert isinstance(dtype, DType)
    rounded = b.cast(exponent.value, dtype)
    if dtype is not f32 or not kind.is_integer or kind.bits != 32:
        return b.binary(math.Pow, base, rounded)
    size = b.binary(math.Pow, b.unary(arith.Abs, base), rounded)
    odd = b.cast(b.and_(exponent.value, b.const(1, kind)), b1)
    return b.select(odd, b.binary(math.Copysign, size, base), size)


def _constant_power(t: Translator, base: Scalar, exponent: int, dtype: DType) -> Scalar:
    if exponent < 0 and not dtype.is_float:
        return Scalar(_integer_power(t, base.value, t.b.const(exponent, i64)))
    if exponent == 0:
        return t.number(1, dtype)
    result = _squarings(base.value, abs(exponent), lambda x, y: t.b.mul(x, y))
    if exponent < 0:
        result = t.b.div(t.b.const(1.0, dtype), result)
    if exponent == 2 and dtype.is_integer and abs(base.lo) < 1 << 31 and abs(base.hi) < 1 << 31:
        return Scalar(result, 0, max(base.lo**2, base.hi**2))
    lo = 0 if dtype.is_signed and base.lo >= 0 else None
    return Scalar(result, lo, 1 << 80) if lo is not None else Scalar(result)


def _squarings(base: Base, exponent: int, multiply: Callable[[Base, Base], Base]) -> Base:
    """base ** exponent for a positive exponent, by squaring."""
    if exponent == 1:
        return base
    half = _squarings(base, exponent // 2, multiply)
    square = multiply(half, half)
    return multiply(square, base) if exponent & 1 else square


def _complex_power(t: Translator, lhs: Operand, rhs: Operand) -> Operand:
    exponent = constant(rhs.value) if isinstance(rhs, Scalar) else None
    base, wide = complexes.both(t, lhs, rhs)
    if type(exponent) is int and abs(exponent) < MULTIPLIED:
        one = complexes.number(t, 1.0, 0.0, base.part)
        if exponent == 0:
            return one
        result = _squarings(base, abs(exponent), lambda x, y: complexes.multiply(t, x, y))
        return result if exponent > 0 else complexes.divide(t, one, result)
    return complexes.power(t, base, wide)


def _integer_power(t: Translator, base: Value, exponent: Value) -> Value:
    """Call the module's helper that multiplies in a loop."""
    dtype, count = base.type, exponent.type
    assert isinstance(dtype, DType) and isinstance(count, DType)
    name = f"integer_power_{dtype}_{count}"
    helper = t.unit.module.functions.get(name)
    if helper is None:
        helper = t.unit.module.functions[name] = _power_helper(t, name, dtype, count)
    return t.b.call(helper, (base, exponent))[0]


def _power_helper(t: Translator, name: str, dtype: DType, count: DType) -> Function:
    """base ** exponent by squaring, modulo 2^64, one iteration per bit of the exponent."""
    base, exponent = Value(dtype, name="base"), Value(count, name="exponent")
    function = Function(name, [Param(base, 0), Param(exponent, 1)], (dtype,))
    b = Builder(t.unit.module, function)
    one = b.const(1, dtype)
    result, square = b.variable("result", dtype), b.variable("square", dtype)
    rest = b.variable("rest", u64)
    b.write(result, one)
    b.write(square, base)
    negative = b.lt(exponent, b.const(0, count)) if count.is_signed else None
    size = exponent if negative is None else b.select(negative, b.const(0, count), exponent)
    b.write(rest, b.cast(size, u64))
    b.emit(loop := control.Loop(Region(), Region()))
    with b.inside(loop.body):
        now = b.read(rest)
        b.break_if(b.eq(now, b.const(0, u64)))
        with b.if_(b.binary(arith.Ne, b.and_(now, b.const(1, u64)), b.const(0, u64))):
            b.write(result, b.mul(b.read(result), b.read(square)))
        b.write(square, b.mul(b.read(square), b.read(square)))
        b.write(rest, b.value(arith.Shr(now, b.const(1, u64))))
    product = b.read(result)
    if negative is not None:
        product = b.select(negative, _reciprocal(b, base, exponent), product)
    b.return_((product,))
    return function


def _reciprocal(b: Builder, base: Value, exponent: Value) -> Value:
    """base ** exponent for a negative exponent: 0 except for 1, -1 and 0. The power of 0, which is
    infinite, is the smallest integer, as in numba."""
    dtype, count = base.type, exponent.type
    assert isinstance(dtype, DType) and isinstance(count, DType)
    zero, one = b.const(0, dtype), b.const(1, dtype)
    inverse = b.select(b.eq(base, one), one, zero)
    inverse = b.select(b.eq(base, zero), b.const(-(1 << 63), dtype), inverse)
    if not dtype.is_signed:
        return inverse
    odd = b.binary(arith.Ne, b.and_(exponent, b.const(1, count)), b.const(0, count))
    minus = b.const(-1, dtype)
    return b.select(b.eq(base, minus), b.select(odd, minus, one), inverse)

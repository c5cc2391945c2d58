"""Bit functions, fma, cbrt, selp of the cuda namespace."""

from __future__ import annotations

from gridlane.core.dtypes import DType, f32, i8, u32, u64
from gridlane.core.errors import TypingError
from gridlane.frontends.python import promotion, stubs
from gridlane.frontends.python.calls.registry import handles
from gridlane.frontends.python.conversion import cast_scalar, convert, integer, scalar, truth
from gridlane.frontends.python.operands import Operand, Scalar
from gridlane.frontends.python.specs import spec_of, unify
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, math


def _bits(t: Translator, x: Operand) -> Scalar:
    """An integer, read bitwise in its own width; a bool is an int8."""
    number = integer(t, x)
    return cast_scalar(t, number, i8) if number.dtype.is_bool else number


@handles(stubs.popc)
def _popc(t: Translator, x: Operand) -> Operand:
    number = _bits(t, x)
    return Scalar(t.b.unary(arith.Popcount, number.value), 0, number.dtype.bits)


@handles(stubs.clz)
def _clz(t: Translator, x: Operand) -> Operand:
    number = _bits(t, x)
    return Scalar(t.b.unary(arith.Clz, number.value), 0, number.dtype.bits)


@handles(stubs.brev)
def _brev(t: Translator, x: Operand) -> Operand:
    """Reverse the bits in 32 bits; of a uint64 in 64."""
    number = integer(t, x)
    return Scalar(t.b.unary(arith.Brev, cast_scalar(t, number, _word(number.dtype)).value))


def _word(dtype: DType) -> DType:
    return u64 if dtype is u64 else u32


@handles(stubs.ffs)
def _ffs(t: Translator, x: Operand) -> Operand:
    """The width minus the leading zeros of the lowest one bit alone: x & -x."""
    number, b = integer(t, x), t.b
    if number.dtype.bits < 32:
        number = cast_scalar(t, number, u32)
    lowest = b.and_(number.value, b.neg(number.value))
    zeros = b.unary(arith.Clz, lowest)
    place = b.sub(b.const(number.dtype.bits, number.dtype), zeros)
    return cast_scalar(t, Scalar(place, 0, number.dtype.bits), u32)


@handles(stubs.fma)
def _fma(t: Translator, a: Operand, b: Operand, c: Operand) -> Operand:
    numbers = [scalar(t, item) for item in (a, b, c)]
    dtype = f32
    for number in numbers:
        dtype = promotion.unify(dtype, promotion.math_narrow(number.dtype))
    x, y, z = (t.b.cast(item.value, dtype) for item in numbers)
    return Scalar(t.b.fma(x, y, z))


@handles(stubs.cbrt)
def _cbrt(t: Translator, x: Operand) -> Operand:
    number = scalar(t, x)
    return Scalar(t.b.unary(math.Cbrt, t.b.cast(number.value, promotion.math_narrow(number.dtype))))


@handles(stubs.selp)
def _selp(t: Translator, condition: Operand, a: Operand, b: Operand) -> Operand:
    lhs, rhs = spec_of(scalar(t, a)), spec_of(scalar(t, b))
    assert lhs is not None and rhs is not None
    spec = unify(lhs, rhs)
    if spec is None:
        raise t.fail(TypingError, f"{a.type_name} and {b.type_name} have no common type")
    x, y = convert(t, a, spec), convert(t, b, spec)
    assert isinstance(x, Scalar) and isinstance(y, Scalar)
    test = truth(t, condition)
    if constant(test) is not None:
        return x if constant(test) else y
    return Scalar(t.b.select(test, x.value, y.value), min(x.lo, y.lo), max(x.hi, y.hi))

"""``/``, ``//`` and ``%`` with Python's rounding and signs.

Without debug, dividing by zero follows numba: integers give 0, floats infinity or NaN. With debug
it raises ZeroDivisionError.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.frontends.python import bounds, promotion
from gridlane.frontends.python.conversion import cast_scalar, equal_zero
from gridlane.frontends.python.operands import Scalar
from gridlane.frontends.python.raising import guard
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Value


def _operands(t: Translator, lhs: Scalar, rhs: Scalar, dtype: DType) -> tuple[Scalar, Scalar]:
    """Both sides in one type, with the debug check."""
    a, b = cast_scalar(t, lhs, dtype), cast_scalar(t, rhs, dtype)
    if t.unit.options.debug and not (dtype.is_float and t.unit.options.fastmath):
        kind = "division" if dtype.is_float else "integer division or modulo"
        guard(t, equal_zero(t, b.value), "ZeroDivisionError", f"{kind} by zero")
    return a, b


def true_divide(t: Translator, lhs: Scalar, rhs: Scalar) -> Scalar:
    """lhs / rhs."""
    dtype = t.promoted(promotion.division, lhs.dtype, rhs.dtype)
    a, b = _operands(t, lhs, rhs, dtype)
    x, y = constant(a.value), constant(b.value)
    if type(x) is float and type(y) is float and y:
        return t.folded(x / y, a, b)
    return Scalar(t.b.div(a.value, b.value))


def floor_divide(t: Translator, lhs: Scalar, rhs: Scalar) -> Scalar:
    """lhs // rhs."""
    return floor_divide_as(t, lhs, rhs, t.promoted(promotion.modular, lhs.dtype, rhs.dtype))


def floor_divide_as(t: Translator, lhs: Scalar, rhs: Scalar, dtype: DType) -> Scalar:
    """lhs // rhs, computed in a type."""
    a, b = _operands(t, lhs, rhs, dtype)
    if dtype.is_float:
        return Scalar(_float_floordiv(t, a.value, b.value))
    limits = bounds.floordiv(dtype, a, b)
    x, y = constant(a.value), constant(b.value)
    if type(x) is int and type(y) is int:
        return t.number(x // y if y else 0, dtype)
    if type(y) is int and y > 0 and y & (y - 1) == 0:
        shift = t.b.const(y.bit_length() - 1, dtype)
        return Scalar(a.value if y == 1 else t.b.value(arith.Shr(a.value, shift)), *limits)
    return Scalar(_nonzero(t, b, _int_floordiv(t, a, b)), *limits)


def modulo(t: Translator, lhs: Scalar, rhs: Scalar) -> Scalar:
    """lhs % rhs, with the sign of rhs."""
    return modulo_as(t, lhs, rhs, t.promoted(promotion.modular, lhs.dtype, rhs.dtype))


def modulo_as(t: Translator, lhs: Scalar, rhs: Scalar, dtype: DType) -> Scalar:
    """lhs % rhs, computed in a type."""
    a, b = _operands(t, lhs, rhs, dtype)
    if dtype.is_float:
        return Scalar(_float_mod(t, a.value, b.value))
    limits = bounds.mod(dtype, a, b)
    x, y = constant(a.value), constant(b.value)
    if type(x) is int and type(y) is int:
        return t.number(x % y if y else 0, dtype)
    if type(y) is int and y > 0 and y & (y - 1) == 0:
        return Scalar(t.b.and_(a.value, t.b.const(y - 1, dtype)), *limits)
    return Scalar(_nonzero(t, b, _int_mod(t, a, b)), *limits)


def truncated(t: Translator, lhs: Scalar, rhs: Scalar) -> Value:
    """The quotient of two integers of one type, toward zero; 0 where the divisor is 0."""
    a, b = _operands(t, lhs, rhs, lhs.dtype)
    return _nonzero(t, b, t.b.div(a.value, b.value))


def remainder(t: Translator, lhs: Scalar, rhs: Scalar) -> Value:
    """What ``truncated`` leaves over, with the sign of the dividend; 0 where the divisor is 0."""
    a, b = _operands(t, lhs, rhs, lhs.dtype)
    return _nonzero(t, b, t.b.rem(a.value, b.value))


def _nonzero(t: Translator, divisor: Scalar, result: Value) -> Value:
    """The result, or 0 where the divisor is 0."""
    low, high = divisor.sure
    if t.unit.options.debug or low > 0 or high < 0 or constant(divisor.value):
        return result
    b = t.b
    return b.select(equal_zero(t, divisor.value), b.const(0, result.type), result)


def _signs_agree(a: Scalar, b: Scalar) -> bool:
    return not a.dtype.is_signed or (a.surely_not_negative and b.surely_not_negative)


def _int_floordiv(t: Translator, a: Scalar, b: Scalar) -> Value:
    quotient = t.b.div(a.value, b.value)
    if _signs_agree(a, b):
        return quotient
    rest = t.b.rem(a.value, b.value)
    lower = t.b.sub(quotient, t.b.const(1, quotient.type))
    return t.b.select(_wrong_sign(t, rest, b), lower, quotient)


def _int_mod(t: Translator, a: Scalar, b: Scalar) -> Value:
    rest = t.b.rem(a.value, b.value)
    if _signs_agree(a, b):
        return rest
    return t.b.select(_wrong_sign(t, rest, b), t.b.add(rest, b.value), rest)


def _wrong_sign(t: Translator, rest: Value, divisor: Scalar) -> Value:
    """Whether a truncated remainder is nonzero and its sign differs from the divisor's."""
    b = t.b
    zero = b.const(0, rest.type)
    if divisor.surely_not_negative:
        return b.lt(rest, zero)
    differs = b.lt(b.binary(arith.Xor, rest, divisor.value), zero)
    return b.and_(differs, b.binary(arith.Ne, rest, zero))


def _float_mod(t: Translator, x: Value, y: Value) -> Value:
    """CPython's float modulo: fmod, moved to the sign of the divisor; a zero takes its sign."""
    b = t.b
    zero = b.const(0.0, x.type)
    rest = b.rem(x, y)
    signs_differ = b.binary(arith.Ne, b.lt(rest, zero), b.lt(y, zero))
    moved = b.select(signs_differ, b.add(rest, y), rest)
    signed_zero = b.binary(math.Copysign, zero, y)
    return b.select(b.eq(rest, zero), signed_zero, moved)


def _float_floordiv(t: Translator, x: Value, y: Value) -> Value:
    """CPython's float floor division: (x - x % y) / y, rounded to the nearest integer, with the
    quotient's sign for 0; the plain quotient where y is 0."""
    b = t.b
    zero = b.const(0.0, x.type)
    rest = b.rem(x, y)
    quotient = b.div(b.sub(x, rest), y)
    signs_differ = b.binary(arith.Ne, b.lt(rest, zero), b.lt(y, zero))
    moved = b.and_(signs_differ, b.binary(arith.Ne, rest, zero))
    quotient = b.select(moved, b.sub(quotient, b.const(1.0, x.type)), quotient)
    low = b.unary(math.Floor, quotient)
    high = b.add(low, b.const(1.0, x.type))
    near = b.select(b.lt(b.const(0.5, x.type), b.sub(quotient, low)), high, low)
    plain = b.div(x, y)
    signed_zero = b.binary(math.Copysign, zero, plain)
    result = b.select(b.eq(quotient, zero), signed_zero, near)
    return b.select(b.eq(y, zero), plain, result)

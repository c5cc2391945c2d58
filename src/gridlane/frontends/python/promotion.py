"""numba's typing rules for numbers, as tables and one-line rules over scalar types.

Arithmetic on integers is 64 bits wide: unsigned only when both sides are. An integer of up to 16
bits next to a float32 is converted to float32, a wider one to float64. At joins of variables, and
in ``min`` and ``max``, numpy's promotion holds instead (int32 stays int32; uint64 with int64 is
float64).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from gridlane.core import dtypes
from gridlane.core.dtypes import DType, b1, bf16, f16, f32, f64, i32, i64, u8, u16, u64


@cache
def unify(lhs: DType, rhs: DType) -> DType:
    """The type of a variable that joins two types.

    >>> from gridlane.core.dtypes import b1, i32, u64
    >>> unify(i32, f32), unify(u64, i64), unify(b1, i32)
    (f64, f64, i32)
    """
    if lhs is rhs:
        return lhs
    if bf16 in (lhs, rhs):
        other = rhs if lhs is bf16 else lhs
        wide = other in (f64, *(d for d in dtypes.INTEGERS if d.bits > 8))
        return f64 if wide else (f32 if other in (f16, f32) else bf16)
    joined = dtypes.from_numpy(np.promote_types(lhs.numpy, rhs.numpy))
    assert joined is not None
    return joined


@cache
def integer(*operands: DType) -> DType:
    """The type of integer arithmetic: u64 when all operands are unsigned, else i64."""
    unsigned = all(item.is_integer and not item.is_signed for item in operands)
    return u64 if unsigned else i64


@cache
def arithmetic(lhs: DType, rhs: DType) -> DType:
    """The type of ``+ - *``. A uint16 or uint8 next to a narrow float widens it a step further.

    >>> from gridlane.core.dtypes import i16, i32, u8, u32
    >>> arithmetic(i32, i32), arithmetic(u8, u32), arithmetic(i16, f32), arithmetic(i32, f32)
    (i64, u64, f32, f64)
    """
    if not (lhs.is_float or rhs.is_float):
        return integer(lhs, rhs)
    return _STEPPED.get(frozenset((lhs, rhs))) or unify(lhs, rhs)


_STEPPED = {
    frozenset((u16, f16)): f64,
    frozenset((u16, f32)): f64,
    frozenset((u8, f16)): f32,
}


@cache
def division(lhs: DType, rhs: DType) -> DType:
    """The type of ``/``: float64 for integers."""
    kind = arithmetic(lhs, rhs)
    return kind if kind.is_float else f64


@cache
def modular(lhs: DType, rhs: DType) -> DType:
    """The type of ``//`` and ``%``, which have no float16."""
    return at_least_single(arithmetic(lhs, rhs))


@cache
def division_pair(lhs: DType, rhs: DType) -> DType:
    """The type of ``divmod``: one of int64, uint64, float32 and float64."""
    if u64 in (lhs, rhs) and (lhs.is_signed or rhs.is_signed):
        return f64
    if b1 in (lhs, rhs) and lhs is not rhs and _is_unsigned(rhs if lhs is b1 else lhs):
        return u64
    return modular(lhs, rhs)


@cache
def power(lhs: DType, rhs: DType) -> DType:
    """The type of ``**``: a float base with an integer exponent keeps its type, except float16."""
    if lhs.is_float and not rhs.is_float:
        return at_least_single(lhs)
    if lhs is b1 and rhs is i32:  # the one pair of integers with a function in numba's library
        return f32
    return modular(lhs, rhs)


@cache
def math_power(lhs: DType, rhs: DType) -> DType:
    """The type of ``math.pow``, whose float32 takes integers of up to 32 bits as exponents."""
    if lhs is f32 and rhs is u16:
        return f32
    return f32 if _narrow(lhs) and (_narrow(rhs) or rhs is i32) else f64


@cache
def math_pair(lhs: DType, rhs: DType) -> DType:
    """The type of ``math``'s functions of two numbers: float32 if both fit."""
    return f32 if _narrow(lhs) and _narrow(rhs) else f64


@cache
def math_floats(lhs: DType, rhs: DType) -> DType:
    """The type of ``math.atan2`` and ``hypot``, which take two integers as float64."""
    return math_pair(lhs, rhs) if lhs.is_float or rhs.is_float else f64


@cache
def math_narrow(operand: DType) -> DType:
    """The type of ``math.frexp`` and ``ldexp`` and of ``cuda.fma`` and ``cbrt``."""
    return f32 if _narrow(operand) else f64


def _narrow(operand: DType) -> bool:
    """Whether numba takes float32 as wide enough for a type; its rules for uint16 are those of
    uint32."""
    return operand.bits <= 32 if operand.is_float else operand.bits <= 16 and operand is not u16


def _is_unsigned(operand: DType) -> bool:
    return operand.is_integer and not operand.is_signed


def at_least_single(operand: DType) -> DType:
    """The type itself; float32 for float16."""
    return f32 if operand is f16 else operand


@cache
def unary(operand: DType) -> DType:
    """The type of ``-x`` and ``+x``."""
    return operand if operand.is_float else integer(operand)


@cache
def floating(operand: DType) -> DType:
    """The type in which ``math`` computes on an operand: floats stay, others become float64."""
    return operand if operand.is_float else f64


@cache
def floating_without_half(operand: DType) -> DType:
    """The type in which ``math`` computes, for the functions without a float16 variant."""
    return at_least_single(floating(operand))


@cache
def numpy_floating(operand: DType) -> DType:
    """The type in which numpy computes a function of one float: float32 for up to 16 bits."""
    if operand.is_float:
        return operand
    return f32 if operand.bits <= 16 else f64


@cache
def numpy_pair(lhs: DType, rhs: DType) -> DType:
    """The type in which a ufunc computes on two numbers, when it is defined on all of them. It is
    float32 for a float32 with any integer.

    >>> from gridlane.core.dtypes import i16, u32
    >>> numpy_pair(f32, u32), numpy_pair(i16, u32), numpy_pair(f32, f64)
    (f32, i64, f64)
    """
    if f32 in (lhs, rhs) and not (lhs.is_float and rhs.is_float):
        return f32
    return unify(lhs, rhs)


@cache
def numpy_floating_pair(lhs: DType, rhs: DType) -> DType:
    """The type in which a ufunc that is defined on floats computes on two numbers."""
    if lhs.is_float or rhs.is_float:
        return numpy_pair(lhs, rhs)
    return unify(numpy_floating(lhs), numpy_floating(rhs))


@cache
def numpy_quotient(lhs: DType, rhs: DType) -> DType:
    """The type of ``np.true_divide``: float64 of integers of any width.

    >>> from gridlane.core.dtypes import i8, i32
    >>> numpy_quotient(i8, i8), numpy_quotient(i8, f32), numpy_quotient(i32, f32)
    (f64, f32, f64)
    """
    return unify(lhs, rhs) if lhs.is_float or rhs.is_float else f64


@cache
def complex_part(operand: DType) -> DType:
    """The type of the parts when a complex variable holds a number of this type."""
    return unify(numpy_floating(operand), f32)


@cache
def complex_arithmetic(operand: DType) -> DType:
    """The type of the parts when complex arithmetic converts a number of this type."""
    return f64 if operand is u16 else complex_part(operand)


@cache
def numpy_complex(operand: DType) -> DType:
    """The type of the parts when a ufunc converts a number of this type to complex."""
    return f64 if operand is f64 else f32


def widest(operand: DType) -> DType:
    """The type of what is computed in float64, whatever the operand is."""
    return f64


@cache
def complex_call(operand: DType) -> DType:
    """The type of the parts when ``complex(...)`` converts a number of this type: float32 stays."""
    return f32 if operand in (b1, f16, f32) else f64

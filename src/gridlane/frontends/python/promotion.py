"""numba's typing rules for numbers, as tables and one-line rules over scalar types.

Arithmetic on integers is 64 bits wide: unsigned only when both sides are. An integer of up to 16
bits next to a float32 gives float32, a wider one float64. Where variables join, and in ``min`` and
``max``, numpy's promotion holds instead (int32 stays int32; uint64 with int64 is float64).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from gridlane.core import dtypes
from gridlane.core.dtypes import DType, bf16, f16, f32, f64, i64, u64


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
    found = dtypes.from_numpy(np.promote_types(lhs.numpy, rhs.numpy))
    assert found is not None
    return found


@cache
def integer(*operands: DType) -> DType:
    """The type of integer arithmetic: u64 when all operands are unsigned, else i64."""
    unsigned = all(item.is_integer and not item.is_signed for item in operands)
    return u64 if unsigned else i64


@cache
def arithmetic(lhs: DType, rhs: DType) -> DType:
    """The type of ``+ - * // %``.

    >>> from gridlane.core.dtypes import i16, i32, u8, u32
    >>> arithmetic(i32, i32), arithmetic(u8, u32), arithmetic(i16, f32), arithmetic(i32, f32)
    (i64, u64, f32, f64)
    """
    if lhs.is_float or rhs.is_float:
        return unify(lhs, rhs)
    return integer(lhs, rhs)


@cache
def division(lhs: DType, rhs: DType) -> DType:
    """The type of ``/``: float64 for integers."""
    kind = arithmetic(lhs, rhs)
    return kind if kind.is_float else f64


@cache
def power(lhs: DType, rhs: DType) -> DType:
    """The type of ``**``: a float base with an integer exponent keeps its type."""
    if lhs.is_float and not rhs.is_float:
        return lhs
    return arithmetic(lhs, rhs)


@cache
def unary(operand: DType) -> DType:
    """The type of ``-x`` and ``+x``."""
    return operand if operand.is_float else integer(operand)


@cache
def floating(operand: DType) -> DType:
    """The type in which ``math`` computes on an operand: floats stay, the rest is float64."""
    return operand if operand.is_float else f64


@cache
def numpy_floating(*operands: DType) -> DType:
    """The type in which numpy computes a function that is defined on floats."""
    kind = operands[0]
    for item in operands[1:]:
        kind = unify(kind, item)
    if kind.is_float:
        return kind
    return f32 if kind.bits <= 16 else f64

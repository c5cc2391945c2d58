"""The meaning of ``ir.ops.arith``, except the ops in ``interp/integer.py``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.dtypes import b1
from gridlane.interp.integer import unsigned
from gridlane.interp.values import (
    Array,
    Lanes,
    is_float,
    merged,
    narrowed,
    numpy_of,
    widened,
)
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.ir.ops.memory import part_types

Function = Callable[..., Array]
"""A function of arrays with one number per lane."""


def _by_kind(integers: Function, floats: Function) -> Function:
    """A function of integers, or one of floats that receives f16 and bf16 widened."""

    def apply(*values: Array) -> Array:
        dtype = values[0].dtype
        if not is_float(dtype):
            return integers(*values)
        return narrowed(floats(*map(widened, values)), dtype)

    return apply


def _magnitude(values: Array) -> Array:
    bits = unsigned(values)
    return np.where(values < 0, 0 - bits, bits)


def _quotient(lhs: Array, rhs: Array) -> Array:
    """The quotient, rounded towards zero; all bits set for a divisor of zero."""
    top, bottom = _magnitude(lhs), _magnitude(rhs)
    zero = rhs == 0
    quotient = top // np.where(zero, 1, bottom)
    quotient = np.where((lhs < 0) != (rhs < 0), 0 - quotient, quotient)
    return np.where(zero, ~np.zeros_like(quotient), quotient).view(lhs.dtype)


def _remainder(lhs: Array, rhs: Array) -> Array:
    return np.where(rhs == 0, lhs, lhs - _quotient(lhs, rhs) * rhs)


def _float_min(lhs: Array, rhs: Array) -> Array:
    below = (lhs < rhs) | ((lhs == rhs) & np.signbit(lhs)) | np.isnan(rhs)
    return np.where(below & ~np.isnan(lhs), lhs, rhs)


def _float_max(lhs: Array, rhs: Array) -> Array:
    above = (lhs > rhs) | ((lhs == rhs) & ~np.signbit(lhs)) | np.isnan(rhs)
    return np.where(above & ~np.isnan(lhs), lhs, rhs)


def _not(values: Array) -> Array:
    return ~values


def odd_sum(lhs: Array, rhs: Array) -> Array:
    """The sum of two f64, rounded to odd: inexact results have an odd last bit. Rounding it again
    to at most 51 bits is the same as rounding the exact sum (Boldo and Melquiond, 2008)."""
    total = lhs + rhs
    back = total - lhs
    error = (lhs - (total - back)) + (rhs - back)  # exact: Knuth's TwoSum
    even = (total.view(np.uint64) & 1) == 0
    towards = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.where(np.isfinite(total) & (error != 0) & even, towards, total)


def exact_fma(a: float, b: float, c: float) -> float:
    """a * b + c in f64 with one rounding: Python's division of integers rounds correctly."""
    if not (math.isfinite(a) and math.isfinite(b)) or 0.0 in (a, b):
        return a * b + c
    if not math.isfinite(c):
        return c  # where a * b may have overflowed
    (an, ad), (bn, bd), (cn, cd) = a.as_integer_ratio(), b.as_integer_ratio(), c.as_integer_ratio()
    top = an * bn * cd + cn * ad * bd
    try:
        return top / (ad * bd * cd)
    except OverflowError:
        return math.inf if top > 0 else -math.inf


def _fma(a: Array, b: Array, c: Array) -> Array:
    if a.dtype == np.float64:
        lanes = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
        results = [exact_fma(*lane) for lane in lanes]
        return np.array(results, np.float64)
    # The product of two floats of 24 bits is exact in f64.
    product = a.astype(np.float64) * b.astype(np.float64)
    return narrowed(odd_sum(product, c.astype(np.float64)), a.dtype)


def fused(a: Array, b: Array, c: Array) -> Array:
    """a * b + c, rounded once."""
    return _fma(a, b, c)


def select(condition: Array, on_true: Lanes, on_false: Lanes) -> Lanes:
    """``on_true`` where the condition holds, else ``on_false``."""
    return merged(condition, on_true, on_false)


# ---- conversion


def cast(values: Array, dtype: np.dtype[Any]) -> Array:
    """Convert scalars to another scalar type, as the op ``cast`` does."""
    source = values.dtype
    if dtype == b1.numpy:
        return widened(values) != 0
    if is_float(source):
        return narrowed(values, dtype) if is_float(dtype) else _saturated(widened(values), dtype)
    if is_float(dtype):
        return _integer_to_float(values, dtype)
    return values.astype(dtype)


def _saturated(values: Array, dtype: np.dtype[Any]) -> Array:
    """Convert floats to integers: towards zero, saturating; NaN becomes 0."""
    info = np.iinfo(dtype)
    whole = np.trunc(values.astype(np.float64))
    low, high = float(info.min), float(info.max + 1 if info.bits == 64 else info.max)
    inside = (whole >= low) & ((whole < high) if info.bits == 64 else (whole <= high))
    converted = np.where(inside, whole, 0.0).astype(dtype)
    ends = np.full(whole.shape, info.max, dtype)
    ends[whole < 0] = info.min
    return np.where(inside | np.isnan(values), converted, ends)


def _integer_to_float(values: Array, dtype: np.dtype[Any]) -> Array:
    if values.dtype.itemsize < 8 or dtype.itemsize > 2:
        # C's conversions to f32 and f64 round once; 32 bits are exact in f64.
        return narrowed(values.astype(np.float64 if dtype.itemsize == 2 else dtype), dtype)
    # 64 bits to a 16-bit float: first to 53 bits, rounded to odd, in f64.
    magnitude = _magnitude(values)
    lost = (magnitude & np.uint64(0x7FF)) != 0
    odd = (magnitude & ~np.uint64(0x7FF)) | (lost.astype(np.uint64) << np.uint64(11))
    small = magnitude < np.uint64(1 << 53)
    wide = np.where(small, magnitude, odd).astype(np.float64)
    return narrowed(np.where(values < 0, -wide, wide), dtype)


def _cast(op: arith.Cast, values: Array) -> Array:
    return cast(values, op.type.numpy)


def bitcast(op: arith.Bitcast, value: Lanes) -> Lanes:
    """The bytes of a scalar or vector as another type."""
    parts = value if isinstance(value, tuple) else (value,)
    octets = [np.ascontiguousarray(part).view(np.uint8).reshape(len(part), -1) for part in parts]
    joined = np.ascontiguousarray(np.concatenate(octets, axis=1))
    types = part_types(op.type)
    whole = joined.view(numpy_of(types[0] if types else op.type))
    lanes = [np.ascontiguousarray(whole[:, index]) for index in range(whole.shape[1])]
    return tuple(lanes) if types else lanes[0]


def _compare(function: Function) -> Function:
    def apply(lhs: Array, rhs: Array) -> Array:
        return function(widened(lhs), widened(rhs))

    return apply


NUMBERS: dict[type[Op], Function] = {
    arith.Add: _by_kind(np.add, np.add),
    arith.Sub: _by_kind(np.subtract, np.subtract),
    arith.Mul: _by_kind(np.multiply, np.multiply),
    arith.Div: _by_kind(_quotient, np.divide),
    arith.Rem: _by_kind(_remainder, np.fmod),
    arith.Min: _by_kind(np.minimum, _float_min),
    arith.Max: _by_kind(np.maximum, _float_max),
    arith.And: np.bitwise_and,
    arith.Or: np.bitwise_or,
    arith.Xor: np.bitwise_xor,
    arith.Neg: _by_kind(np.negative, np.negative),
    arith.Abs: _by_kind(np.abs, np.abs),
    arith.Not: _not,
    arith.Eq: _compare(np.equal),
    arith.Ne: _compare(np.not_equal),
    arith.Lt: _compare(np.less),
    arith.Le: _compare(np.less_equal),
    arith.Gt: _compare(np.greater),
    arith.Ge: _compare(np.greater_equal),
    arith.Fma: _fma,
}
"""The function of each op on its operands, which are numbers."""

PLAIN: dict[type[Op], Callable[..., Lanes]] = {**NUMBERS, arith.Select: select}
"""The function of each op on values of any type."""

WITH_OP: dict[type[Op], Callable[..., Lanes]] = {
    arith.Cast: _cast,
    arith.Bitcast: bitcast,
}
"""The function of each op whose attributes matter."""


_WHOLE: dict[type[Op], Function] = {
    arith.Add: np.add,
    arith.Sub: np.subtract,
    arith.Mul: np.multiply,
}


def not_wrapped(op: type[Op], operands: list[Any], lanes: Lanes) -> Lanes:
    """The result of an i32 op that is marked ``nowrap``. A wrapped result is undefined: it becomes
    a number that no program expects, so that a use of it shows."""
    whole = _WHOLE[op](*[operand.astype(np.int64) for operand in operands])
    assert isinstance(lanes, np.ndarray)
    return np.where(whole == lanes, lanes, ~lanes)

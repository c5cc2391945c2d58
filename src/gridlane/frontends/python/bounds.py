"""Bounds of integer results, from the bounds of the operands. See operands.Scalar."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import DType
from gridlane.frontends.python.operands import Scalar
from gridlane.frontends.python.specs import UNBOUNDED

Range = tuple[int, int]


def clamp(dtype: DType, lo: int, hi: int) -> Range:
    """The bounds of a result of ``dtype`` that lies in [lo, hi] unless it overflows."""
    if dtype.min <= lo and hi <= dtype.max:
        return lo, hi
    if dtype.bits == 64 and lo >= 0:
        return lo, UNBOUNDED
    return dtype.min, dtype.max


def _overflow_aside(dtype: DType, not_negative: bool) -> Range:
    """The bounds of the type, or non-negative ones that hold unless an operand overflowed."""
    return (0, UNBOUNDED) if not_negative else (dtype.min, dtype.max)


def add(dtype: DType, a: Scalar, b: Scalar) -> Range:
    """a + b."""
    return clamp(dtype, a.lo + b.lo, a.hi + b.hi)


def sub(dtype: DType, a: Scalar, b: Scalar) -> Range:
    """a - b."""
    return clamp(dtype, a.lo - b.hi, a.hi - b.lo)


def mul(dtype: DType, a: Scalar, b: Scalar) -> Range:
    """a * b."""
    corners = (a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi)
    return clamp(dtype, min(corners), max(corners))


def floordiv(dtype: DType, a: Scalar, b: Scalar) -> Range:
    """a // b; by zero it is 0."""
    if a.surely_not_negative and b.surely_not_negative:
        return 0, a.hi
    return _overflow_aside(dtype, a.lo >= 0 and b.lo >= 0)


def mod(dtype: DType, a: Scalar, b: Scalar) -> Range:
    """a % b, which has the sign of b; by zero it is 0."""
    if b.surely_not_negative:
        return 0, max(0, b.hi - 1)
    return _overflow_aside(dtype, b.lo >= 0)


def shr(dtype: DType, a: Scalar, b: Scalar) -> Range:
    """a >> b."""
    return (0, a.hi) if a.lo >= 0 else (dtype.min, dtype.max)


def shl(dtype: DType, a: Scalar, b: Scalar) -> Range:
    """a << b."""
    if a.lo >= 0 and b.lo >= 0 and b.hi < 64:
        return clamp(dtype, a.lo << b.lo, min(a.hi, UNBOUNDED) << b.hi)
    return dtype.min, dtype.max


def and_(dtype: DType, a: Scalar, b: Scalar) -> Range:
    """a & b."""
    tops = [side.hi for side in (a, b) if side.surely_not_negative]
    return (0, min(tops)) if tops else _overflow_aside(dtype, a.lo >= 0 or b.lo >= 0)


def or_(dtype: DType, a: Scalar, b: Scalar) -> Range:
    """a | b and a ^ b."""
    if a.lo >= 0 and b.lo >= 0:
        top = max(a.hi, b.hi)
        return 0, UNBOUNDED if top > dtype.max else (1 << top.bit_length()) - 1
    return dtype.min, dtype.max


def extreme(dtype: DType, pick: Callable[[int, int], int], a: Scalar, b: Scalar) -> Range:
    """min(a, b) or max(a, b), as ``pick`` selects."""
    (low, high), (other_low, other_high) = a.sure, b.sure
    surely = pick(low, other_low), pick(high, other_high)
    lo = pick(a.lo, b.lo)
    return surely if surely[0] >= lo or lo < 0 else (lo, UNBOUNDED)

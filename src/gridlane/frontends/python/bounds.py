"""Bounds of integer results, from the bounds of the operands. See operands.Scalar."""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.frontends.python.operands import Scalar
from gridlane.frontends.python.specs import UNBOUNDED

Range = tuple[int, int]


def clamp(dtype: DType, lo: int, hi: int) -> Range:
    """What is known of a result of ``dtype`` that would lie in [lo, hi] without overflow."""
    if dtype.min <= lo and hi <= dtype.max:
        return lo, hi
    if dtype.bits == 64 and lo >= 0:
        return lo, UNBOUNDED
    return dtype.min, dtype.max


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
    if a.lo >= 0 and b.lo >= 0:
        return 0, a.hi
    return dtype.min, dtype.max


def mod(dtype: DType, a: Scalar, b: Scalar) -> Range:
    """a % b, which has the sign of b; by zero it is 0."""
    if b.lo >= 0:
        return 0, max(0, min(b.hi, dtype.max) - 1)
    return dtype.min, dtype.max


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
    tops = [min(side.hi, dtype.max) for side in (a, b) if side.lo >= 0]
    return (0, min(tops)) if tops else (dtype.min, dtype.max)


def or_(dtype: DType, a: Scalar, b: Scalar) -> Range:
    """a | b and a ^ b."""
    if a.lo >= 0 and b.lo >= 0:
        top = max(a.hi, b.hi)
        return 0, UNBOUNDED if top > dtype.max else (1 << top.bit_length()) - 1
    return dtype.min, dtype.max

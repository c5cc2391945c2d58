"""Casts between the bits of binary64 and other scalars."""

from __future__ import annotations

from gridlane.core.dtypes import DType, f32, i32, i64, u32, u64
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.fp64.bits import (
    BIAS,
    FRACTION,
    SIGN,
    Number,
    field,
    is_nan,
    is_zero,
    magnitude,
    put_together,
    shifted_out,
    unpacked,
)

_F32_BIAS = 127
_F32_FRACTION = 23
_F32_OFF = 40
"""Bits of an unpacked significand beyond those of f32."""


def from_unsigned(w: Writer, x: Expression) -> Expression:
    """The bits of a u64's value."""
    return put_together(w, Number(w.const(0, u64), w.const(BIAS + 63, i32), x))


def from_signed(w: Writer, x: Expression) -> Expression:
    """The bits of an i64's value."""
    size = abs(x).reread(u64)
    return put_together(w, Number(x.reread(u64) & SIGN, w.const(BIAS + 63, i32), size))


def from_f32(w: Writer, x: Expression) -> Expression:
    """The bits of an f32's value, exactly."""
    bits = x.reread(u32)
    size = (bits & 0x7FFFFFFF).cast(u64)
    up = (BIAS - _F32_BIAS) << FRACTION
    normal = (size << (FRACTION - _F32_FRACTION)) + up
    special = w.select(size >= 0xFF << _F32_FRACTION, w.const(up, u64), 0)
    least = BIAS - _F32_BIAS + 1 - _F32_FRACTION + 63
    small = put_together(w, Number(w.const(0, u64), w.const(least, i32), size))
    result = w.select(size < 1 << _F32_FRACTION, small, normal + special)
    return result | ((bits >> 31).cast(u64) << 63)


def to_f32(w: Writer, x: Expression) -> Expression:
    """Round to the nearest f32."""
    return _to_f32(w, x, odd=False)


def to_odd_f32(w: Writer, x: Expression) -> Expression:
    """Round to an odd f32: an inexact one has its last bit set, so it may be rounded again."""
    return _to_f32(w, x, odd=True)


def _to_f32(w: Writer, x: Expression, odd: bool) -> Expression:
    number = unpacked(w, x)
    e = number.exponent - (BIAS - _F32_BIAS)
    small = e <= 0
    m = number.significand
    m = w.select(small, shifted_out(w, m, (w.const(1, i32) - e).most(0)), m)
    whole = (m >> _F32_OFF).cast(u32)
    rest = m & (1 << _F32_OFF) - 1
    half = 1 << (_F32_OFF - 1)
    if odd:
        up = rest.differs(0) & (whole & 1).equals(0)
    else:
        up = (rest > half) | (rest.equals(half) & (whole & 1).equals(1))
    placed = w.select(small, w.const(0, u32), (e - 1).reread(u32) << _F32_FRACTION)
    result = placed + whole + up.cast(u32)
    result = w.select(e >= 0xFF, w.const(0xFF << _F32_FRACTION, u32), result)
    result = w.select(is_zero(x), w.const(0, u32), result)
    result = w.select(is_nan(x), w.const(0x7FC00000, u32), result)
    return (result | ((x >> 63).cast(u32) << 31)).reread(f32)


def to_integer(w: Writer, x: Expression, to: DType) -> Expression:
    """Convert to an integer of 32 or 64 bits: towards zero, saturating; 0 for NaN."""
    power = field(x) - BIAS
    number = (magnitude(x) & ((1 << FRACTION) - 1)) | 1 << FRACTION
    left = number << (power - FRACTION).most(0)
    size = w.select(power >= FRACTION, left, number >> (w.const(FRACTION, i32) - power))
    limit = to.bits - 1 if to.is_signed else to.bits
    size = w.select(power < 0, w.const(0, u64), size)
    negative = (x & SIGN).differs(0)
    if to.is_signed:
        ends = w.select(negative, w.const(to.min, i64), to.max)
        whole = size.reread(i64)
        result = w.select(power >= limit, ends, w.select(negative, -whole, whole))
    else:
        result = w.select(power >= limit, w.const(to.max, u64), size)
        result = w.select(negative, w.const(0, u64), result)
    return w.select(is_nan(x), w.const(0, result.dtype), result).cast(to)

"""Casts between 64-bit integers and the other scalars, with one rounding."""

from __future__ import annotations

from gridlane.core.dtypes import DType, b1, f32, f64, i8, i16, i32, i64, u32, u64
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.int64.wide import WORD, Wide, choose, constant, low_word

_FRACTION = 23
_BIAS = 127


def extended(x: Expression) -> Wide:
    """A narrower integer or a b1 sign- or zero-extended to 64 bits, by its type."""
    if x.dtype in (i8, i16, i32):
        word = x.cast(i32)
        return Wide(word.reread(u32), (word >> (WORD - 1)).reread(u32))
    return low_word(x.cast(u32))


def from_float(w: Writer, x: Expression, to: DType) -> Wide:
    """Convert a float: towards zero, saturating; 0 for NaN."""
    if x.dtype is f64:
        return _from_f64(w, x, to)
    x = x.cast(f32)
    bits = x.reread(u32)
    exponent = (bits >> _FRACTION) & 0xFF
    m = (bits & ((1 << _FRACTION) - 1)) | (1 << _FRACTION)
    unit = _BIAS + _FRACTION
    # An exponent below 127 shifts all bits out.
    small = low_word(m >> (w.const(unit, u32) - exponent))
    whole = choose(exponent >= unit, low_word(m) << (exponent - unit), small)
    return _saturated(w, x, whole, exponent >= _BIAS + (63 if to is i64 else 64), to)


def _saturated(w: Writer, x: Expression, size: Wide, large: Expression, to: DType) -> Wide:
    """The magnitude with the sign of x, saturated; 0 for NaN."""
    negative = x < 0.0
    if to is u64:
        result = choose(large, constant(w, -1), size)
        return choose(negative | x.is_nan(), constant(w, 0), result)
    ends = choose(negative, constant(w, i64.min), constant(w, i64.max))
    result = choose(large, ends, choose(negative, -size, size))
    return choose(x.is_nan(), constant(w, 0), result)


def _from_f64(w: Writer, x: Expression, to: DType) -> Wide:
    """Both words of an f64, by exact arithmetic."""
    size = abs(x).trunc()
    limit = 2.0**63 if to is i64 else 2.0**64
    large = size >= limit
    size = w.select(size < limit, size, w.const(0.0, f64))
    high = (size * 2.0**-WORD).trunc()
    low = size - high * 2.0**WORD
    return _saturated(w, x, Wide(low.cast(u32), high.cast(u32)), large, to)


def to_scalar(w: Writer, x: Wide, own: DType, to: DType) -> Expression:
    """An i64 or u64 as a scalar of at most 32 bits, or as an f64."""
    if to is b1:
        return ~x.is_zero()
    if to.is_integer:
        return x.lo.cast(to)
    if to is f64:
        high = (x.hi.reread(i32) if own is i64 else x.hi).cast(f64)
        return high * 2.0**WORD + x.lo.cast(f64)  # rounded once: the product is exact
    return _signed_f32(w, x, own, odd=to is not f32).cast(to)


def to_odd(w: Writer, x: Wide, own: DType) -> Expression:
    """An i64 or u64 rounded to odd as an f32, which may be rounded again to 22 bits or fewer."""
    return _signed_f32(w, x, own, odd=True)


def _signed_f32(w: Writer, x: Wide, own: DType, odd: bool) -> Expression:
    if own is u64:
        return _to_f32(w, x, odd)
    sign = x.hi & 0x80000000
    return (_to_f32(w, x.magnitude(), odd).reread(u32) | sign).reread(f32)


def _to_f32(w: Writer, size: Wide, odd: bool) -> Expression:
    """An unsigned number as f32, rounded to nearest even, or to odd for a second rounding."""
    zeros = size.leading_zeros()
    top = size << zeros
    lost = (top.hi & 0xFF) | top.lo.differs(0).cast(u32)
    m = top.hi >> 8
    if odd:
        up = lost.differs(0).cast(u32) & ~m & 1
    else:
        # With the bits below bit 8 of the high word folded into one sticky bit, half is 0x80.
        over = (lost > 0x80) | (lost.equals(0x80) & (m & 1).equals(1))
        up = over.cast(u32)
    # The hidden bit of m adds one to the exponent, and a carry adds another.
    bits = ((w.const(_BIAS + 62, u32) - zeros) << _FRACTION) + m + up
    return w.select(size.is_zero(), w.const(0.0, f32), bits.reread(f32))

"""Unpack binary64 numbers in a u64, and pack them with one rounding.

An unpacked significand has its leading bit, of weight 1, at bit 63. Its exponent has the format's
bias. Below the 53 bits that are kept it has 11 bits that are rounded off. The last bit of a shifted
significand is sticky: it is set if any bit shifted out was.
"""

from __future__ import annotations

from gridlane.core.dtypes import i32, u32, u64
from gridlane.core.frozen import frozen
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.fp64.functions import called, called_for_several

FRACTION = 52
BIAS = 1023
SIGN = 1 << 63
INFINITE = 0x7FF << FRACTION
NAN = INFINITE | 1 << 51
HIDDEN = 1 << FRACTION
ROUNDED_OFF = 11
NEVER = -5000
"""The exponent of zero, below all others."""


@frozen
class Number:
    """A finite number: sign bit, exponent as i32, significand."""

    sign: Expression
    exponent: Expression
    significand: Expression


def magnitude(x: Expression) -> Expression:
    """The bits without the sign."""
    return x & ~SIGN


def is_nan(x: Expression) -> Expression:
    """Whether the bits are a NaN's."""
    return magnitude(x) > INFINITE


def is_infinite(x: Expression) -> Expression:
    """Whether the bits are an infinity's."""
    return magnitude(x).equals(INFINITE)


def is_zero(x: Expression) -> Expression:
    """Whether the bits are those of zero."""
    return magnitude(x).equals(0)


def field(x: Expression) -> Expression:
    """The exponent field, as i32."""
    return (magnitude(x) >> FRACTION).cast(i32)


def unpacked(w: Writer, x: Expression) -> Number:
    """The unpacked number, with its leading bit at 63; the significand of zero is 0."""
    return Number(x & SIGN, *called_for_several(w, "unpack", _unpacked, x))


def _unpacked(w: Writer, x: Expression) -> tuple[Expression, Expression]:
    size = magnitude(x)
    raw = w.select(size < HIDDEN, size, (size & (HIDDEN - 1)) | HIDDEN)
    zeros = raw.leading_zeros()
    exponent = field(x).most(1) + ROUNDED_OFF - zeros.cast(i32)
    exponent = w.select(size.equals(0), w.const(NEVER, i32), exponent)
    return exponent, raw << zeros


def shifted_out(w: Writer, m: Expression, by: Expression) -> Expression:
    """Shift right by an i32 that is not negative; the last bit is sticky."""
    amount = by.reread(u32)
    kept = m >> amount
    return kept | (kept << amount).differs(m).cast(u64)


def put_together(w: Writer, number: Number) -> Expression:
    """Pack a number into the bits of the nearest binary64, ties to even."""
    return called(w, "pack", _packed, number.exponent, number.significand) | number.sign


def _packed(w: Writer, e: Expression, m: Expression) -> Expression:
    zeros = m.leading_zeros()
    e, m = e - zeros.cast(i32), m << zeros
    small = e <= 0
    m = w.select(small, shifted_out(w, m, (w.const(1, i32) - e).most(0)), m)
    whole = m >> ROUNDED_OFF
    rest = m & (1 << ROUNDED_OFF) - 1
    half = 1 << (ROUNDED_OFF - 1)
    up = (rest > half) | (rest.equals(half) & (whole & 1).equals(1))
    # The hidden bit adds one to the exponent, and a carry adds another.
    placed = w.select(small, w.const(0, u64), (e - 1).cast(u64) << FRACTION)
    result = placed + whole + up.cast(u64)
    result = w.select(e >= 0x7FF, w.const(INFINITE, u64), result)
    return w.select(m.equals(0), w.const(0, u64), result)


def order(w: Writer, x: Expression) -> Expression:
    """A u64 that is ordered as the numbers are, -0 below +0; meaningless for NaN."""
    return w.select((x & SIGN).equals(0), x | SIGN, ~x)

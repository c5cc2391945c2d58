"""The fused multiply-add of f64, by integers, for targets that round the product."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gridlane.core.dtypes import i64, u64
from gridlane.passes.legalize_math.exact import taken_apart
from gridlane.passes.legalize_math.expression import Expression, Writer

_SPARE = 20
"""Zero bits below the product of two significands, of 106 bits, in 128."""
_UP = 53 + _SPARE - 1
"""How far up the third significand goes, so that its first bit is next to the product's."""
_DROPPED = 11
"""Bits of a word of 64 below a significand at its top."""


@dataclass(frozen=True, slots=True)
class Wide:
    """An unsigned integer of 128 bits; shifts are by an i64 from 0 to 127."""

    high: Expression
    low: Expression

    def down(self, n: Expression) -> Wide:
        """Shifted to the right; the last bit is set when ones are lost."""
        # A shift by 64 or more is 0, and so is one by a negative amount, which reads as huge.
        low = (self.low >> n) | (self.high << (64 - n)) | (self.high >> (n - 64))
        w = n.writer
        lost = w.select(n >= 64, self.low, self.low << (64 - n)) | (self.high << (128 - n))
        return Wide(self.high >> n, low | w.select(lost.differs(0), w.const(1, u64), 0))

    def up(self, n: Expression) -> Wide:
        """Shifted to the left."""
        high = (self.high << n) | (self.low >> (64 - n)) | (self.low << (n - 64))
        return Wide(high, self.low << n)

    def plus(self, other: Wide) -> Wide:
        """The sum; there is room."""
        low = self.low + other.low
        w = low.writer
        carry = w.select(low < other.low, w.const(1, u64), 0)
        return Wide(self.high + other.high + carry, low)

    def minus(self, other: Wide) -> Wide:
        """The difference; it wraps."""
        w = self.low.writer
        borrow = w.select(self.low < other.low, w.const(1, u64), 0)
        return Wide(self.high - other.high - borrow, self.low - other.low)

    def is_below(self, other: Wide) -> Expression:
        """self < other."""
        same = self.high.equals(other.high)
        return (self.high < other.high) | (same & (self.low < other.low))


def _chosen(w: Writer, condition: Expression, a: Wide, b: Wide) -> Wide:
    return Wide(w.select(condition, a.high, b.high), w.select(condition, a.low, b.low))


def fma(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    """a * b + c, rounded once."""
    sign = (w.bits(a) ^ w.bits(b)) < 0
    made = _finite(w, a, b, c, sign)
    factors = (abs(a) < math.inf) & (abs(b) < math.inf)
    plain = factors & a.differs(0.0) & b.differs(0.0) & (abs(c) < math.inf)
    # A product that overflows makes no NaN of an infinite sum.
    whole = factors & abs(c).equals(math.inf)
    return w.select(plain, made, w.select(whole, c, a * b + c))


def _finite(w: Writer, a: Expression, b: Expression, c: Expression, sign: Expression) -> Expression:
    """Of finite numbers; a and b are not 0, and ``sign`` is that of their product."""
    (m, e), (n, f), (s, g) = (taken_apart(w, abs(x)) for x in (a, b, c))
    low = m * n
    product = Wide((m.high_product(n) << _SPARE) | (low >> (64 - _SPARE)), low << _SPARE)
    other = Wide(s << (_UP - 64), w.const(0, u64))
    e_product = (e + f - _SPARE).cast(i64)
    e_other = w.select(s.equals(0), e_product, (g - _UP).cast(i64))
    distance = e_product - e_other
    product_is_far_below = distance < 0
    shift = abs(distance).least(127)
    first = _chosen(w, product_is_far_below, product.down(shift), product)
    second = _chosen(w, product_is_far_below, other, other.down(shift))
    exponent = e_product.most(e_other)

    c_sign = w.is_negative(c)
    differ = sign ^ c_sign
    less = first.is_below(second)
    difference = _chosen(w, less, second.minus(first), first.minus(second))
    total = _chosen(w, differ, difference, first.plus(second))
    nothing = (total.high | total.low).equals(0)
    negative = w.select(nothing, sign & c_sign, w.select(differ & less, c_sign, sign))
    made = _rounded(w, total, exponent)
    return w.from_bits(
        w.select(nothing, w.const(0, i64), made) | w.select(negative, w.const(i64.min, i64), 0)
    )


def _rounded(w: Writer, total: Wide, exponent: Expression) -> Expression:
    """The bits of total * 2**exponent, which is not 0, as an i64 without a sign."""
    zeros = total.high.leading_zeros()
    zeros = w.select(total.high.equals(0), total.low.leading_zeros() + 64, zeros).reread(i64)
    field = exponent - zeros + (127 + w.form.bias)
    subnormal = (1 - field).most(0).least(127)
    top = total.up(zeros.least(127)).down(subnormal)
    m = (top.high >> _DROPPED).reread(i64)
    rest = (top.high & ((1 << _DROPPED) - 1)) | w.select(top.low.differs(0), w.const(1, u64), 0)
    # To even: half a unit goes up where the last bit is set.
    half = 1 << (_DROPPED - 1)
    up = (rest.reread(i64) + (m & 1)) > half
    bits = ((field.most(1) - 1) << w.form.fraction) + m + w.select(up, w.const(1, i64), 0)
    infinite = w.const(2 * w.form.bias + 1, i64) << w.form.fraction
    return w.select(field > 2 * w.form.bias, infinite, bits)

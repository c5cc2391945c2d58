"""The fused multiply-add of f32 and f64 in integers, for targets that round the product.

A word is an integer as wide as the float. The sum is computed in two words, which hold the product
of two significands and some zero bits below it.
"""

from __future__ import annotations

import math

from gridlane.core.frozen import frozen
from gridlane.ir.expressions import Expression, Format, Writer
from gridlane.passes.legalise.math.exact import unpacked


def _dropped(form: Format) -> int:
    """Bits of a word below a significand at its top."""
    return form.dtype.bits - form.precision


def _spare(form: Format) -> int:
    """Zero bits below the product of two significands, in two words whose top two bits are free."""
    return 2 * _dropped(form) - 2


def _up(form: Format) -> int:
    """The left shift of the third significand that puts its first bit next to the product's."""
    return form.precision + _spare(form) - 1


@frozen
class Wide:
    """An unsigned integer of two words; shift amounts are signed words from 0 to below its width.
    A shift by a word or more is one of whole words first, so that the rest is below a word."""

    high: Expression
    low: Expression

    @property
    def bits(self) -> int:
        """The bits of a word."""
        return self.low.dtype.bits

    def down(self, n: Expression) -> Wide:
        """Shift right; the last bit is sticky."""
        w, by, back = n.writer, n & (self.bits - 1), ~n & (self.bits - 1)
        is_far = n >= self.bits
        high, low = w.select(is_far, 0, self.high), w.select(is_far, self.high, self.low)
        lost = ((low << 1) << back) | w.select(is_far, self.low, 0)
        result = (low >> by) | ((high << 1) << back)
        return Wide(high >> by, result | w.select(lost.differs(0), w.const(1, low.dtype), 0))

    def up(self, n: Expression) -> Wide:
        """Shift left."""
        w, by, back = n.writer, n & (self.bits - 1), ~n & (self.bits - 1)
        is_far = n >= self.bits
        high, low = w.select(is_far, self.low, self.high), w.select(is_far, 0, self.low)
        return Wide((high << by) | ((low >> 1) >> back), low << by)

    def plus(self, other: Wide) -> Wide:
        """The sum, which does not overflow."""
        low = self.low + other.low
        w = low.writer
        carry = w.select(low < other.low, w.const(1, low.dtype), 0)
        return Wide(self.high + other.high + carry, low)

    def minus(self, other: Wide) -> Wide:
        """The difference, which wraps."""
        w = self.low.writer
        borrow = w.select(self.low < other.low, w.const(1, self.low.dtype), 0)
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
    result = _finite(w, a, b, c, sign)
    factors = (abs(a) < math.inf) & (abs(b) < math.inf)
    plain = factors & a.differs(0.0) & b.differs(0.0) & (abs(c) < math.inf)
    # A product that overflows must not turn an infinite sum into NaN.
    whole = factors & abs(c).equals(math.inf)
    return w.select(plain, result, w.select(whole, c, a * b + c))


def _finite(w: Writer, a: Expression, b: Expression, c: Expression, sign: Expression) -> Expression:
    """The sum for finite operands; a and b are not 0, and ``sign`` is that of their product."""
    form, word = w.form, w.form.dtype.bits
    (m, e), (n, f), (s, g) = (unpacked(w, abs(x)) for x in (a, b, c))
    low, spare = m * n, _spare(form)
    product = Wide((m.high_product(n) << spare) | (low >> (word - spare)), low << spare)
    other = Wide(s << (_up(form) - word), w.const(0, form.unsigned))
    e_product = (e + f - spare).cast(form.whole)
    e_other = w.select(s.equals(0), e_product, (g - _up(form)).cast(form.whole))
    distance = e_product - e_other
    product_is_far_below = distance < 0
    shift = abs(distance).least(2 * word - 1)
    first = _chosen(w, product_is_far_below, other, product)
    second = _chosen(w, product_is_far_below, product, other).down(shift)
    exponent = e_product.most(e_other)

    c_sign = w.is_negative(c)
    differ = sign ^ c_sign
    less = first.is_below(second)
    difference = _chosen(w, less, second.minus(first), first.minus(second))
    total = _chosen(w, differ, difference, first.plus(second))
    nothing = (total.high | total.low).equals(0)
    # The sign is the larger one's: c's where c is the first and the larger, or neither.
    is_of_c = differ & (less ^ product_is_far_below)
    negative = w.select(nothing, sign & c_sign, w.select(is_of_c, c_sign, sign))
    result = _rounded(w, total, exponent)
    return w.from_bits(
        w.select(nothing, w.const(0, form.whole), result)
        | w.select(negative, w.const(form.sign, form.whole), 0)
    )


def _rounded(w: Writer, total: Wide, exponent: Expression) -> Expression:
    """The bits of total * 2**exponent, which is not 0, as a signed word without a sign bit."""
    form, word = w.form, w.form.dtype.bits
    zeros = total.high.leading_zeros()
    low_zeros = total.low.leading_zeros() + word
    zeros = w.select(total.high.equals(0), low_zeros, zeros).reread(form.whole)
    field = exponent - zeros + (2 * word - 1 + form.bias)
    subnormal = (1 - field).most(0).least(2 * word - 1)
    top = total.up(zeros.least(2 * word - 1)).down(subnormal)
    m = (top.high >> _dropped(form)).reread(form.whole)
    more = w.select(top.low.differs(0), w.const(1, form.unsigned), 0)
    rest = (top.high & ((1 << _dropped(form)) - 1)) | more
    # Ties to even: half a unit rounds up where the last bit is set.
    half = 1 << (_dropped(form) - 1)
    up = (rest.reread(form.whole) + (m & 1)) > half
    one = w.select(up, w.const(1, form.whole), 0)
    bits = ((field.most(1) - 1) << form.fraction) + m + one
    infinite = w.const(2 * form.bias + 1, form.whole) << form.fraction
    return w.select(field > 2 * form.bias, infinite, bits)

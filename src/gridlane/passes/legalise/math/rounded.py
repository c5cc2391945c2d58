"""Correctly rounded quotients and square roots of f32, by integers, from approximate ones.

The target's approximate result is the first guess. Its residue is exact in integers that wrap, as
it is small. So the guess is corrected, whatever the target does to the last bits, to subnormals or
to a fused multiply-add.
"""

from __future__ import annotations

import math

from gridlane.core.dtypes import f32, i32
from gridlane.ir.expressions import Expression, Writer


def _significand(w: Writer, bits: Expression) -> tuple[Expression, Expression]:
    """(m, e) of a positive finite number by its bits: m has the precision's bits, or is 0 for 0,
    and e is the exponent field that a normal number would have. ``exact.unpacked`` computes with
    the number itself, which devices may flush to 0 when it is subnormal."""
    form = w.form
    hidden = 1 << form.fraction
    field, fraction = bits >> form.fraction, bits & (hidden - 1)
    # A subnormal is shifted left until its first bit is at the hidden bit.
    zeros = fraction.leading_zeros() - (form.dtype.bits - form.precision)
    small = field.equals(0)
    m = w.select(small, fraction << zeros, fraction | hidden)
    return m, w.select(small, 1 - zeros, field)


def _one_if(w: Writer, condition: Expression) -> Expression:
    return w.select(condition, w.const(1, i32), 0)


def _infinity(w: Writer) -> int:
    return 2 * w.form.bias + 1 << w.form.fraction


def sqrt(w: Writer, x: Expression) -> Expression:
    """The square root; the target's own may be off by 16 ulp."""
    form, bits = w.form, w.bits(x)
    m, e = _significand(w, bits)
    # x is radicand * 2**(2 half), and the root of the radicand has the bits of a significand.
    odd = (e + 1) & 1
    m = m << odd
    half = (e - odd - (form.fraction + form.bias + form.fraction)) >> 1
    radicand = m << form.fraction  # the lower word
    guess = (m.cast(f32) * 2.0**form.fraction).sqrt()
    root = guess.cast(i32)
    residue = radicand - root * root
    root = root + (residue.cast(f32) / (guess * 2.0)).rint().cast(i32)
    residue = radicand - root * root
    # (root + 1/2)**2 is root**2 + root + 1/4, so there is no tie.
    root = root + _one_if(w, residue > root) - _one_if(w, residue <= -root)
    result = root + ((half + (form.bias + form.fraction - 1)) << form.fraction)
    plain = (bits > 0) & (bits < _infinity(w))
    itself = bits.equals(0) | bits.equals(form.sign) | bits.equals(_infinity(w))
    special = w.select(itself, bits, w.bits(w.real(math.nan)))
    return w.from_bits(w.select(plain, result, special))


def quotient(w: Writer, a: Expression, b: Expression) -> Expression:
    """a / b; the target's own may be off by 16 ulp."""
    form = w.form
    sign = (w.bits(a) ^ w.bits(b)) & form.sign
    top, bottom = (w.bits(x) & form.magnitude for x in (a, b))
    (m, e), (n, f) = _significand(w, top), _significand(w, bottom)
    n = n.most(1)
    less = _one_if(w, m < n)
    # The quotient of m * 2**shift by n has the bits of a significand.
    shift = less + form.fraction
    scale = w.select(m < n, 2.0**form.precision, w.real(2.0**form.fraction))
    divisor = n.cast(f32)
    whole = (m.cast(f32) / divisor * scale).cast(i32)
    dividend = m << shift  # the lower word
    residue = dividend - whole * n
    whole = whole + (residue.cast(f32) / divisor).rint().cast(i32)
    residue = dividend - whole * n
    below = residue < 0
    whole = whole - _one_if(w, below)
    residue = w.select(below, residue + n, residue)

    # Two more bits: whether half a unit remains, and whether more remains.
    half = residue * 2 >= n
    rest = (residue * 2).differs(w.select(half, n, 0))
    more = (whole << 2) | (_one_if(w, half) << 1) | _one_if(w, rest)
    field = e - f + form.bias - less
    drop = (1 - field).most(0).least(form.precision + 2) + 2
    kept = more >> drop
    lost = more - (kept << drop)
    up = _one_if(w, lost + (kept & 1) > (w.const(1, i32) << (drop - 1)))
    result = ((field.most(1) - 1) << form.fraction) + kept + up

    infinite = top.equals(_infinity(w)) | bottom.equals(0)
    nothing = top.equals(0) | bottom.equals(_infinity(w))
    result = w.select(infinite | (field > 2 * form.bias), _infinity(w), result)
    result = w.select(nothing & ~infinite, 0, result)
    undefined = (infinite & nothing) | (top > _infinity(w)) | (bottom > _infinity(w))
    return w.from_bits(w.select(undefined, w.bits(w.real(math.nan)), result | sign))

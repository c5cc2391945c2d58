"""atan, atan2, asin, acos: the angle of a point, whose coordinates are pairs.

The angle of (x, y) with 0 <= y <= x is atan(c) + atan((y - c x) / (x + c y)). The constant c is 0,
1/2 or 1, so that the quotient is at most 7/16; the first difference is exact.
"""

from __future__ import annotations

import math

from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients as known
from gridlane.passes.legalise.math.doubled import (
    Pair,
    choose,
    constant,
    product,
    quick_sum,
    single,
    two_sum,
)


def _angle(w: Writer, y: Pair, x: Pair) -> Pair:
    """The angle of a point in the first half of the first quadrant. x is about 1, or so large that
    the residue of the quotient does not underflow where it matters."""
    middle = y.hi > x.hi * 0.4375
    upper = y.hi > x.hi * 0.6875
    c = w.select(upper, 1.0, w.select(middle, w.real(0.5), 0.0))
    top = Pair(y.hi - c * x.hi, y.lo - c * x.lo)
    base = two_sum(x.hi, c * y.hi)
    bottom = quick_sum(base.hi, base.lo + (x.lo + c * y.lo))
    quotient = quick_sum(top.hi, top.lo) / bottom
    # A quotient this small is the angle itself, and its residue underflows.
    large = abs(top.hi) > w.form.tiny * 2.0 ** (2 * w.form.precision)
    quotient = choose(large, quotient, single(top.hi / bottom.hi))
    q, low = quotient.hi, quotient.lo
    z = q * q
    rest = w.fma(q, z * w.polynomial(z, known.ATAN[w.form.dtype]), low)
    half, quarter = constant(w, known.ATAN_HALF), constant(w, known.HALF_PI).times(0.5)
    start = choose(upper, quarter, choose(middle, half, single(w.real(0.0))))
    total = two_sum(start.hi, q)
    return quick_sum(total.hi, total.lo + (start.lo + rest))


def _direction(w: Writer, y: Pair, x: Pair, swapped: Expression, left: Expression) -> Expression:
    """The angle of a point from its angle in the first half of the first quadrant: ``swapped`` if
    the point was nearer to the y axis, ``left`` if x is negative."""
    angle = _angle(w, y, x)
    right, straight = constant(w, known.HALF_PI), constant(w, known.HALF_PI).times(2.0)
    start = choose(swapped, right, choose(left, straight, single(w.real(0.0))))
    away = swapped ^ left
    return (start + choose(away, -angle, angle)).rounded()


def _arc(w: Writer, y: Pair, x: Pair, left: Expression) -> Expression:
    """The angle of a point with non-negative coordinates; ``left`` as in _direction."""
    swapped = y.hi > x.hi
    return _direction(w, choose(swapped, x, y), choose(swapped, y, x), swapped, left)


def _false(w: Writer) -> Expression:
    return ~w.true()


def atan(w: Writer, x: Expression) -> Expression:
    """The arc tangent."""
    size = abs(x).least(2.0 ** (2 * w.form.precision))
    result = w.with_sign(_arc(w, single(size), single(w.real(1.0)), _false(w)), x)
    return w.select(x.is_nan() | x.equals(0.0), x, result)


def scaled_point(w: Writer, y: Expression, x: Expression) -> tuple[Expression, Expression]:
    """The magnitudes of y and x, scaled alike so that no step overflows or underflows; those of
    infinities and zeros have the right angle."""
    a, b = abs(y), abs(x)
    largest = a.most(b)
    both, none = a.equals(b), largest.equals(0.0)
    infinite = largest.equals(math.inf)
    # One infinite coordinate is 1 beside 0; two of them are on the diagonal, two zeros on an axis.
    a = w.select(infinite, w.select(a.equals(largest), w.real(1.0), 0.0), a)
    b = w.select(infinite, w.select(b.equals(largest), w.real(1.0), 0.0), b)
    b = w.select(none, 1.0, b)
    a, b = w.select(both & infinite, 1.0, a), w.select(both & infinite, 1.0, b)
    up, down = 2.0 ** (w.form.bias // 2 + 2), 2.0**-4
    scale = w.select(largest < 1 / up * 8.0, up, w.select(largest > 1 / w.form.tiny, down, 1.0))
    scale = w.select(infinite | none, 1.0, scale)
    return a * scale, b * scale


def atan2(w: Writer, y: Expression, x: Expression) -> Expression:
    """The angle of (x, y)."""
    a, b = scaled_point(w, y, x)
    result = _arc(w, single(a), single(b), w.is_negative(x))
    return w.select(x.is_nan() | y.is_nan(), math.nan, w.with_sign(result, y))


def _other_side(w: Writer, x: Expression) -> Pair:
    """sqrt(1 - x**2) for |x| <= 1."""
    square = product(x, x)
    rest = two_sum(w.real(1.0), -square.hi)
    rest = quick_sum(rest.hi, rest.lo - square.lo)
    root = Pair(rest.hi.most(w.form.tiny), rest.lo).sqrt()
    zero = rest.hi.equals(0.0)
    return choose(zero, single(w.real(0.0)), root)


def asin(w: Writer, x: Expression) -> Expression:
    """The arc sine."""
    size = abs(x).least(1.0)
    result = w.with_sign(_arc(w, single(size), _other_side(w, size), _false(w)), x)
    small = abs(x) < 2.0 ** -(w.form.precision // 2 + 2)
    result = w.select(small, x, result)
    return w.select(abs(x) <= 1.0, result, math.nan)


def acos(w: Writer, x: Expression) -> Expression:
    """The arc cosine."""
    size = abs(x).least(1.0)
    result = _arc(w, _other_side(w, size), single(size), x < 0.0)
    return w.select(abs(x) <= 1.0, result, math.nan)

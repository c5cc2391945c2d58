"""exp, exp2, exp10, expm1, tanh.

x = n ln 2 + r, |r| <= ln(2) / 2, with ln 2 in two pieces; e**r = 1 + r + r**2 q(r).
"""

from __future__ import annotations

from gridlane.core.dtypes import f32
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients
from gridlane.passes.legalise.math.by_fma import coefficients as known
from gridlane.passes.legalise.math.by_fma.turning import Rounded, nearest, power_of_two, scaled
from gridlane.passes.legalise.math.doubled import pieces

_LIMITS = {f32: (-105.0, 90.0)}
_WIDE = (-750.0, 711.0)


def reduced(w: Writer, x: Expression) -> tuple[Rounded, Expression, Expression]:
    """(n, r, r**2 q(r)) for x within the limits of exp."""
    high, low = pieces(coefficients.LN_2, w.form.precision, w.form.precision)
    n = nearest(w, x, float(coefficients.LOG2_E))
    r = w.fma(n.value, w.real(-low), w.fma(n.value, w.real(-high), x))
    return n, r, (r * r) * w.polynomial(r, known.EXP[w.form.dtype])


def exp(w: Writer, x: Expression) -> Expression:
    """e to the x."""
    low, high = _LIMITS.get(w.form.dtype, _WIDE)
    n, r, rest = reduced(w, x.most(low).least(high))
    return w.select(x.is_nan(), x, scaled(w, _one_plus(r, rest), n))


def _one_plus(r: Expression, rest: Expression) -> Expression:
    high = r + 1.0
    return high + ((r - (high - 1.0)) + rest)


def exp2(w: Writer, x: Expression) -> Expression:
    """2 to the x; exact for integers."""
    low, high = (-160.0, 130.0) if w.form.dtype is f32 else (-1080.0, 1030.0)
    inside = x.most(low).least(high)
    n = nearest(w, inside)
    r = inside - n.value
    power = w.fma(r, w.polynomial(r, known.EXP2[w.form.dtype]), 1.0)
    return w.select(x.is_nan(), x, scaled(w, power, n))


def exp10(w: Writer, x: Expression) -> Expression:
    """10 to the x."""
    low, high = (-46.0, 39.0) if w.form.dtype is f32 else (-325.0, 309.0)
    inside = x.most(low).least(high)
    first, second = pieces(coefficients.LOG10_2, w.form.precision, w.form.precision)
    n = nearest(w, inside, float(1 / coefficients.LOG10_2))
    r = w.fma(n.value, w.real(-second), w.fma(n.value, w.real(-first), inside))
    power = w.fma(r, w.polynomial(r, known.EXP10[w.form.dtype]), 1.0)
    return w.select(x.is_nan(), x, scaled(w, power, n))


def expm1(w: Writer, x: Expression) -> Expression:
    """e to the x, less 1."""
    single = w.form.dtype is f32
    low, high, edge = (-30.0, 90.0, 30.0) if single else (-60.0, 711.0, 60.0)
    inside = x.most(low).least(high)
    n, r, rest = reduced(w, inside)
    near = _sum(_minus_one(w, inside, n, r, rest))
    result = w.select(x > edge, scaled(w, _one_plus(r, rest), n), near)
    return w.select(x.is_nan() | x.equals(0.0), x, result)


def _sum(parts: tuple[Expression, Expression]) -> Expression:
    return parts[0] + parts[1]


def _minus_one(
    w: Writer, x: Expression, n: Rounded, r: Expression, rest: Expression
) -> tuple[Expression, Expression]:
    """e**x - 1 as a sum of two floats, the second small, where 2**n is in the normal range."""
    high, low = pieces(coefficients.LN_2, w.form.precision, w.form.precision)
    exact = w.fma(n.value, w.real(-high), x)
    of_r = w.fma(n.value, w.real(-low), exact - r)
    t = r + rest
    lost = (rest - (t - r)) + w.fma(of_r, t, of_r)
    scale = power_of_two(w, n)
    whole = scale - 1.0
    rounding = (scale - whole) - 1.0  # of a scale with more bits than the type has
    first = w.fma(scale, t, whole)
    return first, w.fma(scale, t, whole - first) + w.fma(scale, lost, rounding)


def tanh(w: Writer, x: Expression) -> Expression:
    """E / (E + 2) with E = expm1(2 |x|), and the residue of the quotient."""
    limit = 18.5 if w.form.dtype is f32 else 40.0  # tanh of half of it is 1
    doubled = (abs(x) * 2.0).least(limit)
    high, low = _minus_one(w, doubled, *reduced(w, doubled))
    below = high + 2.0
    # The larger of 2 and high is subtracted first, so that the difference is exact.
    dropped = w.select(high > 2.0, 2.0 - (below - high), high - (below - 2.0)) + low
    inverse = 1.0 / below
    quotient = high * inverse
    residue = w.fma(-quotient, below, high) + (low - quotient * dropped)
    result = w.fma(residue, inverse, quotient)
    small = abs(x) < 2.0 ** -(w.form.precision // 2 + 1)
    return w.select(x.is_nan() | small, x, w.with_sign(result, x))

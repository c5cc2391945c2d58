"""exp, exp2, exp10, expm1, sinh, cosh, tanh.

x = n ln 2 + r, |r| <= ln(2) / 2, with ln 2 in two pieces; e**r = 1 + r + r**2 q(r).
"""

from __future__ import annotations

from gridlane.core.dtypes import f32, f64
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients
from gridlane.passes.legalise.math.by_fma import coefficients as known
from gridlane.passes.legalise.math.by_fma.turning import Rounded, nearest, power_of_two, scaled
from gridlane.passes.legalise.math.doubled import pieces

LIMITS = {f32: (-105.0, 90.0), f64: (-750.0, 711.0)}
"""Limits of x, beyond which exp is 0 or infinite."""


def _reduced(w: Writer, x: Expression) -> tuple[Rounded, Expression, Expression]:
    """(n, r, what rounding r lost) for x within the limits of exp."""
    high, low = pieces(coefficients.LN_2, w.form.precision, w.form.precision)
    n = nearest(w, x, float(coefficients.LOG2_E))
    exact = w.fma(n.value, w.real(-high), x)
    r = w.fma(n.value, w.real(-low), exact)
    return n, r, w.fma(n.value, w.real(-low), exact - r)


def reduced(w: Writer, x: Expression) -> tuple[Rounded, Expression, Expression, Expression]:
    """(n, r, what rounding r lost, r**2 q(r)) for x within the limits of exp."""
    n, r, lost = _reduced(w, x)
    return n, r, lost, (r * r) * w.polynomial(r, known.EXP[w.form.dtype])


def exp(w: Writer, x: Expression) -> Expression:
    """e to the x."""
    low, high = LIMITS[w.form.dtype]
    n, r, _, rest = reduced(w, x.most(low).least(high))
    return w.select(x.is_nan(), x, scaled(w, one_plus(r, rest), n))


def one_plus(r: Expression, rest: Expression) -> Expression:
    """1 + r + rest."""
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
    """10 to the x, of f64."""
    inside = x.most(-325.0).least(309.0)
    first, second = pieces(coefficients.LOG10_2, w.form.precision, w.form.precision)
    n = nearest(w, inside, float(1 / coefficients.LOG10_2))
    r = w.fma(n.value, w.real(-second), w.fma(n.value, w.real(-first), inside))
    power = w.fma(r, w.polynomial(r, known.EXP10[w.form.dtype]), 1.0)
    return w.select(x.is_nan(), x, scaled(w, power, n))


def expm1(w: Writer, x: Expression) -> Expression:
    """e to the x, less 1."""
    single = w.form.dtype is f32
    low, high, edge = (-30.0, 90.0, 30.0) if single else (-60.0, 711.0, 60.0)
    n, r, lost, rest = reduced(w, x.most(low).least(high))
    large, small = _minus_one(w, n, r, lost, rest)
    near = large + small
    result = w.select(x > edge, scaled(w, one_plus(r, rest), n), near)
    return w.select(x.is_nan() | x.equals(0.0), x, result)


def _minus_one(
    w: Writer, n: Rounded, r: Expression, of_r: Expression, rest: Expression
) -> tuple[Expression, Expression]:
    """e**x - 1 as a sum of two floats, the second small, where 2**n is in the normal range."""
    t = r + rest
    lost = (rest - (t - r)) + w.fma(of_r, t, of_r)
    scale = power_of_two(w, n)
    whole = scale - 1.0
    rounding = (scale - whole) - 1.0  # of a scale with more bits than the type has
    first = w.fma(scale, t, whole)
    return first, w.fma(scale, t, whole - first) + w.fma(scale, lost, rounding)


def tanh(w: Writer, x: Expression) -> Expression:
    """The hyperbolic tangent."""
    return (_tanh_of_f32 if w.form.dtype is f32 else _tanh_of_f64)(w, x)


def _tanh_of_f32(w: Writer, x: Expression) -> Expression:
    """1 - 2 / (e**(2 |x|) + 1), and below 1 an odd polynomial."""
    size = abs(x)
    n, r, _ = _reduced(w, (size * 2.0).least(18.5))  # tanh of half of it is 1
    t = w.fma(r * r, w.polynomial(r, known.EXP[f32]), r)
    scale = power_of_two(w, n)
    far = w.fma(1.0 / w.fma(scale, t, scale + 1.0), w.real(-2.0), w.real(1.0))
    z = size * size
    near = w.fma(size * z, w.polynomial(z, known.TANH[f32]), size)
    return w.with_sign(w.select(size >= 1.0, far, near), x)


def _tanh_of_f64(w: Writer, x: Expression) -> Expression:
    """E / (E + 2) with E = expm1(2 |x|), and the residue of the quotient."""
    high, low = _minus_one(w, *reduced(w, (abs(x) * 2.0).least(40.0)))  # tanh of half of it is 1
    below = high + 2.0
    # The larger of 2 and high is subtracted first, so that the difference is exact.
    dropped = w.select(high > 2.0, 2.0 - (below - high), high - (below - 2.0)) + low
    inverse = 1.0 / below
    quotient = high * inverse
    residue = w.fma(-quotient, below, high) + (low - quotient * dropped)
    result = w.fma(residue, inverse, quotient)
    small = abs(x) < 2.0 ** -(w.form.precision // 2 + 1)
    return w.select(x.is_nan() | small, x, w.with_sign(result, x))


def _halves(w: Writer, size: Expression) -> tuple[Expression, ...]:
    """Of e**size = 2**n (c + s), with c = cosh(r) and s = sinh(r) of |r| <= ln(2) / 2:
    (2**(n - 2), 2**(-n - 2), c - 1, r, s - r)."""
    limit = 89.6 if w.form.dtype is f32 else 710.7  # beyond it sinh and cosh are infinite
    n, r, lost = _reduced(w, size.least(limit))
    one, up = w.form.bias << w.form.fraction, n.bits << w.form.fraction
    quarter = one - (2 << w.form.fraction)
    grown, shrunk = w.from_bits(up + quarter), w.from_bits(w.const(quarter, up.dtype) - up)
    shrunk = w.select(n.value > float(w.form.precision + 8), 0.0, shrunk)
    z = r * r
    even = z * w.polynomial(z, known.COSH[w.form.dtype])
    odd = w.fma(r * z, w.polynomial(z, known.SINH[w.form.dtype]), lost)
    return grown, shrunk, even, r, odd


def sinh(w: Writer, x: Expression) -> Expression:
    """The hyperbolic sine: with a, b = 2**n / 2, 2**-n / 2, (a - b) c + (a + b) s."""
    size = abs(x)
    grown, shrunk, even, r, odd = _halves(w, size)
    of_even, of_odd = grown - shrunk, grown + shrunk
    rounding = (grown - of_even) - shrunk
    first = w.fma(of_odd, r, of_even)
    lost = w.fma(of_odd, r, of_even - first) + rounding
    result = (first + w.fma(of_odd, odd, w.fma(of_even, even, lost))) * 2.0
    small = size < 2.0 ** -(w.form.precision // 2 + 1)
    return w.select(x.is_nan() | small, x, w.with_sign(result, x))


def cosh(w: Writer, x: Expression) -> Expression:
    """The hyperbolic cosine: with a, b = 2**n / 2, 2**-n / 2, (a + b) c + (a - b) s."""
    grown, shrunk, even, r, odd = _halves(w, abs(x))
    of_even, of_odd = grown + shrunk, grown - shrunk
    rounding = (grown - of_even) + shrunk
    first = w.fma(of_odd, r, of_even)
    lost = w.fma(of_odd, r, of_even - first) + rounding
    result = (first + w.fma(of_even, even, w.fma(of_odd, odd, lost))) * 2.0
    return w.select(x.is_nan(), x, result)

"""log, log2, log10, log1p: x = 2**e m with m about 1, and log(1 + f) = f + a rest that is small.

For f32 the rest is f**2 p(f) with 2/3 <= m < 4/3. For f64, with sqrt(1/2) <= m < sqrt(2), it is
s (f**2 / 2 + R(s**2)) - f**2 / 2, where s = f / (f + 2) and log(1 + f) = 2 atanh(s).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from gridlane.core.dtypes import f32, f64
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients
from gridlane.passes.legalise.math.by_fma import coefficients as known
from gridlane.passes.legalise.math.doubled import pieces

_ONE = Fraction(1)
_SERIES = {
    _ONE: known.LOG[f32],
    coefficients.LOG2_E: known.LOG2[f32],
}


LEAST = {f32: 2 / 3, f64: math.sqrt(0.5)}
"""The least m."""


def _exponent(w: Writer, x: Expression, least: float) -> tuple[Expression, Expression]:
    """(e as a float, its field in the bits) of a positive normal x."""
    form = w.form
    bits = int(np.array(least, form.dtype.numpy).view(form.whole.numpy))
    one = 1 << form.fraction
    up = (w.bits(x) - bits) & -one
    # The exponent, more than 0 by the addition, becomes the low bits of a large float.
    raised = (up + (form.bias << form.fraction)).reread(form.unsigned) >> form.fraction
    magic = 1 << form.fraction
    large = form.bias + form.fraction << form.fraction
    return w.from_bits(raised.reread(form.whole) | large) - float(magic + form.bias), up


def split(w: Writer, x: Expression, least: float) -> tuple[Expression, Expression]:
    """(m - 1, e as a float) of a positive x = m 2**e, for the least m."""
    form = w.form
    small = x < form.tiny
    normal = w.select(small, x * 2.0**form.precision, x)
    e, up = _exponent(w, normal, least)
    return w.from_bits(w.bits(normal) - up) - 1.0, e - w.select(small, float(form.precision), 0.0)


def rest_of(w: Writer, f: Expression, low: Expression | None, scale: Fraction = _ONE) -> Expression:
    """log(1 + f) - f, both times a scale, plus a small number."""
    if w.form.dtype is f32:
        square, series = f * f, w.polynomial(f, _SERIES[scale])
        return square * series if low is None else w.fma(square, series, low)
    s = f / (f + 2.0)
    z, half = s * s, f * f * 0.5
    series = w.fma(z, w.polynomial(z, coefficients.LOG[w.form.dtype]), 2 / 3)
    rest = w.fma(s, w.fma(z, series, half), -half)
    if low is None:
        return rest
    return rest + low if scale == 1 else w.fma(rest, w.real(scale), low)


def joined(w: Writer, e: Expression, f: Expression, rest: Expression) -> Expression:
    """e ln 2 + f + rest."""
    high, low = pieces(coefficients.LN_2, w.form.precision, w.form.precision)
    if w.form.dtype is not f32:  # what the f32 lacks is negligible
        rest = w.fma(e, w.real(low), rest)
    return w.fma(e, w.real(high), f + rest)


def _special(w: Writer, x: Expression, ordinary: Expression) -> Expression:
    """The value of every logarithm at 0, at negative numbers, infinity and NaN."""
    ordinary = w.select(x < math.inf, ordinary, x)
    ordinary = w.select(x.equals(0.0), -math.inf, ordinary)
    return w.select(x < 0.0, math.nan, ordinary)


def log(w: Writer, x: Expression) -> Expression:
    """The natural logarithm."""
    f, e = split(w, x, LEAST[w.form.dtype])
    return _special(w, x, joined(w, e, f, rest_of(w, f, None)))


def _based(w: Writer, x: Expression, of_f: Fraction, of_e: Fraction) -> Expression:
    """e of_e + f of_f + rest of_f, the first sum in two floats."""
    f, e = split(w, x, LEAST[w.form.dtype])
    precision = w.form.precision
    high, low = pieces(of_f, precision, precision)
    first, second = pieces(of_e, precision - 11, precision)
    start = e if of_e == 1 else e * first
    product = f * high
    total = start + product
    lost = ((start - total) + product) + w.fma(f, w.real(high), -product)
    lost = w.fma(f, w.real(low), lost)
    if of_e != 1:
        lost = w.fma(e, w.real(second), lost)
    return _special(w, x, total + rest_of(w, f, lost, of_f))


def log2(w: Writer, x: Expression) -> Expression:
    """The logarithm to base 2; exact for powers of two."""
    return _based(w, x, coefficients.LOG2_E, _ONE)


def log10(w: Writer, x: Expression) -> Expression:
    """The logarithm to base 10, of f64."""
    return _based(w, x, coefficients.LOG10_E, coefficients.LOG10_2)


def log1p(w: Writer, x: Expression) -> Expression:
    """The logarithm of 1 + x."""
    form = w.form
    e, up = _exponent(w, x + 1.0, LEAST[form.dtype])
    # 2**-e may be subnormal, 4 times it is not.
    four = w.from_bits(w.const(form.bias + 2 << form.fraction, form.whole) - up)
    start = w.fma(four, w.real(0.25), -1.0)
    moved = w.from_bits(w.bits(x) - up)
    f = moved + start
    lost = moved - (f - start)
    result = joined(w, e, f, rest_of(w, f, w.fma(-f, lost, lost)))  # lost / (1 + f)
    result = w.select((x < math.inf) & x.differs(0.0), result, x)
    result = w.select(x.equals(-1.0), -math.inf, result)
    return w.select(x < -1.0, math.nan, result)

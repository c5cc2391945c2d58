"""log, log2, log10, log1p, and the precise logarithm that pow and the gamma functions need.

x = 2**e m with sqrt(1/2) <= m < sqrt(2); log(m) = 2 atanh(s) with s = (m - 1) / (m + 1).
"""

from __future__ import annotations

import math

import numpy as np

from gridlane.core.dtypes import f32
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients as known
from gridlane.passes.legalise.math.doubled import (
    Pair,
    constant,
    pieces,
    quick_sum,
    single,
    two_sum,
)


def normalised(w: Writer, x: Expression) -> tuple[Expression, Expression]:
    """(m, e as a float) of a positive x."""
    form = w.form
    small = x < form.tiny
    bits = w.bits(w.select(small, x * 2.0**form.precision, x))
    root = np.array(math.sqrt(0.5), form.dtype.numpy).view(form.whole.numpy)
    # Relative to the bits of sqrt(1/2), the exponent field is e and the fraction that of m.
    e = (bits - int(root)) >> form.fraction
    m = w.from_bits(bits - (e << form.fraction))
    return m, e.cast(form.dtype) - w.select(small, float(form.precision), 0.0)


def near_one(w: Writer, f: Expression, low: Expression | None = None) -> Pair:
    """log(1 + f + low) for 1 + f between sqrt(1/2) and sqrt(2), more precise than a float."""
    s = f / (f + 2.0)
    z = s * s
    half_square = f * f * 0.5
    series = z * w.fma(z, w.polynomial(z, known.LOG[w.form.dtype]), 2 / 3)
    hi = f - half_square
    lo = ((f - hi) - half_square) + s * (half_square + series)
    return Pair(hi, lo if low is None else lo + low / (f + 1.0))


def precise(w: Writer, x: Expression, low: Expression | None = None) -> Pair:
    """log(x + low) of a normal or subnormal x > 0, also near 1; its relative error is about 2**-8
    of a float's for f32 and 2**-11 for f64."""
    m, e = normalised(w, x)
    f = single(m - 1.0)
    if low is not None:
        # m = x * 2**-e, so the low part is scaled alike; 2**-e alone may overflow.
        f = f + low / x * m
    s = f / (f + w.real(2.0))
    z = s * s
    tail = z.hi * w.polynomial(z.hi, known.LOG[w.form.dtype])
    third = constant(w, known.Fraction(2, 3)) + tail
    series = s.times(2.0) + s * z * third
    plain = w.form.precision - (8 if w.form.dtype is f32 else 11)
    high, middle, rest = pieces(known.LN_2, plain, plain, w.form.precision)
    scale = quick_sum(e * high, e * middle)
    return scale + quick_sum(series.hi, w.fma(e, w.real(rest), series.lo))


def _special(w: Writer, x: Expression, ordinary: Expression) -> Expression:
    """The value of every logarithm at 0, at negative numbers, infinity and NaN."""
    ordinary = w.select(x < math.inf, ordinary, x)
    ordinary = w.select(x.equals(0.0), -math.inf, ordinary)
    return w.select(x < 0.0, math.nan, ordinary)


def _joined(w: Writer, e: Expression, part: Pair) -> Expression:
    """e ln 2 + part."""
    plain = w.form.precision - (8 if w.form.dtype is f32 else 11)
    high, low = pieces(known.LN_2, plain, w.form.precision)
    total = quick_sum(e * high, part.hi)
    return total.hi + (total.lo + w.fma(e, w.real(low), part.lo))


def positive(w: Writer, x: Expression, doublings: float = 0.0) -> Expression:
    """log(x * 2**doublings) of a finite x > 0."""
    m, e = normalised(w, x)
    return _joined(w, e + doublings if doublings else e, near_one(w, m - 1.0))


def log(w: Writer, x: Expression) -> Expression:
    """The natural logarithm."""
    return _special(w, x, positive(w, x))


def log2(w: Writer, x: Expression) -> Expression:
    """The logarithm to base 2; exact for powers of two."""
    m, e = normalised(w, x)
    part = near_one(w, m - 1.0)
    part = quick_sum(part.hi, part.lo) * constant(w, known.LOG2_E)
    return _special(w, x, (quick_sum(e, part.hi) + part.lo).rounded())


def log10(w: Writer, x: Expression) -> Expression:
    """The logarithm to base 10."""
    m, e = normalised(w, x)
    part = near_one(w, m - 1.0)
    part = quick_sum(part.hi, part.lo) * constant(w, known.LOG10_E)
    plain = w.form.precision - (8 if w.form.dtype is f32 else 11)
    high, low = pieces(known.LOG10_2, plain, w.form.precision)
    total = quick_sum(e * high, part.hi)
    return _special(w, x, total.hi + (total.lo + w.fma(e, w.real(low), part.lo)))


def one_plus(w: Writer, x: Expression, low: Expression | None = None) -> Expression:
    """log(1 + x + low) for x > -1."""
    one = two_sum(w.real(1.0), x)
    u, lost = one.hi, one.lo if low is None else one.lo + low
    m, e = normalised(w, u)
    # m = u * 2**-e, so the low part of u is scaled alike.
    return _joined(w, e, near_one(w, m - 1.0, lost / u * m))


def log1p(w: Writer, x: Expression) -> Expression:
    """The logarithm of 1 + x."""
    result = w.select(x < math.inf, one_plus(w, x), x)
    result = w.select(x.equals(0.0), x, result)
    result = w.select(x.equals(-1.0), -math.inf, result)
    return w.select(x < -1.0, math.nan, result)

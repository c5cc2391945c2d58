"""pow: the logarithm in a pair whose error is about 2**-36 of it for f32 and 2**-66 for f64."""

from __future__ import annotations

import math

from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients
from gridlane.passes.legalise.math.by_fma.exponential import LIMITS, one_plus, reduced
from gridlane.passes.legalise.math.by_fma.logarithm import split
from gridlane.passes.legalise.math.by_fma.turning import scaled
from gridlane.passes.legalise.math.doubled import Pair, constant, pieces, product, quick_sum
from gridlane.passes.legalise.math.power import completed


def _log(w: Writer, x: Expression) -> Pair:
    """log(x) of a finite x > 0: with s = f / (f + 2), e ln 2 + 2 s + s**3 (2/3 + s**2 p(s**2))."""
    precision = w.form.precision
    f, e = split(w, x, math.sqrt(0.5))
    below = f + 2.0
    inverse = 1.0 / below
    s = f * inverse
    s_low = (w.fma(-s, below, f) - s * ((2.0 - below) + f)) * inverse
    square = product(s, s)
    square_low = w.fma(s * 2.0, s_low, square.lo)
    third = constant(w, coefficients.Fraction(2, 3))
    series = w.polynomial(square.hi, coefficients.LOG[w.form.dtype])
    factor = w.fma(square.hi, series, third.hi)
    factor_low = w.fma(square.hi, series, third.hi - factor) + third.lo
    inner = product(square.hi, factor)
    inner_low = w.fma(square.hi, factor_low, w.fma(square_low, factor, inner.lo))
    cubic = product(s, inner.hi)
    cubic_low = w.fma(s, inner_low, w.fma(s_low, inner.hi, cubic.lo))
    high, middle = pieces(coefficients.LN_2, precision - 11, precision)
    first = quick_sum(e * high, s * 2.0)
    second = quick_sum(first.hi, cubic.hi)
    low = w.fma(s_low, w.real(2.0), w.fma(e, w.real(middle), cubic_low))
    return quick_sum(second.hi, (first.lo + second.lo) + low)


def pow(w: Writer, x: Expression, y: Expression) -> Expression:
    """x to the y: e**(y log |x|); signs and NaN follow C."""
    size = abs(x)
    inside = size.most(math.ulp(0.0) if w.form.precision == 53 else 2.0**-149)
    log = _log(w, inside.least(2.0**w.form.bias * (2 - 2.0 ** (1 - w.form.precision))))
    # Beyond the limit of y, every power except that of 1 is 0 or infinite.
    limit = 2.0 ** (w.form.precision + 16)
    y1 = y.most(-limit).least(limit)
    exponent = product(y1, log.hi)
    low, high = LIMITS[w.form.dtype]
    whole = exponent.hi.most(low).least(high)
    of_whole = w.fma(y1, log.lo, exponent.lo)
    of_whole = w.select(whole.equals(exponent.hi), of_whole, 0.0)
    n, r, of_r, rest = reduced(w, whole)
    of_r = of_r + of_whole
    result = scaled(w, one_plus(r, rest + w.fma(of_r, r + rest, of_r)), n)
    return completed(w, x, y, result)

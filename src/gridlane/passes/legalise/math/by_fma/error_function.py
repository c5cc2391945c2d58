"""erf: up to 1 an odd polynomial, beyond it 1 - exp(-x p(x)).
erfc from 1/2 on: exp(-x**2) / (1 + 2x) times a polynomial in (x - 4) / (x + 4)."""

from __future__ import annotations

from gridlane.core.dtypes import f32
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients as tables
from gridlane.passes.legalise.math.by_fma import coefficients as known
from gridlane.passes.legalise.math.by_fma.exponential import reduced
from gridlane.passes.legalise.math.by_fma.turning import Rounded, power_of_two, scaled
from gridlane.passes.legalise.math.doubled import Pair, product, quick_sum, two_sum

_SLOPE = (-0.16, 0.083, 0.515, -0.757)
"""The derivative of ERFC's polynomial, to 0.08."""


def erf(w: Writer, x: Expression) -> Expression:
    """The error function."""
    dtype = w.form.dtype
    size = abs(x).least(4.0 if dtype is f32 else 6.0)
    outside = size.most(1.0)
    series = w.polynomial(outside, known.ERFC[dtype])
    exponent = -(outside * series)
    n, r, _, rest = reduced(w, exponent)
    rest = rest - w.fma(outside, series, exponent)
    scale = power_of_two(w, n)
    far = w.fma(-scale, r + rest, 1.0 - scale)
    # The sum is scaled, so that no part of it is subnormal: some devices flush subnormals to 0.
    up = size * 2.0**64
    near = w.fma(up, w.polynomial(size * size, known.ERF[dtype]), up) * 2.0**-64
    result = w.with_sign(w.select(size < 1.0, near, far), x)
    return w.select(x.is_nan(), x, result)


def _reciprocal(w: Writer, x: Pair) -> tuple[Expression, Expression]:
    """(y, residue): 1 / x = y (1 + residue)."""
    inverse = 1.0 / x.hi
    return inverse, w.fma(-inverse, x.hi, 1.0) - inverse * x.lo


def _tail(w: Writer, x: Expression) -> tuple[Expression, Expression, Rounded]:
    """(p, low, n) with erfc(x) = (p + low) * 2**n for x >= 1/2 until erfc is 0."""
    dtype = w.form.dtype
    x = x.most(0.5).least(10.2 if dtype is f32 else 27.5)
    inverse, residue = _reciprocal(w, quick_sum(x.most(4.0), x.least(4.0)))
    t = w.fma(inverse, w.real(-8.0), 1.0)
    of_t = w.fma(inverse, w.real(-8.0), 1.0 - t) - inverse * residue * 8.0
    first, *others = tables.ERFC[dtype]
    series = w.polynomial(t, others)
    slope = w.polynomial(t, _SLOPE)
    varying = w.fma(t, series, first)
    lost = w.fma(of_t, slope, tables.ERFC_LOW[dtype])
    of_varying = w.fma(t, series, first - varying) + lost
    inverse, residue = _reciprocal(w, two_sum(x + x, w.real(1.0)))
    factor = product(inverse, varying)
    of_factor = w.fma(inverse, of_varying, w.fma(factor.hi, residue, factor.lo))
    square = product(x, x)
    n, r, of_r, rest = reduced(w, -square.hi)
    of_r = of_r - square.lo
    power = quick_sum(w.real(1.0), r)
    of_power = power.lo + (rest + w.fma(of_r, r + rest, of_r))
    result = product(power.hi, factor.hi)
    low = w.fma(power.hi, of_factor, w.fma(of_power, factor.hi, result.lo))
    return result.hi, low, n


def erfc(w: Writer, x: Expression) -> Expression:
    """1 - erf(x)."""
    high, low, n = _tail(w, abs(x))
    right = scaled(w, high + low, n)
    inside_range = n.value > float(1 - w.form.bias)
    scale = w.select(inside_range, power_of_two(w, n), 0.0)
    first = w.fma(-scale, high, 2.0)
    left = first + w.fma(-scale, low, w.fma(-scale, high, 2.0 - first))
    inside = x.most(-0.5).least(0.5)
    series = w.polynomial(inside * inside, known.ERF[w.form.dtype])
    first = 1.0 - inside
    near = first + w.fma(-inside, series, (1.0 - first) - inside)
    result = w.select(abs(x) < 0.5, near, w.select(x < 0.0, left, right))
    return w.select(x.is_nan(), x, result)

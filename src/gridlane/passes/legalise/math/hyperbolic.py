"""sinh, cosh, tanh and their inverses, from exp, expm1 and log1p in pairs."""

from __future__ import annotations

import math

from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math.doubled import product, single, two_sum
from gridlane.passes.legalise.math.exponential import limited, minus_one, parts
from gridlane.passes.legalise.math.logarithm import one_plus, positive


def _odd(w: Writer, x: Expression, result: Expression) -> Expression:
    """A function's value on the magnitude, with the sign of x; x itself where it is tiny or NaN."""
    small = abs(x) < 2.0 ** -(w.form.precision // 2 + 2)
    return w.select(x.is_nan() | small, x, w.with_sign(result, x))


def sinh(w: Writer, x: Expression) -> Expression:
    """The hyperbolic sine: (E + E / (E + 1)) / 2 with E = expm1(|x|); e**|x| / 2 for large x."""
    edge = float(w.form.precision)
    size = abs(x)
    grown = minus_one(w, size.least(edge))
    near = (grown + grown / (grown + w.real(1.0))).rounded() * 0.5
    power, n = parts(w, limited(w, size))
    far = w.scaled(power.rounded(), n - 1)
    return _odd(w, x, w.select(size > edge, far, near))


def cosh(w: Writer, x: Expression) -> Expression:
    """The hyperbolic cosine: half the sum of e**|x| and its inverse."""
    power, n = parts(w, limited(w, abs(x)))
    inverse = w.power_of_two((n * -2).most(1 - w.form.bias)) / power.hi
    result = w.scaled((power + inverse).rounded(), n - 1)
    return w.select(x.is_nan(), x, result)


def tanh(w: Writer, x: Expression) -> Expression:
    """The hyperbolic tangent: E / (E + 2) with E = expm1(2 |x|)."""
    grown = minus_one(w, (abs(x) * 2.0).least(float(w.form.precision + 2)))
    return _odd(w, x, (grown / (grown + w.real(2.0))).rounded())


def _large(w: Writer, size: Expression, ordinary: Expression) -> Expression:
    """log(2 size) where 1 is negligible beside its square; size itself if infinite or NaN."""
    ordinary = w.select(size > 2.0 ** (w.form.precision // 2 + 2), positive(w, size, 1.0), ordinary)
    return w.select(size < math.inf, ordinary, size)


def asinh(w: Writer, x: Expression) -> Expression:
    """log1p(a + a**2 / (1 + sqrt(a**2 + 1))) with a = |x|."""
    size = abs(x)
    a = size.least(2.0 ** (w.form.precision // 2 + 3))
    square = product(a, a)
    root = (square + w.real(1.0)).sqrt()
    inner = square / (root + w.real(1.0)) + a
    return _odd(w, x, _large(w, size, one_plus(w, inner.hi, inner.lo)))


def acosh(w: Writer, x: Expression) -> Expression:
    """log1p(t + sqrt(t (x + 1))) with t = x - 1."""
    a = x.most(1.0).least(2.0 ** (w.form.precision // 2 + 3))
    t = two_sum(a, w.real(-1.0))
    # x is moved off 0, where the root's residue would be 0 / 0.
    root = (t * two_sum(a, w.real(1.0)) + w.real(w.form.tiny)).sqrt()
    inner = root + t
    result = _large(w, x, one_plus(w, inner.hi, inner.lo))
    result = w.select(x.equals(1.0), 0.0, result)
    return w.select(x < 1.0, math.nan, result)


def atanh(w: Writer, x: Expression) -> Expression:
    """log1p(2 a / (1 - a)) / 2 with a = |x|."""
    size = abs(x)
    a = size.least(1.0 - 2.0**-w.form.precision)
    inner = single(a + a) / two_sum(w.real(1.0), -a)
    result = one_plus(w, inner.hi, inner.lo) * 0.5
    result = w.select(size.equals(1.0), math.inf, result)
    return w.select(size > 1.0, math.nan, _odd(w, x, result))

"""erf and erfc: up to 1/2 an odd polynomial. Beyond it, erfc(x) is exp(-x**2) / (1 + 2x) times a
slowly varying function, a polynomial in (x - 4) / (x + 4)."""

from __future__ import annotations

from gridlane.core.dtypes import f32
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients as known
from gridlane.passes.legalise.math.doubled import Pair, product, quick_sum, single, two_sum
from gridlane.passes.legalise.math.exponential import parts

_UP = 2.0**64


def _small(w: Writer, x: Expression, scale: float = 1.0) -> Pair:
    """scale * erf(x) for |x| <= 1/2."""
    up = x * scale
    return quick_sum(up, up * w.polynomial(x * x, known.ERF[w.form.dtype]))


def _tail(w: Writer, x: Expression) -> tuple[Pair, Expression]:
    """(p, n) with erfc(x) = p * 2**n for x >= 1/2; x is clamped to the point where erfc is 0."""
    dtype = w.form.dtype
    x = x.most(0.5).least(10.2 if dtype is f32 else 27.5)
    t = (x - 4.0) / (x + 4.0)
    first, *others = known.ERFC[dtype]
    varying = t * w.polynomial(t, others)
    factor = two_sum(w.real(first), varying)
    factor = quick_sum(factor.hi, factor.lo + known.ERFC_LOW[dtype])
    square = product(x, x)
    power, n = parts(w, -square.hi, -square.lo)
    return power * (factor / two_sum(w.real(1.0), x + x)), n


def erf(w: Writer, x: Expression) -> Expression:
    """The error function."""
    size = abs(x)
    tail, n = _tail(w, size)
    # Where 2**n is below the normal range, the tail is negligible beside 1.
    tail = tail.times(w.power_of_two(n.most(1 - w.form.bias)))
    far = w.with_sign((-tail + w.real(1.0)).rounded(), x)
    # The sum is scaled, so that no part of it is subnormal: some devices flush subnormals to 0.
    near = _small(w, x.most(-0.5).least(0.5), _UP).rounded() * (1 / _UP)
    result = w.select(size < 0.5, near, far)
    return w.select(x.is_nan() | x.equals(0.0), x, result)


def erfc(w: Writer, x: Expression) -> Expression:
    """1 - erf(x)."""
    size = abs(x)
    tail, n = _tail(w, size)
    right = w.scaled(tail.rounded(), n)
    whole = tail.times(w.power_of_two(n.most(1 - w.form.bias)))
    left = (-whole + w.real(2.0)).rounded()
    near = (single(w.real(1.0)) - _small(w, x.most(-0.5).least(0.5))).rounded()
    result = w.select(size < 0.5, near, w.select(x < 0.0, left, right))
    return w.select(x.is_nan(), x, result)

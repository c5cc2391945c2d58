"""tgamma and lgamma: Stirling's series from a threshold on. Below it, the recurrence leads to the
series (tgamma) or to a polynomial around 2 (lgamma). Negative arguments use the reflection."""

from __future__ import annotations

import math

from gridlane.core.dtypes import f32
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients as known
from gridlane.passes.legalise.math.doubled import (
    Pair,
    choose,
    constant,
    single,
    two_sum,
)
from gridlane.passes.legalise.math.exponential import parts
from gridlane.passes.legalise.math.logarithm import precise
from gridlane.passes.legalise.math.trigonometric import cosine, sine

_PI = known.HALF_PI * 2


def _threshold(w: Writer) -> float:
    """The threshold from which the series that coefficients.STIRLING approximates is used."""
    return 4.0 if w.form.dtype is f32 else 8.0


def _series(w: Writer, x: Expression) -> Expression:
    """The part of log(gamma(x)) beyond (x - 1/2) log(x) - x + log(2 pi) / 2."""
    inverse = 1.0 / x
    return inverse * w.polynomial(inverse * inverse, known.STIRLING[w.form.dtype])


def _sine_of_turns(w: Writer, a: Expression) -> Pair:
    """sin(pi a) for a >= 0."""
    n = (a * 2.0).rint()
    angle = constant(w, _PI) * (a - n * 0.5)
    turns = n.cast(w.form.whole)
    result = choose((turns & 1).equals(0), sine(w, angle), cosine(w, angle))
    return choose((turns & 2).equals(0), result, -result)


def _raised(w: Writer, a: Expression) -> tuple[Pair, Pair]:
    """(a + k, a (a + 1) ... (a + k - 1)) with the least k that reaches the threshold."""
    y, low = w.variable("raised", a), w.variable("raised_low", w.real(0.0))
    done, lost = w.variable("product", w.real(1.0)), w.variable("product_low", w.real(0.0))
    with w.builder.loop():
        now = Pair(y.get(), low.get())
        w.builder.break_if((now.hi >= _threshold(w)).value)
        product = Pair(done.get(), lost.get()) * now
        done.set(product.hi)
        lost.set(product.lo)
        after = now + w.real(1.0)
        y.set(after.hi)
        low.set(after.lo)
    return Pair(y.get(), low.get()), Pair(done.get(), lost.get())


def tgamma(w: Writer, x: Expression) -> Expression:
    """The gamma function."""
    form = w.form
    size = abs(x)
    # Beyond the limit gamma(x) is infinite, and gamma(-x) is 0 even beside a pole.
    limit = 50.0 if form.dtype is f32 else 190.0
    a = size.most(2.0 ** -(form.precision + 2)).least(limit)
    y, divisor = _raised(w, a)
    exponent = (y - w.real(0.5)) * precise(w, y.hi, y.lo) - y + constant(w, known.HALF_LN_TAU)
    exponent = exponent + _series(w, y.hi)
    power, n = parts(w, exponent.hi, exponent.lo)
    right = w.scaled((power / divisor).rounded(), n)
    # gamma(-a) = -pi / (a sin(pi a) gamma(a))
    under = _sine_of_turns(w, size) * a * power
    left = w.scaled((-constant(w, _PI) * divisor / under).rounded(), -n)
    result = w.select(x < 0.0, left, right)
    result = w.select(size < 2.0 ** -(form.precision + 2), 1.0 / x, result)
    pole = (x < 0.0) & x.trunc().equals(x)
    return w.select(pole | x.is_nan(), math.nan, result)


def _lowered(w: Writer, a: Expression) -> tuple[Expression, Pair, Expression]:
    """(z, p, up) with |z| <= 1/2 for a below the threshold: log(gamma(a)) is log(gamma(2 + z)) plus
    log(p) if up, else minus log(p)."""
    y, done = w.variable("lowered", a), w.variable("product", w.real(1.0))
    lost = w.variable("product_low", w.real(0.0))
    with w.builder.loop():
        w.builder.break_if((~(y.get() >= 2.5)).value)
        y.set(y.get() - 1.0)
        product = Pair(done.get(), lost.get()) * y.get()
        done.set(product.hi)
        lost.set(product.lo)
    up = a >= 1.5
    few = a >= 0.5
    below = choose(few, single(a), two_sum(w.real(1.0), a) * a)
    z = w.select(up, y.get() - 2.0, w.select(few, a - 1.0, a))
    return z, choose(up, Pair(done.get(), lost.get()), below), up


def _near_two(w: Writer, z: Expression) -> Pair:
    """log(gamma(2 + z)) for |z| <= 1/2."""
    first, *others = known.LGAMMA[w.form.dtype]
    slope = two_sum(w.real(first), z * w.polynomial(z, others))
    return Pair(slope.hi, slope.lo + known.LGAMMA_LOW[w.form.dtype]) * z


def _positive(w: Writer, a: Expression) -> Pair:
    """log(gamma(a)) for a > 0."""
    edge = _threshold(w)
    large = a >= edge
    z, factor, up = _lowered(w, a.least(edge))
    chosen = choose(large, single(a), factor)
    log = precise(w, chosen.hi, chosen.lo)
    near = choose(up, log, -log) + _near_two(w, z)
    # The sum is in pairs away from overflow; near it the other terms are negligible.
    b = a.most(edge).least(2.0**60)
    rest = constant(w, known.HALF_LN_TAU - known.Fraction(1, 2)) + _series(w, b)
    less = log - w.real(1.0)
    far = two_sum(b, w.real(-0.5)) * less + rest
    far = choose(a > 2.0**60, single(a * less.hi), far)
    return choose(large, far, near)


def lgamma(w: Writer, x: Expression) -> Expression:
    """The logarithm of the magnitude of the gamma function."""
    form = w.form
    a = abs(x)
    least = math.ulp(0.0) if form.precision == 53 else 2.0**-149
    positive = _positive(w, a.most(least).least(2.0**form.bias))
    variable = w.variable("made", positive.rounded())
    # log(gamma(-a)) = log(pi / (a |sin(pi a)|)) - log(gamma(a)); the same for a near 0.
    with w.when(x < -(2.0 ** -(form.precision + 2))):
        turned = _sine_of_turns(w, a)
        turned = choose(turned.hi < 0.0, -turned, turned)
        turned = choose(turned.hi.equals(0.0), single(w.real(1.0)), turned)
        inside = constant(w, _PI) / (turned * a.least(2.0**60))
        reflected = (precise(w, inside.hi, inside.lo) - positive).rounded()
        variable.set(w.select(a > 2.0**60, math.inf, reflected))
    pole = (x <= 0.0) & x.trunc().equals(x)
    whole = w.select(pole | a.equals(math.inf), math.inf, variable.get())
    return w.select(x.is_nan(), x, whole)

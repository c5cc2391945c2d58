"""exp, exp2, exp10, expm1.

x = n ln 2 + r with |r| <= ln(2) / 2; e**r is a polynomial around its first three terms; 2**n is
multiplied in two steps, so that subnormal results round once.
"""

from __future__ import annotations

from gridlane.core.dtypes import f32, f64, i32
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients as known
from gridlane.passes.legalise.math.doubled import Pair, constant, pieces, quick_sum, two_sum

_LIMITS = {f32: (-105.0, 90.0), f64: (-750.0, 711.0)}
"""Limits of x, beyond which exp is 0 or infinite."""


def reduced(w: Writer, r: Expression, low: Expression) -> tuple[Expression, Expression]:
    """e**(r + low) - 1 as a sum of r and the second result; |r| <= ln(2) / 2."""
    inner = w.fma(r, w.polynomial(r, known.EXP[w.form.dtype]), 0.5)
    return r, w.fma(r * r, inner, w.fma(low, r, low))


def split(
    w: Writer, x: Expression, low: Expression | None = None
) -> tuple[Expression, Expression, Expression]:
    """(n as a float, r, low part of r) for the argument x + low, x within the limits of exp."""
    exponent_bits = 8 if w.form.dtype is f32 else 11
    plain = w.form.precision - exponent_bits - 1
    high, middle, rest = pieces(known.LN_2, plain, plain, w.form.precision)
    n = (x * float(known.LOG2_E)).rint()
    r = two_sum(x - n * high, -(n * middle))
    lost = r.lo - n * rest
    if low is None:
        return n, r.hi, lost
    # The low part of x may be large beside the last bit of r.
    whole = quick_sum(r.hi, lost + low)
    return n, whole.hi, whole.lo


def parts(w: Writer, x: Expression, low: Expression | None = None) -> tuple[Pair, Expression]:
    """(p, n) with e**(x + low) = p * 2**n, p about 1, n an i32; x within the limits of exp."""
    n, r, lost = split(w, x, low)
    large, small = reduced(w, r, lost)
    one = quick_sum(w.real(1.0), large)
    return quick_sum(one.hi, one.lo + small), n.cast(i32)


def limited(w: Writer, x: Expression) -> Expression:
    """x clamped to the limits of exp; NaN becomes a number."""
    low, high = _LIMITS[w.form.dtype]
    return x.most(low).least(high)


def _finished(w: Writer, x: Expression, power: Pair, n: Expression) -> Expression:
    return w.select(x.is_nan(), x, w.scaled(power.rounded(), n))


def exp(w: Writer, x: Expression) -> Expression:
    """e to the x."""
    power, n = parts(w, limited(w, x))
    return _finished(w, x, power, n)


def exp2(w: Writer, x: Expression) -> Expression:
    """2 to the x; exact for integers."""
    low, high = (-160.0, 130.0) if w.form.dtype is f32 else (-1080.0, 1030.0)
    inside = x.most(low).least(high)
    n = inside.rint()
    return _finished(w, x, *_scaled_power(w, constant(w, known.LN_2), inside - n, n))


def exp10(w: Writer, x: Expression) -> Expression:
    """10 to the x."""
    low, high = (-46.0, 39.0) if w.form.dtype is f32 else (-325.0, 309.0)
    inside = x.most(low).least(high)
    plain = w.form.precision - (8 if w.form.dtype is f32 else 11) - 1
    first, second, third = pieces(known.LOG10_2, plain, plain, w.form.precision)
    n = (inside * float(1 / known.LOG10_2)).rint()
    rest = two_sum(inside - n * first, -(n * second))
    power, n = _scaled_power(w, constant(w, known.LN_10), rest.hi, n, rest.lo - n * third)
    return _finished(w, x, power, n)


def _scaled_power(
    w: Writer, base: Pair, r: Expression, n: Expression, low: Expression | None = None
) -> tuple[Pair, Expression]:
    """e**(base * (r + low)), and n as an i32."""
    exponent = base * r
    lost = exponent.lo if low is None else w.fma(base.hi, low, exponent.lo)
    large, small = reduced(w, exponent.hi, lost)
    one = quick_sum(w.real(1.0), large)
    return quick_sum(one.hi, one.lo + small), n.cast(i32)


def minus_one(w: Writer, x: Expression, low: Expression | None = None) -> Pair:
    """e**(x + low) - 1, accurate where it is small; |x| is at most the precision in bits."""
    n, r, lost = split(w, x, low)
    large, small = reduced(w, r, lost)
    scale = w.power_of_two(n.cast(i32))
    power = quick_sum(large, small).times(scale)
    first = scale - 1.0
    rounding = (scale - first) - 1.0  # of a scale with more bits than the type has
    total = two_sum(first, power.hi)
    return quick_sum(total.hi, total.lo + (power.lo + rounding))


def expm1(w: Writer, x: Expression) -> Expression:
    """e to the x, less 1."""
    edge = 30.0 if w.form.dtype is f32 else 60.0
    near = minus_one(w, x.most(-edge).least(edge)).rounded()
    power, n = parts(w, limited(w, x))
    result = w.select(x > edge, w.scaled(power.rounded(), n), near)
    return w.select(x.is_nan() | x.equals(0.0), x, result)

"""exp and tanh of f32 where a fused multiply-add rounds once: fewer ops than the formulas for all
targets, and at most 1 ulp off over all floats, as ``benchmarks/every_float.py`` measures.

x = n ln 2 + r, |r| <= ln(2) / 2, with ln 2 in two pieces; e**r = 1 + r + r**2 q(r).
"""

from __future__ import annotations

from gridlane.core.dtypes import i32
from gridlane.ir.expressions import Expression, Writer

_LOG2_E = 1.4426950408889634
_LN_2_HIGH, _LN_2_LOW = 0.6931471824645996, -1.904654323148236e-09
"""The f32 that is nearest to ln 2, and the rest."""
_Q = (
    # (exp(r) - 1 - r) / r**2, |r| <= ln(2) / 2; error of e**r 3.2e-9
    0.5,
    0.166665181517601,
    0.04166620597243309,
    0.008368918672204018,
    0.0013950534630566835,
)


def _reduced(w: Writer, x: Expression) -> tuple[Expression, Expression, Expression]:
    """(n as a float, r, r**2 q(r)) for x within the limits of exp."""
    n = (x * _LOG2_E).rint()
    r = w.fma(n, w.real(-_LN_2_LOW), w.fma(n, w.real(-_LN_2_HIGH), x))
    return n, r, (r * r) * w.polynomial(r, _Q)


def exp(w: Writer, x: Expression) -> Expression:
    """e to the x."""
    n, r, rest = _reduced(w, x.most(-105.0).least(90.0))
    high = r + 1.0
    power = high + ((r - (high - 1.0)) + rest)
    return w.select(x.is_nan(), x, w.scaled(power, n.cast(i32)))


def tanh(w: Writer, x: Expression) -> Expression:
    """E / (E + 2) with E = expm1(2 |x|), and the residue of the quotient."""
    doubled = (abs(x) * 2.0).least(18.5)  # tanh of more is 1
    n, r, rest = _reduced(w, doubled)
    t = r + rest
    lost = rest - (t - r)
    scale = w.power_of_two(n.cast(i32))
    whole = scale - 1.0
    high = w.fma(scale, t, whole)
    low = w.fma(scale, t, whole - high) + scale * lost
    below = high + 2.0
    # The larger of 2 and high is subtracted first, so that the difference is exact.
    dropped = w.select(high > 2.0, 2.0 - (below - high), high - (below - 2.0)) + low
    inverse = 1.0 / below
    quotient = high * inverse
    residue = w.fma(-quotient, below, high) + (low - quotient * dropped)
    result = w.fma(residue, inverse, quotient)
    small = abs(x) < 2.0**-13
    return w.select(x.is_nan() | small, x, w.with_sign(result, x))

"""sin, cos, tan: an exact reduction, then polynomials on a quarter turn."""

from __future__ import annotations

import math

from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients as known
from gridlane.passes.legalise.math.doubled import Pair, choose, quick_sum
from gridlane.passes.legalise.math.reduction import quarter_turns


def sine(w: Writer, r: Pair) -> Pair:
    """sin(r) for |r| <= pi / 4."""
    z = r.hi * r.hi
    rest = r.hi * (z * w.polynomial(z, known.SIN[w.form.dtype]))
    return quick_sum(r.hi, rest + w.fma(r.lo, z * -0.5, r.lo))


def cosine(w: Writer, r: Pair) -> Pair:
    """cos(r) for |r| <= pi / 4."""
    z = r.hi * r.hi
    half = z * 0.5
    main = quick_sum(w.real(1.0), -half)
    rest = z * (z * w.polynomial(z, known.COS[w.form.dtype])) - r.hi * r.lo
    # The rounding error of z is negligible: half of it is below 2**-3 of the result's last bit.
    return quick_sum(main.hi, main.lo + rest)


def _turned(w: Writer, r: Pair, turns: Expression) -> Expression:
    """sin(r + turns pi / 2)."""
    result = choose((turns & 1).equals(0), sine(w, r), cosine(w, r)).rounded()
    return w.select((turns & 2).equals(0), result, -result)


def _finite(w: Writer, x: Expression, result: Expression) -> Expression:
    return w.select(abs(x) < math.inf, result, math.nan)


def sin(w: Writer, x: Expression) -> Expression:
    """The sine."""
    r, turns = quarter_turns(w, x)
    result = w.select(x.equals(0.0), x, _turned(w, r, turns))
    return _finite(w, x, result)


def cos(w: Writer, x: Expression) -> Expression:
    """The cosine."""
    r, turns = quarter_turns(w, x)
    return _finite(w, x, _turned(w, r, turns + 1))


def tan(w: Writer, x: Expression) -> Expression:
    """The tangent: sin / cos, or -cos / sin after an odd number of quarter turns."""
    r, turns = quarter_turns(w, x)
    s, c = sine(w, r), cosine(w, r)
    even = (turns & 1).equals(0)
    result = (choose(even, s, -c) / choose(even, c, s)).rounded()
    # The smallest arguments are their own tangents: the quotient's residue underflows for them.
    small = abs(x) < w.form.tiny * 2.0 ** (2 * w.form.precision)
    return _finite(w, x, w.select(small, x, result))

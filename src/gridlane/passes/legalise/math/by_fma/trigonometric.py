"""sin, cos, tan: pi / 2 in three pieces for small angles, the bits of 2 / pi for others."""

from __future__ import annotations

import math

from gridlane.core.dtypes import f32, i32
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients
from gridlane.passes.legalise.math.by_fma import coefficients as known
from gridlane.passes.legalise.math.by_fma.turning import nearest
from gridlane.passes.legalise.math.doubled import Pair, pieces
from gridlane.passes.legalise.math.reduction import far_turns


def _subtracted(w: Writer, x: Expression) -> tuple[Pair, Expression]:
    """(r, n): x = r + n pi / 2 for x up to the limit; only the low bits of n are right."""
    first, second, third = pieces(coefficients.HALF_PI, *[w.form.precision] * 3)
    n = nearest(w, x, float(1 / coefficients.HALF_PI))
    near = w.fma(n.value, w.real(-first), x)  # exact
    product = n.value * second
    lost = w.fma(n.value, w.real(second), -product)
    r = near - product
    low = ((near - r) - product) - lost
    return Pair(r, w.fma(n.value, w.real(-third), low)), n.bits.cast(i32)


def quarter_turns(w: Writer, x: Expression) -> tuple[Pair, Expression]:
    """(r, n): x = r + n pi / 2 with |r| at most slightly above pi / 4; n is an i32, right modulo 4.
    The result is arbitrary for infinity and NaN."""
    # n is rounded right to 2**-10, and n times the error of the pieces is negligible.
    limit = 30000.0 if w.form.dtype is f32 else 2.0**28
    near, quarters = _subtracted(w, x)
    return far_turns(w, x, near, quarters, limit)


def sine(w: Writer, r: Pair, z: Expression) -> Expression:
    """sin(r) for |r| <= pi / 4 and z = r**2."""
    return r.hi + w.fma(r.hi * z, w.polynomial(z, known.SIN[w.form.dtype]), r.lo)


def cosine(w: Writer, r: Pair, z: Expression) -> Expression:
    """cos(r) for |r| <= pi / 4 and z = r**2."""
    return w.fma(r.hi, w.fma(r.hi, w.polynomial(z, known.COS[w.form.dtype]), -r.lo), 1.0)


def _turned(w: Writer, x: Expression, quarters: int) -> Expression:
    """sin(x + quarters pi / 2)."""
    r, turns = quarter_turns(w, x)
    turns = turns + quarters if quarters else turns
    z = r.hi * r.hi
    size = w.select((turns & 1).equals(0), sine(w, r, z), cosine(w, r, z))
    sign = (turns & 2).cast(w.form.whole) << (w.form.dtype.bits - 2)
    return w.from_bits(w.bits(size) ^ sign)


def sin(w: Writer, x: Expression) -> Expression:
    """The sine."""
    result = w.select(x.equals(0.0), x, _turned(w, x, 0))
    return w.select(abs(x) < math.inf, result, math.nan)


def cos(w: Writer, x: Expression) -> Expression:
    """The cosine."""
    return w.select(abs(x) < math.inf, _turned(w, x, 1), math.nan)


def tan(w: Writer, x: Expression) -> Expression:
    """The tangent: tan(r), or -1 / tan(r) after an odd number of quarter turns."""
    r, turns = quarter_turns(w, x)
    z = r.hi * r.hi
    cube = r.hi * z
    of_cube = w.fma(r.hi, z, -cube) + r.hi * w.fma(r.hi, r.hi, -z)
    slope = w.fma(z, w.real(1.5), 1.0)  # 1 + tan**2, roughly
    low = w.fma(r.lo, slope, of_cube * 0.4)
    rest = w.fma(cube, w.polynomial(z, known.TAN[w.form.dtype]), low)
    high = r.hi + rest
    low = rest - (high - r.hi)
    inverse = -1.0 / high
    # (high + low) inverse = -1 - residue
    residue = w.fma(high, inverse, 1.0) + low * inverse
    odd = (turns & 1).differs(0)
    result = w.select(odd, w.fma(residue, inverse, inverse), high)
    result = w.select(x.equals(0.0), x, result)
    return w.select(abs(x) < math.inf, result, math.nan)

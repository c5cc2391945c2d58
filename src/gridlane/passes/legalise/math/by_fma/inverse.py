"""atan, atan2, asin, acos: odd polynomials, also of 1 / x and of sqrt((1 - x) / 2)."""

from __future__ import annotations

import math

from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients
from gridlane.passes.legalise.math.by_fma import coefficients as known
from gridlane.passes.legalise.math.doubled import choose, constant, single
from gridlane.passes.legalise.math.inverse import scaled_point


def atan(w: Writer, x: Expression) -> Expression:
    """The arc tangent."""
    size = abs(x)
    large = size > 1.0
    inverse = 1.0 / size
    q = w.select(large, inverse, size)
    z = q * q
    cube, series = q * z, w.polynomial(z, known.ATAN[w.form.dtype])
    right = constant(w, coefficients.HALF_PI)
    # 1 / size = inverse + inverse * residue; of infinity there is none.
    residue = w.fma(-inverse, size.least(1 / w.form.tiny), 1.0)
    first = right.hi - q
    moved = inverse * w.fma(z, w.real(-0.5), 1.0)  # over 1 + z, roughly
    small = w.fma(-moved, residue, ((right.hi - first) - q) + right.lo)
    far = first + w.fma(-cube, series, small)
    near = w.fma(cube, series, q)
    return w.select(x.is_nan(), x, w.with_sign(w.select(large, far, near), x))


def atan2(w: Writer, y: Expression, x: Expression) -> Expression:
    """The angle of (x, y): of the quotient of their sizes, from the nearest axis."""
    a, b = scaled_point(w, y, x)
    swapped, left = a > b, w.is_negative(x)
    large, small = a.most(b), a.least(b)
    q = small / large
    residue = w.fma(-q, large, small) * (1.0 / large)
    z = q * q
    lost = residue * w.fma(z, w.real(-0.5), 1.0)  # over 1 + z, roughly
    away = swapped ^ left
    turned, lost = w.select(away, -q, q), w.select(away, -lost, lost)
    right, zero = constant(w, coefficients.HALF_PI), single(w.real(0.0))
    start = choose(swapped, right, choose(left, right.times(2.0), zero))
    first = start.hi + turned
    lost = ((start.hi - first) + turned) + (start.lo + lost)
    result = first + w.fma(turned * z, w.polynomial(z, known.ATAN[w.form.dtype]), lost)
    return w.select(x.is_nan() | y.is_nan(), math.nan, w.with_sign(result, y))


def _halved(w: Writer, size: Expression) -> tuple[Expression, Expression]:
    """(s, low) with s + low = sqrt((1 - size) / 2) for size from 1/2 to 1."""
    square = w.fma(size, w.real(-0.5), 0.5)  # exact
    root = square.sqrt()
    residue = w.fma(-root, root, square)
    return root, residue * (0.5 / root.most(w.form.tiny))


def _arc(w: Writer, q: Expression, z: Expression) -> Expression:
    """asin(q) - q."""
    return (q * z) * w.polynomial(z, known.ASIN[w.form.dtype])


def asin(w: Writer, x: Expression) -> Expression:
    """The arc sine: pi / 2 - 2 asin(sqrt((1 - x) / 2)) beyond 1/2."""
    size = abs(x)
    large = size > 0.5
    root, low = _halved(w, size.least(1.0).most(0.5))
    q = w.select(large, root, size)
    rest = _arc(w, q, q * q)
    right = constant(w, coefficients.HALF_PI)
    first = w.fma(root, w.real(-2.0), right.hi)
    lost = w.fma(root, w.real(-2.0), right.hi - first)
    far = first + w.fma(rest + low, w.real(-2.0), lost + right.lo)
    result = w.with_sign(w.select(large, far, q + rest), x)
    return w.select(size <= 1.0, result, math.nan)


def acos(w: Writer, x: Expression) -> Expression:
    """The arc cosine: 2 asin(sqrt((1 - x) / 2)) beyond 1/2, pi less that below -1/2."""
    size = abs(x)
    large = size > 0.5
    root, low = _halved(w, size.least(1.0).most(0.5))
    q = w.select(large, root, x)
    rest = _arc(w, q, q * q)
    right = constant(w, coefficients.HALF_PI)
    below = x < 0.0
    # base - factor (q + rest + low); the difference of the first terms is exact in two parts.
    twice = w.select(below, w.real(-2.0), 2.0)
    factor = w.select(large, twice, -1.0)
    start = w.select(below & large, right.hi * 2.0, w.select(large, w.real(0.0), right.hi))
    start_low = w.select(below & large, right.lo * 2.0, w.select(large, w.real(0.0), right.lo))
    first = w.fma(factor, q, start)
    lost = w.fma(factor, q, start - first)
    small = w.select(large, rest + low, rest)
    return w.select(size <= 1.0, first + w.fma(factor, small, lost + start_low), math.nan)

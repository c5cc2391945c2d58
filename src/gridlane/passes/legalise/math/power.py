"""pow, cbrt, hypot, rsqrt."""

from __future__ import annotations

import math
from collections.abc import Callable

from gridlane.core.dtypes import i32
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients as known
from gridlane.passes.legalise.math.doubled import product
from gridlane.passes.legalise.math.exponential import limited, parts
from gridlane.passes.legalise.math.logarithm import precise


def pow(w: Writer, x: Expression, y: Expression) -> Expression:
    """x to the y: e**(y log |x|), with the logarithm in a pair; signs and NaN follow C."""
    size = abs(x)
    inside = size.most(math.ulp(0.0) if w.form.precision == 53 else 2.0**-149)
    log = precise(w, inside.least(2.0**w.form.bias * (2 - 2.0 ** (1 - w.form.precision))))
    # Beyond the limit of y, every power except that of 1 is 0 or infinite.
    limit = 2.0 ** (w.form.precision + 16)
    y1 = y.most(-limit).least(limit)
    exponent = product(y1, log.hi)
    low = w.fma(y1, log.lo, exponent.lo)
    whole = limited(w, exponent.hi)
    power, n = parts(w, whole, w.select(whole.equals(exponent.hi), low, 0.0))
    result = w.scaled(power.rounded(), n)
    return completed(w, x, y, result)


def completed(w: Writer, x: Expression, y: Expression, size: Expression) -> Expression:
    """The power from its magnitude, in which zero and infinity have the logarithms of the numbers
    next to them: with the sign and the special values."""
    base = abs(x)
    grows = (y > 0.0) ^ base.equals(0.0)
    extreme = base.equals(0.0) | base.equals(math.inf)
    size = w.select(extreme, w.select(grows, math.inf, w.real(0.0)), size)
    half = y * 0.5
    integral = y.trunc().equals(y)
    odd = integral & half.trunc().differs(half)
    result = w.select(odd & w.is_negative(x), -size, size)
    undefined = (x < 0.0) & (x > -math.inf) & ~integral
    result = w.select(undefined | x.is_nan() | y.is_nan(), math.nan, result)
    return w.select(x.equals(1.0) | y.equals(0.0), 1.0, result)


def cbrt(w: Writer, x: Expression) -> Expression:
    """The cube root: a polynomial, Newton steps, and one with the exact residue."""
    return cube_root(w, x, _root)


def cube_root(
    w: Writer, x: Expression, root_of: Callable[[Writer, Expression, Expression], Expression]
) -> Expression:
    """The cube root of any number, by that of ``m * 2**rest`` for m from 1 to 2 and rest from 0 to
    2, which ``root_of`` computes of both."""
    form = w.form
    size = abs(x)
    small = size < form.tiny
    bits = w.bits(w.select(small, size * 2.0 ** (3 * 18), size))
    e = (bits >> form.fraction).cast(i32) - form.bias
    m = w.from_bits((bits & ((1 << form.fraction) - 1)) | (form.bias << form.fraction))
    # size = m * 2**(3 third + rest); the sum is positive so that the quotient rounds down.
    third = (e + 3 * 1024) / 3 - 1024
    root = root_of(w, m, e - third * 3)
    result = root * w.power_of_two(third - w.select(small, 18, w.const(0, i32)))
    result = w.with_sign(result, x)
    return w.select((size < math.inf) & x.differs(0.0), result, x)


def _root(w: Writer, m: Expression, rest: Expression) -> Expression:
    start = w.polynomial(m, known.CBRT[w.form.dtype])
    factor = w.select(rest.equals(1), 2 ** (1 / 3), w.real(4 ** (1 / 3)))
    root = w.select(rest.equals(0), start, start * factor)
    m = m * w.power_of_two(rest)
    for _ in range(1 if w.form.precision == 24 else 2):
        root = root - (root - m / (root * root)) * (1 / 3)
    square = product(root, root)
    cube = product(square.hi, root)
    over = ((cube.hi - m) + cube.lo) + square.lo * root
    return root - over / (square.hi * 3.0)


def hypot(w: Writer, x: Expression, y: Expression) -> Expression:
    """sqrt(x**2 + y**2), with both scaled alike where squares overflow or underflow."""
    a, b = abs(x), abs(y)
    largest, least = a.most(b), a.least(b)
    step = 2.0 ** (w.form.bias // 2 + w.form.precision)
    edge = 2.0 ** (w.form.bias // 2 - 2)
    up = w.select(largest < 1 / edge, step, w.real(1.0))
    scale = w.select(largest > edge, 1 / step, up)
    back = w.select(largest > edge, step, w.select(largest < 1 / edge, w.real(1 / step), 1.0))
    m, n = largest * scale, least * scale
    square, other = product(m, m), product(n, n)
    total = square + other
    root = total.hi.sqrt()
    result = root * back
    result = w.select(x.is_nan() | y.is_nan(), math.nan, result)
    return w.select(a.equals(math.inf) | b.equals(math.inf), math.inf, result)


def rsqrt(w: Writer, x: Expression) -> Expression:
    """1 / sqrt(x), and its residue."""
    first = 1.0 / x.sqrt()
    root = product(x, first)
    one = product(root.hi, first)
    residue = (1.0 - one.hi) - (one.lo + root.lo * first)
    result = first + first * 0.5 * residue
    return w.select((x > 0.0) & (x < math.inf), result, first)

"""cbrt by iterations without quotients; rsqrt, and its residue."""

from __future__ import annotations

import math

from gridlane.core.dtypes import i32
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math.by_fma import coefficients as known
from gridlane.passes.legalise.math.doubled import product


def cbrt(w: Writer, x: Expression) -> Expression:
    """The cube root: y about m**(-1/3), then m y**2 and a step with its exact residue."""
    form = w.form
    size = abs(x)
    small = size < form.tiny
    bits = w.bits(w.select(small, size * 2.0 ** (3 * 18), size))
    e = (bits >> form.fraction).cast(i32) - form.bias
    m = w.from_bits((bits & ((1 << form.fraction) - 1)) | (form.bias << form.fraction))
    # size = m * 2**(3 third + rest); the sum is positive so that the quotient rounds down.
    third = (e + 3 * 1024) / 3 - 1024
    rest = e - third * 3
    factor = w.select(rest.equals(1), 2 ** (-1 / 3), w.real(4 ** (-1 / 3)))
    y = w.polynomial(m, known.CBRT[form.dtype])
    y = w.select(rest.equals(0), y, y * factor)
    m = m * w.power_of_two(rest)
    for _ in range(1 if form.precision == 24 else 2):
        over = w.fma(-m * y, y * y, 1.0)
        y = w.fma(y * over, w.fma(over, w.real(2 / 9), 1 / 3), y)
    square = y * y
    root = m * square
    squared = product(root, root)
    over = w.fma(squared.hi, root, -m) + squared.lo * root
    root = w.fma(over * square, w.real(-1 / 3), root)
    result = root * w.power_of_two(third - w.select(small, 18, w.const(0, i32)))
    result = w.with_sign(result, x)
    return w.select((size < math.inf) & x.differs(0.0), result, x)


def rsqrt(w: Writer, x: Expression) -> Expression:
    """1 / sqrt(x)."""
    first = 1.0 / x.sqrt()
    product = x * first
    low = w.fma(x, first, -product)
    residue = w.fma(-product, first, 1.0) - low * first
    result = w.fma(first * 0.5, residue, first)
    return w.select((x > 0.0) & (x < math.inf), result, first)

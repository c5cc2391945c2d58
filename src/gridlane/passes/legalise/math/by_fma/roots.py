"""cbrt by iterations without quotients; rsqrt, and its residue."""

from __future__ import annotations

import math

from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math.by_fma import coefficients as known
from gridlane.passes.legalise.math.doubled import product
from gridlane.passes.legalise.math.power import cube_root


def cbrt(w: Writer, x: Expression) -> Expression:
    """The cube root: y about m**(-1/3), then m y**2 and a step with its exact residue."""
    return cube_root(w, x, _root)


def _root(w: Writer, m: Expression, rest: Expression) -> Expression:
    factor = w.select(rest.equals(1), 2 ** (-1 / 3), w.real(4 ** (-1 / 3)))
    y = w.polynomial(m, known.CBRT[w.form.dtype])
    y = w.select(rest.equals(0), y, y * factor)
    m = m * w.power_of_two(rest)
    for _ in range(1 if w.form.precision == 24 else 2):
        over = w.fma(-m * y, y * y, 1.0)
        y = w.fma(y * over, w.fma(over, w.real(2 / 9), 1 / 3), y)
    square = y * y
    root = m * square
    squared = product(root, root)
    over = w.fma(squared.hi, root, -m) + squared.lo * root
    return w.fma(over * square, w.real(-1 / 3), root)


def rsqrt(w: Writer, x: Expression) -> Expression:
    """1 / sqrt(x)."""
    first = 1.0 / x.sqrt()
    product = x * first
    low = w.fma(x, first, -product)
    residue = w.fma(-product, first, 1.0) - low * first
    result = w.fma(first * 0.5, residue, first)
    return w.select((x > 0.0) & (x < math.inf), result, first)

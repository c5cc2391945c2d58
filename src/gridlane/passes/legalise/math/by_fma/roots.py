"""rsqrt: the reciprocal of the root, and its residue."""

from __future__ import annotations

import math

from gridlane.ir.expressions import Expression, Writer


def rsqrt(w: Writer, x: Expression) -> Expression:
    """1 / sqrt(x)."""
    first = 1.0 / x.sqrt()
    product = x * first
    low = w.fma(x, first, -product)
    residue = w.fma(-product, first, 1.0) - low * first
    result = w.fma(first * 0.5, residue, first)
    return w.select((x > 0.0) & (x < math.inf), result, first)

"""asinh and acosh: the logarithm of u = a + sqrt(a**2 + 1) or a + sqrt(a**2 - 1), in two floats.

1 / u is the difference of the same terms, so that what the second float adds needs no quotient.
"""

from __future__ import annotations

import math

from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math.by_fma.logarithm import LEAST, joined, rest_of, split
from gridlane.passes.legalise.math.doubled import Pair, product, quick_sum, two_sum


def _far(w: Writer) -> float:
    """A size beyond which u is 2 a."""
    return 2.0 ** (w.form.precision // 2 + 2)


def _root(w: Writer, square: Pair) -> Pair:
    root = square.hi.sqrt()
    residue = w.fma(-root, root, square.hi) + square.lo
    return Pair(root, residue * (0.5 / root.most(w.form.tiny)))


def _logarithm(w: Writer, size: Expression, u: Pair, inverse: Expression) -> Expression:
    """log(u), or log(2 size) where the size is large; the size itself if infinite or NaN."""
    far = size > _far(w)
    f, e = split(w, w.select(far, size, u.hi), LEAST[w.form.dtype])
    e = w.select(far, e + 1.0, e)
    low = w.select(far, 0.0, u.lo * inverse)
    return w.select(size < math.inf, joined(w, e, f, rest_of(w, f, low)), size)


def asinh(w: Writer, x: Expression) -> Expression:
    """The inverse hyperbolic sine."""
    size = abs(x)
    a = size.least(_far(w))
    square = product(a, a)
    total = two_sum(w.real(1.0), square.hi)
    root = _root(w, Pair(total.hi, total.lo + square.lo))
    whole = quick_sum(root.hi, a)
    u = Pair(whole.hi, whole.lo + root.lo)
    result = _logarithm(w, size, u, root.hi - a)
    small = size < 2.0 ** -(w.form.precision // 2 + 2)
    return w.select(x.is_nan() | small, x, w.with_sign(result, x))


def acosh(w: Writer, x: Expression) -> Expression:
    """The inverse hyperbolic cosine."""
    a = x.most(1.0).least(_far(w))
    square = product(a, a)
    total = quick_sum(square.hi, w.real(-1.0))
    root = _root(w, quick_sum(total.hi, total.lo + square.lo))
    whole = quick_sum(a, root.hi)
    u = Pair(whole.hi, whole.lo + root.lo)
    result = _logarithm(w, x, u, a - root.hi)
    return w.select(x < 1.0, math.nan, result)

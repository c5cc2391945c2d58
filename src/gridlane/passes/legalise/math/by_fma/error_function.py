"""erf: up to 1 an odd polynomial, beyond it 1 - exp(-x p(x))."""

from __future__ import annotations

from gridlane.core.dtypes import f32
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math.by_fma import coefficients as known
from gridlane.passes.legalise.math.by_fma.exponential import reduced
from gridlane.passes.legalise.math.by_fma.turning import power_of_two


def erf(w: Writer, x: Expression) -> Expression:
    """The error function."""
    dtype = w.form.dtype
    size = abs(x).least(4.0 if dtype is f32 else 6.0)
    outside = size.most(1.0)
    series = w.polynomial(outside, known.ERFC[dtype])
    exponent = -(outside * series)
    n, r, _, rest = reduced(w, exponent)
    rest = rest - w.fma(outside, series, exponent)
    scale = power_of_two(w, n)
    far = w.fma(-scale, r + rest, 1.0 - scale)
    # The sum is scaled, so that no part of it is subnormal: some devices flush subnormals to 0.
    up = size * 2.0**64
    near = w.fma(up, w.polynomial(size * size, known.ERF[dtype]), up) * 2.0**-64
    result = w.with_sign(w.select(size < 1.0, near, far), x)
    return w.select(x.is_nan(), x, result)

"""The meaning of ``ir.ops.math``.

Inexact functions are computed in f64 by Python's math module, which calls the C library: they are
within 1 ulp (gamma functions: 10) for f64, and correctly rounded except for rare double rounding
for the narrower types.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gridlane.interp.arith import Function
from gridlane.interp.values import Array, Lanes, narrowed, widened
from gridlane.ir.op import Op
from gridlane.ir.ops import math as ops


def _in_f64(scalar: Callable[..., float], special: Callable[..., float]) -> Function:
    """A function by ``scalar`` on each lane; ``special`` returns the result if Python raises an
    error for a pole, an overflow or a domain error."""

    def one(*lane: float) -> float:
        try:
            return scalar(*lane)
        except (ValueError, OverflowError):
            return float(special(*lane))

    def apply(*values: Array) -> Array:
        lanes = zip(*[value.astype(np.float64).tolist() for value in values], strict=True)
        results = np.array([one(*lane) for lane in lanes], np.float64)
        return narrowed(results, values[0].dtype)

    return apply


def _exact(function: Callable[..., Array]) -> Function:
    """A numpy function that rounds at most once, with f16 and bf16 computed in f64."""

    def apply(*values: Array) -> Array:
        return narrowed(function(*map(widened, values)), values[0].dtype)

    return apply


def _rsqrt(value: float) -> float:
    return 1.0 / math.sqrt(value) if value else math.copysign(math.inf, value)


def _exp10(value: float) -> float:
    return math.pow(10.0, value)


def _exp10_special(value: float) -> float:
    return math.inf if value > 0 else 0.0


def _gamma_special(value: float) -> float:
    """Poles: infinite at 0 and so near it that 1/x overflows; NaN at negative integers."""
    if abs(value) < 1:
        return math.copysign(math.inf, value)
    return math.inf if value > 0 else math.nan


def _zeta_minus_one(exponent: int) -> float:
    """The Riemann zeta function of an integer from 2 on, less 1, by Euler and Maclaurin."""
    last = 120.0
    terms = sorted(n**-exponent for n in map(float, range(2, 120)))
    tail = last ** (1 - exponent) / (exponent - 1) + last**-exponent / 2
    tail += exponent * last ** (-exponent - 1) / 12
    third = exponent * (exponent + 1) * (exponent + 2)
    return math.fsum([*terms, tail, -third * last ** (-exponent - 3) / 720])


_ZETA = [_zeta_minus_one(exponent) for exponent in range(2, 45)]


def _lgamma(value: float) -> float:
    """Python's lgamma; near the zeros at 1 and 2, where that cancels, the Taylor series at 2 (NIST
    DLMF 5.7.3)."""
    if 2.75 <= value < 8:
        return _lgamma(value - 1) + math.log(value - 1)
    if not 0.5 < value < 2.75:
        return math.lgamma(value)
    near_one = value < 1.5
    z = value - 1.0 if near_one else value - 2.0
    series = sum((-z) ** k / k * zeta for k, zeta in reversed(list(enumerate(_ZETA, 2))))
    whole = (1.0 - _EULER) * z + series
    return whole - math.log1p(z) if near_one else whole


_EULER = 0.5772156649015328606


def _nan(value: float) -> float:
    return math.nan


def _infinity(value: float) -> float:
    return math.inf


def _round(values: Array) -> Array:
    whole = np.trunc(values)
    away = whole + np.copysign(np.ones_like(values), values)
    # values - whole is exact, which values + 0.5 is not.
    return np.copysign(np.where(np.abs(values - whole) >= 0.5, away, whole), values)


def nextafter(lhs: Array, rhs: Array) -> Array:
    """The next float, from the bits: floats of one sign are ordered as their bits are."""
    if lhs.dtype.kind == "f":
        return np.where(lhs == rhs, rhs, np.nextafter(lhs, rhs))  # numpy's f16 keeps lhs's zero
    unsigned = f"u{lhs.dtype.itemsize}"
    a, b = widened(lhs), widened(rhs)
    bits = lhs.view(unsigned)
    outwards = (b > a) == (a > 0)
    stepped = np.where(outwards, bits + 1, bits - 1).astype(unsigned)
    tiny = np.where(b > 0, 1, 0x8001).astype(unsigned)  # only bf16 reaches this
    stepped = np.where(a == 0, tiny, stepped).view(lhs.dtype)
    result = np.where(a == b, rhs, stepped)
    return np.where(np.isnan(a) | np.isnan(b), (a + b).astype(lhs.dtype), result)


def _ldexp(value: Array, exponent: Array) -> Array:
    if value.dtype == np.float64:
        return np.ldexp(value, exponent)
    # f64 is exact within 2**400, and beyond that every narrower type is 0 or infinite.
    return narrowed(np.ldexp(value.astype(np.float64), np.clip(exponent, -400, 400)), value.dtype)


def _frexp(value: Array) -> Lanes:
    fraction, exponent = np.frexp(widened(value))
    special = ~np.isfinite(fraction)
    exponent = np.where(special, 0, exponent).astype(np.int32)
    return narrowed(np.where(special, widened(value), fraction), value.dtype), exponent


PLAIN: dict[type[Op], Callable[..., Lanes]] = {
    ops.Sqrt: _exact(np.sqrt),
    ops.Rsqrt: _in_f64(_rsqrt, _nan),
    ops.Cbrt: _in_f64(math.cbrt, np.cbrt),
    ops.Exp: _in_f64(math.exp, np.exp),
    ops.Exp2: _in_f64(math.exp2, np.exp2),
    ops.Exp10: _in_f64(_exp10, _exp10_special),
    ops.Expm1: _in_f64(math.expm1, np.expm1),
    ops.Log: _in_f64(math.log, np.log),
    ops.Log2: _in_f64(math.log2, np.log2),
    ops.Log10: _in_f64(math.log10, np.log10),
    ops.Log1p: _in_f64(math.log1p, np.log1p),
    ops.Sin: _in_f64(math.sin, _nan),
    ops.Cos: _in_f64(math.cos, _nan),
    ops.Tan: _in_f64(math.tan, _nan),
    ops.Asin: _in_f64(math.asin, _nan),
    ops.Acos: _in_f64(math.acos, _nan),
    ops.Atan: _in_f64(math.atan, np.arctan),
    ops.Sinh: _in_f64(math.sinh, np.sinh),
    ops.Cosh: _in_f64(math.cosh, np.cosh),
    ops.Tanh: _in_f64(math.tanh, np.tanh),
    ops.Asinh: _in_f64(math.asinh, np.arcsinh),
    ops.Acosh: _in_f64(math.acosh, _nan),
    ops.Atanh: _in_f64(math.atanh, np.arctanh),
    ops.Erf: _in_f64(math.erf, _nan),
    ops.Erfc: _in_f64(math.erfc, _nan),
    ops.Tgamma: _in_f64(math.gamma, _gamma_special),
    ops.Lgamma: _in_f64(_lgamma, _infinity),
    ops.Floor: _exact(np.floor),
    ops.Ceil: _exact(np.ceil),
    ops.Trunc: _exact(np.trunc),
    ops.Rint: _exact(np.rint),
    ops.Round: _exact(_round),
    ops.Pow: _in_f64(math.pow, np.power),
    ops.Atan2: _in_f64(math.atan2, np.arctan2),
    ops.Hypot: _in_f64(math.hypot, np.hypot),
    ops.Copysign: _exact(np.copysign),
    ops.Nextafter: nextafter,
    ops.Ldexp: _ldexp,
    ops.Frexp: _frexp,
}
"""The function of each op on its operands."""

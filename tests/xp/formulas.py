"""Exact results of the operations that NumPy lacks, by their definitions at a higher precision."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np

Formula = Callable[..., Any]
L: Any = np.longdouble
PI = L(2) * np.arcsin(L(1))
ROOT = np.sqrt(L(2))


def by_mpmath(function: Callable[[Any], Any]) -> Formula:
    """A function of mpmath's for each element."""

    def one(x: Any) -> Any:
        if np.isnan(x):
            return x
        try:
            with mpmath.workprec(90):
                value = function(mpmath.mpf(float(x)))
                return L(mpmath.nstr(value, 24)) if not mpmath.isnan(value) else L("nan")
        except (ValueError, ZeroDivisionError, OverflowError):
            return L("nan")

    return lambda a: np.array([one(x) for x in a], L)


def tgamma(x: Any) -> Any:
    """C's tgamma."""
    if x == 0:
        return mpmath.inf
    if x < 0 and (mpmath.isinf(x) or x == mpmath.floor(x)):
        return mpmath.nan
    if x < -1100:
        return mpmath.mpf(0)
    return mpmath.inf if x > 1800 else mpmath.gamma(x)


def lgamma(x: Any) -> Any:
    """C's lgamma."""
    if mpmath.isinf(x) or (x <= 0 and x == mpmath.floor(x)):
        return mpmath.inf
    if x > 0:
        return mpmath.loggamma(x)
    return mpmath.log(mpmath.pi / abs(mpmath.sinpi(x))) - mpmath.loggamma(1 - x)


def erfc(x: Any) -> Any:
    """erfc, which underflows."""
    return mpmath.mpf(0) if x > 1e4 else mpmath.erfc(x)


def sinpi(a: Any) -> Any:
    rest = a - 2 * np.rint(a / 2)
    rest = np.where(np.abs(rest) > 0.5, np.copysign(1, rest) - rest, rest)
    return np.where(rest == 0, np.copysign(0, a), np.sin(PI * rest))


def cospi(a: Any) -> Any:
    rest = np.abs(a - 2 * np.rint(a / 2))
    return np.where(rest == 0.5, 0, np.sin(PI * (L(0.5) - rest)))


def tanpi(a: Any) -> Any:
    return np.where(cospi(a) == 0, np.copysign(np.inf, sinpi(a)), sinpi(a) / cospi(a))


def xlogy(a: Any, b: Any) -> Any:
    return np.where((a == 0) & ~np.isnan(b), 0, a * np.log(b))


def xlog1py(a: Any, b: Any) -> Any:
    return np.where((a == 0) & ~np.isnan(b), 0, a * np.log1p(b))


def sigmoid(a: Any) -> Any:
    return 1 / (1 + np.exp(-a))


def softplus(a: Any) -> Any:
    return np.maximum(a, 0) + np.log1p(np.exp(-np.abs(a)))


def vanishing(a: Any, factor: Any) -> Any:
    """a * factor, where factor vanishes with a falling exponential."""
    return np.where(np.isneginf(a), 0, a * factor)


def rel_entr(a: Any, b: Any) -> Any:
    near = np.where(np.abs(a - b) < np.abs(b) / 2, np.log1p((a - b) / b), np.log(a) - np.log(b))
    result = np.where((a > 0) & (b > 0), a * near, np.inf)
    result = np.where((a == 0) & (b >= 0), 0, result)
    return np.where(np.isnan(a) | np.isnan(b), np.nan, result)


def kl_divergence(a: Any, b: Any) -> Any:
    result = np.where((a > 0) & (b > 0), rel_entr(a, b) - a + b, rel_entr(a, b))
    return np.where((a == 0) & (b >= 0), b, result)


def boxcox(a: Any, b: Any) -> Any:
    power = np.expm1(b * np.log(a)) / b
    power = np.where(np.abs(b * np.log(a)) > 1, (np.power(a, b) - 1) / b, power)
    return np.where(b == 0, np.log(a), np.where(a < 0, np.nan, power))


def tukey(a: Any, b: Any) -> Any:
    power = np.power(a, b)
    return np.where(b == 0, np.log(a), np.where(b < 0, -power, power))


def bounded(a: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(a, low), high)


def share(a: Any, b: Any, c: Any) -> Any:
    return bounded((c - a) / (b - a), 0, 1)


def smoothstep(a: Any, b: Any, c: Any) -> Any:
    t = share(a, b, c)
    return t * t * (3 - 2 * t)


def smootherstep(a: Any, b: Any, c: Any) -> Any:
    t = share(a, b, c)
    return t * t * t * (t * (6 * t - 15) + 10)


def inverse_smoothstep(a: Any) -> Any:
    """By Newton's method from the closed form, which cancels near 0."""
    near = np.where(a > 0.5, 1 - a, a)
    t = np.where(near > 0, np.sqrt(near / 3), L(0))
    for _ in range(60):
        slope = 6 * t * (1 - t)
        step = np.where(slope > 0, (t * t * (3 - 2 * t) - near) / np.where(slope > 0, slope, 1), 0)
        t = t - step
    t = np.where((a < 0) | (a > 1) | np.isnan(a), np.nan, np.where(near == 0, 0, t))
    return np.where(a > 0.5, 1 - t, t)


def huber(a: Any, b: Any, c: Any) -> Any:
    d = np.abs(a - b)
    return np.where(d <= c, d * d / 2, c * (d - c / 2))


def log_cosh(a: Any, b: Any) -> Any:
    d = np.abs(a - b)
    return np.where(
        d < 1, np.log1p(2 * np.sinh(d / 2) ** 2), d + np.log1p(np.exp(-2 * d)) - np.log(L(2))
    )


def floor_rest(a: Any, b: Any) -> Any:
    return np.remainder(a, b)


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c without a rounding."""
    if a.dtype.kind in "iu":
        return a * b + c
    result = a * b + c
    for place in range(len(a)):
        if np.isfinite([a[place], b[place], c[place]]).all():
            x, y, z = (Fraction(float(each[place])) for each in (a, b, c))
            result[place] = exact(x * y + z) if x * y + z else result[place]
    return result


def exact(x: Fraction) -> Any:
    """A fraction to the precision of two floats."""
    try:
        first = float(x)
        return L(first) + L(float(x - Fraction(first)))
    except OverflowError:
        return L(x.numerator // x.denominator)


def bezier(*operands: Any) -> Any:
    *points, t = operands
    while len(points) > 1:
        points = [p * (1 - t) + q * t for p, q in pairwise(points)]
    return points[0]


def asech(a: Any) -> Any:
    usual = np.arcsinh(np.sqrt((1 - a) * (1 + a)) / a)
    return np.where(a == 0, np.inf, np.where(a < 0, np.nan, usual))


FORMULAS: dict[str, Formula] = {
    "erf": by_mpmath(mpmath.erf),
    "erfc": by_mpmath(erfc),
    "tgamma": lambda a: np.where((a == 0), np.copysign(np.inf, a), by_mpmath(tgamma)(a)),
    "lgamma": by_mpmath(lgamma),
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "sinc": lambda a: np.where(a == 0, 1, sinpi(a) / (PI * a)),
    "sinpi": sinpi,
    "cospi": cospi,
    "tanpi": tanpi,
    "sec": lambda a: 1 / np.cos(a),
    "csc": lambda a: 1 / np.sin(a),
    "cot": lambda a: 1 / np.tan(a),
    "asec": lambda a: np.where(
        a < 0,
        PI - np.arctan(np.sqrt(-a - 1) * np.sqrt(1 - a)),
        np.arctan(np.sqrt(a - 1) * np.sqrt(a + 1)),
    ),
    "acsc": lambda a: np.copysign(
        np.arctan2(L(1), np.sqrt(np.abs(a) - 1) * np.sqrt(np.abs(a) + 1)), a
    ),
    "acot": lambda a: np.where(a == 0, np.copysign(PI / 2, a), np.arctan(1 / a)),
    "sech": lambda a: 1 / np.cosh(a),
    "csch": lambda a: 1 / np.sinh(a),
    "coth": lambda a: 1 / np.tanh(a),
    "asech": asech,
    "acsch": lambda a: np.arcsinh(1 / a),
    "acoth": lambda a: np.copysign(np.log1p(2 / (np.abs(a) - 1)) / 2, a),
    "xlogy": xlogy,
    "xlog1py": xlog1py,
    "entr": lambda a: np.where(a < 0, -np.inf, -xlogy(a, a)),
    "rel_entr": rel_entr,
    "kl_divergence": kl_divergence,
    "logit": lambda a: np.log(a) - np.log1p(-a),
    "boxcox": boxcox,
    "inv_boxcox": lambda a, b: np.where(b == 0, np.exp(a), np.exp(np.log1p(a * b) / b)),
    "tukey_transform": tukey,
    "linear": lambda a: a,
    "relu": lambda a: np.maximum(a, a.dtype.type(0)),
    "sigmoid": sigmoid,
    "swish": lambda a: vanishing(a, sigmoid(a)),
    "softplus": softplus,
    "mish": lambda a: vanishing(a, np.tanh(softplus(a))),
    "gelu": lambda a: vanishing(a, by_mpmath(lambda x: erfc(-x / mpmath.sqrt(2)) / 2)(a)),
    "softsign": lambda a: np.where(np.isinf(a), np.sign(a), a / (1 + np.abs(a))),
    "hard_sigmoid": lambda a: bounded((a + 3) / 6, 0, 1),
    "hard_tanh": lambda a: bounded(a, -1, 1),
    "gaussian": lambda a: np.exp(-a * a),
    "bent_identity": lambda a: np.where(
        np.abs(a) > 1e30,
        np.where(a > 0, 1.5 * a, a / 2),
        a + a * a / (2 * (np.sqrt(a * a + 1) + 1)),
    ),
    "binary_step": lambda a: np.where(np.isnan(a), a, np.where(a < 0, 0, 1)),
    "bipolar_step": lambda a: np.where(np.isnan(a), a, np.where(a < 0, -1, 1)),
    "selu": lambda a: (
        L("1.0507009873554804934193349852946")
        * np.where(a < 0, L("1.6732632423543772848170429916717") * np.expm1(a), a)
    ),
    "leaky_relu": lambda a, b: np.where(a < 0, a * b, a),
    "prelu": lambda a, b: np.where(a < 0, a * b, a),
    "elu": lambda a, b: np.where(a < 0, b * np.expm1(a), a),
    "celu": lambda a, b: np.where(a < 0, b * np.expm1(a / b), a),
    "softclip": lambda a, b: b * np.tanh(a / b),
    "cross_entropy": lambda a, b: -xlogy(b, a),
    "binary_cross_entropy": lambda a, b: -(xlogy(b, a) + xlog1py(1 - b, -a)),
    "hinge_loss": lambda a, b: np.maximum(1 - a * b, 0),
    "squared_hinge": lambda a, b: np.maximum(1 - a * b, 0) ** 2,
    "l1_loss": lambda a, b: np.abs(a - b),
    "l2_loss": lambda a, b: (a - b) ** 2,
    "smooth_l1": lambda a, b: huber(a, b, L(1)),
    "huber_loss": huber,
    "log_cosh": log_cosh,
    "poisson_loss": lambda a, b: a - xlogy(b, a),
    "quantile_loss": lambda a, b, c: np.where(b < a, (c - 1) * (b - a), c * (b - a)),
    "normal_pdf": lambda a, b, c: np.where(
        c > 0, np.exp(-(((a - b) / c) ** 2) / 2) / (c * np.sqrt(2 * PI)), np.nan
    ),
    "uniform_pdf": lambda a, b, c: np.where(
        np.isnan(a), np.nan, np.where((a >= b) & (a <= c), 1 / (c - b), 0)
    ),
    "uniform_cdf": lambda a, b, c: bounded((a - b) / (c - b), 0, 1),
    "exponential_pdf": lambda a, b: np.where(a < 0, 0, b * np.exp(-a * b)),
    "exponential_cdf": lambda a, b: np.where(a < 0, 0, -np.expm1(-a * b)),
    "standardize": lambda a, b, c: (a - b) / c,
    "unstandardize": lambda a, b, c: fma(a, c, b),
    "z_score_robust": lambda a, b, c: (a - b) / c * L("0.67448975019608174320222701454131"),
    "fma": fma,
    "fdim": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, np.where(a > b, a - b, 0)),
    "cube": lambda a: a * a * a,
    "quartic": lambda a: a * a * a * a,
    "quintic": lambda a: a * a * a * a * a,
    "saturate": lambda a: bounded(a, 0, 1),
    "step": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, np.where(b < a, 0, 1)),
    "mix": lambda a, b, c: a * (1 - c) + b * c,
    "smoothstep": smoothstep,
    "smootherstep": smootherstep,
    "inverse_smoothstep": inverse_smoothstep,
    "normalize": lambda a, b, c: (a - b) / (c - b),
    "denormalize": lambda a, b, c: b + a * (c - b),
    "map_range": lambda a, b, c, d, e: d + (a - b) / (c - b) * (e - d),
    "wrap": lambda a, b, c: b + np.remainder(a - b, c - b),
    "ping_pong": lambda a, b: b - np.abs(np.remainder(a, 2 * b) - b),
    "bezier_quadratic": bezier,
    "bezier_cubic": bezier,
    "gamma_correct": lambda a, b: np.power(a, 1 / b),
    "inverse_gamma": np.power,
    "srgb_to_linear": lambda a: np.where(
        a <= L(0.04045), a / L("12.92"), ((a + L("0.055")) / L("1.055")) ** L("2.4")
    ),
    "linear_to_srgb": lambda a: np.where(
        a <= L(0.0031308), a * L("12.92"), L("1.055") * a ** (1 / L("2.4")) - L("0.055")
    ),
}
"""By name; the operands have no errors beside those of the operation."""


# ---- integers and bits


def mixed(h: int) -> int:
    """MurmurHash3's fmix32."""
    h = (h ^ (h >> 16)) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ (h >> 16)


def words(x: Any) -> list[int]:
    """A number as words of 32 bits."""
    if x.dtype.kind not in "biu":
        wide = np.float64(x) if x.dtype == np.float64 else np.float32(x)
        wide = wide.dtype.type("nan") if np.isnan(wide) else wide + wide.dtype.type(0)
        whole = int(wide.view(f"u{wide.itemsize}"))
        return [whole & 0xFFFFFFFF, whole >> 32] if wide.itemsize == 8 else [whole]
    whole = int(x)
    return [whole & 0xFFFFFFFF, whole >> 32 & 0xFFFFFFFF][: 2 if x.dtype.itemsize == 8 else 1]


def hash_of(*numbers: Any) -> int:
    """The hash of numbers."""
    state = 0
    for word in [word for each in numbers for word in words(each)]:
        state = mixed((state ^ word) + 0x9E3779B9 & 0xFFFFFFFF)
    return state


def uniform(state: int, dtype: np.dtype[Any]) -> Any:
    """The number that a hash has the upper bits of."""
    if dtype == np.float64:
        return ((state >> 5 << 26) | mixed(state + 0x9E3779B9 & 0xFFFFFFFF) >> 6) / 2**53
    bits = {"float16": 11, "bfloat16": 8, "float32": 24}[dtype.name]
    return (state >> (32 - bits)) / 2**bits


def hashes(*columns: Any) -> Any:
    return np.array([hash_of(*row) for row in zip(*columns, strict=True)], np.uint32)


def noise(*columns: Any, narrow: bool = False) -> Any:
    dtype = columns[0].dtype
    if narrow and dtype != np.float64:
        dtype = np.dtype(np.float32)
    return np.array([uniform(int(h), dtype) for h in hashes(*columns)], L)


def rrelu(a: Any, b: Any) -> Any:
    wide = a.astype(L)
    return np.where(wide < 0, wide * (noise(a, b, narrow=True) * L(5) / 24 + L(0.125)), wide)


def gumbel(a: Any, b: Any) -> Any:
    least = 2.0**-54 if a.dtype == np.float64 else 2.0**-25
    share = noise(a, b, narrow=True)
    return -np.log(-np.log(np.where(share == 0, least, share)))


def modular(function: Callable[[int, int, int], int]) -> Formula:
    """A function of integers of any size, 0 for the modulus 0."""

    def compute(a: Any, b: Any, c: Any) -> Any:
        rows = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
        return np.array([function(x, y, m) if m else 0 for x, y, m in rows], c.dtype)

    return compute


FORMULAS_OF_BITS: dict[str, Formula] = {
    "hash": hashes,
    "hash2": hashes,
    "noise_white": noise,
    "rrelu": rrelu,
    "gumbel_noise": gumbel,
    "modular_add": modular(lambda a, b, m: (a + b) % m),
    "modular_subtract": modular(lambda a, b, m: (a - b) % m),
    "modular_multiply": modular(lambda a, b, m: (a * b) % m),
    "modular_power": modular(pow),
}
"""By name; the operands are as they are."""

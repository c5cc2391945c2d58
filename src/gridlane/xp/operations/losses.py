"""Terms of losses, and densities and distribution functions."""

from __future__ import annotations

from functools import partial
from math import log, pi, sqrt

from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.ops import math
from gridlane.xp.operations.special import xlog1py, xlogy
from gridlane.xp.operations.writing import (
    clamped,
    decayed,
    finite_or,
    fused,
    number,
    of_floats,
    product,
    quiet_nan,
    unary,
)

LOSSES, PROBABILITY = "Losses", "Probability"


def _cross_entropy(w: Writer, a: Expression, b: Expression) -> Expression:
    return -xlogy(w, b, a)


def _binary_cross_entropy(w: Writer, a: Expression, b: Expression) -> Expression:
    return -(xlogy(w, b, a) + xlog1py(w, 1.0 - b, -a))


def _hinge(w: Writer, a: Expression, b: Expression) -> Expression:
    margin = fused(w, -a, b, number(a, 1.0))
    return w.select(margin < 0.0, number(a, 0.0), margin)


def _squared_hinge(w: Writer, a: Expression, b: Expression) -> Expression:
    margin = _hinge(w, a, b)
    return margin * margin


def _l1(w: Writer, a: Expression, b: Expression) -> Expression:
    return abs(a - b)


def _l2(w: Writer, a: Expression, b: Expression) -> Expression:
    return (a - b) * (a - b)


def _huber(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    distance = abs(a - b)
    return w.select(distance <= c, 0.5 * distance * distance, c * (distance - 0.5 * c))


def _smooth_l1(w: Writer, a: Expression, b: Expression) -> Expression:
    return _huber(w, a, b, number(a, 1.0))


def _log_cosh(w: Writer, a: Expression, b: Expression) -> Expression:
    size = abs(a - b)
    root = unary(math.Sinh, w.select(size < 1.0, size, number(size, 1.0)) * 0.5)
    near = unary(math.Log1p, 2.0 * root * root)
    far = size + (unary(math.Log1p, unary(math.Exp, -2.0 * size)) - log(2))
    return w.select(size < 1.0, near, far)


def _poisson(w: Writer, a: Expression, b: Expression) -> Expression:
    return a - xlogy(w, b, a)


def _quantile(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    above = b - a
    return w.select(above < 0.0, (c - 1.0) * above, c * above)


def _normal_pdf(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    """The error of the exponent would be magnified in the tails: it is made up for."""
    distance = a - b
    back = a - distance
    lost = (a - (distance + back)) + (back - b)  # Knuth's two-sum
    place = distance / c
    rest = (fused(w, -place, c, distance) + finite_or(w, lost)) / c
    square, lacking = product(w, place, place)
    density = decayed(w, 0.5 * square, 0.5 * lacking + place * rest) / sqrt(2 * pi) / c
    return w.select(c > 0.0, density, quiet_nan(a))


def _uniform_pdf(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    inside = w.select((a >= b) & (a <= c), 1.0 / (c - b), number(a, 0.0))
    return w.select(a.is_nan(), a, inside)


def _uniform_cdf(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    return clamped(w, (a - b) / (c - b), 0.0, 1.0)


def _exponential_pdf(w: Writer, a: Expression, b: Expression) -> Expression:
    density = b * decayed(w, *product(w, a, b))
    return w.select(a < 0.0, number(a, 0.0), density)


def _exponential_cdf(w: Writer, a: Expression, b: Expression) -> Expression:
    below = -unary(math.Expm1, -(a * b))
    return w.select(a < 0.0, number(a, 0.0), below)


def _standardize(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    return (a - b) / c


def _robust(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    return (a - b) * 0.6744897501960817 / c


_losses = partial(of_floats, LOSSES)
_probability = partial(of_floats, PROBABILITY)

ROWS = (
    _losses(
        "cross_entropy",
        _cross_entropy,
        "-b * log(a), for the prediction a and the target b",
        ulp=6,
        special="0 where b is 0",
        gradient=("-g * b / a", ""),
    ),
    _losses(
        "binary_cross_entropy",
        _binary_cross_entropy,
        "-(b * log(a) + (1 - b) * log(1 - a)), for the prediction a and the target b",
        ulp=8,
        special="a and b are from 0 to 1",
        gradient=("g * (a - b) / (a * (1 - a))", ""),
    ),
    _losses(
        "hinge_loss",
        _hinge,
        "1 - a * b, or 0 below 0, for the prediction a and the target b, -1 or 1",
        ulp=1,
        gradient=("where(a * b < 1, -g * b, 0)", ""),
    ),
    _losses(
        "squared_hinge",
        _squared_hinge,
        "the square of hinge_loss",
        ulp=2,
        gradient=("-2 * g * b * hinge_loss(a, b)", ""),
    ),
    _losses("l1_loss", _l1, "abs(a - b)", ulp=1, gradient=("g * sign(a - b)", "g * sign(b - a)")),
    _losses("l2_loss", _l2, "(a - b)**2", ulp=2, gradient=("2 * g * (a - b)", "2 * g * (b - a)")),
    _losses(
        "smooth_l1",
        _smooth_l1,
        "huber_loss for c = 1",
        ulp=4,
        gradient=("g * clip(a - b, -1, 1)", "g * clip(b - a, -1, 1)"),
    ),
    _losses(
        "huber_loss",
        _huber,
        "(a - b)**2 / 2, or c * (abs(a - b) - c / 2) where that distance is above c",
        ulp=4,
        gradient=("g * clip(a - b, -c, c)", "g * clip(b - a, -c, c)", ""),
    ),
    _losses(
        "log_cosh",
        _log_cosh,
        "log(cosh(a - b))",
        ulp=10,
        gradient=("g * tanh(a - b)", "g * tanh(b - a)"),
    ),
    _losses(
        "poisson_loss",
        _poisson,
        "a - b * log(a), for the prediction a and the target b",
        ulp=8,
        of_operands=True,
        special="a where b is 0",
        gradient=("g * (1 - b / a)", ""),
    ),
    _losses(
        "quantile_loss",
        _quantile,
        "c * (b - a), or (c - 1) * (b - a) where b is below a",
        ulp=4,
        gradient=("where(b < a, g * (1 - c), -g * c)", "where(b < a, g * (c - 1), g * c)", ""),
    ),
    _probability(
        "normal_pdf",
        _normal_pdf,
        "the density of the normal distribution of mean b and deviation c",
        ulp=12,
        special="NaN where c is not above 0",
        gradient=("-g * y * (a - b) / (c * c)", "g * y * (a - b) / (c * c)", ""),
    ),
    _probability("uniform_pdf", _uniform_pdf, "1 / (c - b) from b to c, 0 outside", ulp=2),
    _probability(
        "uniform_cdf",
        _uniform_cdf,
        "(a - b) / (c - b), between 0 and 1",
        ulp=3,
        gradient=("g * uniform_pdf(a, b, c)", "", ""),
    ),
    _probability(
        "exponential_pdf",
        _exponential_pdf,
        "b * exp(-a * b), 0 below 0: the density of the exponential distribution of rate b",
        ulp=8,
        special="b is above 0",
        gradient=("-g * b * y", ""),
    ),
    _probability(
        "exponential_cdf",
        _exponential_cdf,
        "1 - exp(-a * b), 0 below 0",
        ulp=8,
        special="b is above 0",
        gradient=("g * exponential_pdf(a, b)", ""),
    ),
    _probability(
        "standardize",
        _standardize,
        "(a - b) / c",
        ulp=2,
        gradient=("g / c", "-g / c", "-g * y / c"),
    ),
    _probability(
        "unstandardize",
        lambda w, a, b, c: fused(w, a, c, b),
        "a * c + b, rounded once",
        ulp=None,
        gradient=("g * c", "g", "g * a"),
    ),
    _probability(
        "z_score_robust",
        _robust,
        "0.6744897501960817 * (a - b) / c, for the median b and the median of distances from it c",
        ulp=4,
        gradient=("g * 0.6744897501960817 / c", "-g * 0.6744897501960817 / c", "-g * y / c"),
    ),
)

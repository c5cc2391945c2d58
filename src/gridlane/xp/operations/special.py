"""Functions of mathematics beside those of C's older standards."""

from __future__ import annotations

from functools import partial
from math import inf, log, pi, sqrt

from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.ops import math
from gridlane.xp.operations.writing import (
    binary,
    by_op,
    number,
    of_floats,
    quiet_nan,
    signed,
    unary,
)

SPECIAL, CIRCULAR, HYPERBOLIC = "Special functions", "Circular functions", "Hyperbolic functions"


# ---- multiples of pi


def _half_turns(w: Writer, a: Expression) -> Expression:
    """a less the nearest even integer: exact, from -1 to 1."""
    return a - 2.0 * unary(math.Rint, a * 0.5)


def _sinpi(w: Writer, a: Expression) -> Expression:
    rest = _half_turns(w, a)
    rest = w.select(abs(rest) > 0.5, signed(1.0, rest) - rest, rest)
    sine = unary(math.Sin, rest * pi)
    return w.select(rest.equals(0.0), signed(0.0, a), sine)


def _cospi(w: Writer, a: Expression) -> Expression:
    rest = abs(_half_turns(w, a))
    middle = unary(math.Sin, (0.5 - rest) * pi)
    left = unary(math.Cos, w.select(rest > 0.75, 1.0 - rest, rest) * pi)
    outer = w.select(rest > 0.75, -left, left)
    return w.select((rest >= 0.25) & (rest <= 0.75), middle, outer)


def _tanpi(w: Writer, a: Expression) -> Expression:
    cosine, sine = _cospi(w, a), _sinpi(w, a)
    # C: the sign at an odd multiple of 1/2 is that of the side of an even integer.
    pole = w.select(sine > 0.0, number(a, inf), number(a, -inf))
    return w.select(cosine.equals(0.0), pole, sine / cosine)


def _sinc(w: Writer, a: Expression) -> Expression:
    return w.select(a.equals(0.0), number(a, 1.0), _sinpi(w, a) / (a * pi))


# ---- reciprocals of circular and hyperbolic functions, and their inverses


def _catheti(w: Writer, size: Expression) -> Expression:
    """sqrt(size**2 - 1), NaN below 1."""
    return (size - 1.0).sqrt() * (size + 1.0).sqrt()


def _asec(w: Writer, a: Expression) -> Expression:
    angle = unary(math.Atan, _catheti(w, abs(a)))
    return w.select(a < 0.0, pi - angle, angle)


def _acsc(w: Writer, a: Expression) -> Expression:
    angle = binary(math.Atan2, number(a, 1.0), _catheti(w, abs(a)))
    return signed(angle, a)


def _sech(w: Writer, a: Expression) -> Expression:
    fall = unary(math.Exp, -abs(a))
    return 2.0 * fall / (1.0 + fall * fall)


def _csch(w: Writer, a: Expression) -> Expression:
    size = abs(a)
    fall = unary(math.Exp, -size)
    steep = 2.0 * fall / -unary(math.Expm1, -2.0 * size)
    return signed(w.select(size < 0.5, 1.0 / unary(math.Sinh, size), steep), a)


_NEAR = 2.0**-30
"""Below it the squares of a number are no digits of 1, for every float type."""


def _asech(w: Writer, a: Expression) -> Expression:
    usual = unary(math.Asinh, ((1.0 - a) * (1.0 + a)).sqrt() / a)
    usual = w.select(a < 0.0, quiet_nan(a), usual)
    return w.select(abs(a) < _NEAR, log(2) - unary(math.Log, a), usual)


def _acsch(w: Writer, a: Expression) -> Expression:
    size = abs(a)
    near = log(2) - unary(math.Log, size)
    return signed(w.select(size < _NEAR, near, unary(math.Asinh, 1.0 / size)), a)


def _acoth(w: Writer, a: Expression) -> Expression:
    return signed(0.5 * unary(math.Log1p, 2.0 / (abs(a) - 1.0)), a)


# ---- logarithms of products


def xlogy(w: Writer, a: Expression, b: Expression) -> Expression:
    """a * log(b), and 0 where a is 0."""
    nothing = a.equals(0.0) & ~b.is_nan()
    return w.select(nothing, number(a, 0.0), a * unary(math.Log, b))


def xlog1py(w: Writer, a: Expression, b: Expression) -> Expression:
    """a * log1p(b), and 0 where a is 0."""
    nothing = a.equals(0.0) & ~b.is_nan()
    return w.select(nothing, number(a, 0.0), a * unary(math.Log1p, b))


def _entr(w: Writer, a: Expression) -> Expression:
    outside = w.select(a < 0.0, number(a, -inf), -a * unary(math.Log, a))
    return w.select(a.equals(0.0), number(a, 0.0), outside)


_LEAST = 2.0**-126
"""The least number with all digits in every type that functions are computed in."""


def log_quotient(w: Writer, a: Expression, b: Expression) -> Expression:
    """log(a / b) of positive numbers, exact where they are near."""
    ratio = a / b
    near = (ratio > 0.5) & (ratio < 2.0)
    plain = unary(math.Log, ratio)
    extreme = ratio.equals(0.0) | ratio.equals(inf) | (ratio < _LEAST)
    apart = unary(math.Log, a) - unary(math.Log, b)
    return w.select(near, unary(math.Log1p, (a - b) / b), w.select(extreme, apart, plain))


def _rel_entr(w: Writer, a: Expression, b: Expression) -> Expression:
    usual = a * log_quotient(w, a, b)
    inside = w.select((a > 0.0) & (b > 0.0), usual, number(a, inf))
    zero = w.select(a.equals(0.0) & (b >= 0.0), number(a, 0.0), inside)
    return w.select(a.is_nan() | b.is_nan(), quiet_nan(a), zero)


def _kl_div(w: Writer, a: Expression, b: Expression) -> Expression:
    usual = a * log_quotient(w, a, b) - a + b
    inside = w.select((a > 0.0) & (b > 0.0), usual, number(a, inf))
    zero = w.select(a.equals(0.0) & (b >= 0.0), b, inside)
    return w.select(a.is_nan() | b.is_nan(), quiet_nan(a), zero)


def _logit(w: Writer, a: Expression) -> Expression:
    middle = 2.0 * unary(math.Atanh, 2.0 * a - 1.0)
    outer = unary(math.Log, a) - unary(math.Log1p, -a)
    return w.select((a > 0.25) & (a < 0.75), middle, outer)


# ---- families of powers


_NO_DIGIT = 2.0**-60
"""Below it a number is no digit of 1, for every float type."""


def _boxcox(w: Writer, a: Expression, b: Expression) -> Expression:
    logarithm = unary(math.Log, a)
    exponent = logarithm * b
    near = unary(math.Expm1, exponent) / b
    far = (binary(math.Pow, a, b) - 1.0) / b
    power = w.select(abs(exponent) < 1.0, near, far)
    power = w.select(a < 0.0, quiet_nan(a), power)
    return w.select(abs(exponent) < _NO_DIGIT, logarithm, power)


def _inv_boxcox(w: Writer, a: Expression, b: Expression) -> Expression:
    whole = a * b
    both = unary(math.Log, abs(a)) + unary(math.Log, abs(b))
    logarithm = w.select(whole.equals(inf), both, unary(math.Log1p, whole)) / b
    return unary(math.Exp, w.select(abs(whole) < _NO_DIGIT, a, logarithm))


def _tukey(w: Writer, a: Expression, b: Expression) -> Expression:
    power = binary(math.Pow, a, b)
    power = w.select(b < 0.0, -power, power)
    return w.select(b.equals(0.0), unary(math.Log, a), power)


_special = partial(of_floats, SPECIAL)
_circular = partial(of_floats, CIRCULAR)
_hyperbolic = partial(of_floats, HYPERBOLIC)

ROWS = (
    _special(
        "erf",
        by_op(math.Erf),
        "the error function",
        gradient=(f"g * {2 / sqrt(pi)!r} * exp(-a * a)",),
    ),
    _special(
        "erfc",
        by_op(math.Erfc),
        "1 - erf(a), exact for large a",
        gradient=(f"g * {-2 / sqrt(pi)!r} * exp(-a * a)",),
    ),
    _special(
        "tgamma",
        by_op(math.Tgamma),
        "the gamma function",
        ulp=16,
        special="infinite at 0, NaN at negative integers",
        aliases=("gamma",),
    ),
    _special(
        "lgamma",
        by_op(math.Lgamma),
        "the logarithm of the magnitude of the gamma function",
        ulp=16,
        least=1,
        special="infinite at 0 and negative integers",
        aliases=("gammaln",),
    ),
    _special(
        "rsqrt",
        by_op(math.Rsqrt),
        "1 / sqrt(a)",
        special="infinite at 0, NaN below",
        gradient=("-0.5 * g * y / a",),
    ),
    _special(
        "sinc",
        _sinc,
        "sin(pi a) / (pi a)",
        ulp=8,
        special="1 at 0, NaN of infinities",
        gradient=("g * where(a == 0, 0.0, (cospi(a) - y) / a)",),
    ),
    _circular(
        "sinpi",
        _sinpi,
        "sin(pi a)",
        ulp=6,
        special="0 at integers, with the sign of a",
        gradient=(f"g * {pi!r} * cospi(a)",),
    ),
    _circular(
        "cospi",
        _cospi,
        "cos(pi a)",
        ulp=6,
        special="0 at odd multiples of 1/2",
        gradient=(f"g * {-pi!r} * sinpi(a)",),
    ),
    _circular(
        "tanpi",
        _tanpi,
        "tan(pi a)",
        ulp=12,
        special="0 at integers, infinite at odd multiples of 1/2",
        gradient=(f"g * {pi!r} * (1 + y * y)",),
    ),
    _circular(
        "sec",
        lambda w, a: 1.0 / unary(math.Cos, a),
        "1 / cos(a)",
        ulp=6,
        gradient=("g * y * tan(a)",),
    ),
    _circular(
        "csc",
        lambda w, a: 1.0 / unary(math.Sin, a),
        "1 / sin(a)",
        ulp=6,
        special="infinite at 0",
        gradient=("-g * y * cot(a)",),
    ),
    _circular(
        "cot",
        lambda w, a: 1.0 / unary(math.Tan, a),
        "1 / tan(a)",
        ulp=6,
        special="infinite at 0",
        gradient=("-g * (1 + y * y)",),
    ),
    _circular(
        "asec",
        _asec,
        "the inverse of sec, from 0 to pi",
        ulp=8,
        special="NaN inside (-1, 1)",
        gradient=("g / (abs(a) * sqrt(a * a - 1))",),
    ),
    _circular(
        "acsc",
        _acsc,
        "the inverse of csc, from -pi/2 to pi/2",
        ulp=8,
        special="NaN inside (-1, 1)",
        gradient=("-g / (abs(a) * sqrt(a * a - 1))",),
    ),
    _circular(
        "acot",
        lambda w, a: unary(math.Atan, 1.0 / a),
        "the inverse of cot, from -pi/2 to pi/2: atan(1 / a)",
        ulp=6,
        gradient=("-g / (1 + a * a)",),
    ),
    _hyperbolic("sech", _sech, "1 / cosh(a)", ulp=8, gradient=("-g * y * tanh(a)",)),
    _hyperbolic(
        "csch", _csch, "1 / sinh(a)", ulp=8, special="infinite at 0", gradient=("-g * y * coth(a)",)
    ),
    _hyperbolic(
        "coth",
        lambda w, a: 1.0 / unary(math.Tanh, a),
        "1 / tanh(a)",
        ulp=6,
        special="infinite at 0",
        gradient=("-g * square(csch(a))",),
    ),
    _hyperbolic(
        "asech",
        _asech,
        "the inverse of sech",
        ulp=8,
        special="NaN outside [0, 1], infinite at 0",
        gradient=("-g / (a * sqrt(1 - a * a))",),
    ),
    _hyperbolic(
        "acsch",
        _acsch,
        "the inverse of csch",
        ulp=8,
        special="infinite at 0",
        gradient=("-g / (abs(a) * sqrt(1 + a * a))",),
    ),
    _hyperbolic(
        "acoth",
        _acoth,
        "the inverse of coth",
        ulp=8,
        special="NaN inside (-1, 1), infinite at -1 and 1",
        gradient=("g / (1 - a * a)",),
    ),
    _special(
        "xlogy",
        xlogy,
        "a * log(b)",
        ulp=6,
        special="0 where a is 0 and b no NaN",
        gradient=("g * log(b)", "g * a / b"),
    ),
    _special(
        "xlog1py",
        xlog1py,
        "a * log1p(b)",
        ulp=6,
        special="0 where a is 0 and b no NaN",
        gradient=("g * log1p(b)", "g * a / (1 + b)"),
    ),
    _special(
        "entr",
        _entr,
        "-a * log(a), a term of the entropy",
        ulp=6,
        special="0 at 0, -inf below",
        gradient=("-g * (log(a) + 1)",),
    ),
    _special(
        "rel_entr",
        _rel_entr,
        "a * log(a / b), a term of the relative entropy",
        ulp=8,
        special="0 where a is 0 and b is not below, else infinite where a or b is not above 0",
        gradient=("g * (log(a / b) + 1)", "-g * a / b"),
    ),
    _special(
        "kl_divergence",
        _kl_div,
        "a * log(a / b) - a + b, a term of Kullback and Leibler's divergence that is not negative",
        ulp=16,
        of_operands=True,
        special="b where a is 0 and b is not below, else infinite where a or b is not above 0",
        aliases=("kl_div",),
        gradient=("g * log(a / b)", "g * (1 - a / b)"),
    ),
    _special(
        "logit",
        _logit,
        "log(a / (1 - a)), the inverse of sigmoid",
        ulp=8,
        special="infinite at 0 and 1, NaN outside",
        gradient=("g / (a * (1 - a))",),
    ),
    _special(
        "boxcox",
        _boxcox,
        "(a**b - 1) / b, or log(a) where b is 0: Box and Cox's transform",
        ulp=16,
        special="NaN for a below 0",
        gradient=("g * power(a, b - 1)", ""),
    ),
    _special(
        "inv_boxcox",
        _inv_boxcox,
        "(a * b + 1)**(1 / b), or exp(a) where b is 0: the inverse of boxcox",
        ulp=1024,
        special="the error grows with abs(log(y)); it is within 12 ulp for each unit of that",
        gradient=("g * y / (a * b + 1)", ""),
    ),
    _special(
        "tukey_transform",
        _tukey,
        "a**b, negative for b below 0, or log(a) where b is 0: Tukey's ladder of powers",
        ulp=4,
        special="NaN for a below 0, unless b is an integer",
        gradient=("g * where(b == 0, 1.0, abs(b)) * power(a, b - 1)", ""),
    ),
)

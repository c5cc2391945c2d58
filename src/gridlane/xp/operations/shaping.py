"""Interpolation, ranges, curves, colours, and powers of a number."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import sqrt
from typing import Any

from gridlane.ir.builder import rounded
from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.ops import arith, math
from gridlane.xp.operations.loops import floating, reals
from gridlane.xp.operations.record import Bound, Operation
from gridlane.xp.operations.writing import (
    binary,
    clamped,
    finite_or,
    fused,
    is_infinite,
    number,
    of_floats,
    quiet_nan,
    unary,
    widened,
)

INTERPOLATION, COLOUR, ARITHMETIC, ROUNDING = (
    "Interpolation and ranges",
    "Colour",
    "Arithmetic",
    "Rounding",
)


def _fma(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    return fused(w, a, b, c) if a.dtype.is_float else a * b + c


def _fdim(w: Writer, a: Expression, b: Expression) -> Expression:
    positive = w.select(a > b, a - b, number(a, 0.0))
    return w.select(a.is_nan() | b.is_nan(), quiet_nan(a), positive)


def _powered(count: int) -> Any:
    def build(w: Writer, a: Expression) -> Expression:
        square = a * a
        if count == 3:
            return square * a
        return square * square if count == 4 else square * square * a

    def narrow(w: Writer, a: Expression) -> Expression:
        return widened(build)(w, a) if a.dtype.is_float else build(w, a)

    return narrow


def _fract(w: Writer, a: Expression) -> Expression:
    """The largest number below 1 where the difference would be rounded to 1."""
    rest = a - unary(math.Floor, a)
    below_one = binary(math.Nextafter, number(a, 1.0), 0.0)
    return w.select(is_infinite(w, a), quiet_nan(a), w.select(rest >= 1.0, below_one, rest))


def _mix(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    return a * (1.0 - c) + b * c


def _share(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    """The place of c from a, 0, to b, 1."""
    return clamped(w, (c - a) / (b - a), 0.0, 1.0)


def _smoothstep(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    t = _share(w, a, b, c)
    return t * t * (3.0 - 2.0 * t)


def _smootherstep(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    t = _share(w, a, b, c)
    return t * t * t * (t * (6.0 * t - 15.0) + 10.0)


def _inverse_smoothstep(w: Writer, a: Expression) -> Expression:
    """The root of t * t * (3 - 2 t) = a by its angle; above 1/2 that of 1 - a, from the end."""
    mirrored = a > 0.5
    near = w.select(mirrored, 1.0 - a, a)
    third = unary(math.Asin, near.sqrt()) * (2.0 / 3.0)
    half = unary(math.Sin, third * 0.5)
    root = half * half + sqrt(0.75) * unary(math.Sin, third)
    return w.select(mirrored, 1.0 - root, root)


def _normalize(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    return (a - b) / (c - b)


def _denormalize(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    return b + a * (c - b)


def _map_range(
    w: Writer, a: Expression, b: Expression, c: Expression, d: Expression, e: Expression
) -> Expression:
    return d + (a - b) / (c - b) * (e - d)


def _floor_rest(w: Writer, a: Expression, b: Expression) -> Expression:
    """The remainder with the sign of b."""
    rest = binary(arith.Rem, a, b)
    off = rest.differs(0.0) & ((rest < 0.0) ^ (b < 0.0))
    return w.select(off, rest + b, rest)


def _wrap(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    """b where rounding would make it c."""
    wrapped = b + _floor_rest(w, a - b, c - b)
    return w.select(wrapped >= c, w.select(c > b, b, wrapped), wrapped)


def _ping_pong(w: Writer, a: Expression, b: Expression) -> Expression:
    return b - abs(_floor_rest(w, a, b + b) - b)


def _threshold(w: Writer, a: Expression, b: Expression) -> Expression:
    step = w.select(b < a, number(a, 0.0), number(a, 1.0))
    return w.select(a.is_nan() | b.is_nan(), quiet_nan(a), step)


def _bezier(w: Writer, *operands: Expression) -> Expression:
    """De Casteljau's algorithm."""
    *points, t = operands
    while len(points) > 1:
        points = [_mix(w, *pair, t) for pair in pairwise(points)]
    return points[0]


def _adjusted(w: Writer, a: Expression, power: Expression, lacking: Expression) -> Expression:
    """The power of a with an exponent that is larger by a tiny number."""
    return power + finite_or(w, power * unary(math.Log, a) * lacking)


def _root_power(w: Writer, a: Expression, b: Expression) -> Expression:
    """a**(1 / b): what the quotient lacks is made up for by the derivative."""
    root = 1.0 / b
    lacking = fused(w, -root, b, number(b, 1.0)) / b
    return _adjusted(w, a, binary(math.Pow, a, root), lacking)


def _constant_power(w: Writer, a: Expression, exponent: Fraction) -> Expression:
    near = rounded(float(exponent), a.dtype)
    lacking = number(a, float(exponent - Fraction(near)))
    return _adjusted(w, a, binary(math.Pow, a, near), lacking)


def _linear(w: Writer, a: Expression) -> Expression:
    power = _constant_power(w, (a + 0.055) / 1.055, Fraction(12, 5))
    return w.select(a <= 0.04045, a / 12.92, power)


def _encoded(w: Writer, a: Expression) -> Expression:
    power = 1.055 * _constant_power(w, a, Fraction(5, 12)) - 0.055
    return w.select(a <= 0.0031308, a * 12.92, power)


_SHARE = "clip((c - a) / (b - a), 0, 1)"
_interpolation = partial(of_floats, INTERPOLATION)
_colour = partial(of_floats, COLOUR)

ROWS = (
    Operation(
        "fma",
        3,
        _fma,
        reals("fma"),
        "a * b + c, rounded once",
        ARITHMETIC,
        special="integers wrap; bools are refused",
        gradient=("g * b", "g * a", "g"),
    ),
    of_floats(
        ARITHMETIC,
        "fdim",
        _fdim,
        "a - b, or 0 where a is not above b",
        ulp=None,
        special="NaN if a or b is NaN",
        gradient=("where(a > b, g, 0)", "where(a > b, -g, 0)"),
    ),
    *[
        Operation(
            name,
            1,
            _powered(count),
            reals(name),
            f"a to the power {count}",
            ARITHMETIC,
            special="integers wrap",
            bound=Bound(1, 1, 3, 3),
            gradient=(f"{count} * g * {of}",),
        )
        for name, count, of in (
            ("cube", 3, "a * a"),
            ("quartic", 4, "cube(a)"),
            ("quintic", 5, "quartic(a)"),
        )
    ],
    Operation(
        "fract",
        1,
        _fract,
        floating("fract"),
        "a - floor(a), below 1",
        ROUNDING,
        special="NaN of infinities; the largest number below 1 where it would be rounded to 1",
        gradient=("g",),
    ),
    _interpolation(
        "saturate",
        lambda w, a: clamped(w, a, 0.0, 1.0),
        "a between 0 and 1",
        ulp=None,
        gradient=("where((a > 0) & (a < 1), g, 0)",),
    ),
    _interpolation(
        "step", _threshold, "0 where b is below a, else 1", ulp=None, special="NaN if a or b is NaN"
    ),
    _interpolation(
        "mix",
        _mix,
        "a * (1 - c) + b * c",
        ulp=4,
        of_operands=True,
        aliases=("lerp",),
        special="a at c = 0, b at c = 1; the bound is for c from 0 to 1",
        gradient=("g * (1 - c)", "g * c", "g * (b - a)"),
    ),
    _interpolation(
        "smoothstep",
        _smoothstep,
        "t * t * (3 - 2 t) of t = (c - a) / (b - a) between 0 and 1",
        ulp=12,
        gradient=("", "", f"g * 6 * {_SHARE} * (1 - {_SHARE}) / (b - a)"),
    ),
    _interpolation(
        "smootherstep",
        _smootherstep,
        "t * t * t * (t * (6 t - 15) + 10) of t = (c - a) / (b - a) between 0 and 1",
        ulp=32,
        gradient=("", "", f"g * 30 * square({_SHARE} * (1 - {_SHARE})) / (b - a)"),
    ),
    _interpolation(
        "inverse_smoothstep",
        _inverse_smoothstep,
        "the t from 0 to 1 whose t * t * (3 - 2 t) is a",
        ulp=10,
        special="NaN outside [0, 1]",
        gradient=("g / (6 * y * (1 - y))",),
    ),
    _interpolation(
        "normalize", _normalize, "(a - b) / (c - b)", ulp=3, gradient=("g / (c - b)", "", "")
    ),
    _interpolation(
        "denormalize",
        _denormalize,
        "b + a * (c - b)",
        ulp=4,
        of_operands=True,
        gradient=("g * (c - b)", "g * (1 - a)", "g * a"),
    ),
    _interpolation(
        "map_range",
        _map_range,
        "d + (a - b) / (c - b) * (e - d): the range from b to c mapped to that from d to e",
        ulp=8,
        of_operands=True,
        gradient=(
            "g * (e - d) / (c - b)",
            "",
            "",
            "g * (c - a) / (c - b)",
            "g * (a - b) / (c - b)",
        ),
    ),
    _interpolation(
        "wrap",
        _wrap,
        "b + remainder(a - b, c - b): a, moved by multiples of c - b into the range from b to c",
        ulp=2,
        of_operands=True,
        special="the differences are rounded: near a multiple the result may be at the other end",
        gradient=("g", "", ""),
    ),
    _interpolation(
        "ping_pong",
        _ping_pong,
        "b - abs(remainder(a, 2 b) - b): from 0 to b and back",
        ulp=2,
        of_operands=True,
    ),
    _interpolation(
        "bezier_quadratic",
        _bezier,
        "the point of a quadratic Bezier curve of the points a, b, c at d",
        ulp=8,
        of_operands=True,
        special="a at d = 0, c at d = 1; the bound is for d from 0 to 1",
        gradient=(
            "g * square(1 - d)",
            "2 * g * d * (1 - d)",
            "g * d * d",
            "2 * g * ((1 - d) * (b - a) + d * (c - b))",
        ),
        arity=4,
    ),
    _interpolation(
        "bezier_cubic",
        _bezier,
        "the point of a cubic Bezier curve of the points a, b, c, d at e",
        ulp=8,
        of_operands=True,
        special="a at e = 0, d at e = 1; the bound is for e from 0 to 1",
        gradient=(
            "g * cube(1 - e)",
            "3 * g * e * square(1 - e)",
            "3 * g * e * e * (1 - e)",
            "g * cube(e)",
            "3 * g * bezier_quadratic(b - a, c - b, d - c, e)",
        ),
        arity=5,
    ),
    _colour("gamma_correct", _root_power, "a**(1 / b)", ulp=8, gradient=("g * y / (a * b)", "")),
    _colour(
        "inverse_gamma",
        lambda w, a, b: binary(math.Pow, a, b),
        "a**b",
        ulp=4,
        gradient=("g * b * power(a, b - 1)", "g * y * log(a)"),
    ),
    _colour(
        "srgb_to_linear",
        _linear,
        "a / 12.92 up to 0.04045, else ((a + 0.055) / 1.055)**2.4",
        ulp=16,
        gradient=(
            "g * where(a <= 0.04045, 1 / 12.92, 2.4 / 1.055 * power((a + 0.055) / 1.055, 1.4))",
        ),
    ),
    _colour(
        "linear_to_srgb",
        _encoded,
        "12.92 * a up to 0.0031308, else 1.055 * a**(1 / 2.4) - 0.055",
        ulp=16,
        gradient=("g * where(a <= 0.0031308, 12.92, 1.055 / 2.4 * power(abs(a), 1 / 2.4 - 1))",),
    ),
)

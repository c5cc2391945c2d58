"""Rounding, exponentials, logarithms, circular and hyperbolic functions, and parts of complex
numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log, pi
from typing import Any

import numpy as np

from gridlane.ir.builder import rounded
from gridlane.ir.complexes import arithmetic as complexes
from gridlane.ir.complexes import edges, functions
from gridlane.ir.complexes.arithmetic import Pair
from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.op import Op
from gridlane.ir.ops import math
from gridlane.xp.operations.loops import floating, numbers, part
from gridlane.xp.operations.record import Bound, Complex, Loop, Operand, Operation
from gridlane.xp.operations.writing import (
    by_op,
    by_op2,
    finite_or,
    from_pair,
    fused,
    is_finite,
    number,
    of_numpy,
    on_pairs,
    pair,
    quiet_nan,
    signed,
    split,
    unary,
    widened,
)

ROUNDING, EXPONENTIALS, CIRCULAR, HYPERBOLIC, PARTS = (
    "Rounding",
    "Exponentials, logarithms and roots",
    "Circular functions",
    "Hyperbolic functions",
    "Parts of complex numbers",
)
FUNCTION = Bound(1, 1, 4, 4)
"""The bound of C's functions on every device: docs/math.md."""

Build = Callable[..., Any]

# ---- rounding


def _rounding(op: type[Op]) -> Build:
    def build(w: Writer, a: Operand) -> Operand:
        if isinstance(a, Complex):
            return Complex(unary(op, a.real), unary(op, a.imag))
        return unary(op, a) if a.dtype.is_float else a

    return build


# ---- complex functions that ``cmath`` lacks


_LOG_2 = 0.6931471805599453, 2.3190468138462996e-17
"""log(2), and what that lacks."""


def _complex_exp2(w: Writer, a: Complex) -> Complex:
    """2**x * e**(i y log(2)), with the error of the angle made up for."""
    high = rounded(_LOG_2[0], a.imag.dtype)
    turn = a.imag * high
    lacking = fused(w, a.imag, number(turn, high), -turn)
    lacking = finite_or(w, lacking + a.imag * (_LOG_2[0] - high + _LOG_2[1]))
    cosine, sine = unary(math.Cos, turn), unary(math.Sin, turn)
    along, across = unary(math.Cos, lacking), unary(math.Sin, lacking)
    turned = w.select(turn.equals(0.0), a.imag, sine * along + cosine * across)
    parts = cosine * along - sine * across, turned
    b, large = w.builder, a.real > np.finfo(a.real.dtype.numpy).maxexp - 2
    size = unary(math.Exp2, w.select(large, a.real * 0.5, a.real))
    rest = w.select(large & is_finite(w, size), size, number(size, 1.0))
    real_part = w.wrap(edges.directed(b, a.real.value, size.value, parts[0].value))
    imag_part = w.wrap(edges.scaled(b, size.value, parts[1].value))
    return Complex(real_part * rest, imag_part * rest)


def _undefined(w: Writer, a: Complex, result: Complex) -> Complex:
    """NaN where the real part is finite and the imaginary part is not, as annex G has exp."""
    lost = ~is_finite(w, a.imag) & is_finite(w, a.real)
    nan = quiet_nan(a.real)
    return Complex(w.select(lost, nan, result.real), w.select(lost, nan, result.imag))


def _exponential(build: Build) -> Build:
    return lambda w, a: _undefined(w, a, build(w, a))


def _complex_tanh(w: Writer, a: Complex) -> Complex:
    """A zero real part stays, whatever the imaginary part is."""
    result = from_pair(w, functions.hyperbolic_tangent(w.builder, pair(a)))
    return Complex(w.select(a.real.equals(0.0), a.real, result.real), result.imag)


def _complex_tan(w: Writer, a: Complex) -> Complex:
    turned = _complex_tanh(w, Complex(-a.imag, a.real))
    return Complex(turned.imag, -turned.real)


def _complex_acosh(w: Writer, a: Complex) -> Complex:
    """On the imaginary axis the angle is a right one, even if the imaginary part is NaN."""
    result = from_pair(w, functions.area_cosine(w.builder, pair(a)))
    right = a.real.equals(0.0) & a.imag.is_nan()
    return Complex(result.real, w.select(right, number(a.imag, pi / 2), result.imag))


def _complex_expm1(w: Writer, a: Complex) -> Complex:
    """expm1(x) cos y - 2 sin(y / 2)**2, without cancellation near 0."""
    half = unary(math.Sin, a.imag * 0.5)
    growth = unary(math.Expm1, a.real)
    # The standard has the real part +0 at -0 as well.
    real_part = growth * unary(math.Cos, a.imag) - 2.0 * half * half + 0.0
    whole = functions.FUNCTIONS["exp"](w.builder, pair(a))
    near = abs(a.real) < 1.0
    return Complex(w.select(near, real_part, w.wrap(whole.real) - 1.0), w.wrap(whole.imag))


def _complex_log1p(w: Writer, a: Complex) -> Complex:
    """The logarithm of 1 + a: log1p(2 x + |a|**2) / 2 near 0."""
    near = (abs(a.real) < 0.5) & (abs(a.imag) < 0.5)
    close = unary(math.Log1p, a.real * (2.0 + a.real) + a.imag * a.imag) * 0.5
    shifted = Pair((a.real + 1.0).value, a.imag.value)
    whole = complexes.principal_logarithm(w.builder, shifted)
    return Complex(w.select(near, close, w.wrap(whole.real)), w.wrap(whole.imag))


# ---- pairs of floats


def _logaddexp(of_one: type[Op], raised: type[Op], at_equal: float, scale: float) -> Build:
    """max + log(1 + exp(-|a - b|)), to a base."""

    def build(w: Writer, a: Expression, b: Expression) -> Expression:
        larger = a.most(b)
        distance = abs(a - b)
        rest = unary(of_one, unary(raised, -distance)) * scale
        total = w.select(a.equals(b), a + at_equal, larger + rest)
        return w.select(a.is_nan() | b.is_nan(), a + b, total)

    return widened(build)


def _scaled(factor: float) -> Build:
    return widened(lambda w, a: a * factor)


def _heaviside(w: Writer, a: Expression, b: Expression) -> Expression:
    zero, one = number(a, 0.0), number(a, 1.0)
    step = w.select(a < 0.0, zero, w.select(a > 0.0, one, b))
    return w.select(a.is_nan(), a, step)


def _angle(w: Writer, a: Operand) -> Expression:
    if isinstance(a, Complex):
        return w.wrap(complexes.phase(w.builder, pair(a)))
    turn = w.select(signed(1.0, a) < 0.0, number(a, pi), number(a, 0.0))
    return w.select(a.is_nan(), a, turn)


def _angle_types(operands: tuple[Any, ...]) -> Loop:
    dtype = floating("angle", with_complex=True)(operands).inputs[0]
    return Loop((dtype,), (part(dtype),))


def _part(imaginary: bool) -> Build:
    def build(w: Writer, a: Operand) -> Expression:
        if isinstance(a, Complex):
            return a.imag if imaginary else a.real
        return number(a, 0) if imaginary else a

    return build


def _conjugate(w: Writer, a: Operand) -> Operand:
    return Complex(a.real, -a.imag) if isinstance(a, Complex) else a


_UNARY: dict[str, tuple[tuple[str, tuple[str, ...], type[Op], str, str, str, str], ...]] = {
    EXPONENTIALS: (
        ("exp", (), math.Exp, "e to the power a", "", "g * conj(y)", "exp"),
        ("expm1", (), math.Expm1, "exp(a) - 1, exact near 0", "", "g * conj(y + 1)", ""),
        ("exp2", (), math.Exp2, "2 to the power a", "turned", f"g * conj(y) * {log(2)!r}", ""),
        ("log", (), math.Log, "the natural logarithm", "log", "g / conj(a)", "log"),
        (
            "log1p",
            (),
            math.Log1p,
            "log(1 + a), exact near 0",
            "NaN below -1, -inf at -1",
            "g / conj(a + 1)",
            "",
        ),
        (
            "log2",
            (),
            math.Log2,
            "the logarithm to base 2",
            "log",
            f"g / conj(a) * {1 / log(2)!r}",
            "log2",
        ),
        (
            "log10",
            (),
            math.Log10,
            "the logarithm to base 10",
            "log",
            f"g / conj(a) * {1 / log(10)!r}",
            "log10",
        ),
        ("cbrt", (), math.Cbrt, "the cube root", "", "g * y / (3 * a)", ""),
    ),
    CIRCULAR: (
        ("sin", (), math.Sin, "the sine", "turns", "g * conj(cos(a))", "sin"),
        ("cos", (), math.Cos, "the cosine", "turns", "-g * conj(sin(a))", "cos"),
        ("tan", (), math.Tan, "the tangent", "turns", "g * conj(1 + y * y)", "tan"),
        (
            "asin",
            ("arcsin",),
            math.Asin,
            "the arc sine",
            "NaN outside [-1, 1]",
            "g / conj(sqrt(1 - a * a))",
            "asin",
        ),
        (
            "acos",
            ("arccos",),
            math.Acos,
            "the arc cosine",
            "NaN outside [-1, 1]",
            "-g / conj(sqrt(1 - a * a))",
            "acos",
        ),
        ("atan", ("arctan",), math.Atan, "the arc tangent", "", "g / conj(1 + a * a)", "atan"),
    ),
    HYPERBOLIC: (
        ("sinh", (), math.Sinh, "the hyperbolic sine", "", "g * conj(cosh(a))", "sinh"),
        ("cosh", (), math.Cosh, "the hyperbolic cosine", "", "g * conj(sinh(a))", "cosh"),
        ("tanh", (), math.Tanh, "the hyperbolic tangent", "", "g * conj(1 - y * y)", "tanh"),
        (
            "asinh",
            ("arcsinh",),
            math.Asinh,
            "the inverse hyperbolic sine",
            "",
            "g / conj(sqrt(a * a + 1))",
            "asinh",
        ),
        (
            "acosh",
            ("arccosh",),
            math.Acosh,
            "the inverse hyperbolic cosine",
            "NaN below 1",
            "g / conj(sqrt(a - 1) * sqrt(a + 1))",
            "acosh",
        ),
        (
            "atanh",
            ("arctanh",),
            math.Atanh,
            "the inverse hyperbolic tangent",
            "infinite at -1 and 1, NaN beyond",
            "g / conj(1 - a * a)",
            "atanh",
        ),
    ),
}
"""Name, aliases, op, summary, special values, gradient, name in ``ir/complexes``, by section."""
_SPECIAL = {
    "turned": "complex: the angle has digits up to an imaginary part of 2**24, or 2**53",
    "log": "NaN below 0, -inf at 0",
    "turns": "radians; NaN of infinities",
}
_COMPLEX: dict[str, Build] = {
    "exp": _exponential(on_pairs(functions.FUNCTIONS["exp"])),
    "exp2": _exponential(_complex_exp2),
    "expm1": _exponential(_complex_expm1),
    "log1p": _complex_log1p,
    "acosh": _complex_acosh,
    "tan": _complex_tan,
    "tanh": _complex_tanh,
}


def _function(name: str, op: type[Op], of_pairs: str) -> Build:
    if name in _COMPLEX:
        return split(by_op(op), _COMPLEX[name])
    return split(by_op(op), on_pairs(functions.FUNCTIONS[of_pairs])) if of_pairs else by_op(op)


_exponentials = partial(of_numpy, EXPONENTIALS)
_circular = partial(of_numpy, CIRCULAR)
_roundings = partial(of_numpy, ROUNDING)

ROWS = (
    *[
        _roundings(
            name,
            _rounding(op),
            summary,
            like=like,
            aliases=aliases,
            special="integers as they are; the sign of 0 is kept",
        )
        for name, like, aliases, op, summary in (
            ("floor", "floor", (), math.Floor, "the largest integral value that is not above a"),
            ("ceil", "ceil", (), math.Ceil, "the smallest integral value that is not below a"),
            ("trunc", "trunc", (), math.Trunc, "the integral value towards 0"),
            ("rint", "rint", (), math.Rint, "the nearest integral value, ties to even; floats"),
        )
    ],
    Operation(
        "round",
        1,
        _rounding(math.Rint),
        numbers(),
        "the nearest integral value, ties to even, in the dtype of a",
        ROUNDING,
        special="integers as they are; the sign of 0 is kept",
    ),
    _exponentials(
        "sqrt",
        split(by_op(math.Sqrt), on_pairs(functions.FUNCTIONS["sqrt"])),
        "the square root",
        special="NaN below 0, -0 of -0; complex: the principal root",
        gradient=("g / conj(2 * y)",),
        complex_bound=4,
    ),
    *[
        of_numpy(
            section,
            name,
            _function(name, op, of_pairs),
            summary,
            aliases=aliases,
            special=_SPECIAL.get(special, special),
            bound=FUNCTION,
            gradient=(gradient,),
            complex_bound=8 if of_pairs or name in _COMPLEX else 0,
        )
        for section, rows in _UNARY.items()
        for name, aliases, op, summary, special, gradient, of_pairs in rows
    ],
    _exponentials(
        "logaddexp",
        _logaddexp(math.Log1p, math.Exp, log(2), 1.0),
        "log(exp(a) + exp(b))",
        special="NaN if a or b is NaN",
        bound=Bound(1, 1, 4, 4, True),
        gradient=("g * exp(a - y)", "g * exp(b - y)"),
    ),
    _exponentials(
        "logaddexp2",
        _logaddexp(math.Log1p, math.Exp2, 1.0, 1 / log(2)),
        "log2(2**a + 2**b)",
        special="NaN if a or b is NaN",
        bound=Bound(1, 1, 4, 4, True),
        gradient=("g * exp2(a - y)", "g * exp2(b - y)"),
    ),
    _exponentials(
        "hypot",
        by_op2(math.Hypot),
        "sqrt(a*a + b*b), without overflow",
        special="infinite if a or b is, even beside NaN",
        bound=FUNCTION,
        gradient=("g * a / y", "g * b / y"),
    ),
    _circular(
        "atan2",
        by_op2(math.Atan2),
        "the angle of the point (b, a)",
        like="arctan2",
        aliases=("arctan2",),
        special="C's table of zeros and infinities",
        bound=FUNCTION,
        gradient=("g * b / (a * a + b * b)", "-g * a / (a * a + b * b)"),
    ),
    *[
        _circular(
            name,
            _scaled(factor),
            summary,
            aliases=aliases,
            bound=Bound(1, 1, 2, 2),
            gradient=(f"{name}(g)",),
        )
        for name, aliases, factor, summary in (
            ("degrees", ("rad2deg",), 180 / pi, "radians to degrees"),
            ("radians", ("deg2rad",), pi / 180, "degrees to radians"),
        )
    ],
    _roundings("heaviside", _heaviside, "0 below 0, 1 above it, b at it", special="NaN of NaN"),
    Operation(
        "real",
        1,
        _part(False),
        numbers(part),
        "the real part; real numbers as they are",
        PARTS,
    ),
    Operation(
        "imag", 1, _part(True), numbers(part), "the imaginary part; 0 of real numbers", PARTS
    ),
    of_numpy(
        PARTS,
        "conj",
        _conjugate,
        "the complex conjugate; real numbers as they are",
        aliases=("conjugate",),
        gradient=("conj(g)",),
    ),
    Operation(
        "angle",
        1,
        _angle,
        _angle_types,
        "the angle in radians; 0 or pi of real numbers, by the sign bit",
        PARTS,
        bound=Bound(0.5, 0.5, 0.5, 0.5),
        complex_bound=4,
    ),
)

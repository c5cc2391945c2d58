"""The functions of ``cmath``."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import TYPE_CHECKING

from gridlane.frontends.python import complexes, promotion
from gridlane.frontends.python.calls.mathematics import (
    float_operands,
    is_finite,
    is_infinite,
    is_nan,
)
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.complexes import number
from gridlane.frontends.python.conversion import scalar, to_complex
from gridlane.frontends.python.operands import ComplexNumber, Operand, Scalar, TupleOperand
from gridlane.ir.ops import math

if TYPE_CHECKING:
    from gridlane.frontends.python.translator import Translator

Emit = Callable[["Translator", ComplexNumber], Operand]


def complex_operand(t: Translator, x: Operand) -> ComplexNumber:
    """A number as a complex one."""
    if isinstance(x, ComplexNumber):
        return x
    real = scalar(t, x)
    return to_complex(t, real, promotion.numpy_floating(real.dtype))


def _times_i(t: Translator, z: ComplexNumber) -> ComplexNumber:
    return ComplexNumber(t.b.neg(z.imag), z.real)


def _over_i(t: Translator, z: ComplexNumber) -> ComplexNumber:
    return ComplexNumber(z.imag, t.b.neg(z.real))


def hyperbolic_sine(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """sinh x cos y + i cosh x sin y."""
    b = t.b
    real = b.mul(b.unary(math.Sinh, z.real), b.unary(math.Cos, z.imag))
    return ComplexNumber(real, b.mul(b.unary(math.Cosh, z.real), b.unary(math.Sin, z.imag)))


def hyperbolic_cosine(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """cosh x cos y + i sinh x sin y."""
    b = t.b
    real = b.mul(b.unary(math.Cosh, z.real), b.unary(math.Cos, z.imag))
    return ComplexNumber(real, b.mul(b.unary(math.Sinh, z.real), b.unary(math.Sin, z.imag)))


def hyperbolic_tangent(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """(tanh x + i tan y) / (1 + i tanh x tan y), which does not overflow for large x."""
    b = t.b
    x, y = b.unary(math.Tanh, z.real), b.unary(math.Tan, z.imag)
    one = b.const(1.0, z.part)
    return complexes.divide(t, ComplexNumber(x, y), ComplexNumber(one, b.mul(x, y)))


def _square_less_one(t: Translator, z: ComplexNumber, sign: float) -> ComplexNumber:
    """z * z + sign."""
    square = complexes.multiply(t, z, z)
    return complexes.add(t, square, number(t, sign, 0.0, z.part))


def area_sine(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """log(z + sqrt(z*z + 1))."""
    root = complexes.square_root(t, _square_less_one(t, z, 1.0))
    return complexes.logarithm(t, complexes.add(t, z, root))


def area_cosine(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """log(z + sqrt(z + 1) * sqrt(z - 1)), on the principal branch."""
    one = number(t, 1.0, 0.0, z.part)
    above = complexes.square_root(t, complexes.add(t, z, one))
    below = complexes.square_root(t, complexes.subtract(t, z, one))
    return complexes.logarithm(t, complexes.add(t, z, complexes.multiply(t, above, below)))


def area_tangent(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """(log(1 + z) - log(1 - z)) / 2."""
    one, half = number(t, 1.0, 0.0, z.part), number(t, 0.5, 0.0, z.part)
    above = complexes.logarithm(t, complexes.add(t, one, z))
    below = complexes.logarithm(t, complexes.subtract(t, one, z))
    return complexes.multiply(t, half, complexes.subtract(t, above, below))


def arc_cosine(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """pi/2 - asin z."""
    return complexes.subtract(t, number(t, cmath.pi / 2, 0.0, z.part), _turned(area_sine)(t, z))


def _turned(function: Emit) -> Emit:
    """f(i z) / i: the circular function of a hyperbolic one."""
    return lambda t, z: _over_i(t, function(t, _times_i(t, z)))  # type: ignore[arg-type]  # complex


def base_ten(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """log z / log 10."""
    found, b = complexes.logarithm(t, z), t.b
    scale = b.const(0.4342944819032518, z.part)
    return ComplexNumber(b.mul(found.real, scale), b.mul(found.imag, scale))


UNARY: dict[str, Emit] = {
    "exp": complexes.exponential,
    "log10": base_ten,
    "sqrt": complexes.square_root,
    "phase": complexes.phase,
    "sinh": hyperbolic_sine,
    "cosh": hyperbolic_cosine,
    "tanh": hyperbolic_tangent,
    "asinh": area_sine,
    "acosh": area_cosine,
    "atanh": area_tangent,
    "sin": _turned(hyperbolic_sine),
    "cos": lambda t, z: hyperbolic_cosine(t, _times_i(t, z)),
    "tan": _turned(hyperbolic_tangent),
    "asin": _turned(area_sine),
    "acos": arc_cosine,
    "atan": _turned(area_tangent),
}

for _name, _emit in UNARY.items():
    register(
        (getattr(cmath, _name),),
        f"cmath.{_name}",
        lambda t, x, emit=_emit: emit(t, complex_operand(t, x)),
        "x",
    )
for _test_name, _test in (("isnan", is_nan), ("isinf", is_infinite)):
    register(
        (getattr(cmath, _test_name),),
        f"cmath.{_test_name}",
        lambda t, x, test=_test: Scalar(test(t, x)),
        "x",
    )


@handles(cmath.log, params="x, base=")
def _log(t: Translator, x: Operand, base: Operand | None) -> Operand:
    top = complexes.logarithm(t, complex_operand(t, x))
    if base is None:
        return top
    return complexes.divide(t, *complexes.both(t, top, _log(t, base, None)))


@handles(cmath.isfinite, params="x")
def _isfinite(t: Translator, x: Operand) -> Operand:
    return Scalar(is_finite(t, x))


@handles(cmath.polar, params="x")
def _polar(t: Translator, x: Operand) -> Operand:
    z = complex_operand(t, x)
    return TupleOperand((complexes.magnitude(t, z), complexes.phase(t, z)))


@handles(cmath.rect, params="r, phi")
def _rect(t: Translator, r: Operand, phi: Operand) -> Operand:
    radius, angle, _ = float_operands(t, r, phi)
    return complexes.polar(t, radius, angle)

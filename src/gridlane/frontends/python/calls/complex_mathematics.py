"""The functions of ``cmath``."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from math import e, inf, log, log2, log10, pi

from gridlane.frontends.python import complex_edges as edges
from gridlane.frontends.python import complexes, promotion
from gridlane.frontends.python.calls.mathematics import (
    float_operands,
    is_finite,
    is_infinite,
    is_nan,
)
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.conversion import scalar, to_complex
from gridlane.frontends.python.operands import ComplexNumber, Operand, Scalar, TupleOperand
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import arith, math

Emit = Callable[["Translator", ComplexNumber], Operand]
ToComplex = Callable[["Translator", ComplexNumber], ComplexNumber]


def complex_operand(t: Translator, x: Operand) -> ComplexNumber:
    """A number as a complex one."""
    if isinstance(x, ComplexNumber):
        return x
    real = scalar(t, x)
    return to_complex(t, real, t.promoted(promotion.complex_arithmetic, real.dtype))


def _times_i(t: Translator, z: ComplexNumber) -> ComplexNumber:
    return ComplexNumber(t.b.neg(z.imag), z.real)


def _over_i(t: Translator, z: ComplexNumber) -> ComplexNumber:
    return ComplexNumber(z.imag, t.b.neg(z.real))


def hyperbolic_sine(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """sinh x cos y + i cosh x sin y."""
    b = t.b
    real = edges.directed(t, z.real, b.unary(math.Sinh, z.real), b.unary(math.Cos, z.imag))
    imag = edges.scaled(t, b.unary(math.Cosh, z.real), b.unary(math.Sin, z.imag))
    return ComplexNumber(real, imag)


def hyperbolic_cosine(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """cosh x cos y + i sinh x sin y."""
    b = t.b
    real = edges.directed(t, z.real, b.unary(math.Cosh, z.real), b.unary(math.Cos, z.imag))
    imag = edges.product(t, b.unary(math.Sinh, z.real), b.unary(math.Sin, z.imag))
    return ComplexNumber(real, imag)


def hyperbolic_tangent(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """tanh z, from real functions alone: W. Kahan's CTANH, of the paper named below."""
    b, one = t.b, t.b.const(1.0, z.part)
    tangent, slope = b.unary(math.Tan, z.imag), b.unary(math.Tanh, z.real)
    # For an infinite x the real part is 1 or -1, whatever y is.
    lost = b.and_(edges.is_infinite(t, z.real), edges.is_nan(t, tangent))
    tangent = b.select(lost, b.const(0.0, z.part), tangent)
    inverse = b.div(one, b.unary(math.Cosh, z.real))
    square = b.mul(tangent, tangent)
    below = b.add(one, b.mul(b.mul(slope, slope), square))
    real = b.div(b.mul(slope, b.add(one, square)), below)
    imag = b.mul(b.mul(b.div(tangent, below), inverse), inverse)
    return ComplexNumber(real, b.select(edges.is_zero(t, z.imag), z.imag, imag))


def _plus(t: Translator, z: ComplexNumber, real: float) -> ComplexNumber:
    """z + real, which keeps the sign of a zero imaginary part."""
    return ComplexNumber(t.b.add(z.real, t.b.const(real, z.part)), z.imag)


def _minus(t: Translator, real: float, z: ComplexNumber) -> ComplexNumber:
    """real - z, which keeps the sign of a zero imaginary part."""
    return ComplexNumber(t.b.sub(t.b.const(real, z.part), z.real), t.b.neg(z.imag))


def _or_far(
    t: Translator, z: ComplexNumber, near: ComplexNumber, far: ComplexNumber
) -> ComplexNumber:
    """``far`` where a part of z is infinite, else ``near``."""
    endless = is_infinite(t, z)
    parts = zip((far.real, far.imag), (near.real, near.imag), strict=True)
    return ComplexNumber(*(t.b.select(endless, one, other) for one, other in parts))


# The inverse functions follow W. Kahan, "Branch cuts for complex elementary functions" (1987).


def area_sine(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """asinh z."""
    b, turned = t.b, _times_i(t, z)
    above = complexes.square_root(t, _minus(t, 1.0, turned))
    below = complexes.square_root(t, _plus(t, turned, 1.0))
    cross = b.sub(b.mul(above.real, below.imag), b.mul(below.real, above.imag))
    inner = b.sub(b.mul(above.real, below.real), b.mul(above.imag, below.imag))
    angle = b.binary(math.Atan2, z.imag, inner)
    angle = b.select(edges.is_zero(t, z.imag), z.imag, angle)
    direction = b.binary(math.Atan2, z.imag, b.unary(arith.Abs, z.real))
    far = ComplexNumber(edges.like(t, inf, z.real), direction)
    return _or_far(t, z, ComplexNumber(b.unary(math.Asinh, cross), angle), far)


def area_cosine(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """acosh z."""
    b, two = t.b, t.b.const(2.0, z.part)
    below = complexes.square_root(t, _plus(t, z, -1.0))
    above = complexes.square_root(t, _plus(t, z, 1.0))
    inner = b.add(b.mul(below.real, above.real), b.mul(below.imag, above.imag))
    angle = b.mul(two, b.binary(math.Atan2, below.imag, above.real))
    far = ComplexNumber(b.const(inf, z.part), complexes.phase(t, z).value)
    return _or_far(t, z, ComplexNumber(b.unary(math.Asinh, inner), angle), far)


def arc_cosine(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """acos z."""
    b, two = t.b, t.b.const(2.0, z.part)
    below = complexes.square_root(t, _minus(t, 1.0, z))
    above = complexes.square_root(t, _plus(t, z, 1.0))
    cross = b.sub(b.mul(above.real, below.imag), b.mul(above.imag, below.real))
    angle = b.mul(two, b.binary(math.Atan2, below.real, above.real))
    # On the imaginary axis the real part is that of 0, even if y is NaN.
    angle = b.select(edges.is_zero(t, z.real), b.const(pi / 2, z.part), angle)
    direction = b.unary(arith.Abs, complexes.phase(t, z).value)
    far = ComplexNumber(direction, edges.like(t, inf, b.neg(z.imag)))
    return _or_far(t, z, ComplexNumber(angle, b.unary(math.Asinh, cross)), far)


def area_tangent(t: Translator, z: ComplexNumber) -> ComplexNumber:
    """atanh z."""
    b = t.b
    # Computed for a positive x: the logarithm of a number near 0 would be inexact.
    x, y, one = b.unary(arith.Abs, z.real), z.imag, t.b.const(1.0, z.part)
    four, quarter, half = (b.const(n, z.part) for n in (4.0, 0.25, 0.5))
    less, more, square = b.sub(one, x), b.add(one, x), b.mul(y, y)
    ratio = b.div(b.mul(four, x), b.add(b.mul(less, less), square))
    logarithm = b.mul(quarter, b.unary(math.Log1p, ratio))
    # So near to 1 that the square of y would underflow: log(2 / y) / 2. The bounds are in float32's
    # range, in which float64 may be emulated; beyond them these forms have no error in float64.
    height = b.unary(arith.Abs, y)
    near = b.lt(height, b.const(1e-18, z.part))
    tall = b.mul(half, b.sub(b.const(log(2), z.part), b.unary(math.Log, height)))
    logarithm = b.select(b.and_(near, b.eq(x, one)), tall, logarithm)
    real = b.binary(math.Copysign, logarithm, z.real)
    real = b.select(edges.is_zero(t, x), z.real, real)
    angle = b.binary(math.Atan2, b.add(y, y), b.sub(b.mul(less, more), square))
    quarter_turn = b.select(edges.is_nan(t, y), y, edges.like(t, pi / 2, y))
    # So far from 0 that squares would overflow: x / |z|², at a right angle. A quarter of z, as the
    # size of z may overflow as well.
    part = ComplexNumber(b.mul(z.real, quarter), b.mul(z.imag, quarter))
    size = complexes.magnitude(t, part).value
    distant = b.lt(b.const(1e18, z.part), size)
    over = b.mul(b.div(b.div(part.real, size), size), quarter)
    real = b.select(distant, over, real)
    far = ComplexNumber(edges.like(t, 0.0, z.real), quarter_turn)
    turn = b.select(distant, quarter_turn, b.mul(half, angle))
    return _or_far(t, z, ComplexNumber(real, turn), far)


def _turned(function: ToComplex) -> ToComplex:
    """f(i z) / i: the circular function of a hyperbolic one."""
    return lambda t, z: _over_i(t, function(t, _times_i(t, z)))


def _scaled_logarithm(factor: float) -> ToComplex:
    """factor * log z."""

    def emit(t: Translator, z: ComplexNumber) -> ComplexNumber:
        logarithm, b = complexes.principal_logarithm(t, z), t.b
        scale = b.const(factor, z.part)
        return ComplexNumber(b.mul(logarithm.real, scale), b.mul(logarithm.imag, scale))

    return emit


base_ten, base_two = _scaled_logarithm(log10(e)), _scaled_logarithm(log2(e))


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
    top = complexes.principal_logarithm(t, complex_operand(t, x))
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
    """A radius of 0 has the result 0 at every angle, even infinity and NaN; an angle of 0 a real
    result."""
    radius, angle, _ = float_operands(t, r, phi)
    result, zero = complexes.polar(t, radius, angle), edges.constant_of(t, 0.0, radius)
    none = t.b.and_(edges.is_zero(t, radius), edges.is_nan(t, result.real))
    real, imag = (t.b.select(none, zero, part) for part in (result.real, result.imag))
    lost = t.b.and_(edges.is_infinite(t, radius), edges.is_nan(t, angle))
    real = t.b.select(lost, t.b.unary(arith.Abs, radius), real)
    sign = t.b.binary(math.Copysign, edges.constant_of(t, 1.0, radius), radius)
    flat = edges.is_zero(t, angle)  # an infinite radius has no part there either
    level = t.b.select(edges.is_nan(t, radius), zero, t.b.mul(angle, sign))
    return ComplexNumber(real, t.b.select(flat, level, imag))

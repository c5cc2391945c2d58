"""The functions of a complex number, those of ``cmath``."""

from __future__ import annotations

from collections.abc import Callable
from math import e, log, log2, log10, pi

from gridlane.ir.builder import Builder
from gridlane.ir.complexes import arithmetic, edges
from gridlane.ir.complexes.arithmetic import Pair
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Value

Function = Callable[[Builder, Pair], Pair]


def times_i(b: Builder, z: Pair) -> Pair:
    """i z."""
    return Pair(b.neg(z.imag), z.real)


def over_i(b: Builder, z: Pair) -> Pair:
    """z / i."""
    return Pair(z.imag, b.neg(z.real))


def _hyperbolic(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """sinh x and cosh x, and a factor that they lack where they overflow."""
    large, size, rest = arithmetic.growth(b, x)
    half = b.mul(size, b.const(0.5, x.type))
    sine = b.select(large, b.binary(math.Copysign, half, x), b.unary(math.Sinh, x))
    return sine, b.select(large, half, b.unary(math.Cosh, x)), rest


def hyperbolic_sine(b: Builder, z: Pair) -> Pair:
    """sinh x cos y + i cosh x sin y."""
    sine, cosine, rest = _hyperbolic(b, z.real)
    real = edges.directed(b, z.real, sine, b.unary(math.Cos, z.imag))
    imag = edges.scaled(b, cosine, b.unary(math.Sin, z.imag))
    return Pair(b.mul(real, rest), b.mul(imag, rest))


def hyperbolic_cosine(b: Builder, z: Pair) -> Pair:
    """cosh x cos y + i sinh x sin y."""
    sine, cosine, rest = _hyperbolic(b, z.real)
    real = edges.directed(b, z.real, cosine, b.unary(math.Cos, z.imag))
    imag = edges.product(b, sine, b.unary(math.Sin, z.imag))
    return Pair(b.mul(real, rest), b.mul(imag, rest))


def hyperbolic_tangent(b: Builder, z: Pair) -> Pair:
    """tanh z, from real functions alone: W. Kahan's CTANH, of the paper named below."""
    one = b.const(1.0, z.part)
    tangent, slope = b.unary(math.Tan, z.imag), b.unary(math.Tanh, z.real)
    # For an infinite x the real part is 1 or -1, whatever y is.
    lost = b.and_(edges.is_infinite(b, z.real), edges.is_nan(b, tangent))
    tangent = b.select(lost, b.const(0.0, z.part), tangent)
    inverse = b.div(one, b.unary(math.Cosh, z.real))
    square = b.mul(tangent, tangent)
    below = b.add(one, b.mul(b.mul(slope, slope), square))
    real = b.div(b.mul(slope, b.add(one, square)), below)
    imag = b.mul(b.mul(b.div(tangent, below), inverse), inverse)
    return Pair(real, b.select(edges.is_zero(b, z.imag), z.imag, imag))


def _plus(b: Builder, z: Pair, real: float) -> Pair:
    """z + real, which keeps the sign of a zero imaginary part."""
    return Pair(b.add(z.real, b.const(real, z.part)), z.imag)


def _minus(b: Builder, real: float, z: Pair) -> Pair:
    """real - z, which keeps the sign of a zero imaginary part."""
    return Pair(b.sub(b.const(real, z.part), z.real), b.neg(z.imag))


def _is_infinite(b: Builder, z: Pair) -> Value:
    return b.or_(edges.is_infinite(b, z.real), edges.is_infinite(b, z.imag))


_FAR = 2.0**40
"""A size whose square is so large that 1 is negligible beside it, in float32 and float64."""


def _is_far(b: Builder, z: Pair) -> Value:
    limit = b.const(_FAR, z.part)
    return b.or_(*(b.lt(limit, b.unary(arith.Abs, part)) for part in z))


def _logarithm_of_twice(b: Builder, z: Pair) -> Value:
    """log |2 z| of a large z, whose size may overflow; infinite where a part of z is."""
    quarter = b.const(0.25, z.part)
    part = Pair(b.mul(z.real, quarter), b.mul(z.imag, quarter))
    logarithm = b.unary(math.Log, arithmetic.magnitude(b, part))
    return b.add(logarithm, b.const(log(8), z.part))


def _or_far(b: Builder, is_far: Value, near: Pair, far: Pair) -> Pair:
    """``far`` where z is far from 0, else ``near``."""
    parts = zip(far, near, strict=True)
    return Pair(*(b.select(is_far, one, other) for one, other in parts))


# The inverse functions follow W. Kahan, "Branch cuts for complex elementary functions" (1987).


def area_sine(b: Builder, z: Pair) -> Pair:
    """asinh z."""
    turned = times_i(b, z)
    above = arithmetic.square_root(b, _minus(b, 1.0, turned))
    below = arithmetic.square_root(b, _plus(b, turned, 1.0))
    cross = b.sub(b.mul(above.real, below.imag), b.mul(below.real, above.imag))
    inner = b.sub(b.mul(above.real, below.real), b.mul(above.imag, below.imag))
    angle = b.binary(math.Atan2, z.imag, inner)
    angle = b.select(edges.is_zero(b, z.imag), z.imag, angle)
    direction = b.binary(math.Atan2, z.imag, b.unary(arith.Abs, z.real))
    far = Pair(edges.like(b, _logarithm_of_twice(b, z), z.real), direction)
    return _or_far(b, _is_far(b, z), Pair(b.unary(math.Asinh, cross), angle), far)


def area_cosine(b: Builder, z: Pair) -> Pair:
    """acosh z."""
    two = b.const(2.0, z.part)
    below = arithmetic.square_root(b, _plus(b, z, -1.0))
    above = arithmetic.square_root(b, _plus(b, z, 1.0))
    inner = b.add(b.mul(below.real, above.real), b.mul(below.imag, above.imag))
    angle = b.mul(two, b.binary(math.Atan2, below.imag, above.real))
    far = Pair(_logarithm_of_twice(b, z), arithmetic.phase(b, z))
    return _or_far(b, _is_far(b, z), Pair(b.unary(math.Asinh, inner), angle), far)


def arc_cosine(b: Builder, z: Pair) -> Pair:
    """acos z."""
    two = b.const(2.0, z.part)
    below = arithmetic.square_root(b, _minus(b, 1.0, z))
    above = arithmetic.square_root(b, _plus(b, z, 1.0))
    cross = b.sub(b.mul(above.real, below.imag), b.mul(above.imag, below.real))
    angle = b.mul(two, b.binary(math.Atan2, below.real, above.real))
    # On the imaginary axis the real part is that of 0, even if y is NaN.
    angle = b.select(edges.is_zero(b, z.real), b.const(pi / 2, z.part), angle)
    direction = b.unary(arith.Abs, arithmetic.phase(b, z))
    far = Pair(direction, edges.like(b, _logarithm_of_twice(b, z), b.neg(z.imag)))
    return _or_far(b, _is_far(b, z), Pair(angle, b.unary(math.Asinh, cross)), far)


def area_tangent(b: Builder, z: Pair) -> Pair:
    """atanh z."""
    # Computed for a positive x: the logarithm of a number near 0 would be inexact.
    x, y, one = b.unary(arith.Abs, z.real), z.imag, b.const(1.0, z.part)
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
    real = b.select(edges.is_zero(b, x), z.real, real)
    angle = b.binary(math.Atan2, b.add(y, y), b.sub(b.mul(less, more), square))
    quarter_turn = b.select(edges.is_nan(b, y), y, edges.like(b, pi / 2, y))
    # So far from 0 that squares would overflow: x / |z|², at a right angle. A quarter of z, as the
    # size of z may overflow as well.
    part = Pair(b.mul(z.real, quarter), b.mul(z.imag, quarter))
    size = arithmetic.magnitude(b, part)
    distant = b.lt(b.const(1e18, z.part), size)
    over = b.mul(b.div(b.div(part.real, size), size), quarter)
    real = b.select(distant, over, real)
    far = Pair(edges.like(b, 0.0, z.real), quarter_turn)
    turn = b.select(distant, quarter_turn, b.mul(half, angle))
    return _or_far(b, _is_infinite(b, z), Pair(real, turn), far)


def _turned(function: Function) -> Function:
    """f(i z) / i: the circular function of a hyperbolic one."""
    return lambda b, z: over_i(b, function(b, times_i(b, z)))


def _scaled_logarithm(factor: float) -> Function:
    """factor * log z."""

    def emit(b: Builder, z: Pair) -> Pair:
        logarithm = arithmetic.principal_logarithm(b, z)
        scale = b.const(factor, z.part)
        return Pair(b.mul(logarithm.real, scale), b.mul(logarithm.imag, scale))

    return emit


FUNCTIONS: dict[str, Function] = {
    "exp": arithmetic.exponential,
    "log": arithmetic.principal_logarithm,
    "log10": _scaled_logarithm(log10(e)),
    "log2": _scaled_logarithm(log2(e)),
    "sqrt": arithmetic.square_root,
    "sinh": hyperbolic_sine,
    "cosh": hyperbolic_cosine,
    "tanh": hyperbolic_tangent,
    "asinh": area_sine,
    "acosh": area_cosine,
    "atanh": area_tangent,
    "sin": _turned(hyperbolic_sine),
    "cos": lambda b, z: hyperbolic_cosine(b, times_i(b, z)),
    "tan": _turned(hyperbolic_tangent),
    "asin": _turned(area_sine),
    "acos": arc_cosine,
    "atan": _turned(area_tangent),
}
"""The function of each name."""

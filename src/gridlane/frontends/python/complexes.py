"""Complex arithmetic on pairs of floats."""

from __future__ import annotations

from collections.abc import Callable
from math import e, inf, log

import numpy as np

from gridlane.core.dtypes import DType
from gridlane.core.errors import TypingError
from gridlane.frontends.python import complex_edges as edges
from gridlane.frontends.python import promotion
from gridlane.frontends.python.conversion import to_complex
from gridlane.frontends.python.operands import ComplexNumber, Operand, Scalar
from gridlane.frontends.python.specs import ComplexSpec, ScalarSpec, spec_of
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unification import complex_part
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Value


def number(t: Translator, real: float, imag: float, part: DType) -> ComplexNumber:
    """A complex constant."""
    return ComplexNumber(t.b.const(real, part), t.b.const(imag, part))


def both(
    t: Translator,
    lhs: Operand,
    rhs: Operand,
    rule: Callable[[DType], DType] = promotion.complex_arithmetic,
) -> tuple[ComplexNumber, ComplexNumber]:
    """Two numbers as complex numbers of their common type."""
    specs = spec_of(lhs), spec_of(rhs)
    for side, spec in zip((lhs, rhs), specs, strict=True):
        if not isinstance(spec, ScalarSpec | ComplexSpec):
            raise t.fail(TypingError, f"a number is required here, not {side.type_name}")
    part = complex_part(t.promoted, *specs, part_for=rule)  # type: ignore[arg-type]  # checked above
    return to_complex(t, lhs, part), to_complex(t, rhs, part)


def add(t: Translator, a: ComplexNumber, b: ComplexNumber) -> ComplexNumber:
    """a + b."""
    return ComplexNumber(
        t.arithmetic(arith.Add, a.real, b.real), t.arithmetic(arith.Add, a.imag, b.imag)
    )


def subtract(t: Translator, a: ComplexNumber, b: ComplexNumber) -> ComplexNumber:
    """a - b."""
    return ComplexNumber(
        t.arithmetic(arith.Sub, a.real, b.real), t.arithmetic(arith.Sub, a.imag, b.imag)
    )


def multiply(t: Translator, a: ComplexNumber, b: ComplexNumber) -> ComplexNumber:
    """a * b, by the schoolbook formula."""
    product = lambda x, y: t.arithmetic(arith.Mul, x, y)  # noqa: E731
    real = t.arithmetic(arith.Sub, product(a.real, b.real), product(a.imag, b.imag))
    imag = t.arithmetic(arith.Add, product(a.real, b.imag), product(a.imag, b.real))
    return ComplexNumber(real, imag)


def divide(t: Translator, a: ComplexNumber, b: ComplexNumber) -> ComplexNumber:
    """a / b by Smith's method, which scales by the larger part of b (CACM 5, 1962)."""
    build = t.b
    flip = build.lt(build.unary(arith.Abs, b.real), build.unary(arith.Abs, b.imag))
    large = build.select(flip, b.imag, b.real)
    small = build.select(flip, b.real, b.imag)
    ratio = build.div(small, large)
    scale = t.arithmetic(arith.Add, large, t.arithmetic(arith.Mul, small, ratio))
    first = build.select(flip, a.imag, a.real)
    second = build.select(flip, a.real, a.imag)
    real = t.arithmetic(arith.Add, first, t.arithmetic(arith.Mul, second, ratio))
    scaled = t.arithmetic(arith.Mul, first, ratio)
    # The difference is not negated: 1j / 1j has the imaginary part +0.
    lhs, rhs = build.select(flip, scaled, second), build.select(flip, second, scaled)
    imag = t.arithmetic(arith.Sub, lhs, rhs)
    return ComplexNumber(build.div(real, scale), build.div(imag, scale))


def magnitude(t: Translator, a: ComplexNumber) -> Scalar:
    """abs(a)."""
    return Scalar(t.b.binary(math.Hypot, a.real, a.imag))


def phase(t: Translator, a: ComplexNumber) -> Scalar:
    """The angle of a."""
    return Scalar(t.b.binary(math.Atan2, a.imag, a.real))


def polar(t: Translator, radius: Value, angle: Value) -> ComplexNumber:
    """radius * e**(i * angle)."""
    b = t.b
    return ComplexNumber(
        b.mul(radius, b.unary(math.Cos, angle)), b.mul(radius, b.unary(math.Sin, angle))
    )


def exponential(t: Translator, a: ComplexNumber) -> ComplexNumber:
    """e**a, also where e to the real part overflows, and the sine and cosine make up for that."""
    b, one = t.b, t.b.const(1.0, a.part)
    limit = float(np.log(np.finfo(a.part.numpy).max)) - 1
    large = b.lt(b.const(limit, a.part), a.real)
    size = b.unary(math.Exp, b.select(large, b.sub(a.real, one), a.real))
    rest = b.select(large, b.const(e, a.part), one)
    cosine, sine = b.unary(math.Cos, a.imag), b.unary(math.Sin, a.imag)
    real, imag = edges.directed(t, a.real, size, cosine), edges.scaled(t, size, sine)
    return ComplexNumber(b.mul(real, rest), b.mul(imag, rest))


_TINY = 2.0**54
"""What brings subnormal parts among the normal numbers, for float32 and float64."""


def _scale(t: Translator, a: ComplexNumber) -> tuple[Value, Value]:
    """Whether a part is so large that the size may overflow, and whether both are so small that
    their digits are fewer."""
    b = t.b
    # Scaling by powers of two changes no digits, so the bounds need not be near the type's limits.
    # These are in float32's range, in which float64 may be emulated.
    most, least = (b.const(n, a.part) for n in (2.0**100, 2.0**-60))
    sizes = [b.unary(arith.Abs, part) for part in (a.real, a.imag)]
    large = b.or_(b.lt(most, sizes[0]), b.lt(most, sizes[1]))
    return large, b.and_(b.lt(sizes[0], least), b.lt(sizes[1], least))


def _chosen(
    t: Translator, a: ComplexNumber, scale: tuple[Value, Value], up: float, down: float
) -> Value:
    """A factor: ``down`` for large numbers, ``up`` for tiny ones, or 1."""
    large, tiny = scale
    one, up_, down_ = (t.b.const(n, a.part) for n in (1.0, up, down))
    return t.b.select(large, down_, t.b.select(tiny, up_, one))


def principal_logarithm(t: Translator, a: ComplexNumber) -> ComplexNumber:
    """The principal natural logarithm, without cancellation near a size of 1."""
    b, one = t.b, t.b.const(1.0, a.part)
    real, imag = (b.unary(arith.Abs, part) for part in (a.real, a.imag))
    less = b.lt(real, imag)
    large, small = b.select(less, imag, real), b.select(less, real, imag)
    beyond = b.mul(b.sub(large, one), b.add(large, one))
    near = b.mul(b.const(0.5, a.part), b.unary(math.Log1p, b.add(beyond, b.mul(small, small))))
    scale = _scale(t, a)
    factor = _chosen(t, a, scale, _TINY, 0.25)
    size = magnitude(t, ComplexNumber(b.mul(a.real, factor), b.mul(a.imag, factor))).value
    is_near = b.and_(b.lt(b.const(0.71, a.part), size), b.lt(size, b.const(1.73, a.part)))
    logarithm = b.unary(math.Log, size)
    for is_scaled, by in zip(scale, (log(0.25), log(_TINY))):
        shifted = b.sub(logarithm, b.const(by, a.part))
        logarithm = b.select(is_scaled, shifted, logarithm)
    return ComplexNumber(b.select(is_near, near, logarithm), phase(t, a).value)


def power(t: Translator, a: ComplexNumber, b: ComplexNumber) -> ComplexNumber:
    """a ** b in polar coordinates. Any a ** 0 is 1, that of NaN too; 0 ** b is 0, unless the real
    part of b is negative. A zero imaginary part of b is ignored, so that an infinite a does not
    make it NaN."""
    build = t.b
    size, angle = magnitude(t, a).value, phase(t, a).value
    radius = build.binary(math.Pow, size, b.real)
    turned = build.div(radius, build.unary(math.Exp, build.mul(angle, b.imag)))
    turn = build.mul(angle, b.real)
    further = build.add(turn, build.mul(b.imag, build.unary(math.Log, size)))
    is_real = edges.is_zero(t, b.imag)
    result = polar(t, build.select(is_real, radius, turned), build.select(is_real, turn, further))
    zero, one = build.const(0.0, a.part), build.const(1.0, a.part)
    exponent_zero = equal(t, b, number(t, 0.0, 0.0, a.part))
    base_zero = equal(t, a, number(t, 0.0, 0.0, a.part))
    vanishes = build.and_(base_zero, build.value(arith.Ge(b.real, zero)))
    exact = build.or_(exponent_zero, vanishes)
    return ComplexNumber(
        build.select(exact, build.select(exponent_zero, one, zero), result.real),
        build.select(exact, zero, result.imag),
    )


def square_root(t: Translator, a: ComplexNumber) -> ComplexNumber:
    """The principal square root, from the half-angle formulas."""
    b = t.b
    half, zero = b.const(0.5, a.part), b.const(0.0, a.part)
    sizes = _scale(t, a)
    scale = _chosen(t, a, sizes, _TINY, 0.0625)
    back = _chosen(t, a, sizes, _TINY**-0.5, 4.0)
    real, imag = b.mul(a.real, scale), b.mul(a.imag, scale)
    size = magnitude(t, ComplexNumber(real, imag)).value
    big = b.unary(math.Sqrt, b.mul(half, b.add(size, b.unary(arith.Abs, real))))
    other = b.div(b.mul(half, b.unary(arith.Abs, imag)), big)
    other = b.select(b.eq(big, zero), zero, other)
    left = b.lt(real, zero)
    roots = b.select(left, other, big), b.select(left, big, other)
    endless = edges.is_infinite(t, a.imag)
    real = b.select(endless, b.const(inf, a.part), b.mul(roots[0], back))
    imag = b.select(endless, a.imag, b.mul(roots[1], back))
    return ComplexNumber(real, b.binary(math.Copysign, imag, a.imag))


def equal(t: Translator, a: ComplexNumber, b: ComplexNumber) -> Value:
    """a == b."""
    return t.b.and_(t.b.eq(a.real, b.real), t.b.eq(a.imag, b.imag))


BINARY: dict[str, Callable[[Translator, ComplexNumber, ComplexNumber], ComplexNumber]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
}

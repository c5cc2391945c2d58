"""Complex arithmetic on pairs of floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gridlane.core.dtypes import DType
from gridlane.core.errors import TypingError
from gridlane.frontends.python.conversion import to_complex
from gridlane.frontends.python.operands import ComplexNumber, Operand, Scalar
from gridlane.frontends.python.specs import ComplexSpec, ScalarSpec, complex_part, spec_of
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Value

if TYPE_CHECKING:
    from gridlane.frontends.python.translator import Translator


def number(t: Translator, real: float, imag: float, part: DType) -> ComplexNumber:
    """A complex constant."""
    return ComplexNumber(t.b.const(real, part), t.b.const(imag, part))


def both(t: Translator, lhs: Operand, rhs: Operand) -> tuple[ComplexNumber, ComplexNumber]:
    """Two numbers as complex numbers of their common type."""
    specs = spec_of(lhs), spec_of(rhs)
    for side, spec in zip((lhs, rhs), specs, strict=True):
        if not isinstance(spec, ScalarSpec | ComplexSpec):
            raise t.fail(TypingError, f"a number is required here, not {side.type_name}")
    part = complex_part(*specs)  # type: ignore[arg-type]  # checked above
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
    imag = t.arithmetic(arith.Sub, second, t.arithmetic(arith.Mul, first, ratio))
    imag = build.select(flip, build.neg(imag), imag)
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
    """e**a."""
    return polar(t, t.b.unary(math.Exp, a.real), a.imag)


def logarithm(t: Translator, a: ComplexNumber) -> ComplexNumber:
    """The principal natural logarithm."""
    return ComplexNumber(t.b.unary(math.Log, magnitude(t, a).value), phase(t, a).value)


def power(t: Translator, a: ComplexNumber, b: ComplexNumber) -> ComplexNumber:
    """a ** b = exp(b * log(a)); 0 ** b is 0, and 0 ** 0 is 1."""
    build = t.b
    result = exponential(t, multiply(t, b, logarithm(t, a)))
    zero, one = build.const(0.0, a.part), build.const(1.0, a.part)
    is_zero = equal(t, a, number(t, 0.0, 0.0, a.part))
    exponent_zero = equal(t, b, number(t, 0.0, 0.0, a.part))
    at_zero = build.select(exponent_zero, one, zero)
    return ComplexNumber(
        build.select(is_zero, at_zero, result.real), build.select(is_zero, zero, result.imag)
    )


def square_root(t: Translator, a: ComplexNumber) -> ComplexNumber:
    """The principal square root, from the half-angle formulas."""
    b = t.b
    half, zero = b.const(0.5, a.part), b.const(0.0, a.part)
    size = magnitude(t, a).value
    big = b.unary(math.Sqrt, b.mul(half, b.add(size, b.unary(arith.Abs, a.real))))
    other = b.div(b.mul(half, b.unary(arith.Abs, a.imag)), big)
    other = b.select(b.eq(big, zero), zero, other)
    left = b.lt(a.real, zero)
    real, imag = b.select(left, other, big), b.select(left, big, other)
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

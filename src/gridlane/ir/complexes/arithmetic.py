"""Complex arithmetic on pairs of floats.

Functions that take ``fast`` have its flags on their sums and products, those that may contract to
fused ones.
"""

from __future__ import annotations

from functools import partial
from math import inf, log
from typing import NamedTuple

import numpy as np

from gridlane.core.dtypes import DType
from gridlane.ir.builder import Builder
from gridlane.ir.complexes import edges
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Value


class Pair(NamedTuple):
    """A complex number."""

    real: Value
    imag: Value

    @property
    def part(self) -> DType:
        """The type of the two floats."""
        assert isinstance(self.real.type, DType)
        return self.real.type


def number(b: Builder, real: float, imag: float, part: DType) -> Pair:
    """A complex constant."""
    return Pair(b.const(real, part), b.const(imag, part))


def _flagged(b: Builder, op: type[Op], lhs: Value, rhs: Value, fast: FastMath) -> Value:
    outer, b.fast = b.fast, fast
    result = b.binary(op, lhs, rhs)
    b.fast = outer
    return result


def add(b: Builder, x: Pair, y: Pair, fast: FastMath = FastMath.NONE) -> Pair:
    """x + y."""
    return Pair(
        _flagged(b, arith.Add, x.real, y.real, fast), _flagged(b, arith.Add, x.imag, y.imag, fast)
    )


def subtract(b: Builder, x: Pair, y: Pair, fast: FastMath = FastMath.NONE) -> Pair:
    """x - y."""
    return Pair(
        _flagged(b, arith.Sub, x.real, y.real, fast), _flagged(b, arith.Sub, x.imag, y.imag, fast)
    )


def multiply(b: Builder, x: Pair, y: Pair, fast: FastMath = FastMath.NONE) -> Pair:
    """x * y, by the schoolbook formula."""
    product = partial(_flagged, b, arith.Mul, fast=fast)
    real = _flagged(b, arith.Sub, product(x.real, y.real), product(x.imag, y.imag), fast)
    imag = _flagged(b, arith.Add, product(x.real, y.imag), product(x.imag, y.real), fast)
    return Pair(real, imag)


def divide(b: Builder, x: Pair, y: Pair, fast: FastMath = FastMath.NONE) -> Pair:
    """x / y by Smith's method, which scales by the larger part of y (CACM 5, 1962)."""
    flip = b.lt(b.unary(arith.Abs, y.real), b.unary(arith.Abs, y.imag))
    large = b.select(flip, y.imag, y.real)
    small = b.select(flip, y.real, y.imag)
    ratio = b.div(small, large)
    scale = _flagged(b, arith.Add, large, _flagged(b, arith.Mul, small, ratio, fast), fast)
    first = b.select(flip, x.imag, x.real)
    second = b.select(flip, x.real, x.imag)
    real = _flagged(b, arith.Add, first, _flagged(b, arith.Mul, second, ratio, fast), fast)
    scaled = _flagged(b, arith.Mul, first, ratio, fast)
    # The difference is not negated: 1j / 1j has the imaginary part +0.
    lhs, rhs = b.select(flip, scaled, second), b.select(flip, second, scaled)
    imag = _flagged(b, arith.Sub, lhs, rhs, fast)
    return Pair(b.div(real, scale), b.div(imag, scale))


def magnitude(b: Builder, z: Pair) -> Value:
    """abs(z)."""
    return b.binary(math.Hypot, z.real, z.imag)


def phase(b: Builder, z: Pair) -> Value:
    """The angle of z."""
    return b.binary(math.Atan2, z.imag, z.real)


def polar(b: Builder, radius: Value, angle: Value) -> Pair:
    """radius * e**(i * angle)."""
    return Pair(b.mul(radius, b.unary(math.Cos, angle)), b.mul(radius, b.unary(math.Sin, angle)))


def exponential(b: Builder, z: Pair) -> Pair:
    """e**z, also where e to the real part overflows, and the sine and cosine make up for that."""
    large, root, rest = growth(b, z.real)
    one = b.const(1.0, z.part)
    rising = b.and_(large, b.lt(one, z.real))
    size = b.select(rising, root, b.unary(math.Exp, z.real))
    rest = b.select(rising, rest, one)
    cosine, sine = b.unary(math.Cos, z.imag), b.unary(math.Sin, z.imag)
    real, imag = edges.directed(b, z.real, size, cosine), edges.scaled(b, size, sine)
    return Pair(b.mul(real, rest), b.mul(imag, rest))


def growth(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """Whether e**|x| overflows nearly; two factors of it, of which the second is 1 if it does not,
    or if the first is infinite by itself."""
    half, size = b.const(0.5, x.type), b.unary(arith.Abs, x)
    assert isinstance(x.type, DType)
    limit = float(np.log(np.finfo(x.type.numpy).max)) - 1
    large = b.lt(b.const(limit, x.type), size)
    root = b.unary(math.Exp, b.mul(size, half))
    alone = b.or_(b.not_(large), edges.is_infinite(b, root))
    return large, root, b.select(alone, b.const(1.0, x.type), root)


_TINY = 2.0**54
"""What brings subnormal parts among the normal numbers, for float32 and float64."""


def _scale(b: Builder, z: Pair) -> tuple[Value, Value]:
    """Whether a part is so large that the size may overflow, and whether both are so small that
    their digits are fewer."""
    # Scaling by powers of two changes no digits, so the bounds need not be near the type's limits.
    # These are in float32's range, in which float64 may be emulated.
    most, least = (b.const(n, z.part) for n in (2.0**100, 2.0**-60))
    sizes = [b.unary(arith.Abs, part) for part in z]
    large = b.or_(b.lt(most, sizes[0]), b.lt(most, sizes[1]))
    return large, b.and_(b.lt(sizes[0], least), b.lt(sizes[1], least))


def _chosen(b: Builder, z: Pair, scale: tuple[Value, Value], up: float, down: float) -> Value:
    """A factor: ``down`` for large numbers, ``up`` for tiny ones, or 1."""
    large, tiny = scale
    one, up_, down_ = (b.const(n, z.part) for n in (1.0, up, down))
    return b.select(large, down_, b.select(tiny, up_, one))


def principal_logarithm(b: Builder, z: Pair) -> Pair:
    """The principal natural logarithm, without cancellation near a size of 1."""
    one = b.const(1.0, z.part)
    real, imag = (b.unary(arith.Abs, part) for part in z)
    less = b.lt(real, imag)
    large, small = b.select(less, imag, real), b.select(less, real, imag)
    beyond = b.mul(b.sub(large, one), b.add(large, one))
    near = b.mul(b.const(0.5, z.part), b.unary(math.Log1p, b.add(beyond, b.mul(small, small))))
    scale = _scale(b, z)
    factor = _chosen(b, z, scale, _TINY, 0.25)
    size = magnitude(b, Pair(b.mul(z.real, factor), b.mul(z.imag, factor)))
    is_near = b.and_(b.lt(b.const(0.71, z.part), size), b.lt(size, b.const(1.73, z.part)))
    logarithm = b.unary(math.Log, size)
    for is_scaled, by in zip(scale, (log(0.25), log(_TINY)), strict=True):
        shifted = b.sub(logarithm, b.const(by, z.part))
        logarithm = b.select(is_scaled, shifted, logarithm)
    return Pair(b.select(is_near, near, logarithm), phase(b, z))


def power(b: Builder, x: Pair, y: Pair) -> Pair:
    """x ** y in polar coordinates. Any x ** 0 is 1, that of NaN too; 0 ** y is 0, unless the real
    part of y is negative. A zero imaginary part of y is ignored, so that an infinite x does not
    make it NaN."""
    size, angle = magnitude(b, x), phase(b, x)
    radius = b.binary(math.Pow, size, y.real)
    turned = b.div(radius, b.unary(math.Exp, b.mul(angle, y.imag)))
    turn = b.mul(angle, y.real)
    further = b.add(turn, b.mul(y.imag, b.unary(math.Log, size)))
    is_real = edges.is_zero(b, y.imag)
    result = polar(b, b.select(is_real, radius, turned), b.select(is_real, turn, further))
    zero, one = b.const(0.0, x.part), b.const(1.0, x.part)
    exponent_zero = equal(b, y, number(b, 0.0, 0.0, x.part))
    base_zero = equal(b, x, number(b, 0.0, 0.0, x.part))
    vanishes = b.and_(base_zero, b.value(arith.Ge(y.real, zero)))
    exact = b.or_(exponent_zero, vanishes)
    return Pair(
        b.select(exact, b.select(exponent_zero, one, zero), result.real),
        b.select(exact, zero, result.imag),
    )


def square_root(b: Builder, z: Pair) -> Pair:
    """The principal square root, from the half-angle formulas."""
    half, zero = b.const(0.5, z.part), b.const(0.0, z.part)
    sizes = _scale(b, z)
    scale = _chosen(b, z, sizes, _TINY, 0.0625)
    back = _chosen(b, z, sizes, _TINY**-0.5, 4.0)
    real, imag = b.mul(z.real, scale), b.mul(z.imag, scale)
    size = magnitude(b, Pair(real, imag))
    big = b.unary(math.Sqrt, b.mul(half, b.add(size, b.unary(arith.Abs, real))))
    other = b.div(b.mul(half, b.unary(arith.Abs, imag)), big)
    other = b.select(b.eq(big, zero), zero, other)
    left = b.lt(real, zero)
    roots = b.select(left, other, big), b.select(left, big, other)
    endless = edges.is_infinite(b, z.imag)
    real = b.select(endless, b.const(inf, z.part), b.mul(roots[0], back))
    imag = b.select(endless, z.imag, b.mul(roots[1], back))
    return Pair(real, b.binary(math.Copysign, imag, z.imag))


def equal(b: Builder, x: Pair, y: Pair) -> Value:
    """x == y."""
    return b.and_(b.eq(x.real, y.real), b.eq(x.imag, y.imag))

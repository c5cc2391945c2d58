"""Float ops that only some instruction sets have: each expands into ``ir.ops.arith``."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from gridlane.core.dtypes import DType, f16, f32, f64, u16, u32, u64
from gridlane.ir.op import REGISTRY, FastMath, Op, operation
from gridlane.ir.ops import arith, math
from gridlane.ir.ops.integer import Listed
from gridlane.ir.values import Value

if TYPE_CHECKING:
    from gridlane.ir.builder import Builder


@operation("flush")
class Flush(Listed):
    """The value, but 0 of its sign for a subnormal number. PTX: ``.ftz`` of an operand."""

    value: Value
    signatures = ((f16,), (f32,))

    def expand(self, b: Builder) -> tuple[Value, ...]:
        kind = self.value.type
        assert isinstance(kind, DType)
        word, exponent = (u16, 0x7C00) if kind is f16 else (u32, 0x7F800000)
        bits = b.bitcast(self.value, word)
        sign = b.bitcast(b.and_(bits, b.const(1 << kind.bits - 1, word)), kind)
        is_small = b.eq(b.and_(bits, b.const(exponent, word)), b.zero(word))
        return (b.select(is_small, sign, self.value),)


class Towards(Enum):
    """The direction of rounding of a result."""

    ZERO = "zero"
    DOWN = "down"
    UP = "up"


@operation("fma_towards")
class FmaTowards(Listed):
    """a * b + c, rounded once, in a direction. An exact 0 of operands that differ in sign is +0,
    or -0 downwards. PTX: ``fma.rz``, ``fma.rm``, ``fma.rp``."""

    a: Value
    b: Value
    c: Value
    towards: Towards
    fast: FastMath = FastMath.NONE
    signatures = ((f32, f32, f32),)

    def expand(self, b: Builder) -> tuple[Value, ...]:
        first, second, third = (b.cast(value, f64) for value in (self.a, self.b, self.c))
        return (sum_towards(b, self.towards, b.mul(first, second), third),)


# The exact result is the sum of two f64: a product of f32 is exact in f64, and the error of a sum
# is a float (D. E. Knuth, "The Art of Computer Programming", volume 2, theorem 4.2.2 B). The
# nearest f32 is the result, or its neighbour.


def sum_towards(b: Builder, way: Towards, first: Value, second: Value) -> Value:
    """The sum of two f64, as an f32."""
    total = b.add(first, second)
    part = b.sub(total, first)
    error = b.add(b.sub(first, b.sub(total, part)), b.sub(second, part))
    if way is Towards.DOWN:  # an exact 0 is -0, unless both are +0
        bits = b.or_(b.bitcast(first, u64), b.bitcast(second, u64))
        positive = b.eq(bits, b.zero(u64))
        zero = b.select(positive, b.const(0.0, f64), b.const(-0.0, f64))
        total = b.select(b.eq(total, b.const(0.0, f64)), zero, total)
    return rounded_towards(b, way, total, total, error)


def rounded_towards(b: Builder, way: Towards, near: Value, sign: Value, error: Value) -> Value:
    """The sum of ``near`` and a small ``error``, both f64, as an f32."""
    result = b.cast(near, f32)
    off = b.sub(near, b.cast(result, f64))
    whole = b.select(b.eq(off, b.const(0.0, f64)), error, off)
    return neighbour_towards(b, way, result, sign, whole)


def neighbour_towards(b: Builder, way: Towards, nearest: Value, sign: Value, error: Value) -> Value:
    """The nearest f32, or its neighbour in the direction where ``error``, what the exact result has
    more, says that it was passed."""
    zero = b.const(0.0, f64)
    above, below = b.binary(arith.Gt, error, zero), b.lt(error, zero)
    down, up = _step(b, nearest, -1), _step(b, nearest, 1)
    if way is Towards.DOWN:
        return b.select(below, down, nearest)
    if way is Towards.UP:
        return b.select(above, up, nearest)
    positive = b.binary(arith.Ge, sign, zero)
    lower = b.select(b.and_(positive, below), down, nearest)
    return b.select(b.and_(b.not_(positive), above), up, lower)


def _step(b: Builder, value: Value, direction: int) -> Value:
    """The next f32 in a direction."""
    bits = b.bitcast(value, u32)
    one = b.const(1, u32)
    is_negative = b.binary(arith.Ge, bits, b.const(0x80000000, u32))
    grows = is_negative if direction < 0 else b.not_(is_negative)
    moved = b.select(grows, b.add(bits, one), b.sub(bits, one))
    least = b.const(0x80000001 if direction < 0 else 1, u32)
    is_zero = b.eq(b.and_(bits, b.const(0x7FFFFFFF, u32)), b.zero(u32))
    return b.bitcast(b.select(is_zero, least, moved), f32)


def flushes(op: Op) -> bool:
    """Whether an op replaces subnormal operands and results by 0."""
    fast = getattr(op, "fast", FastMath.NONE)
    return fast is not FastMath.NONE and bool(fast & FastMath.FTZ)


FLUSHING: frozenset[type[Op]] = frozenset((
    arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Fma, math.Sqrt,
    FmaTowards,
    *(cls for cls in REGISTRY.values() if issubclass(cls, math.Approximate)),
))  # fmt: skip
"""The ops that may have ``FastMath.FTZ``. Others take operands that ``flush`` made."""

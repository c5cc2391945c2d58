"""Arithmetic of f64 rounded towards zero, minus or plus infinity, by integers.

Sums and products are computed in 128 bits; the lowest is set if further bits are. A quotient or
root is the nearest one, of operands near 1, with its exact remainder's sign below it. The modes are
PTX's: ``rz``, ``rm``, ``rp``.
"""

from __future__ import annotations

from dataclasses import replace

from gridlane.core.dtypes import b1, f64, i32, u32, u64
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith, math
from gridlane.ir.rounding.parts import LAYOUTS, Parts, narrowed, parts_of
from gridlane.ir.values import Value

Pair = tuple[Value, Value]
"""The upper and the lower half of a number of 128 bits."""

_NONE = -100_000
"""The exponent of 0, below all others."""


def add(b: Builder, mode: str, first: Value, second: Value) -> Value:
    """A sum, rounded once."""
    return fma(b, mode, first, b.const(1.0, f64), second)


def mul(b: Builder, mode: str, first: Value, second: Value) -> Value:
    """A product, rounded once: plus a 0 of its sign."""
    zero = b.const(0.0, f64)
    sign = b.bitcast(b.binary(arith.Xor, b.bitcast(first, u64), b.bitcast(second, u64)), f64)
    return fma(b, mode, first, second, b.binary(math.Copysign, zero, sign))


def fma(b: Builder, mode: str, first: Value, second: Value, third: Value) -> Value:
    """A product and a sum, rounded once."""
    parts = first, second, third
    result = _fused(b, mode, *(_normal(b, each) for each in parts))
    return _unless_special(b, parts, result, b.fma(*parts))


def div(b: Builder, mode: str, first: Value, second: Value) -> Value:
    """A quotient."""
    dividend, divisor = _normal(b, first), _normal(b, second)
    one, other = _near_one(b, dividend.word), _near_one(b, divisor.word)
    near = b.div(one, other)
    rest = b.fma(b.neg(near), other, one)
    exponent = b.sub(dividend.exponent, divisor.exponent)
    negative = b.binary(arith.Ne, dividend.negative, divisor.negative)
    result = _beside(b, mode, near, rest, exponent, negative)
    zero = b.const(0.0, f64)
    plain = b.div(first, second)
    known = b.or_(b.eq(first, zero), b.eq(second, zero))
    return b.select(known, plain, _unless_special(b, (first, second), result, plain))


def sqrt(b: Builder, mode: str, value: Value) -> Value:
    """A square root."""
    parts = _normal(b, value)
    odd = b.and_(parts.exponent, b.const(1, i32))
    is_odd = b.eq(odd, b.const(1, i32))
    one = _near_one(b, parts.word)
    within = b.select(is_odd, b.mul(one, b.const(2.0, f64)), one)
    near = b.unary(math.Sqrt, within)
    rest = b.fma(b.neg(near), near, within)
    exponent = b.binary(arith.Shr, b.sub(parts.exponent, odd), b.const(1, u32))
    result = _beside(b, mode, near, rest, exponent, parts.negative)
    plain = b.unary(math.Sqrt, value)
    known = b.not_(b.binary(arith.Gt, value, b.const(0.0, f64)))
    return b.select(known, plain, _unless_special(b, (value,), result, plain))


def _normal(b: Builder, value: Value) -> Parts:
    """The parts of an f64, subnormal ones with their first bit uppermost; 0 has a 0 word."""
    parts = parts_of(b, value)
    zeros = b.cast(b.unary(arith.Clz, parts.word), i32)
    word = b.binary(arith.Shl, parts.word, b.cast(zeros, u32))
    exponent = b.sub(parts.exponent, zeros)
    none = b.eq(word, b.zero(u64))
    return replace(parts, word=word, exponent=b.select(none, b.const(_NONE, i32), exponent))


def _unless_special(b: Builder, sources: tuple[Value, ...], computed: Value, plain: Value) -> Value:
    """What is computed, or the plain result where a source is infinite or no number."""
    for each in sources:
        magnitude = b.unary(arith.Abs, each)
        finite = b.lt(magnitude, b.const(float("inf"), f64))
        computed = b.select(finite, computed, plain)
    return computed


def _float(b: Builder, mode: str, negative: Value, word: Value, exponent: Value) -> Value:
    bits = narrowed(b, Parts(negative, word, exponent, None), LAYOUTS[f64], mode)
    return b.bitcast(bits, f64)


# --- quotients and roots


def _near_one(b: Builder, word: Value) -> Value:
    """A word as a number from 1 to 2."""
    fraction = b.and_(b.binary(arith.Shr, word, b.const(11, u32)), b.const((1 << 52) - 1, u64))
    return b.bitcast(b.or_(fraction, b.const(1023 << 52, u64)), f64)


def _beside(
    b: Builder, mode: str, near: Value, rest: Value, exponent: Value, negative: Value
) -> Value:
    """The number near one from a half to 2, above or below it by the sign of a remainder, times 2
    to an exponent."""
    zero = b.const(0.0, f64)
    parts = parts_of(b, near)
    one = b.const(1, u64)
    word = b.select(b.binary(arith.Gt, rest, zero), b.add(parts.word, one), parts.word)
    word = b.select(b.lt(rest, zero), b.sub(parts.word, one), word)
    zeros = b.cast(b.unary(arith.Clz, word), i32)
    total = b.sub(b.add(exponent, parts.exponent), zeros)
    word = b.binary(arith.Shl, word, b.cast(zeros, u32))
    return _float(b, mode, negative, word, total)


# --- sums of products


def _fused(b: Builder, mode: str, first: Parts, second: Parts, third: Parts) -> Value:
    upper, lower = b.binary(arith.MulHi, first.word, second.word), b.mul(first.word, second.word)
    product, product_at = (
        _right(b, (upper, lower), b.const(2, i32)),
        b.add(b.add(first.exponent, second.exponent), b.const(-124, i32)),
    )
    other = b.binary(arith.Shr, third.word, b.const(2, u32)), b.zero(u64)
    other_at = b.sub(third.exponent, b.const(125, i32))
    exponent = b.binary(arith.Max, product_at, other_at)
    product = _right(b, product, b.sub(exponent, product_at))
    other = _right(b, other, b.sub(exponent, other_at))
    sign = b.binary(arith.Ne, first.negative, second.negative)
    negative, total = _signed_sum(b, mode, (sign, product), (third.negative, other))
    return _float(b, mode, negative, *_first_bit_up(b, total, exponent))


def _right(b: Builder, number: Pair, count: Value) -> Pair:
    """A number shifted right; its lowest bit is set where ones are lost."""
    upper, lower = number
    zero, one, width = b.zero(u64), b.const(1, u64), b.const(64, u32)
    shift = b.cast(b.binary(arith.Min, count, b.const(127, i32)), u32)
    far = b.binary(arith.Ge, shift, width)
    lost = b.select(far, lower, zero)
    lower, upper = b.select(far, upper, lower), b.select(far, zero, upper)
    shift = b.and_(shift, b.const(63, u32))
    back = b.sub(width, shift)
    lost = b.or_(lost, b.binary(arith.Shl, lower, back))
    moved = b.or_(b.binary(arith.Shr, lower, shift), b.binary(arith.Shl, upper, back))
    sticky = b.select(b.binary(arith.Ne, lost, zero), one, zero)
    return b.binary(arith.Shr, upper, shift), b.or_(moved, sticky)


def _signed_sum(
    b: Builder, mode: str, first: tuple[Value, Pair], second: tuple[Value, Pair]
) -> tuple[Value, Pair]:
    """The sign and the magnitude of the sum of two numbers, given so."""
    zero, one = b.zero(u64), b.const(1, u64)
    (sign, (high, low)), (other_sign, (other_high, other_low)) = first, second
    differ = b.binary(arith.Ne, sign, other_sign)
    sum_low = b.add(low, other_low)
    carry = b.select(b.lt(sum_low, low), one, zero)
    sum_high = b.add(b.add(high, other_high), carry)
    upper_less = b.lt(high, other_high)
    same_upper = b.eq(high, other_high)
    less = b.or_(upper_less, b.and_(same_upper, b.lt(low, other_low)))
    big = b.select(less, other_high, high), b.select(less, other_low, low)
    small = b.select(less, high, other_high), b.select(less, low, other_low)
    borrow = b.select(b.lt(big[1], small[1]), one, zero)
    rest = b.sub(b.sub(big[0], small[0]), borrow), b.sub(big[1], small[1])
    none = b.and_(differ, b.eq(b.or_(*rest), zero))
    negative = b.select(b.and_(differ, less), other_sign, sign)
    negative = b.select(none, b.const(mode == "rm", b1), negative)
    return negative, (b.select(differ, rest[0], sum_high), b.select(differ, rest[1], sum_low))


def _first_bit_up(b: Builder, number: Pair, exponent: Value) -> Pair:
    """The upper word of a number whose first bit is moved to the top, and its exponent. The word's
    lowest bit is set where there are more below it."""
    zero = b.zero(u64)
    upper, lower = number
    far = b.eq(upper, zero)
    upper, lower = b.select(far, lower, upper), b.select(far, zero, lower)
    zeros = b.cast(b.unary(arith.Clz, upper), i32)
    count = b.cast(zeros, u32)
    rest = b.sub(b.const(64, u32), count)
    word = b.or_(b.binary(arith.Shl, upper, count), b.binary(arith.Shr, lower, rest))
    more = b.binary(arith.Ne, b.binary(arith.Shl, lower, count), zero)
    word = b.or_(word, b.select(more, b.const(1, u64), zero))
    moved = b.add(zeros, b.select(far, b.const(64, i32), b.const(0, i32)))
    return word, b.add(exponent, b.sub(b.const(127, i32), moved))

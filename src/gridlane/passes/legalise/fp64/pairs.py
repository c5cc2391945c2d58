"""Numbers as the sum of two f32, about 48 bits in the range of f32, with IEEE's special values.

Sums and products are Dekker's and Knuth's; a sum keeps its accuracy under cancellation. Where the
result on the first parts alone is infinite, NaN or a zero by underflow, it is the result.
"""

from __future__ import annotations

from gridlane.core.dtypes import f32, i32, i64, u32, u64
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.fp64.pair_functions import called
from gridlane.passes.legalise.math.doubled import Pair, choose, product, quick_sum, two_sum

_INFINITY = float("inf")
_BIAS, _FRACTION = 127, 23


def alone(w: Writer, x: Expression) -> Pair:
    """An f32 as a pair."""
    return Pair(x, w.const(0.0, f32))


def guarded(w: Writer, plain: Expression, result: Pair) -> Pair:
    """The pair, or ``plain`` where the pair is zero or not a number."""
    good = (abs(plain) < _INFINITY) & (abs(result.hi) < _INFINITY) & result.hi.differs(0.0)
    return choose(good, result, alone(w, plain))


def add(w: Writer, a: Pair, b: Pair) -> Pair:
    """a + b, accurate to the last bits of the result."""
    total, rest = two_sum(a.hi, b.hi), two_sum(a.lo, b.lo)
    first = quick_sum(total.hi, total.lo + rest.hi)
    return guarded(w, a.hi + b.hi, quick_sum(first.hi, first.lo + rest.lo))


def multiply(w: Writer, a: Pair, b: Pair) -> Pair:
    """a * b."""
    result = product(a.hi, b.hi)
    result = quick_sum(result.hi, result.lo + (a.hi * b.lo + a.lo * b.hi))
    return guarded(w, a.hi * b.hi, result)


def divide(w: Writer, a: Pair, b: Pair) -> Pair:
    """a / b: two digits of the quotient, and the remainder gives a third."""
    first = a.hi / b.hi
    rest = _less(w, a, _times(w, b, first))
    second = rest.hi / b.hi
    rest = _less(w, rest, _times(w, b, second))
    result = quick_sum(first, second)
    result = quick_sum(result.hi, result.lo + rest.hi / b.hi)
    return guarded(w, first, result)


def square_root(w: Writer, a: Pair) -> Pair:
    """The square root: one Newton step from that of the first part."""
    root = a.hi.sqrt()
    result = product(root, root)
    rest = _less(w, a, guarded(w, root * root, quick_sum(result.hi, result.lo)))
    return guarded(w, root, quick_sum(root, rest.hi / (root + root)))


def _less(w: Writer, a: Pair, b: Pair) -> Pair:
    """a - b, by the function that adds."""
    return called(w, "add", add, a, -b)


def _times(w: Writer, a: Pair, b: Expression) -> Pair:
    """a * b, as ``multiply`` makes it of a pair without a second part."""
    result = product(a.hi, b)
    return guarded(w, a.hi * b, quick_sum(result.hi, result.lo + a.lo * b))


def multiply_add(w: Writer, a: Pair, b: Pair, c: Pair) -> Pair:
    """a * b + c, with two roundings."""
    return add(w, multiply(w, a, b), c)


def below(w: Writer, a: Pair, b: Pair) -> Expression:
    """a < b."""
    return (a.hi < b.hi) | (a.hi.equals(b.hi) & (a.lo < b.lo))


def equal(w: Writer, a: Pair, b: Pair) -> Expression:
    """a == b."""
    return a.hi.equals(b.hi) & a.lo.equals(b.lo)


def is_negative(a: Pair) -> Expression:
    """Whether the sign bit is set."""
    return a.hi.reread(i32) < 0


def smaller(w: Writer, a: Pair, b: Pair) -> Pair:
    """The smaller; a number wins over NaN, and -0 is below +0."""
    first = below(w, a, b) | (equal(w, a, b) & is_negative(a)) | b.hi.is_nan()
    return choose(first & ~a.hi.is_nan(), a, b)


def larger(w: Writer, a: Pair, b: Pair) -> Pair:
    """The larger; a number wins over NaN, and +0 is above -0."""
    first = below(w, b, a) | (equal(w, a, b) & ~is_negative(a)) | b.hi.is_nan()
    return choose(first & ~a.hi.is_nan(), a, b)


def magnitude(w: Writer, a: Pair) -> Pair:
    """The absolute value."""
    return choose(is_negative(a), -a, a)


def with_sign(w: Writer, a: Pair, sign: Pair) -> Pair:
    """The magnitude of a with the sign of another number."""
    return choose(is_negative(a) ^ is_negative(sign), -a, a)


def from_integer(w: Writer, x: Expression) -> Pair:
    """The exact pair of an i32 or u32."""
    return two_sum(*_halves(x))


def _halves(x: Expression) -> tuple[Expression, Expression]:
    """An i32 or u32 as the sum of two numbers that are exact in f32."""
    return (x & ~0xFFFF).cast(f32), (x & 0xFFFF).reread(u32).cast(f32)


def from_wide(w: Writer, x: Expression) -> Pair:
    """The pair of an i64 or u64: of the nearest binary64, whose last five bits it may lack."""
    size = abs(x).reread(u64) if x.dtype is i64 else x
    zeros = size.leading_zeros()
    top = size << zeros
    upper, lower = (top >> 32).cast(u32), top.cast(u32)
    # The significand: 24 bits, then 29, rounded to nearest even by the 11 that are left.
    first = upper >> 8
    rest = (upper & 0xFF) << 21 | lower >> 11
    rest = rest + (((lower & 0x7FF) + 0x3FF + (rest & 1)) >> 11)
    up = (rest + (2**28 - 1) + (first & 1)) >> 29
    second, third = _halves((rest - (up << 29)).reread(i32))
    unit = (w.const(_BIAS + 11, u32) - zeros.cast(u32)) << _FRACTION
    if x.dtype is i64:
        unit = unit | (x >> 63).cast(u32) << 31
    power = unit.reread(f32)
    # The rounding of the second part may make it half of the first part's last place.
    return quick_sum((first + up).cast(f32) * power * 2.0**29, (second + third) * power)

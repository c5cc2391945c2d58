"""64-bit integers as two words: arithmetic that wraps as the ops on i64 and u64 do.

Shifts of a word are by less than a word, which shader languages define without a select.
"""

from __future__ import annotations

from gridlane.core.dtypes import i32, u32
from gridlane.core.frozen import frozen
from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.ops import arith

WORD = 32
_ONES = 0xFFFFFFFF


class _Places:
    """The amount of a shift: its part below a word, 31 less that, and whether the amount is a word
    or more, and two words or more."""

    def __init__(self, amount: Expression) -> None:
        self.places, self.others = amount & (WORD - 1), ~amount & (WORD - 1)
        self.far, self.past = amount >= WORD, amount >= 2 * WORD


@frozen
class Wide:
    """A 64-bit number: the u32 of its low bits and the u32 of its high bits."""

    lo: Expression
    hi: Expression

    def __and__(self, other: Wide) -> Wide:
        return Wide(_and(self.lo, other.lo), _and(self.hi, other.hi))

    def __or__(self, other: Wide) -> Wide:
        return Wide(_or(self.lo, other.lo), _or(self.hi, other.hi))

    def __xor__(self, other: Wide) -> Wide:
        return Wide(_xor(self.lo, other.lo), _xor(self.hi, other.hi))

    def __invert__(self) -> Wide:
        return Wide(~self.lo, ~self.hi)

    def __add__(self, other: Wide) -> Wide:
        if known(self.lo) == 0 or known(other.lo) == 0:  # no carry
            return Wide(_sum(self.lo, other.lo), _sum(self.hi, other.hi))
        lo = self.lo + other.lo
        return Wide(lo, _sum(self.hi, other.hi) + (lo < self.lo).cast(u32))

    def __sub__(self, other: Wide) -> Wide:
        borrow = (self.lo < other.lo).cast(u32)
        return Wide(self.lo - other.lo, self.hi - other.hi - borrow)

    def __neg__(self) -> Wide:
        return constant(self.lo.writer, 0) - self

    def __mul__(self, other: Wide) -> Wide:
        high = self.lo.high_product(other.lo) + self.lo * other.hi + self.hi * other.lo
        return Wide(self.lo * other.lo, high)

    def __lshift__(self, amount: Expression) -> Wide:
        """Shift left by a u32."""
        pick, zero, near = self.lo.writer.select, self.lo.writer.const(0, u32), _Places(amount)
        moved = self.lo << near.places
        carried = (self.hi << near.places) | ((self.lo >> 1) >> near.others)
        high = pick(near.far, pick(near.past, zero, moved), carried)
        return Wide(pick(near.far, zero, moved), high)

    def __rshift__(self, amount: Expression) -> Wide:
        """Shift right by a u32, filling with zeros."""
        return self._moved_right(amount, self.hi, self.lo.writer.const(0, u32))

    def shift_with_sign(self, amount: Expression) -> Wide:
        """Shift right by a u32, filling with the sign."""
        signed = self.hi.reread(i32)
        return self._moved_right(amount, signed, (signed >> (WORD - 1)).reread(u32))

    def _moved_right(self, amount: Expression, high: Expression, fill: Expression) -> Wide:
        pick, near = self.lo.writer.select, _Places(amount)
        moved = (high >> near.places).reread(u32)
        carried = (self.lo >> near.places) | ((self.hi << 1) << near.others)
        low = pick(near.far, pick(near.past, fill, moved), carried)
        return Wide(low, pick(near.far, fill, moved))

    def left_by(self, amount: int) -> Wide:
        """Shift left by a constant; shifts by 64 and more return 0."""
        zero = self.lo.writer.const(0, u32)
        if amount >= WORD:
            return Wide(zero, _left(self.lo, amount - WORD))
        carried = _right(self.lo, WORD - amount)
        return Wide(_left(self.lo, amount), _or(_left(self.hi, amount), carried))

    def right_by(self, amount: int) -> Wide:
        """Shift right by a constant, filling with zeros."""
        zero = self.lo.writer.const(0, u32)
        if amount >= WORD:
            return Wide(_right(self.hi, amount - WORD), zero)
        return Wide(self._across(amount), _right(self.hi, amount))

    def right_with_sign_by(self, amount: int) -> Wide:
        """Shift right by a constant, filling with the sign."""
        signed = self.hi.reread(i32)
        high = (signed >> min(amount, WORD - 1)).reread(u32)
        if amount >= WORD:
            return Wide((signed >> min(amount - WORD, WORD - 1)).reread(u32), high)
        return Wide(self._across(amount), high)

    def _across(self, amount: int) -> Expression:
        """The low word after a shift right by less than a word."""
        return _or(_right(self.lo, amount), _left(self.hi, WORD - amount))

    def is_negative(self) -> Expression:
        """Whether the sign bit is set."""
        return self.hi.reread(i32) < 0

    def is_zero(self) -> Expression:
        """Whether all bits are 0."""
        return (self.lo | self.hi).equals(0)

    def equals(self, other: Wide) -> Expression:
        """Whether all bits are equal."""
        if _same(self.lo, other.lo):
            return self.hi.equals(other.hi)
        if _same(self.hi, other.hi):
            return self.lo.equals(other.lo)
        return self.lo.equals(other.lo) & self.hi.equals(other.hi)

    def below(self, other: Wide, signed: bool) -> Expression:
        """self < other."""
        ours, theirs = self.hi, other.hi
        if _same(ours, theirs):
            return self.lo < other.lo
        if signed:
            ours, theirs = ours.reread(i32), theirs.reread(i32)
        if known(other.lo) == 0:
            return ours < theirs
        return (ours < theirs) | (ours.equals(theirs) & (self.lo < other.lo))

    def magnitude(self) -> Wide:
        """The absolute value, as unsigned; that of the most negative number is representable."""
        return choose(self.is_negative(), -self, self)

    def leading_zeros(self) -> Expression:
        """The number of leading zeros, as a u32."""
        pick = self.lo.writer.select
        low = self.lo.leading_zeros() + WORD
        return pick(self.hi.equals(0), low, self.hi.leading_zeros())


def _left(x: Expression, amount: int) -> Expression:
    if amount >= WORD or known(x) == 0:
        return x.writer.const(0, u32)
    return x << amount if amount else x


def _right(x: Expression, amount: int) -> Expression:
    if amount >= WORD or known(x) == 0:
        return x.writer.const(0, u32)
    return x >> amount if amount else x


def known(x: Expression) -> int | None:
    """The value of a word that is a constant."""
    return int(x.value.op.value) if isinstance(x.value.op, arith.Const) else None


def _same(a: Expression, b: Expression) -> bool:
    return a.value is b.value or (known(a) is not None and known(a) == known(b))


def _sum(a: Expression, b: Expression) -> Expression:
    if 0 in (known(a), known(b)):
        return b if known(a) == 0 else a
    return a + b


def _and(a: Expression, b: Expression) -> Expression:
    for one, other in ((a, b), (b, a)):
        if known(one) in (0, _ONES):
            return one if known(one) == 0 else other
    return a & b


def _or(a: Expression, b: Expression) -> Expression:
    for one, other in ((a, b), (b, a)):
        if known(one) in (0, _ONES):
            return other if known(one) == 0 else one
    return a | b


def _xor(a: Expression, b: Expression) -> Expression:
    if 0 in (known(a), known(b)):
        return b if known(a) == 0 else a
    return a ^ b


def choose(condition: Expression, on_true: Wide, on_false: Wide) -> Wide:
    """Select one of two numbers."""
    pick = condition.writer.select
    pairs = ((on_true.lo, on_false.lo), (on_true.hi, on_false.hi))
    lo, hi = (a if _same(a, b) else pick(condition, a, b) for a, b in pairs)
    return Wide(lo, hi)


def constant(w: Writer, number: int) -> Wide:
    """A constant; negative numbers are in two's complement."""
    bits = number & (1 << 64) - 1
    return Wide(w.const(bits & 0xFFFFFFFF, u32), w.const(bits >> WORD, u32))


def low_word(lo: Expression) -> Wide:
    """A u32 zero-extended to 64 bits."""
    return Wide(lo, lo.writer.const(0, u32))


def high_product(a: Wide, b: Wide) -> Wide:
    """The upper 64 bits of the product of unsigned numbers."""
    middle = low_word(a.hi.high_product(b.lo)) + low_word(a.lo.high_product(b.hi))
    cross = low_word(a.hi * b.lo) + low_word(a.lo * b.hi)
    carry = cross + low_word(a.lo.high_product(b.lo))
    top = Wide(a.hi * b.hi, a.hi.high_product(b.hi))
    return top + middle + low_word(carry.hi)


def signed_high_product(a: Wide, b: Wide) -> Wide:
    """The upper 64 bits of a signed product: a negative factor is its unsigned value less 2**64."""
    zero = constant(a.lo.writer, 0)
    result = high_product(a, b)
    result = result - choose(a.is_negative(), b, zero)
    return result - choose(b.is_negative(), a, zero)


def popcount(x: Wide) -> Wide:
    """The number of bits that are one."""
    builder, wrap = x.lo.writer.builder, x.lo.writer.wrap
    ones = [wrap(builder.unary(arith.Popcount, half.value)) for half in (x.lo, x.hi)]
    return low_word(ones[0] + ones[1])


def reverse(x: Wide) -> Wide:
    """The bits in reverse order."""
    builder, wrap = x.lo.writer.builder, x.lo.writer.wrap
    lo, hi = (wrap(builder.unary(arith.Brev, half.value)) for half in (x.hi, x.lo))
    return Wide(lo, hi)

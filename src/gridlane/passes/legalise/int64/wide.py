"""64-bit integers as two words: arithmetic that wraps as the ops on i64 and u64 do.

Shifts rely on the IR's: an amount of 32 or more, read as unsigned, gives 0 or the sign.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridlane.core.dtypes import i32, u32
from gridlane.ir.ops import arith
from gridlane.passes.legalise.math.expression import Expression, Writer

WORD = 32


@dataclass(frozen=True, slots=True)
class Wide:
    """A 64-bit number: the u32 of its low bits and the u32 of its high bits."""

    lo: Expression
    hi: Expression

    def __and__(self, other: Wide) -> Wide:
        return Wide(self.lo & other.lo, self.hi & other.hi)

    def __or__(self, other: Wide) -> Wide:
        return Wide(self.lo | other.lo, self.hi | other.hi)

    def __xor__(self, other: Wide) -> Wide:
        return Wide(self.lo ^ other.lo, self.hi ^ other.hi)

    def __invert__(self) -> Wide:
        return Wide(~self.lo, ~self.hi)

    def __add__(self, other: Wide) -> Wide:
        lo = self.lo + other.lo
        return Wide(lo, self.hi + other.hi + (lo < self.lo).cast(u32))

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
        over = self.lo << (amount - WORD)  # 0 for amounts below 32, where the difference wraps
        carried = (self.hi << amount) | (self.lo >> (WORD - amount))
        return Wide(self.lo << amount, carried | over)

    def __rshift__(self, amount: Expression) -> Wide:
        """Shift right by a u32, filling with zeros."""
        over = self.hi >> (amount - WORD)
        carried = (self.lo >> amount) | (self.hi << (WORD - amount))
        return Wide(carried | over, self.hi >> amount)

    def shift_with_sign(self, amount: Expression) -> Wide:
        """Shift right by a u32, filling with the sign."""
        signed = self.hi.reread(i32)
        beyond = (signed >> (amount - WORD)).reread(u32)
        carried = (self.lo >> amount) | (self.hi << (WORD - amount))
        lo = self.lo.writer.select(amount >= WORD, beyond, carried)
        return Wide(lo, (signed >> amount).reread(u32))

    def is_negative(self) -> Expression:
        """Whether the sign bit is set."""
        return self.hi.reread(i32) < 0

    def is_zero(self) -> Expression:
        """Whether all bits are 0."""
        return (self.lo | self.hi).equals(0)

    def equals(self, other: Wide) -> Expression:
        """Whether all bits are equal."""
        return self.lo.equals(other.lo) & self.hi.equals(other.hi)

    def below(self, other: Wide, signed: bool) -> Expression:
        """self < other."""
        ours, theirs = self.hi, other.hi
        if signed:
            ours, theirs = ours.reread(i32), theirs.reread(i32)
        return (ours < theirs) | (ours.equals(theirs) & (self.lo < other.lo))

    def magnitude(self) -> Wide:
        """The absolute value, as unsigned; that of the most negative number is representable."""
        return choose(self.is_negative(), -self, self)

    def leading_zeros(self) -> Expression:
        """The number of leading zeros, as a u32."""
        pick = self.lo.writer.select
        low = self.lo.leading_zeros() + WORD
        return pick(self.hi.equals(0), low, self.hi.leading_zeros())


def choose(condition: Expression, on_true: Wide, on_false: Wide) -> Wide:
    """Select one of two numbers."""
    pick = condition.writer.select
    return Wide(pick(condition, on_true.lo, on_false.lo), pick(condition, on_true.hi, on_false.hi))


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
    made = high_product(a, b)
    made = made - choose(a.is_negative(), b, zero)
    return made - choose(b.is_negative(), a, zero)


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

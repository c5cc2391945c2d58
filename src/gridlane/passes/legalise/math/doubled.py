"""Sums of two floats (double-float arithmetic), with about twice the precision of one.

The classical error-free transformations (Dekker 1971; Knuth, TAOCP 4.2.2). Sums are loose: their
error is relative to the larger operand. f32 needs no fused multiply-add: without one a factor is
split by its bits, so that all partial products are exact. f64 needs one.
"""

from __future__ import annotations

from fractions import Fraction

from gridlane.core.dtypes import f32
from gridlane.core.frozen import frozen
from gridlane.ir.expressions import Expression, Writer

Real = Expression | int | float


@frozen
class Pair:
    """hi + lo, where lo is at most half an ulp of hi."""

    hi: Expression
    lo: Expression

    def __add__(self, other: Pair | Expression) -> Pair:
        if isinstance(other, Expression):
            total = two_sum(self.hi, other)
            return quick_sum(total.hi, total.lo + self.lo)
        total = two_sum(self.hi, other.hi)
        return quick_sum(total.hi, total.lo + (self.lo + other.lo))

    def __neg__(self) -> Pair:
        return Pair(-self.hi, -self.lo)

    def __sub__(self, other: Pair | Expression) -> Pair:
        return self + (-other)

    def __mul__(self, other: Pair | Expression) -> Pair:
        if isinstance(other, Expression):
            result = product(self.hi, other)
            return quick_sum(result.hi, self.hi.writer.fma(self.lo, other, result.lo))
        result = product(self.hi, other.hi)
        return quick_sum(result.hi, result.lo + (self.hi * other.lo + self.lo * other.hi))

    def __truediv__(self, other: Pair) -> Pair:
        quotient = self.hi / other.hi
        back = product(quotient, other.hi)
        rest = ((self.hi - back.hi) - back.lo) + (self.lo - quotient * other.lo)
        return quick_sum(quotient, rest / other.hi)

    def times(self, power: Real) -> Pair:
        """The pair multiplied by a power of two, exactly."""
        return Pair(self.hi * power, self.lo * power)

    def sqrt(self) -> Pair:
        """The square root of a positive pair."""
        root = self.hi.sqrt()
        back = product(root, root)
        rest = ((self.hi - back.hi) - back.lo) + self.lo
        return quick_sum(root, rest / (root + root))

    def rounded(self) -> Expression:
        """The pair rounded to one float."""
        return self.hi + self.lo


def two_sum(a: Expression, b: Expression) -> Pair:
    """a + b, exactly."""
    total = a + b
    of_b = total - a
    return Pair(total, (a - (total - of_b)) + (b - of_b))


def quick_sum(a: Expression, b: Expression) -> Pair:
    """a + b, exactly, if a is the larger or 0."""
    total = a + b
    return Pair(total, b - (total - a))


def product(a: Expression, b: Expression) -> Pair:
    """a * b, exactly unless parts of it underflow."""
    writer = a.writer
    result = a * b
    if writer.fuses or a.dtype is not f32:
        return Pair(result, writer.fma(a, b, -result))
    (a1, a0), (b1, b0) = _halves(a), _halves(b)
    return Pair(result, ((a1 * b1 - result) + a1 * b0 + a0 * b1) + a0 * b0)


def _halves(x: Expression) -> tuple[Expression, Expression]:
    """An f32 as the sum of two floats of 12 bits."""
    writer = x.writer
    upper = writer.from_bits(writer.bits(x) & ~0xFFF)
    return upper, x - upper


def single(x: Expression) -> Pair:
    """One float as a pair."""
    return Pair(x, x.writer.real(0.0))


def constant(writer: Writer, value: Fraction) -> Pair:
    """The pair nearest to a number."""
    hi, lo = pieces(value, writer.form.precision, writer.form.precision)
    return Pair(writer.real(hi), writer.real(lo))


def pieces(value: Fraction, *bits: int) -> tuple[float, ...]:
    """A number as a sum of floats, each with the given number of significant bits.

    >>> pieces(Fraction(5, 8), 1, 2)
    (0.5, 0.125)
    """
    results: list[float] = []
    for count in bits:
        scale = Fraction(2) ** (count - _exponent(value))
        piece = Fraction(round(value * scale)) / scale
        results.append(float(piece))
        value -= piece
    return tuple(results)


def _exponent(value: Fraction) -> int:
    """The least e with abs(value) < 2**e."""
    e = abs(value.numerator).bit_length() - value.denominator.bit_length()
    return e if abs(value) < Fraction(2) ** e else e + 1


def choose(condition: Expression, on_true: Pair, on_false: Pair) -> Pair:
    """Select one of two pairs."""
    select = condition.writer.select
    return Pair(
        select(condition, on_true.hi, on_false.hi), select(condition, on_true.lo, on_false.lo)
    )

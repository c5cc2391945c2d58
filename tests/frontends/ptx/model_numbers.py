"""Floats of the model: their bits as exact rationals, and rationals rounded to bits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format of IEEE 754, with so many bits of the fraction."""

    name: str
    bits: int
    fraction: int

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << self.bits - 1

    @property
    def infinity(self) -> int:
        """+infinity; what is above, without the sign, is a NaN."""
        return self.sign - (1 << self.fraction)

    @property
    def least(self) -> int:
        """The exponent of the smallest normal number."""
        return 2 - (1 << self.bits - self.fraction - 2)

    @property
    def nan(self) -> int:
        """A NaN."""
        return self.sign - 1

    @property
    def one(self) -> int:
        """1.0."""
        return (1 - self.least) << self.fraction


F16, BF16 = Format("f16", 16, 10), Format("bf16", 16, 7)
F32, F64 = Format("f32", 32, 23), Format("f64", 64, 52)
WIDE = Format("f32 with more exponents", 35, 23)
"""A result is subnormal, and ``.ftz`` flushes it, where the number rounded to 24 bits is below the
normal ones: ptxas's own arithmetic does so."""
FORMATS = {each.name: each for each in (F16, BF16, F32, F64)}


def is_nan(bits: int, of: Format) -> bool:
    """Whether the bits are a NaN."""
    return bits & ~of.sign > of.infinity


def is_infinite(bits: int, of: Format) -> bool:
    """Whether the bits are an infinity."""
    return bits & ~of.sign == of.infinity


def is_negative(bits: int, of: Format) -> bool:
    """Whether the sign bit is set."""
    return bool(bits & of.sign)


def is_zero(bits: int, of: Format) -> bool:
    """Whether the bits are +0 or -0."""
    return not bits & ~of.sign


def is_subnormal(bits: int, of: Format) -> bool:
    """Whether the bits are a subnormal number other than 0."""
    return 0 < bits & ~of.sign < 1 << of.fraction


def value(bits: int, of: Format) -> Fraction:
    """The number of finite bits."""
    exponent, fraction = divmod(bits & ~of.sign, 1 << of.fraction)
    if exponent:
        fraction += 1 << of.fraction
    power = of.least - of.fraction + max(0, exponent - 1)
    made = Fraction(fraction << power) if power >= 0 else Fraction(fraction, 1 << -power)
    return -made if bits & of.sign else made


def order(bits: int, of: Format) -> int:
    """An integer that orders numbers and infinities as their values are; both zeros are 0."""
    magnitude = bits & ~of.sign
    return -magnitude if bits & of.sign else magnitude


def flushed(bits: int, of: Format) -> int:
    """0 with its sign for a subnormal number."""
    return bits & of.sign if is_subnormal(bits, of) else bits


def widened(bits: int) -> int:
    """An f32 as a WIDE."""
    sign = WIDE.sign if is_negative(bits, F32) else 0
    if is_nan(bits, F32):
        return WIDE.nan
    return (
        WIDE.infinity | sign
        if is_infinite(bits, F32)
        else rounded(value(bits, F32), WIDE, "rn", sign)
    )


def is_tiny(bits: int) -> bool:
    """Whether a WIDE is below the normal numbers of f32."""
    return order(bits & ~WIDE.sign, WIDE) < order(rounded(Fraction(2) ** F32.least, WIDE), WIDE)


def exponent_of(number: Fraction) -> int:
    """The exponent of the power of two at or below a positive number."""
    made = number.numerator.bit_length() - number.denominator.bit_length()
    return made if _power(made) <= number else made - 1


def _power(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def whole(number: Fraction, mode: str, negative: bool = False) -> int:
    """A number rounded to an integer.

    Args:
        mode: ``rn`` to nearest even, ``rz`` towards 0, ``rm`` down, ``rp`` up.
        negative: whether the number is a magnitude, of which the negation is rounded.
    """
    floor, rest = divmod(number.numerator, number.denominator)
    if mode == "rn":
        twice = 2 * rest
        up = twice > number.denominator or (twice == number.denominator and floor % 2 == 1)
    elif mode == "rz":
        up = bool(rest) and number < 0
    else:
        up = bool(rest) and (mode == "rp") != negative
    return floor + up


def rounded(number: Fraction, of: Format, mode: str = "rn", zero: int = 0) -> int:
    """The bits of a number; ``zero`` where it is exactly 0."""
    if not number:
        return zero
    negative, magnitude = number < 0, abs(number)
    exponent = max(exponent_of(magnitude), of.least)
    units = whole(magnitude / _power(exponent - of.fraction), mode, negative)
    bits = units + (exponent - of.least << of.fraction)
    if bits >= of.infinity:
        away = mode == "rn" or mode == ("rm" if negative else "rp")
        bits = of.infinity if away else of.infinity - 1
    return bits | of.sign if negative else bits


def ulp(number: Fraction, of: Format) -> Fraction:
    """The distance of floats at a number."""
    exponent = max(exponent_of(abs(number)), of.least) if number else of.least
    return _power(exponent - of.fraction)

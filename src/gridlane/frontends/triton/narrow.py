"""Floats of 8 and 4 bits: numbers of u8 in the IR, which are converted to compute with them.

Formats: P. Micikevicius et al., "FP8 Formats for Deep Learning", 2022, for e4m3 and e5m2; those
with ``b`` and a bias have no infinity and no negative zero, whose code is NaN. e2m1 is that of the
OCP Microscaling Formats (MX) Specification. e4b15 has numbers alone, whose codes are bits of
float16's numbers below 2; 1.75 is the largest that others are converted to.
"""

from __future__ import annotations

from math import copysign, frexp, isnan, ldexp

from gridlane.core.dtypes import f32, f64, u8, u32
from gridlane.core.frozen import frozen
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Value


@frozen
class NarrowFormat:
    """A sign, an exponent and a fraction in the low bits of a byte.

    Attributes:
        fraction: bits of the fraction.
        bias: of the exponent.
        bits: of all.
        largest: the code of the largest number.
        nan: the code of NaN; 0 where there is none.
        infinity: the code of infinity; 0 where there is none.
        is_unsigned_zero: the code of a negative zero is NaN.
    """

    fraction: int
    bias: int
    bits: int
    largest: int
    nan: int = 0
    infinity: int = 0
    is_unsigned_zero: bool = False

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.bits - 1)

    def number(self, code: int) -> float:
        """The magnitude of a code."""
        exponent, rest = code >> self.fraction, code & ((1 << self.fraction) - 1)
        whole = rest | (1 << self.fraction) if exponent else rest
        return whole * 2.0 ** (max(exponent, 1) - self.bias - self.fraction)

    def code(self, number: float) -> int:
        """What ``encoded`` makes of a number, which is rounded once."""
        if isnan(number):
            return self.nan or self.largest
        size, least = min(abs(number), self.number(self.largest)), 1 - self.bias
        exponent = max(frexp(size)[1] - 1, least) if size else least
        steps = round(ldexp(size, self.fraction - exponent))
        code = steps + (exponent - least << self.fraction)
        if copysign(1.0, number) > 0 or (self.is_unsigned_zero and not code):
            return code
        return code | self.sign


FORMATS = {
    "fp8e4b15": NarrowFormat(3, 15, 8, 0x7E),
    "fp8e4nv": NarrowFormat(3, 7, 8, 0x7E, nan=0x7F),
    "fp8e4b8": NarrowFormat(3, 8, 8, 0x7F, nan=0x80, is_unsigned_zero=True),
    "fp8e5": NarrowFormat(2, 15, 8, 0x7B, nan=0x7F, infinity=0x7C),
    "fp8e5b16": NarrowFormat(2, 16, 8, 0x7F, nan=0x80, is_unsigned_zero=True),
}
"""The formats by the names of their types."""
E2M1 = NarrowFormat(1, 1, 4, 0x7)


def _power(b: Builder, exponent: Value) -> Value:
    """2 to the power of an exponent that is biased as float32's."""
    return b.bitcast(b.value(arith.Shl(exponent, b.const(23, u32))), f32)


def decoded(b: Builder, code: Value, form: NarrowFormat) -> Value:
    """The float32 of a code, which is exact."""
    bits = b.cast(code, u32)
    size = b.and_(bits, b.const(form.sign - 1, u32))
    exponent = b.value(arith.Shr(size, b.const(form.fraction, u32)))
    rest = b.and_(size, b.const((1 << form.fraction) - 1, u32))
    is_small = b.eq(exponent, b.const(0, u32))
    whole = b.select(is_small, rest, b.or_(rest, b.const(1 << form.fraction, u32)))
    scale = b.binary(arith.Max, exponent, b.const(1, u32))
    power = _power(b, b.add(scale, b.const(127 - form.bias - form.fraction, u32)))
    value = b.mul(b.cast(whole, f32), power)
    if form.infinity:
        infinite = b.eq(size, b.const(form.infinity, u32))
        above = b.binary(arith.Gt, size, b.const(form.infinity, u32))
        value = b.select(infinite, b.const(float("inf"), f32), value)
        value = b.select(above, b.const(float("nan"), f32), value)
    negative = b.binary(arith.Ne, b.and_(bits, b.const(form.sign, u32)), b.const(0, u32))
    value = b.select(negative, b.neg(value), value)
    if form.nan and not form.infinity:
        place = bits if form.is_unsigned_zero else size
        value = b.select(b.eq(place, b.const(form.nan, u32)), b.const(float("nan"), f32), value)
    return value


def _to_odd(b: Builder, value: Value) -> Value:
    """A float64 as float32: what has no float32 is the neighbour with an odd last bit, which no
    format of fewer bits has. Another rounding is then as one of the float64."""
    near, size = b.cast(value, f32), b.unary(arith.Abs, value)
    back = b.unary(arith.Abs, b.cast(near, f64))
    bits, one = b.bitcast(near, u32), b.const(1, u32)
    is_above = b.binary(arith.Gt, back, size)
    below = b.select(is_above, b.sub(bits, one), bits)
    odd = b.select(b.or_(is_above, b.lt(back, size)), b.or_(below, one), bits)
    return b.bitcast(odd, f32)


def encoded(b: Builder, value: Value, form: NarrowFormat, towards_zero: bool = False) -> Value:
    """The code of the number nearest to a float32 or float64, or of the next one towards zero;
    beyond the largest number that one's, and of NaN in a format that has none."""
    if value.type is f64:
        value = _to_odd(b, value)
    bits = b.bitcast(value, u32)
    size = b.binary(arith.Min, b.unary(arith.Abs, value), b.const(form.number(form.largest), f32))
    least = 128 - form.bias  # of a normal number, as float32 has it
    exponent = b.value(arith.Shr(b.bitcast(size, u32), b.const(23, u32)))
    exponent = b.binary(arith.Max, exponent, b.const(least, u32))
    inverse = _power(b, b.sub(b.const(254 + form.fraction, u32), exponent))
    scaled = b.mul(size, inverse)
    steps = b.cast(b.unary(math.Trunc if towards_zero else math.Rint, scaled), u32)
    above = b.value(arith.Shl(b.sub(exponent, b.const(least, u32)), b.const(form.fraction, u32)))
    code = b.add(steps, above)
    sign = b.value(arith.Shr(bits, b.const(31, u32)))
    signed = b.or_(code, b.value(arith.Shl(sign, b.const(form.bits - 1, u32))))
    if form.is_unsigned_zero:
        signed = b.select(b.eq(code, b.const(0, u32)), code, signed)
    if form.nan:
        is_nan = b.binary(arith.Ne, value, value)
        signed = b.select(is_nan, b.const(form.nan, u32), signed)
    return b.cast(signed, u8)


def magnitude(b: Builder, code: Value, form: NarrowFormat) -> Value:
    """The code without its sign; of the code of NaN that is a negative zero's, itself."""
    size = b.and_(code, b.const(form.sign - 1, u8))
    if form.is_unsigned_zero:
        return b.select(b.eq(code, b.const(form.nan, u8)), code, size)
    return size

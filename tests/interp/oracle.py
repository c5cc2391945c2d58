"""Scalar arithmetic by Python's integers and fractions, written apart from the interpreter."""

from __future__ import annotations

import math
from fractions import Fraction

from gridlane.core.dtypes import DType

FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127)}
FORMATS["f64"] = (53, -1022, 1023)
"""Bits of the significand, exponents of the least and the largest normal number."""


def rounded(exact: Fraction, dtype: DType, zero: float = 0.0) -> float:
    """The nearest float of a type, ties to even; ``zero`` when it is exactly 0."""
    if exact == 0:
        return zero
    precision, least, most = FORMATS[dtype.name]
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, least) - precision + 1)
    steps, rest = divmod(magnitude / quantum, 1)
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and steps % 2):
        steps += 1
    result = steps * quantum
    largest = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** most
    value = math.inf if result > largest else float(result)
    return math.copysign(value, -1.0 if exact < 0 else 1.0)


def add(a: float, b: float, dtype: DType) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a + b
    return rounded(Fraction(a) + Fraction(b), dtype, a + b)


def sub(a: float, b: float, dtype: DType) -> float:
    return add(a, -b, dtype)


def mul(a: float, b: float, dtype: DType) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b
    return rounded(Fraction(a) * Fraction(b), dtype, a * b)


def div(a: float, b: float, dtype: DType) -> float:
    if math.isnan(a) or math.isnan(b):
        return math.nan
    sign = math.copysign(1, a) * math.copysign(1, b)
    if math.isinf(a):
        return math.nan if math.isinf(b) else sign * math.inf
    if math.isinf(b):
        return sign * 0.0
    if b == 0:
        return math.nan if a == 0 else sign * math.inf
    return rounded(Fraction(a) / Fraction(b), dtype, sign * 0.0)


def rem(a: float, b: float, dtype: DType) -> float:
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return math.nan
    if math.isinf(b):
        return a
    left = abs(Fraction(a)) % abs(Fraction(b))
    return math.copysign(rounded(left, dtype), a)


def fma(a: float, b: float, c: float, dtype: DType) -> float:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        if math.isfinite(a) and math.isfinite(b):
            return c
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    product_is_zero = a == 0 or b == 0
    zero = a * b + c if product_is_zero and c == 0 else 0.0
    return rounded(exact, dtype, zero)


def minimum(a: float, b: float, dtype: DType) -> float:
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    return min((a, b), key=lambda x: (x, math.copysign(1, x)))


def maximum(a: float, b: float, dtype: DType) -> float:
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    return max((a, b), key=lambda x: (x, math.copysign(1, x)))


FLOAT_BINARY = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "div": div,
    "rem": rem,
    "min": minimum,
    "max": maximum,
}


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


INTEGER_BINARY = {
    "add": lambda a, b, t: a + b,
    "sub": lambda a, b, t: a - b,
    "mul": lambda a, b, t: a * b,
    "div": lambda a, b, t: truncated(a, b) if b else -1,
    "rem": lambda a, b, t: a - truncated(a, b) * b if b else a,
    "mulhi": lambda a, b, t: a * b >> t.bits,
    "min": lambda a, b, t: min(a, b),
    "max": lambda a, b, t: max(a, b),
    "and": lambda a, b, t: a & b,
    "or": lambda a, b, t: a | b,
    "xor": lambda a, b, t: a ^ b,
}

INTEGER_UNARY = {
    "neg": lambda a, t: -a,
    "abs": lambda a, t: abs(a),
    "not": lambda a, t: ~a,
    "popcount": lambda a, t: bin(a % (1 << t.bits)).count("1"),
    "clz": lambda a, t: t.bits - (a % (1 << t.bits)).bit_length(),
    "brev": lambda a, t: int(f"{a % (1 << t.bits):0{t.bits}b}"[::-1], 2),
}


def shl(a: int, amount: int, t: DType) -> int:
    return t.wrap(a << amount) if amount < t.bits else 0


def shr(a: int, amount: int, t: DType) -> int:
    return a >> min(amount, t.bits)


def half_away(a: float) -> float:
    if not math.isfinite(a):
        return a
    whole = int(abs(Fraction(a)) + Fraction(1, 2))
    return math.copysign(float(whole), a)


def integral(function):
    """A rounding of a float to an integer, with the sign of zero kept."""
    return lambda a: math.copysign(float(function(a)), a) if math.isfinite(a) else a


FLOAT_UNARY = {
    "neg": lambda a: -a,
    "abs": abs,
    "floor": lambda a: math.copysign(float(math.floor(a)), a) if math.isfinite(a) else a,
    "ceil": integral(math.ceil),
    "trunc": integral(math.trunc),
    "rint": integral(round),
    "round": half_away,
}


def sqrt(a: float, dtype: DType) -> float:
    if math.isnan(a) or a < 0:
        return math.nan
    if a == 0 or math.isinf(a):
        return a
    # 2**400 is an even power; the integer root of a scaled fraction, with a sticky bit.
    scaled = Fraction(a) * 4**1200
    root = math.isqrt(int(scaled))
    inexact = root * root != scaled
    return rounded(Fraction(2 * root + inexact, 2) / Fraction(2) ** 1200, dtype)


def cast(value: bool | int | float, source: DType, target: DType):
    if target.is_bool:
        return value != 0
    if source.is_bool:
        value = int(value)
    if target.is_float:
        if isinstance(value, float):
            return rounded(Fraction(value), target, value) if math.isfinite(value) else value
        return rounded(Fraction(value), target)
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return target.max if value > 0 else target.min
        return max(target.min, min(target.max, math.trunc(value)))
    return target.wrap(value)

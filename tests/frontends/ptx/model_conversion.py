"""The model of cvt."""

from __future__ import annotations

from fractions import Fraction

from tests.frontends.ptx.model import Case, Modifiers, bits_of, clamped, mask, model, read
from tests.frontends.ptx.model_floats import mode_of, relu, saturated
from tests.frontends.ptx.model_numbers import (
    F32,
    FORMATS,
    WIDE,
    Format,
    exponent_of,
    flushed,
    is_infinite,
    is_nan,
    is_negative,
    is_tiny,
    is_zero,
    rounded,
    value,
    whole,
)

_WHOLE = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}


def _register(name: str) -> str:
    """What holds a source: a byte is the lowest of a register of 16 bits."""
    return name if name in FORMATS else "b16" if bits_of(name) == 8 else f"b{bits_of(name)}"


def _result(name: str) -> str:
    return name if bits_of(name) == 8 or name in FORMATS else f"b{bits_of(name)}"


@model("cvt")
def convert(root: str, m: Modifiers) -> Case:
    """From a type to another, or from two f32 to two halves."""
    if m[0] == "pack":
        return _pack(m[2])
    target, source = m[-2:]
    if target in EIGHT:
        return _to_eight(m, EIGHT[target], source)
    if source in EIGHT:
        return _from_eight(m, EIGHT[source])
    if target == "tf32":
        newer = "satfinite" in m and "rna" not in m
        processor = "sm_100a" if newer else "sm_90"
        return Case(("f32",), ("f32",), lambda a: (_to_tf32(a, m),), target=processor)
    if target.endswith("x2"):
        return _packed(m, target, source)
    into, out = FORMATS.get(target), FORMATS.get(source)

    def compute(a: int) -> tuple[int]:
        if out is None:
            number = read(a, source)
            return (_integer(number, m, target) if into is None else _float(number, m, into),)
        if "ftz" in m and source == "f32":
            a = flushed(a, out)
        return (_to_integer(a, m, out) if into is None else _to_float(a, m, out, into),)

    return Case((_register(source),), (_result(target),), compute)


def _integer(number: int, m: Modifiers, target: str) -> int:
    number = clamped(number, target) if "sat" in m else number
    return number & mask(bits_of(target))


def _float(number: int, m: Modifiers, into: Format) -> int:
    made = rounded(Fraction(number), into, mode_of(m))
    return saturated(made, into) if "sat" in m else made


def _to_integer(a: int, m: Modifiers, out: Format) -> int:
    """Rounded, then within the limits of the type."""
    target = m[-2]
    bits = bits_of(target)
    if is_nan(a, out):
        return 0 if out.bits < 64 and bits < 64 else 1 << bits - 1
    if is_infinite(a, out):
        number = -1 << 70 if is_negative(a, out) else 1 << 70
    else:
        number = whole(value(a, out), _WHOLE[m[0]])
    return clamped(number, target) & mask(bits)


def _to_float(a: int, m: Modifiers, out: Format, into: Format) -> int:
    sign = into.sign if is_negative(a, out) else 0
    if is_nan(a, out):
        made = into.nan
    elif is_infinite(a, out):
        made = into.infinity | sign
    elif is_zero(a, out):
        made = sign
    else:
        number = value(a, out)
        if m[0] in _WHOLE:
            number = number * 0 + whole(number, _WHOLE[m[0]])
        made = rounded(number, into, mode_of(m), sign)
    if "satfinite" in m and is_infinite(made, into):
        made -= 1
    if "sat" in m:
        made = saturated(made, into)
    if "relu" in m:
        made = relu(made, into)
    if "ftz" not in m or into is not F32:
        return made
    is_least = made & ~into.sign == 1 << into.fraction
    if is_least and is_tiny(rounded(value(a, out), WIDE, mode_of(m))):
        return made & into.sign
    return flushed(made, into)


def _packed(m: Modifiers, target: str, source: str) -> Case:
    into, out = FORMATS[target.removesuffix("x2")], FORMATS[source]

    def compute(a: int, b: int) -> tuple[int]:
        return (_to_float(a, m, out, into) << 16 | _to_float(b, m, out, into),)

    return Case((source, source), (target,), compute)


# --- floats of other widths

TF32 = Format("tf32", 19, 10)
"""As the upper bits of an f32."""
EIGHT = {"e4m3x2": Format("e4m3", 8, 3), "e5m2x2": Format("e5m2", 8, 2)}
"""e4m3 has no infinity: its one NaN is where the mantissa of the greatest exponent is all ones."""


def _to_tf32(a: int, m: Modifiers) -> int:
    if "rna" not in m:
        return _to_float(a, m, F32, TF32) << 13
    if is_nan(a, F32) or is_infinite(a, F32):
        made = TF32.nan if is_nan(a, F32) else TF32.infinity | (a >> 13 & TF32.sign)
    else:  # a half goes away from 0: to the next number above when half a unit is added
        made = (a >> 12) + 1 >> 1
    if "satfinite" in m and is_infinite(made, TF32):
        made -= 1
    return made << 13


def _greatest(of: Format) -> int:
    return 0x7E if of.name == "e4m3" else 0x7B


def _eight(a: int, m: Modifiers, of: Format, out: Format) -> int:
    """A float as one of 8 bits; what is too large becomes the greatest number."""
    if is_nan(a, out):
        return 0x7F
    negative = is_negative(a, out)
    if "relu" in m and negative:
        return 0
    magnitude = 1 << 20 if is_infinite(a, out) else abs(value(a, out))
    made = 0
    if magnitude:
        exponent = max(exponent_of(Fraction(magnitude)), of.least)
        units = whole(Fraction(magnitude) / Fraction(2) ** (exponent - of.fraction), "rn")
        made = min(units + (exponent - of.least << of.fraction), _greatest(of))
    return made | 0x80 if negative else made


def _to_eight(m: Modifiers, of: Format, source: str) -> Case:
    def both(high: int, low: int, out: Format) -> tuple[int]:
        return (_eight(high, m, of, out) << 8 | _eight(low, m, of, out),)

    if source == "f32":
        return Case(("f32", "f32"), ("b16",), lambda a, b: both(a, b, F32))
    half = FORMATS["f16"]
    return Case(("f16x2",), ("b16",), lambda a: both(a >> 16, a & mask(16), half))


def _from_eight(m: Modifiers, of: Format) -> Case:
    half = FORMATS["f16"]

    def one(a: int) -> int:
        magnitude, sign = a & 0x7F, half.sign if a & 0x80 else 0
        if magnitude == 0x7F if of.name == "e4m3" else magnitude > 0x7C:
            return half.nan
        if of.name == "e5m2" and magnitude == 0x7C:
            made = half.infinity | sign
        else:
            exponent, fraction = divmod(magnitude, 1 << of.fraction)
            units = fraction + (1 << of.fraction if exponent else 0)
            number = Fraction(units) * Fraction(2) ** (
                max(exponent, 1) - 1 + of.least - of.fraction
            )
            made = rounded(number, half) | sign
        return relu(made, half) if "relu" in m else made

    return Case(("b16",), ("f16x2",), lambda a: (one(a >> 8) << 16 | one(a & 0xFF),))


def _pack(name: str) -> Case:
    """Two integers, saturated, below the lower bits of a third."""
    width = int(name[1:])

    def compute(a: int, b: int, c: int = 0) -> tuple[int]:
        high, low = (clamped(read(x, "s32"), name) & mask(width) for x in (a, b))
        return ((c << 2 * width | high << width | low) & mask(32),)

    return Case(("b32",) * (2 if width == 16 else 3), ("b32",), compute)

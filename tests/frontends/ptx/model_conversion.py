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
    target, source = m[-2:]
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

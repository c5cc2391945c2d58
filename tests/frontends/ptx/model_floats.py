"""The model of "Floating-Point" and "Half Precision Floating-Point" instructions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isqrt

from tests.frontends.ptx.model import Case, Modifiers, mask, model
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
    is_subnormal,
    is_tiny,
    is_zero,
    order,
    rounded,
    value,
    widened,
)

Float = Callable[..., int]
"""A function of the bits of floats."""


def mode_of(m: Modifiers) -> str:
    """How a form rounds."""
    return next((each for each in m if each in ("rn", "rz", "rm", "rp")), "rn")


def total(a: int, b: int, of: Format, mode: str) -> int:
    """a + b."""
    return fused(a, of.one, b, of, mode)


def product(a: int, b: int, of: Format, mode: str) -> int:
    """a * b."""
    if is_nan(a, of) or is_nan(b, of):
        return of.nan
    sign = (a ^ b) & of.sign
    if is_infinite(a, of) or is_infinite(b, of):
        return of.nan if is_zero(a, of) or is_zero(b, of) else of.infinity | sign
    return rounded(value(a, of) * value(b, of), of, mode, sign)


def fused(a: int, b: int, c: int, of: Format, mode: str) -> int:
    """a * b + c, rounded once."""
    if is_nan(a, of) or is_nan(b, of) or is_nan(c, of):
        return of.nan
    sign = (a ^ b) & of.sign
    if is_infinite(a, of) or is_infinite(b, of):
        if is_zero(a, of) or is_zero(b, of) or c == of.infinity | sign ^ of.sign:
            return of.nan
        return of.infinity | sign
    if is_infinite(c, of):
        return c
    exact = value(a, of) * value(b, of)
    # Of an exact 0 the sign is that of both zeros, else + (rounding down -).
    zero = sign if not exact and is_zero(c, of) and sign == c & of.sign else None
    if zero is None:
        zero = of.sign if mode == "rm" else 0
    return rounded(exact + value(c, of), of, mode, zero)


def quotient(a: int, b: int, of: Format, mode: str) -> int:
    """a / b."""
    if is_nan(a, of) or is_nan(b, of):
        return of.nan
    sign = (a ^ b) & of.sign
    if is_infinite(a, of):
        return of.nan if is_infinite(b, of) else of.infinity | sign
    if is_zero(b, of):
        return of.nan if is_zero(a, of) else of.infinity | sign
    if is_infinite(b, of):
        return sign
    return rounded(value(a, of) / value(b, of), of, mode, sign)


def root(a: int, of: Format, mode: str) -> int:
    """The square root: to more bits than are rounded, with a sticky one."""
    if is_nan(a, of) or is_zero(a, of):
        return a
    if is_negative(a, of):
        return of.nan
    return a if is_infinite(a, of) else rounded(near_root(value(a, of)), of, mode)


def near_root(number: Fraction) -> Fraction:
    """A rational that lies on the same side of each float as a square root."""
    shift = 2 * (90 - exponent_of(number) // 2)
    scaled = number * 2**shift if shift >= 0 else number / 2**-shift
    base = isqrt(int(scaled))
    made = Fraction(base if base * base == scaled else 2 * base + 1)
    made = made if base * base == scaled else made / 2
    return made / 2 ** (shift // 2) if shift >= 0 else made * 2 ** (-shift // 2)


def extreme(a: int, b: int, of: Format, is_max: bool, propagates: bool) -> int:
    """The smaller or larger; -0 is below +0. Of a number and a NaN the number."""
    nans = is_nan(a, of), is_nan(b, of)
    if any(nans):
        return of.nan if all(nans) or propagates else b if nans[0] else a
    first, second = ((order(x, of), not is_negative(x, of)) for x in (a, b))
    return a if (first >= second) == is_max else b


def _extreme(a: int, b: int, of: Format, is_max: bool, m: Modifiers) -> int:
    """The smaller or larger; with .xorsign.abs of magnitudes, with the sign of the product."""
    if "abs" not in m:
        return extreme(a, b, of, is_max, "NaN" in m)
    made = extreme(a & ~of.sign, b & ~of.sign, of, is_max, "NaN" in m)
    return made & ~of.sign | (a ^ b) & of.sign


def saturated(a: int, of: Format) -> int:
    """Within +0 and 1; a NaN is +0."""
    if is_nan(a, of) or is_negative(a, of):
        return 0
    return min(a, of.one)


def relu(a: int, of: Format) -> int:
    """At least +0; a NaN stays one."""
    return 0 if is_negative(a, of) and not is_nan(a, of) else a


def _function(root_: str, m: Modifiers, of: Format) -> tuple[int, Float]:
    """How many sources there are, and the function before ``.ftz .sat .relu``."""
    mode = mode_of(m)
    negated = of.sign
    return {
        "add": (2, lambda a, b: total(a, b, of, mode)),
        "sub": (2, lambda a, b: total(a, b ^ negated, of, mode)),
        "mul": (2, lambda a, b: product(a, b, of, mode)),
        "fma": (3, lambda a, b, c: fused(a, b, c, of, mode)),
        "mad": (3, lambda a, b, c: fused(a, b, c, of, mode)),
        "div": (2, lambda a, b: quotient(a, b, of, mode)),
        "rcp": (1, lambda a: quotient(of.one, a, of, mode)),
        "sqrt": (1, lambda a: root(a, of, mode)),
        "abs": (1, lambda a: a & ~of.sign),
        "neg": (1, lambda a: a ^ of.sign),
        "min": (2, lambda a, b: _extreme(a, b, of, False, m)),
        "max": (2, lambda a, b: _extreme(a, b, of, True, m)),
        "copysign": (2, lambda a, b: b & ~of.sign | a & of.sign),
    }[root_]


@model("add", "sub", "fma")
def mixed(root_: str, m: Modifiers) -> Case | None:
    """Halves and an f32 as the last operand, which a result is as well."""
    if len(m) < 2 or m[-2] != "f32":
        return None
    half, mode = FORMATS[m[-1]], mode_of(m)

    def compute(*sources: int) -> tuple[int]:
        *halves, last = sources
        wide = [_as_f32(each, half) for each in halves]
        if root_ == "sub":
            last ^= F32.sign
        made = fused(wide[0], wide[1] if root_ == "fma" else F32.one, last, F32, mode)
        return (saturated(made, F32) if "sat" in m else made,)

    count = 2 if root_ == "fma" else 1
    return Case((m[-1],) * count + ("f32",), ("f32",), compute, target="sm_100a")


def _as_f32(bits: int, half: Format) -> int:
    """A half as an f32, which has every number of it."""
    if is_nan(bits, half):
        return F32.nan
    sign = F32.sign if is_negative(bits, half) else 0
    if is_infinite(bits, half):
        return F32.infinity | sign
    return rounded(value(bits, half), F32, zero=sign)


_ROOTS = "add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "abs", "neg", "min", "max"


@model(*_ROOTS, "copysign")
def arithmetic(root_: str, m: Modifiers) -> Case | None:
    """One operation, or one on each half."""
    name = m[-1]
    of = FORMATS.get(name.removesuffix("x2"))
    if of is None or "approx" in m or "full" in m:
        return None
    count, exact = _function(root_, m, of)
    apply = finished(exact, m, of)
    if "ftz" in m and of is F32:
        apply = _tiny_flushed(apply, _function(root_, m, WIDE)[1])
    if not name.endswith("x2"):
        old = root_ == "mad" and of is F32 and "rn" not in m  # later ones ask how it is rounded
        target = "sm_13" if old else "sm_90"
        return Case((name,) * count, (name,), lambda *x: (apply(*x),), target=target)

    def both(*words: int) -> tuple[int]:
        bits = of.bits
        low, high = apply(*(x & mask(bits) for x in words)), apply(*(x >> bits for x in words))
        return (low | high << bits,)

    target = "sm_100a" if of is F32 else "sm_90"
    return Case((name,) * count, (name,), both, target=target)


def _tiny_flushed(apply: Float, wide: Float) -> Float:
    """A function of f32 that also flushes what only its subnormal exponent has rounded up."""

    def flush(*sources: int) -> int:
        made = apply(*sources)
        if made & ~F32.sign != 1 << F32.fraction:
            return made
        exact = wide(*(widened(flushed(each, F32)) for each in sources))
        return made & F32.sign if is_tiny(exact) else made

    return flush


def finished(exact: Float, m: Modifiers, of: Format) -> Float:
    """A function with what ``.ftz .sat .relu`` make of its sources and result."""

    def apply(*sources: int) -> int:
        if "ftz" in m:
            sources = tuple(flushed(each, of) for each in sources)
        made = exact(*sources)
        if "sat" in m:
            made = saturated(made, of)
        if "relu" in m:
            made = relu(made, of)
        return flushed(made, of) if "ftz" in m else made

    return apply


# --- comparisons and classes

_ORDERED: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_COMBINE = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}


def _compare(name: str, kind: str, ftz: bool) -> Callable[[int, int], int]:
    """A comparison of bits."""
    of = FORMATS.get(kind)
    if of is None:
        name = _UNSIGNED.get(name, name)
        half = 1 << int(kind[1:]) - 1
        offset = half if kind[0] == "s" else 0  # moves the least to 0
        return lambda a, b: int(_ORDERED[name](a ^ offset, b ^ offset))

    def compare(a: int, b: int) -> int:
        a, b = (flushed(x, of) if ftz else x for x in (a, b))
        unordered = is_nan(a, of) or is_nan(b, of)
        if name in ("num", "nan"):
            return int(unordered == (name == "nan"))
        if unordered:
            return int(name.endswith("u"))
        return int(_ORDERED[name.removesuffix("u")](order(a, of), order(b, of)))

    return compare


@model("setp", "set")
def comparison(root_: str, m: Modifiers) -> list[Case]:
    """A comparison, maybe joined with a predicate: itself and its negation, or -1 or 1.0."""
    kind = m[-1]
    if kind.endswith("x2"):
        return _of_halves(root_, m)
    compare = _compare(m[0], kind, "ftz" in m)
    joined = next((_COMBINE[each] for each in m if each in _COMBINE), None)
    source = kind if kind in FORMATS else f"b{kind[1:]}"
    sources = (source, source, *(("pred",) if joined else ()))

    def compute(a: int, b: int, c: int = 0) -> tuple[int, ...]:
        first = compare(a, b)
        second = 1 - first
        if joined:
            first, second = joined(first, c), joined(second, c)
        if root_ == "setp":
            return first, second
        of = FORMATS.get(m[-2])
        return (first * (of.one if of else mask(int(m[-2][1:]))),)

    if root_ == "set":
        return [Case(sources, (f"b{m[-2].lstrip('usbf')}",), compute)]
    one = Case(sources, ("pred",), lambda *x: compute(*x)[:1])
    if kind in ("f16", "bf16"):
        return [one]
    two = Case(sources, ("pred", "pred"), compute)
    return [two] if joined else [one, two]


def _of_halves(root_: str, m: Modifiers) -> list[Case]:
    """A comparison of each half: two predicates, or two halves of 0xffff or 1.0."""
    kind = m[-1].removesuffix("x2")
    compare = _compare(m[0], kind, "ftz" in m)
    joined = next((_COMBINE[each] for each in m if each in _COMBINE), None)
    sources = (m[-1], m[-1], *(("pred",) if joined else ()))
    of = FORMATS.get(m[-2].removesuffix("x2"))
    one = of.one if of else mask(16)

    def compute(a: int, b: int, c: int = 0) -> tuple[int, ...]:
        made = compare(a & mask(16), b & mask(16)), compare(a >> 16, b >> 16)
        low, high = (joined(each, c) if joined else each for each in made)
        return (low, high) if root_ == "setp" else (low * one | high * one << 16,)

    if root_ == "setp":
        return [Case(sources, ("pred", "pred"), compute)]
    return [Case(sources, ("b32",), compute)]


@model("testp")
def testp(root_: str, m: Modifiers) -> Case:
    """A class of floats. Zeros are normal."""
    of = FORMATS[m[1]]

    def compute(a: int) -> tuple[int]:
        number, finite = not is_nan(a, of), a & ~of.sign < of.infinity
        made = {
            "finite": finite,
            "infinite": is_infinite(a, of),
            "number": number,
            "notanumber": not number,
            "normal": finite and not is_subnormal(a, of),
            "subnormal": is_subnormal(a, of),
        }
        return (int(made[m[0]]),)

    return Case((m[1],), ("pred",), compute)

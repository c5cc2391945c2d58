"""The model of "Integer Arithmetic" and "Extended-Precision Integer Arithmetic"."""

from __future__ import annotations

from collections.abc import Callable

from tests.frontends.ptx.model import (
    Case,
    Modifiers,
    bits_of,
    clamped,
    mask,
    model,
    read,
    signed,
)

_INTEGERS = tuple(f"{sign}{bits}" for sign in "us" for bits in (16, 32, 64))


def _b(name: str) -> str:
    return f"b{bits_of(name)}"


def _exact(name: str, count: int, function: Callable[..., int | None]) -> Case:
    """A function of integers, of which the lowest bits are the result."""

    def compute(*sources: int) -> tuple[int | None]:
        made = function(*(read(each, name) for each in sources))
        return (made if made is None else made & mask(bits_of(name)),)

    return Case((_b(name),) * count, (_b(name),), compute)


def _quotient(a: int, b: int) -> int | None:
    if not b:
        return None
    made = abs(a) // abs(b)
    return -made if (a < 0) != (b < 0) else made


def _rest(a: int, b: int) -> int | None:
    return None if not b else a - b * (_quotient(a, b) or 0)


_SIMPLE: dict[str, tuple[int, Callable[..., int | None]]] = {
    "add": (2, lambda a, b: a + b),
    "sub": (2, lambda a, b: a - b),
    "div": (2, _quotient),
    "rem": (2, _rest),
    "min": (2, min),
    "max": (2, max),
    "abs": (1, lambda a: abs(a)),
    "neg": (1, lambda a: -a),
    "sad": (3, lambda a, b, c: c + abs(a - b)),
}


@model(*_SIMPLE)
def simple(root: str, m: Modifiers) -> Case | None:
    """One operation of a type; ``.sat`` saturates, ``.relu`` gives at least 0."""
    count, function = _SIMPLE[root]
    name = m[-1]
    if name not in _INTEGERS:
        return None
    if m == ("sat", "s32"):
        return _exact(name, count, lambda *x: clamped(function(*x) or 0, name))
    if m == ("relu", "s32"):
        return _exact(name, count, lambda *x: max(function(*x) or 0, 0))
    return _exact(name, count, function) if len(m) == 1 else None


@model("mul", "mad")
def product(root: str, m: Modifiers) -> Case | None:
    """A half of a product, or the whole, and a sum."""
    name = m[-1]
    if name not in _INTEGERS or m[0] not in ("lo", "hi", "wide"):
        return None
    bits, half, is_saturated = bits_of(name), m[0], "sat" in m
    width = 2 * bits if half == "wide" else bits
    adds = root == "mad"

    def compute(a: int, b: int, c: int = 0) -> tuple[int]:
        made = read(a, name) * read(b, name) >> (bits if half == "hi" else 0)
        total = made + signed(c, width)
        return ((clamped(total, name) if is_saturated else total) & mask(width),)

    sources = (_b(name), _b(name), *((f"b{width}",) if adds else ()))
    return Case(sources, (f"b{width}",), compute)


@model("mul24", "mad24")
def product24(root: str, m: Modifiers) -> Case:
    """Bits 0 to 31 or 16 to 47 of the product of the lowest 24 bits."""
    name, adds = m[-1], root == "mad24"

    def compute(a: int, b: int, c: int = 0) -> tuple[int]:
        first, second = (signed(x, 24) if name == "s32" else x & mask(24) for x in (a, b))
        made = first * second >> (16 if m[0] == "hi" else 0)
        total = read(made, name) + read(c, name)
        return ((clamped(total, name) if "sat" in m else total) & mask(32),)

    return Case(("b32",) * (2 + adds), ("b32",), compute)


@model("add", "addc", "sub", "subc", "mad", "madc")
def chained(root: str, m: Modifiers) -> Case | None:
    """A step of an operation on several words. Words are unsigned but in products."""
    takes, gives = root[-1] == "c" or root == "madc", "cc" in m
    if not takes and not gives:
        return None
    name, bits = m[-1], bits_of(m[-1])
    is_sub, is_mad = root.startswith("sub"), root.startswith("mad")
    flag = "borrow" if is_sub else "carry"

    def compute(*sources: int) -> tuple[int, ...]:
        *words, carry = sources if takes else (*sources, 0)
        if is_mad:
            made = read(words[0], name) * read(words[1], name)
            words = [(made >> (bits if "hi" in m else 0)) & mask(bits), words[2]]
        total = words[0] - words[1] - carry if is_sub else words[0] + words[1] + carry
        after = int(total < 0 if is_sub else total > mask(bits))
        return (total & mask(bits), after)[: 1 + gives]

    sources = (*(_b(name),) * (3 if is_mad else 2), *((flag,) if takes else ()))
    return Case(sources, (_b(name), *((flag,) if gives else ())), compute)


def _fields(word: int, bits: int, is_signed: bool) -> list[int]:
    parts = [word >> at & mask(bits) for at in range(0, 32, bits)]
    return [signed(part, bits) if is_signed else part for part in parts]


@model("dp4a", "dp2a")
def dot(root: str, m: Modifiers) -> Case:
    """The dot product of four bytes, or of two halves and two bytes, and a sum."""
    first, second = (name == "s32" for name in m[-2:])

    def compute(a: int, b: int, c: int) -> tuple[int]:
        left = _fields(a, 8 if root == "dp4a" else 16, first)
        right = _fields(b, 8, second)
        if m[0] == "hi":
            right = right[2:]
        return ((c + sum(x * y for x, y in zip(left, right, strict=False))) & mask(32),)

    return Case(("b32",) * 3, ("b32",), compute)

"""The model of video instructions, and of pairs of integers."""

from __future__ import annotations

from collections.abc import Callable

from tests.frontends.ptx.model import Case, Modifiers, bits_of, clamped, mask, model, read, signed

_OPS: dict[str, Callable[[int, int], int]] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
    "vavrg": lambda a, b: (a + b + (a + b >= 0)) >> 1,
}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    "lt": int.__lt__,
    "le": int.__le__,
    "gt": int.__gt__,
    "ge": int.__ge__,
}
_THEN: dict[str, Callable[[int, int], int]] = {"add": int.__add__, "min": min, "max": max}


@model("vadd", "vsub", "vabsdiff", "vmin", "vmax")
def scalar(root: str, m: Modifiers) -> Case:
    """Of whole words, maybe combined with a third."""
    to, first, second = m[:3]
    then = next((_THEN[each] for each in m[3:] if each in _THEN), None)

    def compute(a: int, b: int, c: int = 0) -> tuple[int]:
        made = _OPS[root](read(a, first), read(b, second))
        made = clamped(made, to) if "sat" in m else read(made, to)
        return ((then(made, read(c, to)) if then else made) & mask(32),)

    return Case(("b32",) * (3 if then else 2), ("b32",), compute)


@model("vset")
def compare(root: str, m: Modifiers) -> Case:
    """1 or 0."""
    then = next((_THEN[each] for each in m[3:] if each in _THEN), None)

    def compute(a: int, b: int, c: int = 0) -> tuple[int]:
        made = int(_COMPARE[m[2]](read(a, m[0]), read(b, m[1])))
        return ((then(made, c) if then else made) & mask(32),)

    return Case(("b32",) * (3 if then else 2), ("b32",), compute)


def _lane(word: int, place: int, width: int, is_signed: bool) -> int:
    bits = word >> place * width & mask(width)
    return signed(bits, width) if is_signed else bits


@model(*(f"{root}{count}" for count in (2, 4) for root in (*_OPS, "vset")))
def lanes(root: str, m: Modifiers) -> Case:
    """Of two or four lanes, or the sum of what they give."""
    count = int(root[-1])
    width, is_set = 32 // count, root.startswith("vset")
    first, second = (m[0], m[1]) if is_set else (m[1], m[2])

    def one(a: int, b: int, place: int) -> int:
        x = _lane(a, place, width, first[0] == "s")
        y = _lane(b, place, width, second[0] == "s")
        if is_set:
            return int(_COMPARE[m[2]](x, y))
        made = _OPS[root[:-1]](x, y)
        return clamped(made, f"{m[0][0]}{width}") if "sat" in m else made

    def compute(a: int, b: int, c: int) -> tuple[int]:
        made = [one(a, b, place) for place in range(count)]
        if "add" in m:
            return (c + sum(made) & mask(32),)
        return (sum((each & mask(width)) << place * width for place, each in enumerate(made)),)

    return Case(("b32",) * 3, ("b32",), compute)


@model("add", "min", "max")
def pairs(root: str, m: Modifiers) -> Case | None:
    """Of two integers of 16 bits."""
    if m[-1] not in ("u16x2", "s16x2"):
        return None
    op = {"add": int.__add__, "min": min, "max": max}[root]
    assert bits_of(m[-1]) == 32

    def compute(a: int, b: int) -> tuple[int]:
        made = [op(*(_lane(x, place, 16, m[-1][0] == "s") for x in (a, b))) for place in (0, 1)]
        made = [max(each, 0) for each in made] if "relu" in m else made
        return (made[0] & mask(16) | (made[1] & mask(16)) << 16,)

    return Case(("b32", "b32"), ("b32",), compute)

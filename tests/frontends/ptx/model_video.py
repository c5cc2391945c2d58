"""The model of video instructions, and of pairs of integers."""

from __future__ import annotations

import zlib
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


_PARTS = ("b0", "b1", "b2", "b3", "h0", "h1")
_SELECTORS = {2: ("h10", "h01", "h32", "h20", "h13"), 4: ("b3210", "b7654", "b0246", "b7700")}
_MASKS = {2: ("h0", "h1", "h10"), 4: ("b0", "b2", "b31", "b210", "b3210")}


def _some(spelled: str, of: tuple[str, ...], salt: int) -> str:
    """One of some names: another one for each spelling of an opcode."""
    return of[zlib.crc32(f"{spelled} {salt}".encode()) % len(of)]


def _place(part: str) -> tuple[int, int]:
    """The lowest bit and the width of a part of a word."""
    width = {"": 32, "b": 8, "h": 16}[part[:1]]
    return width * int(part[1:] or 0), width


def _read(word: int, kind: str, part: str) -> int:
    """A source, or a part of it."""
    low, width = _place(part)
    return read(word >> low, f"{kind[0]}{width}")


def _combined(root: str, made: int, m: Modifiers, to: str, part: str, c: int) -> int:
    """What a scalar instruction writes of a number."""
    low, width = _place(part)
    then = next((_THEN[each] for each in m if each in _THEN), None)
    if "sat" in m:
        made = clamped(made, f"{to[0]}{width}")
    elif root in ("vadd", "vsub"):
        made = read(made, to)
    elif to[0] == "u":
        made &= mask(34)  # 34 bits with the sign of the result's type, as GPUs have it
    if then:
        made = then(made, read(c, to))
    if part:
        return c & ~(mask(width) << low) & mask(32) | (made & mask(width)) << low
    return made & mask(32)


def _scalar_cases(
    root: str, m: Modifiers, kinds: tuple[str, str], to: str, op: Callable[[int, int], int]
) -> list[Case]:
    """The whole words; parts of them; and a part of the result."""
    spelled, made = ".".join((root, *m)), list[Case]()
    combines = any(each in _THEN for each in m)
    chosen = tuple(_some(spelled, _PARTS, salt) for salt in range(3))
    variants = [("", "", ""), (*chosen[:2], "")]
    variants += [] if combines else [("", chosen[0], chosen[1]), chosen]
    for first, second, part in variants:

        def compute(
            a: int, b: int, c: int = 0, first: str = first, second: str = second, part: str = part
        ) -> tuple[int]:
            number = op(_read(a, kinds[0], first), _read(b, kinds[1], second))
            return (_combined(root, number, m, to, part, c),)

        sources = [f"b32.{each}" if each else "b32" for each in (first, second)]
        if combines or part:
            sources.append("b32")
        made.append(Case(tuple(sources), ("b32",), compute, f".{part}" if part else ""))
    return made


@model("vadd", "vsub", "vabsdiff", "vmin", "vmax")
def scalar(root: str, m: Modifiers) -> list[Case]:
    """Of words or parts, maybe combined with a third."""
    return _scalar_cases(root, m, (m[1], m[2]), m[0], _OPS[root])


@model("vset")
def compare(root: str, m: Modifiers) -> list[Case]:
    """1 or 0."""
    holds = _COMPARE[m[2]]
    return _scalar_cases(root, m, (m[0], m[1]), m[0], lambda a, b: int(holds(a, b)))


@model("vshl", "vshr")
def shift(root: str, m: Modifiers) -> list[Case]:
    """By the bits of the second source, as far as 32."""

    def shifted(a: int, b: int) -> int:
        count = b & 31 if "wrap" in m else min(b, 32)
        return a << count if root == "vshl" else a >> count

    return _scalar_cases(root, m, (m[1], m[2]), m[0], shifted)


@model("vmad")
def vmad(root: str, m: Modifiers) -> list[Case]:
    """The product of two parts and the sum with a word, moved down."""
    is_signed = "s" in m[1][0] + m[2][0]
    scale = next((int(each[3:]) for each in m if each.startswith("shr")), 0)
    spelled, made = ".".join((root, *m)), list[Case]()
    chosen = _some(spelled, _PARTS, 0), _some(spelled, _PARTS, 1)
    signs = [("", "", ""), ("", "-", ""), ("", "", "-")] if is_signed and "po" not in m else []
    for number, (n_a, n_b, n_c) in enumerate(signs or [("", "", "")] * 2):
        first, second = chosen if number % 2 else ("", "")

        def compute(
            *words: int,
            first: str = first,
            second: str = second,
            product_sign: int = -1 if n_a != n_b else 1,
            sum_sign: int = -1 if n_c else 1,
        ) -> tuple[int]:
            a, b, c = words
            product = _read(a, m[1], first) * _read(b, m[2], second)
            third = read(c, "s32" if is_signed else "u32")
            total = product_sign * product + sum_sign * third + ("po" in m) >> scale
            return (
                (clamped(total, "s32" if is_signed else "u32") if "sat" in m else total) & mask(32),
            )

        parts = (f"{n_a}b32", first), (f"{n_b}b32", second), (f"{n_c}b32", "")
        sources = tuple(f"{kind}.{part}" if part else kind for kind, part in parts)
        made.append(Case(sources, ("b32",), compute))
    return made


def _lane(word: int, place: int, width: int, is_signed: bool) -> int:
    bits = word >> place * width & mask(width)
    return signed(bits, width) if is_signed else bits


@model(*(f"{root}{count}" for count in (2, 4) for root in (*_OPS, "vset")))
def lanes(root: str, m: Modifiers) -> list[Case]:
    """Of two or four lanes, or the sum of what they give: of each source's own lanes, and of some
    that selectors and a mask name."""
    count, spelled = int(root[-1]), ".".join((root, *m))
    width, is_set = 32 // count, root.startswith("vset")
    first, second = (m[0], m[1]) if is_set else (m[1], m[2])
    made: list[Case] = []
    usual = (_SELECTORS[count][0], "h32" if count == 2 else "b7654", _MASKS[count][-1])
    names = (_SELECTORS[count], _SELECTORS[count], _MASKS[count])
    others = tuple(_some(spelled, of, salt) for salt, of in enumerate(names))
    for select_a, select_b, masked in (usual, others):

        def compute(
            *words: int, select_a: str = select_a, select_b: str = select_b, masked: str = masked
        ) -> tuple[int]:
            a, b, c = words
            pool, result = b << 32 | a, 0
            for place in range(count):
                x = _lane(pool, int(select_a[-1 - place]), width, first[0] == "s")
                y = _lane(pool, int(select_b[-1 - place]), width, second[0] == "s")
                lane = int(_COMPARE[m[2]](x, y)) if is_set else _OPS[root[:-1]](x, y)
                if "sat" in m:
                    lane = clamped(lane, f"{m[0][0]}{width}")
                is_named = str(place) in masked[1:]
                if "add" in m:
                    result += lane if is_named else 0
                else:
                    lane = lane if is_named else _lane(c, place, width, False)
                    result |= (lane & mask(width)) << place * width
            return ((c + result if "add" in m else result) & mask(32),)

        if (select_a, select_b, masked) == usual:
            made.append(Case(("b32",) * 3, ("b32",), compute))
        else:
            sources = f"b32.{select_a}", f"b32.{select_b}", "b32"
            made.append(Case(sources, ("b32",), compute, f".{masked}"))
    return made


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

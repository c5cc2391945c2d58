"""The model of bit fields, "Logic and Shift", permutations and selections."""

from __future__ import annotations

from tests.frontends.ptx.model import Case, Modifiers, bits_of, mask, model, read, signed
from tests.frontends.ptx.model_numbers import F32, flushed, is_nan, order


@model("popc", "clz", "brev", "not", "cnot")
def one_word(root: str, m: Modifiers) -> Case:
    """A function of a word's bits."""
    if m == ("pred",):
        return Case(("pred",), ("pred",), lambda a: (1 - a,))
    name, bits = m[-1], bits_of(m[-1])
    functions = {
        "popc": lambda a: bin(a).count("1"),
        "clz": lambda a: bits - a.bit_length(),
        "brev": lambda a: int(f"{a:0{bits}b}"[::-1], 2),
        "not": lambda a: a ^ mask(bits),
        "cnot": lambda a: int(a == 0),
    }
    result = "b32" if root in ("popc", "clz") else name
    return Case((name,), (result,), lambda a: (functions[root](a),))


@model("and", "or", "xor")
def bitwise(root: str, m: Modifiers) -> Case:
    """Bit by bit."""
    functions = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}
    return Case((m[0], m[0]), (m[0],), lambda a, b: (functions[root](a, b),))


@model("shl", "shr")
def shift(root: str, m: Modifiers) -> Case:
    """A shift, by at most the width."""
    name, bits = m[0], bits_of(m[0])

    def compute(a: int, by: int) -> tuple[int]:
        by, number = min(by, bits), read(a, name)
        return ((number << by if root == "shl" else number >> by) & mask(bits),)

    return Case((f"b{bits}", "count"), (f"b{bits}",), compute)


@model("shf")
def funnel(root: str, m: Modifiers) -> Case:
    """A word of a shifted pair of words."""

    def compute(a: int, b: int, c: int) -> tuple[int]:
        by = c & 31 if m[1] == "wrap" else min(c, 32)
        pair = b << 32 | a
        return (((pair << by) >> 32 if m[0] == "l" else pair >> by) & mask(32),)

    return Case(("b32", "b32", "count"), ("b32",), compute)


@model("bfind")
def bfind(root: str, m: Modifiers) -> Case:
    """The place of the highest bit that differs from the sign."""
    name, bits = m[-1], bits_of(m[-1])

    def compute(a: int) -> tuple[int]:
        number = read(a, name)
        place = (~number if number < 0 else number).bit_length() - 1
        if place < 0:
            return (mask(32),)
        return (bits - 1 - place if "shiftamt" in m else place,)

    return Case((f"b{bits}",), ("b32",), compute)


@model("bfe")
def bfe(root: str, m: Modifiers) -> Case:
    """A field, as a number."""
    name, bits = m[0], bits_of(m[0])

    def compute(a: int, b: int, c: int) -> tuple[int]:
        place, length = b & 255, c & 255
        if not length:
            return (0,)
        # Beyond the word are copies of its sign.
        field = read(a, name) >> place & mask(length)
        return ((signed(field, length) if name[0] == "s" else field) & mask(bits),)

    return Case((f"b{bits}", "count", "count"), (f"b{bits}",), compute)


@model("bfi")
def bfi(root: str, m: Modifiers) -> Case:
    """A word with a field of another."""
    bits = bits_of(m[0])

    def compute(a: int, b: int, c: int, d: int) -> tuple[int]:
        field = mask(d & 255) << (c & 255)
        return ((b & ~field | a << (c & 255) & field) & mask(bits),)

    return Case((m[0], m[0], "count", "count"), (m[0],), compute)


@model("bmsk")
def bmsk(root: str, m: Modifiers) -> Case:
    """Ones from a place on."""

    def compute(a: int, b: int) -> tuple[int]:
        if m[0] == "wrap":
            a, b = a & 31, b & 31
        return (mask(min(b, 32)) << min(a, 32) & mask(32),)

    return Case(("count", "count"), ("b32",), compute)


@model("szext")
def szext(root: str, m: Modifiers) -> Case:
    """The lowest bits, extended. No bits are 0."""

    def compute(a: int, b: int) -> tuple[int]:
        if m[0] == "clamp" and b >= 32:
            return (a,)
        count = b & 31
        sign = m[1] == "s32" and count and a >> count - 1 & 1
        return (a & mask(count) | (mask(32) & ~mask(count) if sign else 0),)

    return Case(("b32", "count"), ("b32",), compute)


@model("fns")
def fns(root: str, m: Modifiers) -> Case:
    """The n-th one from a place on; the places above 31 are unspecified."""

    def compute(word: int, base: int, offset: int) -> tuple[int | None]:
        number = signed(offset, 32)
        if base > 31:
            return (None,)
        if not number:
            return (base if word >> base & 1 else mask(32),)
        places = range(base, 32) if number > 0 else range(base, -1, -1)
        ones = [place for place in places if word >> place & 1]
        return (ones[abs(number) - 1] if abs(number) <= len(ones) else mask(32),)

    return Case(("b32", "count", "count"), ("b32",), compute)


def _chosen(mode: str, control: int) -> list[int]:
    """Which byte each byte of prmt is in a mode."""
    return {
        "f4e": [control + i for i in range(4)],
        "b4e": [control - i & 7 for i in range(4)],
        "rc8": [control] * 4,
        "ecl": [max(i, control) for i in range(4)],
        "ecr": [min(i, control) for i in range(4)],
        "rc16": [2 * (control & 1), 2 * (control & 1) + 1] * 2,
    }[mode]


@model("prmt")
def prmt(root: str, m: Modifiers) -> Case:
    """Four of eight bytes; bit 3 of a selector repeats the byte's sign."""

    def compute(a: int, b: int, c: int) -> tuple[int]:
        pair, made = b << 32 | a, 0
        if len(m) == 2:
            chosen = _chosen(m[1], c & 3)
        else:
            chosen = [c >> 4 * i & 15 for i in range(4)]
        for i, at in enumerate(chosen):
            byte = pair >> 8 * (at & 7) & 255
            if at & 8:
                byte = 255 if byte & 128 else 0
            made |= byte << 8 * i
        return (made,)

    return Case(("b32",) * 3, ("b32",), compute)


_TABLES = 0, 255, 0xF0, 0xCC, 0xAA, 0x80, 0xFE, 0x96, 0xE8, 0xCA, 0xD8, 0x1B, 0x3C, 0x69, 0x12, 0xB7


@model("lop3")
def lop3(root: str, m: Modifiers) -> list[Case]:
    """A function of three bits by its table."""
    return [_lop3(table, m[0] if len(m) == 2 else "") for table in _TABLES]


def _lop3(table: int, joined: str) -> Case:
    def compute(a: int, b: int, c: int, other: int = 0) -> tuple[int, ...]:
        made = 0
        for i in range(32):
            at = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1
            made |= (table >> at & 1) << i
        if not joined:
            return (made,)
        is_set = int(made != 0)
        return made, is_set | other if joined == "or" else is_set & other

    more = (("pred",), ("pred",)) if joined else ((), ())
    return Case(("b32", "b32", "b32", f"={table}", *more[0]), ("b32", *more[1]), compute)


@model("selp")
def selp(root: str, m: Modifiers) -> Case:
    """One of two by a predicate."""
    name = f"b{bits_of(m[0])}"
    return Case((name, name, "pred"), (name,), lambda a, b, c: (a if c else b,))


@model("slct")
def slct(root: str, m: Modifiers) -> Case:
    """One of two by a sign. -0 is 0, and a NaN is not 0 or more."""
    name = f"b{bits_of(m[-2])}"

    def compute(a: int, b: int, c: int) -> tuple[int]:
        if m[-1] == "s32":
            return (a if signed(c, 32) >= 0 else b,)
        c = flushed(c, F32) if "ftz" in m else c
        return (b if is_nan(c, F32) or order(c, F32) < 0 else a,)

    return Case((name, name, "f32" if m[-1] == "f32" else "b32"), (name,), compute)


@model("mov")
def mov(root: str, m: Modifiers) -> Case:
    """A copy."""
    return Case((_kind(m[0]),), (_kind(m[0]),), lambda a: (a,))


def _kind(name: str) -> str:
    return f"b{bits_of(name)}" if name[0] in "us" else name

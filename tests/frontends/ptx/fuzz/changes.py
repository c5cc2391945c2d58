"""Random changes of PTX texts: of bytes, words, lines and opcodes."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

from gridlane.frontends.ptx.forms import FORMS

KERNEL = Path(__file__).parents[1] / "triple.ptx"
WORD = re.compile(r"[\w$%.:]+|\S|\s+")
OPCODE = re.compile(r"(?<=[\t ])[a-z]\w*(?:\.[\w:]+)+(?=[\t ])")
NUMBER = re.compile(r"\b(?:0[xXfFdD][0-9A-Fa-f]+|\d+)\b")
NUMBERS = (
    *("0", "1", "-1", "2", "7", "31", "32", "63", "64", "65", "255", "4096", "65536", "2147483647"),
    *("2147483648", "4294967295", "4294967296", "9223372036854775807", "18446744073709551615"),
    *("18446744073709551616", "-9223372036854775808", "0x", "0b12", "089", "0f3F800000", "1e999"),
    *("0fFFFFFFFF", "0d7FF8000000000000", "0f1", "1.5", "-0x80000000", "99999999999999999999999"),
)
PIECES = (
    *("@", "!", "{", "}", "[", "]", "(", ")", ";", ",", "|", "_", ":", "<", ">", '"', "//", "/*"),
    *("%r1", "%rd1", "%p1", "%f1", "%tid.x", "%tid.y", "%ntid", "%laneid", "%nosuch.x", "WARP_SZ"),
    *(
        ".reg .b32 %r<9>;",
        ".reg .pred %p;",
        "ret;",
        "exit;",
        "trap;",
        "bra L1;",
        "L1:",
        ".loc 1 2 3",
    ),
    *('.pragma "nounroll";', ".shared .align 4 .b8 s[64];", ".local .b32 l[4];", ".param .b32 q;"),
    *(".branchtargets L1, L2;", ".align", ".v2", ".v4", ".f64", ".u8", ".volatile", ".sat", ".ftz"),
    *(
        "bar.sync 0;",
        "membar.gl;",
        "call (%r1), f, (%r2);",
        ".visible",
        ".extern",
        ".entry",
        ".func",
    ),
    *(".section .debug { .b8 1 }", '.file 1 "a"', "é", "\0", "\ufeff", "\r", "\x0c"),
)


@cache
def _spellings() -> list[str]:
    return [each for rows in FORMS.values() for row in rows for each in _some(row)]


def _some(row: object) -> list[str]:
    """A few opcodes of each form, which has up to thousands."""
    from itertools import islice

    return list(islice(row.spellings(), 0, 400, 13))  # type: ignore[attr-defined]


def changed(seed: int, texts: list[str]) -> str:
    """A text with some changes."""
    made = random.Random(seed)
    text = made.choice(texts)
    for _ in range(made.choice((1, 1, 2, 3, 5))):
        text = made.choice(CHANGES)(text, made, texts)
    return text


def _piece(text: str, made: random.Random, texts: list[str]) -> str:
    at = made.randrange(len(text) + 1)
    return text[:at] + made.choice(PIECES) + text[at + made.choice((0, 0, 1, 3)) :]


def _character(text: str, made: random.Random, texts: list[str]) -> str:
    at = made.randrange(len(text) + 1)
    return text[:at] + chr(made.randrange(32, 127)) + text[at + made.randint(0, 1) :]


def _word(text: str, made: random.Random, texts: list[str]) -> str:
    """Drop, double or exchange words."""
    words = WORD.findall(text)
    if len(words) < 2:
        return text
    a, b = made.randrange(len(words)), made.randrange(len(words))
    match made.randrange(4):
        case 0:
            del words[a]
        case 1:
            words.insert(a, words[a])
        case 2:
            words[a], words[b] = words[b], words[a]
        case _:
            words[a] = words[b]
    return "".join(words)


def _line(text: str, made: random.Random, texts: list[str]) -> str:
    """Drop, double, move or borrow lines."""
    lines = text.split("\n")
    a, b = made.randrange(len(lines)), made.randrange(len(lines))
    match made.randrange(4):
        case 0:
            del lines[a : a + made.choice((1, 1, 2, 5))]
        case 1:
            lines.insert(b, lines[a])
        case 2:
            lines.insert(b, lines.pop(a) if b < len(lines) - 1 else lines[a])
        case _:
            lines.insert(a, made.choice(made.choice(texts).split("\n")))
    return "\n".join(lines)


def _number(text: str, made: random.Random, texts: list[str]) -> str:
    return _replaced(text, NUMBER, made.choice(NUMBERS), made)


def _opcode(text: str, made: random.Random, texts: list[str]) -> str:
    """Another opcode of the table."""
    return _replaced(text, OPCODE, made.choice(_spellings()), made)


def _modifier(text: str, made: random.Random, texts: list[str]) -> str:
    """Another type of an opcode."""
    types = ".u32 .s32 .b32 .u64 .s64 .b64 .f32 .f64 .f16 .u16 .s8 .pred .bf16 .f16x2 .b128".split()
    return _replaced(text, re.compile(r"\.[usbf]\d+\b"), made.choice(types), made)


def _replaced(text: str, what: re.Pattern[str], by: str, made: random.Random) -> str:
    found = list(what.finditer(text))
    if not found:
        return text
    chosen = made.choice(found)
    return text[: chosen.start()] + by + text[chosen.end() :]


def _cut(text: str, made: random.Random, texts: list[str]) -> str:
    at = made.randrange(len(text) + 1)
    return (
        text[:at] if made.random() < 0.5 else text[:at] + text[made.randrange(at, len(text) + 1) :]
    )


def _repeated(text: str, made: random.Random, texts: list[str]) -> str:
    """A piece many times."""
    at, length = made.randrange(len(text) + 1), made.choice((1, 2, 5, 40))
    return text[:at] + text[at : at + length] * made.choice((3, 100, 2000)) + text[at:]


CHANGES = [
    *[_piece, _character, _word, _word, _line, _line, _number, _number, _opcode, _opcode],
    *[_modifier, _modifier, _cut, _repeated],
]

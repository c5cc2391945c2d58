"""Keeps LLVM from folding a bit select into a select by lanes, which it miscompiles.

With AVX-512, LLVM (15 to 22 at least, llvm-project issue 157929) folds ``choose(mask, (x & k) | (y
& ~k), x)`` into one masked ``vpternlog``. If an operand is in memory, some of these have the truth
table of another operand order. Such an instruction is recognised in object code; code that has one
is compiled again with the selected values hidden.
"""

from __future__ import annotations

import re


def _bytes(condition: str) -> bytes:
    """A regular expression's class of the bytes that match ``condition``: bits 0, 1, or x."""
    ones = int(condition.replace("x", "0"), 2)
    known = int(condition.replace("0", "1").replace("x", "0"), 2)
    members = (b"\\x%02x" % byte for byte in range(256) if byte & known == ones)
    return b"[" + b"".join(members) + b"]"


_PREFIX = b"\x62" + _bytes("xxxxx011") + _bytes("xxxxx101")
"""An EVEX prefix with map 0F3A and prefix 66."""
_MASKED_TERNARY = re.compile(
    _PREFIX + b"(?!" + _bytes("xxxxx000") + b")[\\x00-\\xff]" + b"\x25" + b"[\\x00-\\xbf]"
)
"""A vpternlog under a mask other than k0, whose last operand is memory."""

_CHOICE = re.compile(
    r"  (?P<head>%\S+ = select (?:[a-z]+ )*<(?P<lanes>\d+) x i1> %\S+), "
    r"(?P<type><\d+ x (?P<kind>i32|i64|float|double)>) (?P<one>%[^,\s]+|.+?), "
    r"(?P=type) (?P<other>%[^,\s]+|.+)"
)
_ZERO = "@gridlane.zero"
"""A zero that LLVM cannot fold, as it is loaded as volatile."""
_WORDS = {"i32": "i32", "i64": "i64", "float": "i32", "double": "i64"}


def is_suspect(code: bytes) -> bool:
    """Whether object code has an instruction that may be miscompiled. Some of these are correct."""
    return _MASKED_TERNARY.search(code) is not None


def hidden_choices(text: str) -> str:
    """The module with an operand of each select by lanes hidden, so that the select is not folded
    with its operands, nor with their operands."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if match := _CHOICE.fullmatch(line):
            lines[number] = _hidden(match, f"%hidden.{number}")
    return "\n".join([*lines, f"{_ZERO} = internal global i64 0"])


def _hidden(match: re.Match[str], name: str) -> str:
    """A select whose first operand, or the second if that is a constant, is combined with a zero
    that LLVM cannot fold."""
    one, other, type_, kind = (match[key] for key in ("one", "other", "type", "kind"))
    source = one if one.startswith("%") else other
    if not source.startswith("%"):
        return match[0]
    word = _WORDS[kind]
    vector = f"<{match['lanes']} x {word}>"
    rebuilt = f"{name}.made"
    lines = [
        f"{name}.zero = load volatile {word}, ptr {_ZERO}",
        f"{name}.first = insertelement {vector} poison, {word} {name}.zero, i64 0",
        f"{name}.zeros = shufflevector {vector} {name}.first, {vector} poison, "
        f"<{match['lanes']} x i32> zeroinitializer",
        f"{name}.bits = bitcast {type_} {source} to {vector}",
        f"{name}.same = xor {vector} {name}.bits, {name}.zeros",
        f"{rebuilt} = bitcast {vector} {name}.same to {type_}",
    ]
    one, other = (rebuilt, other) if source == one else (one, rebuilt)
    lines.append(f"{match['head']}, {type_} {one}, {type_} {other}")
    return "\n".join(f"  {line}" for line in lines)

"""Operands of instructions: registers, numbers, names, addresses, vectors."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.declarations import Declared


@dataclass(eq=False, slots=True)
class Register:
    """A register of a function.

    Attributes:
        type: the dtype that it is declared with; bits without a type are unsigned.
        number: its own within the function.
    """

    name: str
    type: DType
    number: int


@frozen
class Reg:
    """A register; of a predicate also its negation."""

    register: Register
    negated: bool = False


@frozen
class Number:
    """A constant: an integer, or a float with its width in bits (0: written in decimals)."""

    value: int | float
    float_bits: int = -1

    @property
    def is_float(self) -> bool:
        """Whether it is written as a float."""
        return self.float_bits >= 0


@frozen
class Special:
    """A special register, as ``%tid.x``."""

    name: str


@frozen
class Symbol:
    """A variable, a function or a label, with an offset in bytes."""

    name: str
    variable: Declared | None
    offset: int = 0


@frozen
class Address:
    """The memory at a register, a variable or a number, plus an offset in bytes."""

    base: Register | Symbol | None
    offset: int


@frozen
class Texel:
    """A place in a texture or surface, as ``[%rd1, {%f1, %f2}]``.

    Attributes:
        parts: the object, then the coordinates.
    """

    parts: tuple[Operand, ...]


@frozen
class Vector:
    """Operands in braces."""

    parts: tuple[Operand, ...]


@frozen
class Tuple:
    """Operands in parentheses: arguments and results of calls."""

    parts: tuple[Operand, ...]


@frozen
class Pair:
    """Two results, as in ``%r1|%p1``."""

    first: Operand
    second: Operand


@frozen
class Part:
    """Bytes or halves of a register, or its negation, which video instructions take.

    Attributes:
        chosen: ``b`` or ``h`` and the numbers of the parts, the highest first; "" for all.
    """

    register: Register
    chosen: str
    negated: bool = False


@frozen
class Sink:
    """``_``: a result that is dropped."""


Operand = Reg | Number | Special | Symbol | Address | Texel | Vector | Tuple | Pair | Part | Sink

_INTEGER = re.compile(
    r"(?P<sign>-?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)|(?P<octal>0[0-7]+)|(?P<decimal>0|[1-9]\d*))[uU]?"
)
_MOST_DIGITS = 100
"""The most characters of an integer: 64 binary digits with some zeros in front. Python refuses to
read numbers of thousands."""
_BITS = re.compile(r"0[fF](?P<single>[0-9a-fA-F]{8})|0[dD](?P<double>[0-9a-fA-F]{16})")
_DECIMALS = re.compile(r"-?(?:(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)")


def number(text: str) -> Number | None:
    """A constant; None if the text is none.

    >>> number("0f3F800000").value, number("-0x10").value, number("017").value, number("1.5").value
    (1.0, -16, 15, 1.5)
    """
    if match := _INTEGER.fullmatch(text):
        if len(text) > _MOST_DIGITS:
            return None
        digits = match["hex"], match["binary"], match["octal"], match["decimal"]
        value = next(int(d, base) for d, base in zip(digits, (16, 2, 8, 10)) if d is not None)
        if value >= 1 << 64:
            return None
        return Number(-value if match["sign"] else value)
    if match := _BITS.fullmatch(text):
        if match["single"]:
            bits = bytes.fromhex(match["single"])
            return Number(struct.unpack(">f", bits)[0], 32)
        return Number(struct.unpack(">d", bytes.fromhex(match["double"]))[0], 64)
    if _DECIMALS.fullmatch(text):
        return Number(float(text), 0)
    return None


_BRACKET = re.compile(r"[\[\](){}]")


def split_operands(text: str) -> list[tuple[str, int]]:
    """The parts between commas outside of brackets, each with its place in the text."""
    parts: list[tuple[str, int]] = []
    depth = start = 0
    if not _BRACKET.search(text):
        for part in text.split(","):
            parts.append((part, start))
            start += len(part) + 1
        return [(part.strip(), at + len(part) - len(part.lstrip())) for part, at in parts]
    for index, character in enumerate(text):
        if character in "[{(":
            depth += 1
        elif character in "]})":
            depth -= 1
        elif character == "," and not depth:
            parts.append((text[start:index], start))
            start = index + 1
    parts.append((text[start:], start))
    return [(part.strip(), at + len(part) - len(part.lstrip())) for part, at in parts]

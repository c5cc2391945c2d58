"""Disassembles SPIR-V into text, one instruction per line, and assembles such text."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from enum import IntEnum

from gridlane.codegen.spirv.opcodes import (
    LAYOUTS,
    MAGIC,
    Capability,
    Decoration,
    Glsl,
    Opcode,
    Storage,
)
from gridlane.core.errors import ParseError

_NAMED: dict[tuple[Opcode, int], type[IntEnum]] = {
    (Opcode.Capability, 0): Capability,
    (Opcode.Decorate, 1): Decoration,
    (Opcode.MemberDecorate, 2): Decoration,
    (Opcode.TypePointer, 1): Storage,
    (Opcode.Variable, 2): Storage,
    (Opcode.SpecConstantOp, 2): Opcode,
}
"""The operands that are names of the specification, by instruction."""


def disassembled(code: bytes) -> str:
    """The text of a module.

    Raises:
        ValueError: the bytes are not SPIR-V, or have instructions that gridlane does not generate.
    """
    words = struct.unpack(f"<{len(code) // 4}I", code[: len(code) // 4 * 4])
    if len(words) < 5 or words[0] != MAGIC or len(code) % 4:
        raise ValueError("this is not a SPIR-V module")
    lines = [f"; SPIR-V {words[1] >> 16}.{words[1] >> 8 & 0xFF}, ids below {words[3]}"]
    position = 5
    while position < len(words):
        length = words[position] >> 16
        if not length or position + length > len(words):
            raise ValueError(f"word {position}: an instruction of {length} words")
        lines.append(
            _line(Opcode(words[position] & 0xFFFF), words[position + 1 : position + length])
        )
        position += length
    return "\n".join((*lines, ""))


def _line(opcode: Opcode, words: tuple[int, ...]) -> str:
    """``%result = Name %type operands``."""
    result = ""
    operand_texts: list[str] = []
    layout = LAYOUTS.get(opcode, "trn")
    for letter, text in _operands(opcode, layout, words):
        if letter == "r":
            result = f"{text} = "
        else:
            operand_texts.append(text)
    return " ".join((f"{result}{opcode.name}", *operand_texts))


def _operands(opcode: Opcode, layout: str, words: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """(letter of the layout, text) of each operand."""
    position = 0
    for letter in layout:
        if letter in "nw":
            for word in words[position:]:
                yield letter, f"%{word}" if letter == "n" else str(word)
            return
        if letter == "s":
            text, used = _string(words[position:])
            yield letter, text
            position += used
            continue
        yield letter, _operand(opcode, letter, position, words[position])
        position += 1


def _operand(opcode: Opcode, letter: str, position: int, word: int) -> str:
    if letter == "g":
        return Glsl(word).name
    if letter != "l":
        return f"%{word}"
    names = _NAMED.get((opcode, position))
    return names(word).name if names else str(word)


def _string(words: tuple[int, ...]) -> tuple[str, int]:
    """(a literal string in quotes, its words)."""
    octets = struct.pack(f"<{len(words)}I", *words)
    end = octets.index(0)
    return f'"{octets[:end].decode(errors="replace")}"', end // 4 + 1


# ---- text to words

_HEAD = re.compile(r"; SPIR-V (\d+)\.(\d+), ids below (\d+)")
_TOKEN = re.compile(r'"[^"]*"|\S+')


def assembled(text: str) -> bytes:
    """The module of a text that ``disassembled`` has written, with instructions changed.

    Raises:
        ParseError: a line is no instruction that gridlane generates.
    """
    first, *lines = text.splitlines() or [""]
    head = _HEAD.fullmatch(first)
    if head is None:
        raise ParseError("expected `; SPIR-V 1.5, ids below 42`", 1, 1, first)
    major, minor, bound = map(int, head.groups())
    words: list[int] = []
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        try:
            instruction = _instruction(_TOKEN.findall(line))
        except (KeyError, ValueError) as error:
            raise ParseError(f"no instruction of gridlane's: {error}", number, 1, line) from None
        words += instruction
    results = (int(each[1]) for line in lines if (each := re.match(r"\s*%(\d+) =", line)))
    bound = max([bound, *(each + 1 for each in results)])
    words = [MAGIC, major << 16 | minor << 8, 0, bound, 0, *words]
    return struct.pack(f"<{len(words)}I", *words)


def _instruction(tokens: list[str]) -> list[int]:
    """The words of a line."""
    result = ""
    if tokens[1:2] == ["="]:
        result, _, *tokens = tokens
    name, *operands = tokens
    opcode = Opcode[name]
    layout = LAYOUTS.get(opcode, "trn")
    if ("r" in layout) != bool(result):
        raise ValueError(f"{name} has {'a' if 'r' in layout else 'no'} result")
    words: list[int] = []
    for letter in layout:
        if letter in "nw":
            words += [_number(each, "%" if letter == "n" else "") for each in operands]
            operands = []
        elif letter == "r":
            words.append(_number(result, "%"))
        elif not operands:
            raise ValueError(f"{name} has too few operands")
        else:
            words += _words(opcode, letter, len(words), operands.pop(0))
    if operands:
        raise ValueError(f"{name} has no operand {operands[0]}")
    return [len(words) + 1 << 16 | opcode, *words]


def _words(opcode: Opcode, letter: str, position: int, token: str) -> list[int]:
    """The words of an operand."""
    if letter == "s":
        octets = token.strip('"').encode() + b"\0"
        octets += bytes(-len(octets) % 4)
        return list(struct.unpack(f"<{len(octets) // 4}I", octets))
    if letter == "g":
        return [Glsl[token]]
    if letter != "l":
        return [_number(token, "%")]
    names = _NAMED.get((opcode, position))
    return [names[token] if names else _number(token, "")]


def _number(token: str, sigil: str) -> int:
    if not token.startswith(sigil) or not token[len(sigil) :].isdecimal():
        raise ValueError(f"expected {sigil or 'a '}number, found {token}")
    return int(token[len(sigil) :])

"""Disassembles SPIR-V into text, one instruction per line."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from gridlane.codegen.spirv.opcodes import (
    LAYOUTS,
    MAGIC,
    Capability,
    Decoration,
    Glsl,
    Opcode,
    Storage,
)

_NAMED: dict[tuple[Opcode, int], type] = {
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
    at = 5
    while at < len(words):
        length = words[at] >> 16
        if not length or at + length > len(words):
            raise ValueError(f"word {at}: an instruction of {length} words")
        lines.append(_line(Opcode(words[at] & 0xFFFF), words[at + 1 : at + length]))
        at += length
    return "\n".join((*lines, ""))


def _line(opcode: Opcode, words: tuple[int, ...]) -> str:
    """``%result = Name %type operands``."""
    result = ""
    texts: list[str] = []
    layout = LAYOUTS.get(opcode, "trn")
    for letter, text in _operands(opcode, layout, words):
        if letter == "r":
            result = f"{text} = "
        else:
            texts.append(text)
    return " ".join((f"{result}{opcode.name}", *texts))


def _operands(opcode: Opcode, layout: str, words: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """(letter of the layout, text) of each operand."""
    at = 0
    for letter in layout:
        if letter in "nw":
            for word in words[at:]:
                yield letter, f"%{word}" if letter == "n" else str(word)
            return
        if letter == "s":
            text, used = _string(words[at:])
            yield letter, text
            at += used
            continue
        yield letter, _operand(opcode, letter, at, words[at])
        at += 1


def _operand(opcode: Opcode, letter: str, at: int, word: int) -> str:
    if letter == "g":
        return Glsl(word).name
    if letter != "l":
        return f"%{word}"
    names = _NAMED.get((opcode, at))
    return names(word).name if names else str(word)


def _string(words: tuple[int, ...]) -> tuple[str, int]:
    """(a literal string in quotes, its words)."""
    octets = struct.pack(f"<{len(words)}I", *words)
    end = octets.index(0)
    return f'"{octets[:end].decode(errors="replace")}"', end // 4 + 1

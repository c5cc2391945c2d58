"""Where the members of a shader's storage buffers lie, by the decorations of its SPIR-V."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

NAME, MEMBER_NAME, CONSTANT, VARIABLE, DECORATE, MEMBER_DECORATE = 5, 6, 43, 59, 71, 72
INT, FLOAT, ARRAY, RUNTIME_ARRAY, STRUCT, POINTER = 21, 22, 28, 29, 30, 32
ARRAY_STRIDE, OFFSET = 6, 35
STORAGE_BUFFER = 12
KINDS = {(INT, 0): "u", (INT, 1): "i", (FLOAT, 0): "f"}

Place = tuple[tuple["str | int", ...], int, str]
"""A scalar: its path, its first byte, and its kind and size as in numpy: ``u4``."""


class Binary:
    """The types, names and decorations of a binary."""

    def __init__(self, code: bytes) -> None:
        words = np.frombuffer(code, np.uint32)
        assert words[0] == 0x07230203
        self.types: dict[int, tuple[int, list[int]]] = {}
        self.names: dict[int, str] = {}
        self.members: dict[tuple[int, int], str] = {}
        self.offsets: dict[tuple[int, int], int] = {}
        self.strides: dict[int, int] = {}
        self.constants: dict[int, int] = {}
        self.variables: dict[int, int] = defaultdict(int)
        at = 5
        while at < len(words):
            count, op = int(words[at]) >> 16, int(words[at]) & 0xFFFF
            self._read(op, [int(word) for word in words[at + 1 : at + count]])
            at += count

    def _read(self, op: int, rest: list[int]) -> None:
        if op == NAME:
            self.names[rest[0]] = _text(rest[1:])
        elif op == MEMBER_NAME:
            self.members[rest[0], rest[1]] = _text(rest[2:])
        elif op == CONSTANT:
            self.constants[rest[1]] = rest[2]
        elif op == VARIABLE and rest[2] == STORAGE_BUFFER:
            self.variables[rest[1]] = rest[0]
        elif op == DECORATE and rest[1] == ARRAY_STRIDE:
            self.strides[rest[0]] = rest[2]
        elif op == MEMBER_DECORATE and rest[2] == OFFSET:
            self.offsets[rest[0], rest[1]] = rest[3]
        elif op in (INT, FLOAT, ARRAY, RUNTIME_ARRAY, STRUCT, POINTER):
            self.types[rest[0]] = op, rest[1:]

    def blocks(self) -> Iterator[tuple[str, int]]:
        """(the block's name, its type) of each storage buffer."""
        for pointer in self.variables.values():
            struct = self.types[pointer][1][1]
            yield self.names[struct], struct

    def places(
        self, type_: int, path: tuple[str | int, ...] = (), offset: int = 0
    ) -> Iterator[Place]:
        """The scalars of a type, padding left out; of a runtime array, one element."""
        op, rest = self.types[type_]
        if op == STRUCT:
            for number, inner in enumerate(rest):
                name = self.members[type_, number]
                if not name.startswith("padding_"):
                    at = offset + self.offsets[type_, number]
                    yield from self.places(inner, (*path, name), at)
        elif op == RUNTIME_ARRAY:
            yield from self.places(rest[0], path, offset)
        elif op == ARRAY:
            for number in range(self.constants[rest[1]]):
                at = offset + number * self.strides[type_]
                yield from self.places(rest[0], (*path, number), at)
        else:
            kind = KINDS[op, rest[1] if op == INT else 0]
            yield path, offset, f"{kind}{rest[0] // 8}"

    def size(self, block: int) -> int:
        """The stride of the runtime array that a block holds."""
        return self.strides[self.types[block][1][-1]]


def _text(words: list[int]) -> str:
    return np.array(words, np.uint32).tobytes().partition(b"\0")[0].decode()

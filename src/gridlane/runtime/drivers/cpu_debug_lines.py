"""Source places of instructions of CPU code: object files of ELF, and DWARF's table of lines.

The code generator writes the number of a place of ``Artifact.places`` as the line. Other formats of
objects have no places here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

_HEADER = struct.Struct("<QIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_MAGIC = b"\x7fELF\x02\x01"
_SYMBOLS, _SET_ADDRESS = 2, 2


class _Section(NamedTuple):
    name: str
    kind: int
    start: int
    size: int
    link: int


def code_range(code: bytes, entry: str) -> tuple[int, int]:
    """The offset of a function in its section of an object, and the section's size; (0, 0) for an
    object that is not of ELF.

    >>> code_range(b"", "f")
    (0, 0)
    """
    sections = _sections(code)
    for table in (each for each in sections if each.kind == _SYMBOLS):
        names = sections[table.link]
        for offset in range(table.start, table.start + table.size, _SYMBOL.size):
            name, _, _, section, value, _ = _SYMBOL.unpack_from(code, offset)
            if _text(code, names.start + name) == entry and section:
                return value, sections[section].size
    return 0, 0


def place_at(code: bytes, offset: int) -> int:
    """The number of the place of the instruction at an offset of the code; 0 if it has none."""
    place_number = best = 0
    for begin, end, line in _rows(code):
        if begin <= offset < end and (not place_number or begin >= best):
            place_number, best = line, begin
    return place_number


def place_near(code: bytes, offset: int) -> int:
    """The number of the place of the nearest instruction before an offset that has one; of the
    first after it if none has; 0 if there are no places.

    >>> place_near(b"", 16)
    0
    """
    rows = sorted(_rows(code))
    before = [line for begin, _, line in rows if begin <= offset]
    return before[-1] if before else rows[0][2] if rows else 0


def _sections(code: bytes) -> list[_Section]:
    if not code.startswith(_MAGIC):
        return []
    start, _, _, _, _, size, count, names = _HEADER.unpack_from(code, 0x28)
    rows = [_SECTION.unpack_from(code, start + n * size) for n in range(count)]
    names_offset = rows[names][4]
    return [
        _Section(_text(code, names_offset + row[0]), row[1], row[4], row[5], row[6]) for row in rows
    ]


def _text(code: bytes, offset: int) -> str:
    return code[offset : code.index(b"\0", offset)].decode()


def _rows(code: bytes) -> Iterator[tuple[int, int, int]]:
    """The ranges of instructions with a line."""
    sections = {each.name: each for each in _sections(code)}
    table = sections.get(".debug_line")
    if table is None:
        return
    moved = dict[int, int]()
    relocations = sections.get(".rela.debug_line")
    if relocations is not None:
        data = code[relocations.start : relocations.start + relocations.size]
        moved = {at: addend for at, _, addend in _RELOCATION.iter_unpack(data)}
    offset = table.start
    while offset < table.start + table.size:
        (length,) = struct.unpack_from("<I", code, offset)
        yield from _Program(code, offset, table.start, moved).rows()
        offset += 4 + length


class _Program:
    """A program of DWARF, version 4 or 5, that makes the table of lines of a unit."""

    def __init__(self, code: bytes, at: int, start: int, moved: dict[int, int]) -> None:
        self.code, self.start, self.moved = code, start, moved
        length, version = struct.unpack_from("<IH", code, at)
        self.end = at + 4 + length
        at += 6 if version < 5 else 8
        (head,) = struct.unpack_from("<I", code, at)
        self.at = at + 4 + head
        values = struct.unpack_from("<BBBbBB", code, at + 4)
        self.least, _, _, self.base, self.range, self.first = values
        self.counts = (0, *code[at + 10 : at + 9 + self.first])
        self.address, self.line = 0, 1

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Run it."""
        before: tuple[int, int] | None = None
        while self.at < self.end:
            opcode = self._byte()
            appends = opcode >= self.first
            if appends:
                step = opcode - self.first
                self.address += step // self.range * self.least
                self.line += self.base + step % self.range
            ended = not opcode and self._extended()
            if opcode and not appends:
                appends = self._standard(opcode)
            if appends or ended:
                if before is not None and before[1]:
                    yield before[0], self.address, before[1]
                before = None if ended else (self.address, self.line)
            if ended:
                self.address, self.line = 0, 1

    def _byte(self) -> int:
        self.at += 1
        return self.code[self.at - 1]

    def _number(self, is_signed: bool = False) -> int:
        """A number in LEB128."""
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - (1 << shift) if is_signed and byte & 64 else value

    def _extended(self) -> bool:
        """Run an extended opcode; whether it ends a sequence."""
        length = self._number()
        end, opcode = self.at + length, self._byte()
        if opcode == _SET_ADDRESS:
            (value,) = struct.unpack_from("<Q", self.code, self.at)
            self.address = self.moved.get(self.at - self.start, value)
        self.at = end
        return opcode == 1

    def _standard(self, opcode: int) -> bool:
        """Run a standard opcode; whether it makes a row."""
        match opcode:
            case 1:
                return True
            case 2:
                self.address += self._number() * self.least
            case 3:
                self.line += self._number(is_signed=True)
            case 8:
                self.address += (255 - self.first) // self.range * self.least
            case 9:
                self.address += struct.unpack_from("<H", self.code, self.at)[0]
                self.at += 2
            case _:
                for _ in range(self.counts[opcode]):
                    self._number()
        return False

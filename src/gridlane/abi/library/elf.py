"""What an ELF file of a 64-bit machine says of itself: libraries, symbols and sections.

Source: the System V ABI, chapters 4 and 5 ("Object Files", "Dynamic Linking").
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gridlane.core.errors import ArgumentError

_SYMBOLS, _STRINGS, _DYNAMIC = 2, 3, 6
_NEEDED, _STRING_TABLE_END = 1, b"\0"
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_WORDS = struct.Struct("<qQ")


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its name, and its bytes in the file."""

    name: str
    kind: int
    start: int
    size: int
    link: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol that the file defines; ``address`` is relative to where it is loaded."""

    name: str
    address: int
    size: int


class Elf:
    """An ELF file, read when asked; or its bytes ``data`` in another file, such as an archive.

    Raises:
        ArgumentError: it is none of a 64-bit little-endian machine, or is cut off.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path, data: bytes | None = None) -> None:
        self.path = path
        self.data = path.read_bytes() if data is None else data
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ArgumentError(f"{path} is no ELF file of a 64-bit little-endian machine")
        with self._reading():
            self.sections = self._read_sections()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn what goes wrong while a file is read into words."""
        try:
            yield
        except (struct.error, ValueError, IndexError, OverflowError) as error:
            raise ArgumentError(f"{self.path} is a damaged ELF file: {error}") from None

    def _read_sections(self) -> tuple[Section, ...]:
        (start,) = struct.unpack_from("<Q", self.data, 0x28)
        size, count, names = struct.unpack_from("<HHH", self.data, 0x3A)
        if not start or not count:
            return ()
        if size != _SECTION.size:
            raise ValueError(f"section headers of {size} bytes")
        rows = [_SECTION.unpack_from(self.data, start + n * size) for n in range(count)]
        titles = self._bytes(rows[names][4], rows[names][5])
        return tuple(Section(_text(titles, row[0]), row[1], row[4], row[5], row[6]) for row in rows)

    def _bytes(self, start: int, size: int) -> bytes:
        if start + size > len(self.data):
            raise ValueError(f"{size} bytes at {start} of {len(self.data)}")
        return self.data[start : start + size]

    def section(self, name: str) -> Section | None:
        """A section by its name."""
        return next((each for each in self.sections if each.name == name), None)

    @property
    def needed(self) -> tuple[str, ...]:
        """The libraries that it is linked with."""
        found: list[str] = []
        with self._reading():
            for each in self.sections:
                if each.kind == _DYNAMIC:
                    texts = self._contents(self.sections[each.link])
                    for tag, value in _WORDS.iter_unpack(self._contents(each)):
                        if tag == _NEEDED:
                            found.append(_text(texts, value))
        return tuple(found)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of its own table, which ``strip`` removes."""
        return tuple(each for place, each in self._table() if place)

    @property
    def undefined(self) -> tuple[str, ...]:
        """The names that it expects of other files."""
        return tuple(each.name for place, each in self._table() if not place)

    def _table(self) -> list[tuple[int, Symbol]]:
        """The symbols, each with the number of its section: 0 for one that is not here."""
        found: list[tuple[int, Symbol]] = []
        with self._reading():
            for each in self.sections:
                if each.kind == _SYMBOLS:
                    texts = self._contents(self.sections[each.link])
                    for row in _SYMBOL.iter_unpack(self._contents(each)):
                        name, _, _, place, address, size = row
                        if name:
                            found.append((place, Symbol(_text(texts, name), address, size)))
        return found

    def _contents(self, section: Section) -> bytes:
        return self._bytes(section.start, section.size)


def _text(table: bytes, start: int) -> str:
    end = table.find(_STRING_TABLE_END, start)
    return table[start : end if end >= 0 else len(table)].decode("utf-8", "replace")


def runtime_in(program: Path) -> str:
    """Which runtime of CUDA is in a program: ``none``; ``shared``, a library beside it;
    ``gridlane``, gridlane's own inside; ``static``, NVIDIA's inside with its symbols; or
    ``stripped``, that without them.

    Raises:
        ArgumentError: the file is no ELF file.
        OSError: it cannot be read.
    """
    elf = Elf(program)
    if any(name.startswith("libcudart.so") for name in elf.needed):
        return "shared"
    if elf.section(".gridlane") is not None:
        return "gridlane"
    if elf.section(".nv_fatbin") is None:
        return "none"
    names = {each.name for each in elf.symbols}
    return (
        "static"
        if "cudaLaunchKernel" in names or "__cudaRegisterFatBinary" in names
        else ("stripped")
    )

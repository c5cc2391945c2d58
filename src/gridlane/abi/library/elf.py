"""Libraries, symbols and sections of an ELF file of a 64-bit machine.

Source: the System V ABI, chapters 4 and 5 ("Object Files", "Dynamic Linking").
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gridlane.core.errors import ArgumentError

_SYMBOLS, _DYNAMIC, _DYNAMIC_SYMBOLS = 2, 6, 11
_NEEDED, _SONAME, _RPATH, _RUNPATH = 1, 14, 15, 29
_STRING_TABLE_END = b"\0"
_MACHINES = {62: "x86-64", 183: "AArch64"}
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
    """An ELF file, read lazily; or its bytes ``data`` in another file, such as an archive.

    Args:
        data: its bytes, where it is no file of its own; ``path`` is then its label.

    Raises:
        ArgumentError: it is no file of a 64-bit little-endian machine, or is truncated.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path, data: bytes | None = None) -> None:
        self.path = path
        if data is None:
            if path.exists() and not path.is_file():  # a pipe has no end, and a folder no bytes
                raise ArgumentError(f"{path} is no file")
            data = path.read_bytes()
        self.data = data
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ArgumentError(f"{path} is no ELF file of a 64-bit little-endian machine")
        with self._reading():
            (number,) = struct.unpack_from("<H", self.data, 0x12)
            self.machine = _MACHINES.get(number, f"machine {number}")
            self.sections = self._read_sections()

    @contextmanager
    def _reading(self) -> Generator[None]:
        """Raise failures of a read as errors with a message."""
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
    def is_dynamic(self) -> bool:
        """Whether the loader of libraries starts or loads it."""
        return any(each.kind == _DYNAMIC for each in self.sections)

    @property
    def needed(self) -> tuple[str, ...]:
        """The libraries that it is linked with."""
        return self._dynamic(_NEEDED)

    @property
    def soname(self) -> str:
        """The soname of a library, or ""."""
        return next(iter(self._dynamic(_SONAME)), "")

    @property
    def rpath(self) -> tuple[str, ...]:
        """The folders that precede LD_LIBRARY_PATH; none counts where there is a RUNPATH."""
        return () if self.runpath else _folders(self._dynamic(_RPATH))

    @property
    def runpath(self) -> tuple[str, ...]:
        """The folders that follow LD_LIBRARY_PATH."""
        return _folders(self._dynamic(_RUNPATH))

    def _dynamic(self, wanted: int) -> tuple[str, ...]:
        """The texts of a tag of the dynamic section."""
        values: list[str] = []
        with self._reading():
            for each in self.sections:
                if each.kind == _DYNAMIC:
                    strings = self.contents(self.sections[each.link])
                    for tag, value in _WORDS.iter_unpack(self.contents(each)):
                        if tag == wanted:
                            values.append(_text(strings, value))
        return tuple(values)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of its own table, which ``strip`` removes."""
        return tuple(self._symbols(_SYMBOLS, True))

    @property
    def imported(self) -> frozenset[str]:
        """The names that it imports from other libraries."""
        return frozenset(each.name for each in self._symbols(_DYNAMIC_SYMBOLS, False))

    @property
    def undefined(self) -> tuple[str, ...]:
        """The undefined names of its own table."""
        return tuple(each.name for each in self._symbols(_SYMBOLS, False))

    def _symbols(self, kind: int, defined: bool) -> Iterator[Symbol]:
        with self._reading():
            for each in self.sections:
                if each.kind == kind:
                    strings = self.contents(self.sections[each.link])
                    for row in _SYMBOL.iter_unpack(self.contents(each)):
                        name, _, _, place, address, size = row
                        if bool(place) == defined and name:
                            yield Symbol(_text(strings, name), address, size)

    def contents(self, section: Section) -> bytes:
        """The bytes of a section.

        Raises:
            ArgumentError: the file does not have them.
        """
        with self._reading():
            return self._bytes(section.start, section.size)


def _folders(lists: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(each for text in lists for each in text.split(":") if each)


def _text(table: bytes, start: int) -> str:
    end = table.find(_STRING_TABLE_END, start)
    return table[start : end if end >= 0 else len(table)].decode("utf-8", "replace")


Runtime = Literal["none", "shared", "static", "stripped", "gridlane"]
_OURS = b"gridlane.abi.library.entry\0"
"""The name that all of gridlane's libraries contain: the module that they enter."""
_VENDOR_S = b"cudaErrorSoftwareValidityNotEstablished\0", b"libcuda.so.1\0"
"""The names that the vendor's runtime contains: an error, and the driver that it opens."""


def is_ours(data: bytes) -> bool:
    """Whether one of gridlane's libraries is in a file."""
    return _OURS in data


def runtime_in(program: Path) -> Runtime:
    """The runtime of CUDA in a program; see ``runtime_of``.

    Raises:
        ArgumentError: the file is no ELF file.
        OSError: it cannot be read.
    """
    return runtime_of(Elf(program))


def runtime_of(elf: Elf) -> Runtime:
    """The runtime of CUDA in a program: ``none``; ``shared``, a library beside it; ``static``,
    NVIDIA's inside with its symbols; ``stripped``, inside without them; or ``gridlane``, gridlane's
    own inside."""
    if is_ours(elf.data) or elf.section(".gridlane") is not None:
        return "gridlane"
    if any(name.startswith("libcudart.so") for name in elf.needed):
        return "shared"
    names = {each.name for each in elf.symbols}
    if "cudaLaunchKernel" in names or "__cudaRegisterFatBinary" in names:
        return "static"
    if "__cudaRegisterFatBinary" in elf.imported:
        return "shared"  # of the program that loads it
    # A section .nv_fatbin alone proves nothing: nvcc's link leaves one in programs of the driver.
    return "stripped" if all(each in elf.data for each in _VENDOR_S) else "none"

"""Code for one NVIDIA GPU, a cubin, that NVRTC makes: an ELF file that also has the PTX of its
code, in a section of its own. NVIDIA's driver runs the machine code, gridlane's devices the PTX.
"""

from __future__ import annotations

import struct
from pathlib import Path

from gridlane.abi.library.elf import Elf
from gridlane.core.errors import ArgumentError

MAGIC = b"\x7fELF"
HEAD = 64
"""Bytes of the header of a 64-bit ELF file, which say how long the table of sections is."""
SECTION = ".gridlane.ptx"

_ENTRY = struct.Struct("<IIQQQQIIQQ")
"""A section: name, type, flags, address, offset, size, link, info, alignment, size of an entry."""
_OFFSET, _SIZE = 4, 5
_PROGBITS, _STRTAB = 1, 3
_CUDA = 190
_MOST = 1 << 30


def size(head: bytes) -> int:
    """The bytes of a file up to the end of its table of sections, by its header; those of the
    header alone if it is invalid."""
    start, count = _table(head)
    end = start + count * _ENTRY.size
    return end if HEAD < end < _MOST else HEAD


def text(file: bytes) -> bytes | None:
    """The PTX of a file; None where it has none."""
    try:
        elf = Elf(Path("cubin"), file)
        section = elf.section(SECTION)
        return None if section is None else elf.contents(section)
    except ArgumentError:  # its table of sections is damaged, or of another kind of machine
        return None


def with_text(file: bytes, ptx: bytes) -> bytes:
    """A file, which has a table of sections, with its PTX as one more section."""
    start, count = _table(file)
    entries = [_ENTRY.unpack_from(file, start + n * _ENTRY.size) for n in range(count)]
    names = struct.unpack_from("<H", file, 62)[0]
    old = entries[names]
    names_data = file[old[_OFFSET] : old[_OFFSET] + old[_SIZE]]
    name, names_data = len(names_data), names_data + SECTION.encode() + b"\0"
    content = file + bytes(-len(file) % 16)
    entries[names] = (*old[:_OFFSET], len(content), len(names_data), *old[_SIZE + 1 :])
    content += names_data + bytes(-len(names_data) % 16)
    entries.append((name, _PROGBITS, 0, 0, len(content), len(ptx), 0, 0, 1, 0))
    content += ptx + bytes(-len(ptx) % 16)
    head = bytearray(content[:HEAD])
    struct.pack_into("<Q", head, 40, len(content))
    struct.pack_into("<H", head, 60, len(entries))
    return bytes(head) + content[HEAD:] + b"".join(_ENTRY.pack(*each) for each in entries)


def of_text(ptx: bytes) -> bytes:
    """A file that has no machine code, for where nothing assembles it."""
    names_data = b"\0.shstrtab\0"
    ident = MAGIC + bytes((2, 1, 1)) + bytes(9)
    start = HEAD + 16
    head = struct.pack("<HHIQQQIHHHHHH", 2, _CUDA, 1, 0, 0, start, 0, HEAD, 0, 0, _ENTRY.size, 2, 1)
    table = (
        _ENTRY.pack(*bytes(10)),
        _ENTRY.pack(1, _STRTAB, 0, 0, HEAD, len(names_data), 0, 0, 1, 0),
    )
    return with_text(ident + head + names_data.ljust(16, b"\0") + b"".join(table), ptx)


def _table(file: bytes) -> tuple[int, int]:
    """Where the table of sections is, and how many there are; (0, 0) for another kind of file."""
    if len(file) < HEAD or not file.startswith(MAGIC + b"\x02\x01"):
        return 0, 0
    start, entry, count = struct.unpack_from("<40xQ10xHH", file)
    return (start, count) if entry == _ENTRY.size else (0, 0)

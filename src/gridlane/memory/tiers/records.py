"""Records of a block file: a header, the stored bytes, and the header again.

A header is 52 bytes and the key. Its checksum covers the name of its file and its place there, so
bytes of a block that look like a record are none. The copy at the end tells which block it was
where the first one is damaged.
"""

from __future__ import annotations

import struct
from zlib import crc32

from gridlane.core.frozen import frozen

BEGIN, END = b"GLB1", b"GLE1"
"""What the header at the begin of a record starts with, and the one at its end."""
BLOCK, DELETED, FLUSHED = 1, 2, 3
"""Kinds of records: a block, the deletion of one, and a note that the file is on disk up to
``length``."""
LONGEST_KEY = 4096
"""Bytes of a key in UTF-8."""
LARGEST_BLOCK = 1 << 30

_FIELDS = struct.Struct("<4sBBHIQQQQI")
_CHECK = struct.Struct("<I")
FIXED = _FIELDS.size + _CHECK.size
"""Bytes of a header without its key."""


@frozen
class Header:
    """What a record says of itself.

    Attributes:
        kind: BLOCK, DELETED or FLUSHED.
        codec: the number of the codec of the stored bytes.
        itemsize: bytes of the elements whose bytes were shuffled; 1 is none.
        key: of the block, in UTF-8.
        sequence: orders the records of a key, over all files.
        length, stored: bytes of the block, and as they are stored.
        offset: of the record in its file.
        checksum: CRC-32 of the stored bytes.
    """

    kind: int
    codec: int
    itemsize: int
    key: bytes
    sequence: int
    length: int
    stored: int
    offset: int
    checksum: int

    @property
    def size(self) -> int:
        """Bytes of one of the two headers."""
        return FIXED + len(self.key)

    @property
    def span(self) -> int:
        """Bytes of the record."""
        return 2 * self.size + self.stored

    @property
    def end(self) -> int:
        """The offset behind the record."""
        return self.offset + self.span

    def pack(self, mark: bytes, salt: int) -> bytes:
        """The bytes of a header.

        Args:
            mark: BEGIN or END.
            salt: of the file.
        """
        fields = _FIELDS.pack(
            mark,
            self.kind,
            self.codec,
            self.itemsize,
            len(self.key),
            self.sequence,
            self.length,
            self.stored,
            self.offset,
            self.checksum,
        )
        return fields + _CHECK.pack(crc32(self.key, crc32(fields, salt))) + self.key


def salt_of(name: str) -> int:
    """What the checksums of headers in a file of this name begin with."""
    return crc32(name.encode())


def key_length(data: bytes | bytearray | memoryview) -> int:
    """The length of the key that the first bytes of a header claim; -1 if they are no header."""
    if len(data) < FIXED:
        return -1
    mark, _, _, _, length, *_ = _FIELDS.unpack_from(data)
    return length if mark in (BEGIN, END) and length <= LONGEST_KEY else -1


def parse(data: bytes | bytearray | memoryview, mark: bytes, salt: int) -> Header | None:
    """The header at the start of some bytes; None if there is no intact one."""
    length = key_length(data)
    if length < 0 or len(data) < FIXED + length:
        return None
    found, kind, codec, itemsize, _, sequence, size, stored, offset, checksum = _FIELDS.unpack_from(
        data
    )
    (check,) = _CHECK.unpack_from(data, _FIELDS.size)
    key = bytes(data[FIXED : FIXED + length])
    if found != mark or check != crc32(key, crc32(data[: _FIELDS.size], salt)):
        return None
    return Header(kind, codec, itemsize, key, sequence, size, stored, offset, checksum)

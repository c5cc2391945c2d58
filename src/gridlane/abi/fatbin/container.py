"""The layout of a fatbin: regions, and in each images with a header of their own.

All numbers are little-endian. A region's header:

====== ==== ======================================
offset size what
====== ==== ======================================
0      4    the magic number 0xba55ed50
4      2    the version, 1
6      2    the size of this header
8      8    the size of the images behind it
====== ==== ======================================

An image's header:

====== ==== ======================================
offset size what
====== ==== ======================================
0      2    the kind: 1 PTX, 2 machine code, 8 code for the link
2      2    the version, 0x101
4      4    the size of this header
8      8    the size of the content behind it, padded
16     4    the size of the content if it is compressed, else 0
28     4    the architecture: 80
32     4    the offset of the source's name, 36 its size
40     8    flags: see below
56     8    the size of the content before it was compressed
====== ==== ======================================

These facts are from fatbins of nvcc 13.0.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from gridlane.abi.failure import INVALID_IMAGE, fail

MAGIC = 0xBA55ED50
_REGION = struct.Struct("<IHHQ")
HEAD = _REGION.size
"""The least bytes of a region's header."""
_IMAGE = struct.Struct("<HHIQI8xIIIQ8xQ")
LARGEST = 1 << 31
"""The most bytes that a fatbin is believed to have."""
_MOST_IMAGES = 4096

PTX, MACHINE, LINK = 1, 2, 8
_DEBUG, _LZ4, _ZSTD, _EXACT, _FAMILY = 0x2, 0x2000, 0x8000, 0x100000, 0x200000


@dataclass(frozen=True, slots=True)
class Image:
    """The code of a program for one architecture.

    Attributes:
        kind: ``PTX``, ``MACHINE`` (a cubin), ``LINK`` (for the link), or another number.
        arch: 80 of ``sm_80``.
        suffix: ``a`` for code of this architecture alone, ``f`` for its family, "".
        content: as it is stored; ``size``: its bytes when it is unpacked.
        packing: ``lz4``, ``zstd``, or "".
        name: of the source, if it is there.
    """

    kind: int
    arch: int
    suffix: str
    content: bytes = field(repr=False)
    size: int
    packing: str
    name: str

    @property
    def is_ptx(self) -> bool:
        """Whether it is PTX."""
        return self.kind == PTX

    def __str__(self) -> str:
        """What it is for.

        >>> str(Image(PTX, 80, "", b"", 0, "", ""))
        'compute_80'
        """
        known = {PTX: "compute", MACHINE: "sm", LINK: "lto"}
        return f"{known.get(self.kind, f'kind {self.kind} for')}_{self.arch}{self.suffix}"


def region_size(head: bytes) -> int:
    """The bytes of a region with its header; ``head`` has the first ``HEAD`` bytes of the header.

    Raises:
        Failure: INVALID_IMAGE, this is no header, or the size is implausible.
    """
    magic, version, start, size = _REGION.unpack_from(head)
    if magic != MAGIC or version != 1 or start < HEAD or size > LARGEST:
        fail(
            INVALID_IMAGE,
            f"no fatbin: magic number {magic:#x}, version {version}, a header of {start} bytes and "
            f"images of {size}",
        )
    return start + size


def images(data: bytes) -> tuple[Image, ...]:
    """The images of all regions.

    Raises:
        Failure: INVALID_IMAGE, the bytes are no whole fatbin.
    """
    collected: list[Image] = []
    begin = 0
    while True:
        if len(data) - begin < HEAD:
            fail(INVALID_IMAGE, f"the fatbin ends at byte {len(data)} in a header")
        end = begin + region_size(data[begin : begin + HEAD])
        if end > len(data):
            fail(INVALID_IMAGE, f"the fatbin has {len(data)} bytes, and its header says {end}")
        _region(data, begin + struct.unpack_from("<H", data, begin + 6)[0], end, collected)
        begin = end
        if data[begin : begin + 4] != MAGIC.to_bytes(4, "little"):
            return tuple(collected)


def _region(data: bytes, begin: int, end: int, collected: list[Image]) -> None:
    while begin < end:
        if end - begin < _IMAGE.size or len(collected) >= _MOST_IMAGES:
            fail(INVALID_IMAGE, f"the fatbin's images do not end at byte {end}, as its header says")
        image, begin = _image(data, begin, end)
        collected.append(image)


def _image(data: bytes, begin: int, end: int) -> tuple[Image, int]:
    kind, _, start, padded, packed, arch, name_at, name_size, flags, size = _IMAGE.unpack_from(
        data, begin
    )
    if start < _IMAGE.size or start + padded > end - begin or packed > padded:
        fail(
            INVALID_IMAGE,
            f"the image at byte {begin} has a header of {start} bytes and a content of {padded}, "
            f"{packed} of them compressed; {end - begin} are left",
        )
    packing = "lz4" if flags & _LZ4 else "zstd" if flags & _ZSTD else ""
    if packed and not packing:
        fail(
            INVALID_IMAGE,
            f"the image at byte {begin} is compressed in an unknown way: {flags:#x}",
        )
    first = begin + start
    content = data[first : first + (packed if packing else padded)]
    inside = name_at >= _IMAGE.size and name_at + name_size <= start
    name = data[begin + name_at : begin + name_at + name_size] if inside else b""
    suffix = "a" if flags & _EXACT else "f" if flags & _FAMILY else ""
    image = Image(
        kind,
        arch,
        suffix,
        content,
        size if packing else padded,
        packing,
        name.rstrip(b"\0").decode(errors="replace"),
    )
    return image, first + padded

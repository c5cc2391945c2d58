"""Fatbins of PTX, for programs that are compiled here."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from gridlane.abi.fatbin.container import HEAD, MAGIC, PTX

_IMAGE = struct.Struct("<HHIQIIHHIIIQQQ")
_64_BIT, _LINUX = 0x1, 0x10


def written(ptx_by_arch: Mapping[int, str]) -> bytes:
    """A fatbin with the PTX for each architecture, not compressed.

    >>> len(written({80: ".version 8.0"})) % 8
    0
    """
    images_data = b"".join(_image(arch, text) for arch, text in ptx_by_arch.items())
    return struct.pack("<IHHQ", MAGIC, 1, HEAD, len(images_data)) + images_data


def _image(arch: int, text: str) -> bytes:
    content = text.encode() + b"\0"
    content += bytes(-len(content) % 8)
    head = (PTX, 0x101, _IMAGE.size, len(content), 0, 0, 0, 9, arch, 0, 0, _64_BIT | _LINUX, 0, 0)
    return _IMAGE.pack(*head) + content

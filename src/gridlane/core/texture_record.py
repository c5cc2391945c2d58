"""The record in device memory whose address is a texture or surface object.

The host writes it; kernels read it. It has a head of 16 words, then 8 words for each mipmap level,
then, for sRGB textures, the 256 floats of the bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum

from gridlane.core.frozen import frozen

TEXTURE, SURFACE = 0x7E970000, 0x54BF0000
"""The upper half of the first word; the lower half is the geometry."""


class Geometry(IntEnum):
    """The shape of a resource."""

    LINEAR = 1
    ONE = 2
    TWO = 3
    THREE = 4
    LAYERS_OF_ONE = 5
    LAYERS_OF_TWO = 6
    CUBE = 7
    LAYERS_OF_CUBES = 8


class Word(IntEnum):
    """The place of each word of the head."""

    KIND = 0
    FORMAT = 1  # bits of a channel, channels << 8, ChannelKind << 16, bytes of a texel << 24
    FLAGS = 2
    LAYERS = 3
    BORDER = 4  # the bits of four channels
    LEVELS = 8
    BIAS = 9  # f32, as the next two
    LOWEST = 10
    HIGHEST = 11
    TABLE = 12  # the word at which the sRGB table begins


class LevelWord(IntEnum):
    """The place of each word of a level. Rows are dense: slices and layers have no gaps."""

    ADDRESS = 0  # two words
    WIDTH = 2
    HEIGHT = 3
    DEPTH = 4
    PITCH = 5  # bytes of a row


HEAD_WORDS, LEVEL_WORDS = 16, 8


class ChannelKind(IntEnum):
    """What channels hold; the numbers are cudaChannelFormatKind's."""

    SIGNED = 0
    UNSIGNED = 1
    FLOAT = 2


class Flag(IntEnum):
    """Bits of the flags; the address mode of each axis has two bits from ADDRESS on."""

    NORMALIZED_COORDINATES = 1
    LINEAR = 2
    NORMALIZED_VALUES = 4
    SRGB = 8
    LINEAR_LEVELS = 16
    ADDRESS = 256


class AddressMode(IntEnum):
    """What lies outside of a texture; the numbers are cudaTextureAddressMode's."""

    WRAP = 0
    CLAMP = 1
    MIRROR = 2
    BORDER = 3


@frozen
class Level:
    """A level of a resource in device memory; ``pitch`` is the bytes of a row."""

    address: int
    width: int
    height: int
    depth: int
    pitch: int


@frozen
class Record:
    """The fields of the record; see Word.

    Attributes:
        kind: TEXTURE or SURFACE.
        bits: of a channel.
        border: the bits of four channels.
    """

    kind: int
    geometry: Geometry
    bits: int
    channels: int
    channel: ChannelKind
    levels: Sequence[Level]
    layers: int = 1
    flags: int = 0
    border: tuple[int, int, int, int] = (0, 0, 0, 0)
    bias: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0

    def packed(self) -> bytes:
        """The bytes of the record."""
        size = self.bits * self.channels // 8
        form = self.bits | self.channels << 8 | self.channel << 16 | size << 24
        table = HEAD_WORDS + LEVEL_WORDS * len(self.levels)
        head = struct.pack("<4I", self.kind | self.geometry, form, self.flags, self.layers)
        head += struct.pack(
            "<5I3f",
            *self.border,
            len(self.levels),
            *self._lods(),
        )
        head += struct.pack("<I12x", table)
        for each in self.levels:
            sizes = each.width, each.height, each.depth, each.pitch
            head += struct.pack("<Q4I8x", each.address, *sizes)
        return head + (_srgb() if self.flags & Flag.SRGB else b"")

    def _lods(self) -> tuple[float, float, float]:
        return self.bias, self.lowest, self.highest


def _srgb() -> bytes:
    """The linear value of each byte. IEC 61966-2-1."""
    results: list[float] = []
    for number in range(256):
        c = number / 255
        results.append(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
    return struct.pack("<256f", *results)

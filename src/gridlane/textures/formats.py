"""The channels of texels."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.core.texture_record import ChannelKind

_KINDS = {
    ChannelKind.SIGNED: (8, 16, 32),
    ChannelKind.UNSIGNED: (8, 16, 32),
    ChannelKind.FLOAT: (16, 32),
}
"""The bits that channels of each kind may have."""


class ChannelFormatDescriptor:
    """The channels of a texel: 1, 2 or 4, all of the same bits.

    Args:
        x, y, z, w: bits of each channel; 0 of absent ones.
        f: ``cudaChannelFormatKindSigned``, ``Unsigned`` or ``Float``.

    Raises:
        ArgumentError: no texel has such channels.
    """

    def __init__(self, x: int, y: int, z: int, w: int, f: int) -> None:
        given = int(x), int(y), int(z), int(w)
        self.channels = sum(bits > 0 for bits in given)
        self.bits = given[0]
        expected = (self.bits,) * self.channels + (0,) * (4 - self.channels)
        if given != expected or self.channels not in (1, 2, 4):
            raise ArgumentError(
                f"channels of {given} bits: a texel has 1, 2 or 4 channels of the same bits"
            )
        if f not in _KINDS or self.bits not in _KINDS[ChannelKind(f)]:
            raise ArgumentError(
                f"channels of {self.bits} bits and kind {f}: integers have 8, 16 or 32, floats 16 "
                "or 32"
            )
        self.kind = ChannelKind(f)

    @property
    def size(self) -> int:
        """Bytes of a texel."""
        return self.bits * self.channels // 8

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a channel."""
        return np.dtype(f"{'iuf'[self.kind]}{self.bits // 8}")

    def get_channel_format(self) -> dict[str, int]:
        """The bits of each channel as ``x y z w``, and the kind as ``f``."""
        bits = [self.bits] * self.channels + [0] * (4 - self.channels)
        return {**dict(zip("xyzw", bits, strict=True)), "f": int(self.kind)}

"""The tensor maps in the parameter blocks of native launches; see launcher.py and _tensor_maps.h.

A profile has None, or (address of cuTensorMapEncodeTiled, maps, offsets of all parameters): where
the driver has aligned parameters it knows alone, so it gets an array of pointers. A map is

    place       its offset in the parameter block
    offsets     those of the address, of the extents, innermost first, and of the strides in bytes,
                the second dimension's first
    element     the number of CUtensorMapDataType
    box         the elements that are copied at once, innermost first
    swizzle     the number of CUtensorMapSwizzle
    nan         whether elements outside of the tensor are NaN
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from gridlane.core.artifact import Artifact
from gridlane.core.tensor_map import SIZE, SWIZZLES
from gridlane.runtime.tensor_maps import PROMOTION, encode_at


def maps_of(artifact: Artifact, encode: int) -> tuple[Any, ...] | None:
    """What a profile has of the maps of a kernel."""
    slots = artifact.params
    maps = tuple(
        [
            (
                slots[use.parameter].offset,
                tuple(
                    [slots[n].offset for n in (use.base, *use.extents[::-1], *use.strides[::-1])]
                ),
                int(use.element),
                use.box[::-1],
                SWIZZLES[use.swizzle],
                int(use.nan),
            )
            for use in artifact.tensor_maps
        ]
    )
    return (encode, maps, tuple([slot.offset for slot in slots])) if maps else None


class Maps:
    """The equivalent of ``fill_maps`` in C."""

    def __init__(
        self, encode: int, maps: Sequence[tuple[Any, ...]], offsets: tuple[int, ...]
    ) -> None:
        self._encode, self._maps, self.offsets = encode, maps, offsets
        self._known: list[tuple[Any, bytes] | None] = [None] * len(maps)

    def fill(self, block: bytearray) -> bool:
        """Whether all maps are in the block."""
        for n, (place, offsets, element, box, swizzle, nan) in enumerate(self._maps):
            numbers = tuple([struct.unpack_from("<Q", block, offset)[0] for offset in offsets])
            known = self._known[n]
            if known is None or known[0] != numbers:
                rank, (address, *rest) = len(box), numbers
                code, data = encode_at(
                    self._encode, element, address, rest[:rank], rest[rank:], box, (1,) * rank,
                    0, swizzle, PROMOTION, nan,
                )  # fmt: skip
                if code:
                    return False
                self._known[n] = known = numbers, data
            block[place : place + SIZE] = known[1]
        return True

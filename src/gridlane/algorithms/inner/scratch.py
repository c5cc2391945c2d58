"""Temporary memory of a call: arrays within one array of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.algorithms.item_types import ItemType
from gridlane.algorithms.sequences import Access, pointer_code
from gridlane.core.frozen import frozen
from gridlane.cuda.arrays.devicearray import DeviceNDArray

_ALIGNMENT = 256
LEAST = 1
"""Bytes of the temporary memory of an algorithm that uses none: an array has an address then."""


@frozen
class Layout:
    """How many items of which types an algorithm keeps in temporary memory."""

    parts: tuple[tuple[int, ItemType], ...]

    @property
    def size(self) -> int:
        """Bytes in all."""
        return self._offsets()[-1] or LEAST

    def _offsets(self) -> list[int]:
        ends = [0]
        for count, item in self.parts:
            bytes_ = -(-count * item.size // _ALIGNMENT) * _ALIGNMENT
            ends.append(ends[-1] + bytes_)
        return ends

    def within(self, octets: Any) -> list[Access]:
        """The arrays, in a device array of bytes.

        Raises:
            ValueError: it is too small.
        """
        if octets.nbytes < self.size:
            raise ValueError(
                f"temp_storage has {octets.nbytes} bytes; this call uses {self.size}, which a call "
                "with temp_storage=None returns"
            )
        parts = zip(self.parts, self._offsets(), strict=False)
        return [
            Access(pointer_code(item), _part(octets, start, count, item.dtype))
            for (count, item), start in parts
        ]


def _part(octets: Any, start: int, count: int, dtype: np.dtype) -> Any:
    """The ``count`` items that begin at a byte of an array."""
    if isinstance(octets, np.ndarray):
        return octets.view(np.uint8)[start : start + count * dtype.itemsize].view(dtype)
    buffer, address = octets.buffer, octets.address + start
    return DeviceNDArray((count,), (dtype.itemsize,), dtype, octets.stream, buffer, address)

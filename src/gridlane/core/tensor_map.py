"""gridlane's encoding of a description of a tensor, ``CUtensorMap``: 128 bytes, opaque to programs.

Words are little-endian. Where NVIDIA's driver encodes it, the bytes are the driver's.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from gridlane.core.frozen import frozen

SIZE = 128
"""Bytes of a description."""

MOST_DIMENSIONS = 5

ADDRESS, RANK, TYPE, INTERLEAVE, SWIZZLE, FILL = 0, 8, 12, 16, 20, 24
"""Where the address begins, a u64, and words: the rank less 1, and numbers of CUDA's enumerations.
``SWIZZLE`` is 1 for 32 bytes, 2 for 64, 3 for 128."""

EXTENTS, BOX, STEPS, STRIDES = 32, 52, 72, 96
"""Where five words of extents begin (0 is 2**32), of the box and of steps; and four u64 of byte
strides, of the second dimension and those behind it."""


class Element(IntEnum):
    """The elements of a tensor, by the numbers of ``CUtensorMapDataType``."""

    U8 = 0
    U16 = 1
    U32 = 2
    I32 = 3
    U64 = 4
    I64 = 5
    F16 = 6
    F32 = 7
    F64 = 8
    BF16 = 9
    F32_FTZ = 10
    TF32 = 11
    TF32_FTZ = 12

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return 1 << SHIFTS[self]

    @property
    def is_float(self) -> bool:
        """Whether elements outside of the tensor may be NaN."""
        return self >= Element.F16


SHIFTS = (0, 1, 2, 2, 3, 3, 1, 2, 3, 1, 2, 2, 2)
"""The logarithm of an element's bytes, by its number."""


@frozen
class TensorMap:
    """A description: the tensor in global memory, and the box of it that is copied at once.

    Attributes:
        extents: elements along each dimension, the one of consecutive elements first.
        strides: bytes from an element to the next, along each dimension but the first.
        box: elements that the box spans; every ``steps``-th of them is copied.
        swizzle: 0, or 1 to 3 for 32 to 128 bytes.
        nan: elements outside of the tensor are NaN, and not 0.
    """

    address: int
    element: Element
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    swizzle: int = 0
    nan: bool = False

    def encode(self) -> bytes:
        """The 128 bytes."""
        rank = len(self.extents)
        words = np.zeros(SIZE // 4, np.uint32)
        words[ADDRESS // 4 : ADDRESS // 4 + 2] = np.array([self.address], np.uint64).view(np.uint32)
        for place, value in ((RANK, rank - 1), (TYPE, self.element), (SWIZZLE, self.swizzle)):
            words[place // 4] = value
        words[FILL // 4] = int(self.nan)
        for place, values in ((EXTENTS, self.extents), (BOX, self.box), (STEPS, self.steps)):
            words[place // 4 : place // 4 + rank] = [value & 0xFFFFFFFF for value in values]
        strides = np.array([*self.strides, 0, 0, 0, 0][:4], np.uint64)
        words[STRIDES // 4 :] = strides.view(np.uint32)
        return words.tobytes()

    @staticmethod
    def decode(data: bytes) -> TensorMap:
        """The description that 128 bytes are.

        Raises:
            ValueError: they are none.
        """
        words = np.frombuffer(data, np.uint32)
        rank, kind = int(words[RANK // 4]) + 1, int(words[TYPE // 4])
        if rank > MOST_DIMENSIONS or kind >= len(SHIFTS) or words[SWIZZLE // 4] > 3:
            raise ValueError("these bytes describe no tensor")

        def numbers(place: int) -> tuple[int, ...]:
            return tuple(int(each) for each in words[place // 4 : place // 4 + rank])

        return TensorMap(
            address=int(np.frombuffer(data, np.uint64)[ADDRESS // 8]),
            element=Element(kind),
            extents=tuple(each or 1 << 32 for each in numbers(EXTENTS)),
            strides=tuple(
                int(each) for each in np.frombuffer(data, np.uint64)[STRIDES // 8 :][: rank - 1]
            ),
            box=numbers(BOX),
            steps=tuple(max(1, each) for each in numbers(STEPS)),
            swizzle=int(words[SWIZZLE // 4]),
            nan=bool(words[FILL // 4]),
        )

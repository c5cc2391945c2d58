"""gridlane's encoding of a description of a tensor, ``CUtensorMap``: 128 bytes, opaque to programs.

Words are little-endian. Where NVIDIA's driver encodes it, the bytes are the driver's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

import numpy as np

from gridlane.core.frozen import frozen

SIZE = 128
"""Bytes of a description."""

MOST_DIMENSIONS = 5
ALIGN = 16
"""Bytes that the address, the strides and a row of the box are multiples of."""
MOST_EXTENT, MOST_STRIDE = 1 << 32, 1 << 40
"""The most elements along a dimension; every stride is less than so many bytes."""
FIT_EXTENT = (1 << 31) - 1
"""The most elements along an axis of ``fits``: coordinates are i32."""
MOST_SPAN, MOST_STEP = 256, 8
"""The most elements of the box along a dimension, and the greatest step."""

ADDRESS, RANK, TYPE, INTERLEAVE, SWIZZLE, FILL, ROOM = 0, 8, 12, 16, 20, 24, 28
"""Where the address begins, a u64, and words: the rank less 1, numbers of CUDA's enumerations, and
the bytes of memory behind the tensor. ``SWIZZLE`` is 1 for 32 bytes, 2 for 64, 3 for 128."""

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
        room: bytes behind the last line of the tensor that are known to be memory, below ``ALIGN``.
    """

    address: int
    element: Element
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    swizzle: int = 0
    nan: bool = False
    room: int = 0

    @property
    def size(self) -> int:
        """Bytes from the first element to the end of the last one."""
        steps = self.element.size, *self.strides
        far = sum((n - 1) * step for n, step in zip(self.extents, steps, strict=True))
        return far + self.element.size

    @property
    def problem(self) -> str:
        """Why no device copies such boxes; "" if they do."""
        address, row = self.address, self.box[0] * self.element.size
        if address % ALIGN or not address:
            return f"the address {address:#x}, which is null or no multiple of {ALIGN}"
        if any(not 1 <= extent <= MOST_EXTENT for extent in self.extents):
            return f"the extents {self.extents}; each is 1 to 2**32"
        if any(stride % ALIGN or not 0 <= stride < MOST_STRIDE for stride in self.strides):
            return f"the strides {self.strides}; each is a multiple of {ALIGN} below 2**40"
        if any(not 1 <= span <= MOST_SPAN for span in self.box):
            return f"the box {self.box}; each extent is 1 to {MOST_SPAN}"
        if any(not 1 <= step <= MOST_STEP for step in self.steps):
            return f"the steps {self.steps}; each is 1 to {MOST_STEP}"
        if row % ALIGN:
            return f"a row of the box has {row} bytes, which is no multiple of {ALIGN}"
        if self.swizzle and row > 16 << self.swizzle:
            return f"a row of the box has {row} bytes, the swizzle {16 << self.swizzle}"
        return ""

    def encode(self) -> bytes:
        """The 128 bytes."""
        rank = len(self.extents)
        words = np.zeros(SIZE // 4, np.uint32)
        words[ADDRESS // 4 : ADDRESS // 4 + 2] = np.array([self.address], np.uint64).view(np.uint32)
        for place, value in ((RANK, rank - 1), (TYPE, self.element), (SWIZZLE, self.swizzle)):
            words[place // 4] = value
        words[FILL // 4], words[ROOM // 4] = int(self.nan), self.room
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
            room=min(int(words[ROOM // 4]), ALIGN - 1),
        )


SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
"""The numbers of swizzles by their bytes."""


@frozen
class TensorMapUse:
    """A tensor map among a kernel's parameters: what each launch describes by it.

    Parameters are numbered in the kernel's order. Axes are those of the program, the outermost
    first, and the dimensions of the map are these from the last on.

    Attributes:
        base: the parameter that is the address of the tensor.
        extents: those that are its extents.
        strides: those that are the bytes from an element to the next along each axis but the last,
            whose elements are neighbours.
        box: the elements that are copied at once along each axis.
        swizzle: 0, 32, 64 or 128 bytes.
        nan: elements outside of the tensor are NaN, and not 0.
        parameter: the one that is the map: ``SIZE`` bytes by value.
    """

    base: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    element: Element
    box: tuple[int, ...]
    swizzle: int
    nan: bool
    parameter: int

    def of(self, number: Callable[[int], int]) -> TensorMap:
        """The description for a launch.

        Args:
            number: a parameter's value.
        """
        return TensorMap(
            number(self.base),
            self.element,
            tuple([number(each) for each in reversed(self.extents)]),
            tuple([number(each) for each in reversed(self.strides)]),
            self.box[::-1],
            (1,) * len(self.box),
            SWIZZLES[self.swizzle],
            self.nan,
        )

    @property
    def numbers(self) -> tuple[int, ...]:
        """All parameters that a description depends on."""
        return self.base, *self.extents, *self.strides


def fits(address: int, extents: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether a tensor map describes an array: what ``Param.mapped`` says of a launch.

    Args:
        extents: its axes, outermost first.
        strides: bytes from an element to the next along each axis but the last, whose elements
            are neighbours.
    """
    return (
        address % ALIGN == 0
        and address != 0
        and all(1 <= extent <= FIT_EXTENT for extent in extents)
        and all(stride % ALIGN == 0 and 0 < stride < MOST_STRIDE for stride in strides)
    )

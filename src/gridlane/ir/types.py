"""Types of IR values: scalars (core.dtypes), pointers, vectors, structs, fragments of matrices,
tiles; arrays in memory only."""

from __future__ import annotations

import json
import math
import re
from enum import Enum, IntEnum
from functools import cache

from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen

IDENTIFIER = re.compile(r"[^\W\d][\w.]*")


def quoted(name: str) -> str:
    """A name in the text form: an identifier unchanged, any other as a JSON string.

    >>> quoted("tile"), quoted("a b")
    ('tile', '"a b"')
    """
    return name if IDENTIFIER.fullmatch(name) else json.dumps(name)


class Space(IntEnum):
    """Address spaces, with their numbers in LLVM's NVPTX target."""

    GENERIC = 0
    GLOBAL = 1
    SHARED = 3
    CONSTANT = 4
    LOCAL = 5


@frozen
class PointerType:
    """The address of an ``element`` in an address space; 8 bytes in memory.

    ``buffer``: the place of its buffer among those that the kernel binds as global memory. Only
    ``passes/legalise/settle_buffers.py`` sets it; on most targets global memory is one space.
    """

    element: Type
    space: Space
    buffer: int = 0

    size = 8
    align = 8

    def __str__(self) -> str:
        buffer = f", {self.buffer}" if self.buffer else ""
        return f"ptr<{self.element}, {self.space.name.lower()}{buffer}>"


@frozen
class VectorType:
    """2 to 16 scalars in one value, contiguous in memory."""

    element: DType
    count: int

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.element.size * self.count

    @property
    def align(self) -> int:
        """The largest power of two that divides the size, so that elements of an array are aligned
        as well, and 16 at the most, which is CUDA's limit."""
        return min(16, self.size & -self.size)

    def __str__(self) -> str:
        return f"vec<{self.element}, {self.count}>"


@frozen
class StructType:
    """Named fields at fixed byte offsets, as in a numpy record dtype or a C struct."""

    name: str
    names: tuple[str, ...]
    types: tuple[Type, ...]
    offsets: tuple[int, ...]
    size: int
    align: int = 1

    def __str__(self) -> str:
        fields = ", ".join(
            f"{quoted(name)}: {type_} @{offset}"
            for name, type_, offset in zip(self.names, self.types, self.offsets, strict=True)
        )
        return f"struct<{quoted(self.name)}, {{{fields}}}, {self.size}, {self.align}>"


@frozen
class ArrayType:
    """``count`` elements in a row; exists in memory only, as the element of a pointer."""

    element: Type
    count: int

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.element.size * self.count

    @property
    def align(self) -> int:
        """The element's alignment."""
        return self.element.align

    def __str__(self) -> str:
        return f"array<{self.element}, {self.count}>"


class Role(Enum):
    """The role of a fragment in a product: the left factor, the right factor, or the addend."""

    A = "a"
    B = "b"
    ACC = "acc"


@frozen
class FragmentType:
    """A matrix that a warp holds together; see ``ir.ops.matrix``. It exists as a value only."""

    role: Role
    rows: int
    cols: int
    element: DType

    align = 16

    @property
    def size(self) -> int:
        """Bytes of all elements."""
        return self.rows * self.cols * self.element.size

    def __str__(self) -> str:
        return f"frag<{self.role.value}, {self.rows}, {self.cols}, {self.element}>"


@frozen
class TileType:
    """An array of scalars or pointers that a program of stage ``tile`` computes with as a whole.

    ``shape`` is static, of one extent or more. It exists as a value and in variables only; see
    ``ir.ops.tiles``.
    """

    shape: tuple[int, ...]
    element: DType | PointerType

    align = 16

    @property
    def count(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """Bytes of all elements."""
        return self.count * self.element.size

    def __str__(self) -> str:
        return f"tile<{', '.join(map(str, self.shape))}, {self.element}>"


Type = DType | PointerType | VectorType | StructType | ArrayType | FragmentType | TileType


@cache
def tile(shape: tuple[int, ...], element: DType | PointerType) -> TileType:
    """The tile type; one object for each pair."""
    return TileType(shape, element)


@cache
def pointer(element: Type, space: Space = Space.GLOBAL, buffer: int = 0) -> PointerType:
    """The pointer type; one object for each triple."""
    return PointerType(element, space, buffer)


@cache
def vector(element: DType, count: int) -> VectorType:
    """The vector type; one object for each pair."""
    return VectorType(element, count)


def struct(name: str, fields: dict[str, Type]) -> StructType:
    """A struct laid out as C lays it out.

    >>> from gridlane.core.dtypes import i8, f32
    >>> str(struct("p", {"tag": i8, "x": f32}))
    'struct<p, {tag: i8 @0, x: f32 @4}, 8, 4>'
    """
    offsets: list[int] = []
    end, align = 0, 1
    for type_ in fields.values():
        end = -(-end // type_.align) * type_.align
        offsets.append(end)
        end += type_.size
        align = max(align, type_.align)
    size = -(-end // align) * align
    return StructType(name, tuple(fields), tuple(fields.values()), tuple(offsets), size, align)

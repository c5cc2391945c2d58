"""Where the lanes of a warp hold the elements of a fragment: the layout that mma.sync has.

With g = lane // 4 and t = lane % 4, a word of 32 bits holds ``packed`` elements:

    a    tiles of 16 rows and 32 bytes of columns, 4 words: row g + 8 * (word & 1),
         columns t * packed and on, plus half the tile for words 2 and 3
    b    tiles of 32 bytes of rows and 8 columns, 2 words: rows t * packed and on, plus half the
         tile for word 1, column g
    acc  tiles of 16 rows and 8 columns; 32-bit elements in 4 registers: row g + 8 * (number >> 1),
         column 2 * t + (number & 1); 16-bit elements in 2 words: row g + 8 * word, columns 2 * t
         and 2 * t + 1

Source: PTX ISA, "Matrix Fragments for mma.m16n8k16" and its like.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.codegen.llvm.text import scalar_name
from gridlane.core.frozen import frozen
from gridlane.ir.ops.matrix import DEPTHS
from gridlane.ir.types import FragmentType, Role


@frozen
class Register:
    """A register's first element: (row, col) in the lane with g = 0 and t = 0."""

    number: int
    row: int
    col: int


def packed(type_: FragmentType) -> int:
    """Elements in a register."""
    return 4 // type_.element.size


def register_type(type_: FragmentType) -> str:
    """LLVM's type of a register: 32-bit accumulators as they are, others as packed words."""
    if type_.role is Role.ACC and type_.element.size == 4:
        return scalar_name(type_.element)
    return "i32"


def register_count(type_: FragmentType) -> int:
    """Registers of a lane."""
    return type_.size // (32 * 4)


def tile_shape(type_: FragmentType) -> tuple[int, int]:
    """Rows and columns of a tile of the hardware."""
    if type_.role is Role.ACC:
        return 16, 8
    depth = DEPTHS[type_.element]
    return (16, depth) if type_.role is Role.A else (depth, 8)


def tile_registers(type_: FragmentType) -> int:
    """Registers of a tile."""
    rows, cols = tile_shape(type_)
    return rows * cols * type_.element.size // (32 * 4)


def first_register(type_: FragmentType, tile_row: int, tile_col: int) -> int:
    """The number of the first register of a tile; tiles are in row-major order."""
    columns = type_.cols // tile_shape(type_)[1]
    return (tile_row * columns + tile_col) * tile_registers(type_)


def registers(type_: FragmentType) -> Iterator[Register]:
    """Every register, in order."""
    rows, cols = tile_shape(type_)
    for row in range(0, type_.rows, rows):
        for col in range(0, type_.cols, cols):
            first = first_register(type_, row // rows, col // cols)
            for number in range(tile_registers(type_)):
                down, right = _within_tile(type_, number)
                yield Register(first + number, row + down, col + right)


def _within_tile(type_: FragmentType, number: int) -> tuple[int, int]:
    """The first element of a tile's register, within the tile."""
    if type_.role is Role.ACC:
        return (8 * (number >> 1), number & 1) if packed(type_) == 1 else (8 * number, 0)
    half = DEPTHS[type_.element] // 2
    if type_.role is Role.A:
        return 8 * (number & 1), half * (number >> 1)
    return half * number, 0

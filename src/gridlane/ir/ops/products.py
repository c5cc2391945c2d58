"""Products of small matrices that the lanes of a warp hold in registers, in PTX's own layout.

PTX ISA 9.0, "Matrix Fragments for mma": lane ``4 g + t`` holds words of the rows (of A and the
sums) or columns (of B) with number ``g``.
"""

from __future__ import annotations

from enum import Enum

from gridlane.core.dtypes import f32, f64, i32, u32
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.types import Type
from gridlane.ir.values import Value

COLUMNS = 8
"""Columns of B and of the sums."""


class Factor(Enum):
    """The elements of a factor, as PTX names them."""

    F16 = "f16"
    BF16 = "bf16"
    TF32 = "tf32"
    E4M3 = "e4m3"
    E5M2 = "e5m2"
    F64 = "f64"
    S8 = "s8"
    U8 = "u8"
    S4 = "s4"
    U4 = "u4"

    @property
    def is_integer(self) -> bool:
        """Whether they are integers."""
        return self.value[0] in "su"

    @property
    def is_signed(self) -> bool:
        """Whether they are signed integers."""
        return self.value[0] == "s"

    @property
    def bits(self) -> int:
        """Bits of an element in a register."""
        special = {"bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8}
        return special.get(self.value) or int(self.value[1:])

    @property
    def in_word(self) -> int:
        """Elements in a register: one of 64 bits for f64, of 32 for all others."""
        return max(1, 32 // self.bits)


def left_place(lane: int, word: int, part: int, rows: int, factor: Factor) -> tuple[int, int]:
    """The row and the column of an element of A."""
    high, step = rows // 8, 4 * factor.in_word
    column = word // high * step + lane % 4 * factor.in_word + part
    return lane // 4 + 8 * (word % high), column


def right_place(lane: int, word: int, part: int, factor: Factor) -> tuple[int, int]:
    """The row and the column of an element of B."""
    step = 4 * factor.in_word
    return word * step + lane % 4 * factor.in_word + part, lane // 4


def sum_place(lane: int, number: int) -> tuple[int, int]:
    """The row and the column of an element of the sums."""
    return lane // 4 + 8 * (number // 2), lane % 4 * 2 + number % 2


@operation("mma")
class Mma(Op):
    """A product of a matrix A of ``rows`` and ``depth``, and B of ``depth`` and 8 columns, plus C.

    All 32 lanes of a warp run it together. Products are exact and are added one after the other to
    C, in binary64 for factors of floats, and rounded at the end: to f32, and for sums of f16 from
    that to f16. Sums of integers wrap, or are limited at the end. Of tf32 the lower 13 bits do not
    count. NVIDIA's hardware adds in another order, with other roundings.

    Attributes:
        a, b: registers, u32, or f64 for F64.
        c: f32, i32 or f64, or u32 with two f16. The results are likewise.
    """

    rows: int
    depth: int
    left: Factor
    right: Factor
    limited: bool
    a: tuple[Value, ...]
    b: tuple[Value, ...]
    c: tuple[Value, ...]
    cross_lane = True

    def result_types(self) -> tuple[Type, ...]:
        return tuple([value.type for value in self.c])

    @property
    def has_halves(self) -> bool:
        """Whether the sums are two f16 in a word."""
        return self.c[0].type is u32

    def check(self, scope: Scope) -> None:
        is_real, word = self.left is Factor.F64, f64 if self.left is Factor.F64 else u32
        per_word = 32 * self.left.in_word
        self.require(self.rows in (8, 16), "there are 8 or 16 rows")
        self.require(len(self.a) * per_word == self.rows * self.depth, "A has other registers")
        self.require(len(self.b) * per_word == COLUMNS * self.depth, "B has other registers")
        self.require(all(v.type is word for v in (*self.a, *self.b)), f"factors are {word}")
        wanted = (f64,) if is_real else (i32,) if self.left.is_integer else (f32, u32)
        self.require(all(v.type in wanted for v in self.c), f"sums are {wanted}")
        count = self.rows // 4 // (2 if self.has_halves else 1)
        self.require(len(self.c) == count, f"there are {count} registers of sums")
        self.require(self.left.bits == self.right.bits, "factors have one width")
        self.require(not self.limited or self.left.is_integer, "sums of integers are limited")

"""Registers of ``mma`` from and to memory: a matrix of one tile or several, by all lanes of a warp.

A matrix consists of tiles in row-major order: of A of 8 or 16 rows and all columns, of B of all
rows and 8 columns, of the sums of 8 or 16 rows and 8 columns. The places of a tile's elements in
registers are those of ``ir.ops.products``.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, f16, f32, f64, i8, i32, u32
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.ops import matrix_instructions
from gridlane.ir.ops.memory import element_of
from gridlane.ir.ops.products import COLUMNS, Factor, left_place, right_place, sum_place
from gridlane.ir.types import FragmentType, Role, Type
from gridlane.ir.values import Value

FACTORS = {**{e: f for e, f in matrix_instructions.FACTORS.items() if e is not i8}, f64: Factor.F64}
"""What a factor's elements in memory are in registers; u8 stands for signed ones too."""

SUMS = (f16, f32, f64, i32)
"""Elements of sums in memory."""

Place = tuple[int, int]
"""A row and a column."""


def in_register(matrix: FragmentType) -> int:
    """Elements in a register."""
    return max(1, u32.size // matrix.element.size)


def register_type(matrix: FragmentType) -> DType:
    """The type of a register: u32, or that of an element of the sums or of 64 bits."""
    is_whole = matrix.role is Role.ACC and in_register(matrix) == 1
    return matrix.element if is_whole or matrix.element is f64 else u32


def places(matrix: FragmentType) -> list[list[Place]]:
    """The elements of each register in lane 0; ``steps`` has those of other lanes."""
    high, count = min(16, matrix.rows), in_register(matrix)
    if matrix.role is Role.ACC:
        return [
            [_moved(sum_place(0, number * count + part), row, column) for part in range(count)]
            for row in range(0, matrix.rows, high)
            for column in range(0, matrix.cols, COLUMNS)
            for number in range(high // 4 // count)
        ]
    factor = FACTORS[matrix.element]
    if matrix.role is Role.A:
        words = range(high * matrix.cols // (32 * count))
        return [
            [_moved(left_place(0, word, part, high, factor), row, 0) for part in range(count)]
            for row in range(0, matrix.rows, high)
            for word in words
        ]
    return [
        [_moved(right_place(0, word, part, factor), 0, column) for part in range(count)]
        for column in range(0, matrix.cols, COLUMNS)
        for word in range(matrix.rows // (4 * count))
    ]


def _moved(place: Place, down: int, across: int) -> Place:
    return place[0] + down, place[1] + across


def steps(matrix: FragmentType) -> tuple[Place, Place]:
    """How far the elements of a lane are from those of lane 0, as rows and columns: for each 4
    lanes, and for each lane of 4."""
    beside = 2 if matrix.role is Role.ACC else in_register(matrix)
    return ((0, 1), (beside, 0)) if matrix.role is Role.B else ((1, 0), (0, beside))


def lines(matrix: FragmentType, by_columns: bool) -> list[list[Place]]:
    """``places`` as lines and distances in them."""
    return [
        [(place[1], place[0]) if by_columns else place for place in register]
        for register in places(matrix)
    ]


def _check(op: MmaLoad | MmaStore) -> None:
    matrix, known = op.matrix, SUMS if op.matrix.role is Role.ACC else tuple(FACTORS)
    op.require(matrix.element in known, f"{matrix} has elements {', '.join(map(str, known))}")
    columns = matrix.cols % COLUMNS == 0 or matrix.role is Role.A
    rows = matrix.rows == COLUMNS or matrix.rows % 16 == 0 or matrix.role is Role.B
    inner = {Role.A: matrix.cols, Role.B: matrix.rows}.get(matrix.role, 0)
    whole = inner % (4 * in_register(matrix)) == 0 and matrix.rows > 0 < matrix.cols
    op.require(columns and rows and whole, f"{matrix} does not consist of tiles")
    element = element_of(op, op.pointer)
    op.require(element is matrix.element, f"{matrix} is not made of {element}")
    op.require(op.stride.type is u32, "the stride is a u32")


@operation("mma_load")
class MmaLoad(Op):
    """The registers of a matrix in memory. All 32 lanes of a warp run it together, with the same
    pointer and stride.

    Rows, or columns when ``by_columns``, are lines of consecutive elements, ``stride`` elements
    from the start of one to the next. No element is 2**31 or more from the first one.

    Attributes:
        matrix: the role, the shape and the elements in memory.
        aligned: each line starts at a multiple of 16 bytes.
    """

    pointer: Value
    stride: Value
    matrix: FragmentType
    by_columns: bool = False
    aligned: bool = False
    cross_lane = True

    def result_types(self) -> tuple[Type, ...]:
        return (register_type(self.matrix),) * len(places(self.matrix))

    def check(self, scope: Scope) -> None:
        _check(self)


@operation("mma_store")
class MmaStore(Op):
    """Write the registers of a matrix of sums to memory; see ``mma_load``."""

    pointer: Value
    stride: Value
    values: tuple[Value, ...]
    matrix: FragmentType
    by_columns: bool = False
    cross_lane = True

    def check(self, scope: Scope) -> None:
        _check(self)
        self.require(self.matrix.role is Role.ACC, "sums are stored only")
        count, wanted = len(places(self.matrix)), register_type(self.matrix)
        good = len(self.values) == count and all(v.type is wanted for v in self.values)
        self.require(good, f"{self.matrix} has {count} registers of {wanted}")

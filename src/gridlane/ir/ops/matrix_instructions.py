"""The matrix instructions of NVIDIA's tensor cores: one table for tile programs, for fragments
(``cuda.wmma``) and for PTX. PTX ISA 9.0, "Matrix multiply-accumulate operation using mma
instruction".

Warps compute them; those of warpgroups, whose shapes are a rule, are in ``ir/ops/warpgroups.py``.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, bf16, f16, f32, i8, u8
from gridlane.core.frozen import frozen
from gridlane.ir.ops.products import COLUMNS, Factor


@frozen
class MatrixInstruction:
    """Products of matrices of ``rows`` and ``depth``, and ``depth`` and 8 columns.

    Attributes:
        factors: the elements of each factor: one of these.
        sums: the elements of the sums, as PTX names them.
        since: the lowest compute capability, times ten.
        version: the lowest version of PTX, times ten, where it is above that of ``since``.
    """

    rows: int
    depth: int
    factors: tuple[Factor, ...]
    sums: str
    since: int
    version: int = 0

    @property
    def shape(self) -> str:
        """PTX's name of the shape.

        >>> INSTRUCTIONS[0].shape
        'm8n8k4'
        """
        return f"m{self.rows}n{COLUMNS}k{self.depth}"


def _rows(
    factors: tuple[Factor, ...], sums: str, *shapes: tuple[int, ...]
) -> list[MatrixInstruction]:
    """Instructions of (rows, depth, capability[, version])."""
    return [
        MatrixInstruction(rows, depth, factors, sums, since, *version)
        for rows, depth, since, *version in shapes
    ]


_BYTES, _NIBBLES = (Factor.S8, Factor.U8), (Factor.S4, Factor.U4)
_BYTE_FLOATS = Factor.E4M3, Factor.E5M2

INSTRUCTIONS: tuple[MatrixInstruction, ...] = (
    *_rows((Factor.F64,), "f64", (8, 4, 80), (16, 4, 90), (16, 8, 90), (16, 16, 90)),
    *_rows((Factor.F16,), "f16", (16, 8, 75), (16, 16, 80)),
    *_rows((Factor.F16,), "f32", (16, 8, 75), (16, 16, 80)),
    *_rows((Factor.BF16,), "f32", (16, 8, 80), (16, 16, 80)),
    *_rows((Factor.TF32,), "f32", (16, 4, 80), (16, 8, 80)),
    *_rows(_BYTE_FLOATS, "f32", (16, 16, 89, 87), (16, 32, 89, 84)),
    *_rows(_BYTE_FLOATS, "f16", (16, 16, 89, 87), (16, 32, 89, 87)),
    *_rows(_BYTES, "s32", (8, 16, 75), (16, 16, 80), (16, 32, 80)),
    *_rows(_NIBBLES, "s32", (8, 32, 75), (16, 32, 80), (16, 64, 80)),
)
"""All but those of bits, sparse matrices and matrices with scales."""

FACTORS: dict[DType, Factor] = {
    f16: Factor.F16,
    bf16: Factor.BF16,
    f32: Factor.TF32,
    i8: Factor.S8,
    u8: Factor.U8,
}
"""What elements in memory are as factors of tiles and fragments."""


def instruction(rows: int, depth: int, factor: Factor, sums: str) -> MatrixInstruction | None:
    """The instruction of a shape and its elements; None where there is none."""
    for each in INSTRUCTIONS:
        if (each.rows, each.depth, each.sums) == (rows, depth, sums) and factor in each.factors:
            return each
    return None


def first_capability(factor: Factor) -> int:
    """The lowest compute capability with an instruction for a factor, times ten.

    >>> first_capability(Factor.S8), first_capability(Factor.TF32)
    (75, 80)
    """
    return min(each.since for each in INSTRUCTIONS if factor in each.factors)


def largest(factor: Factor, capability: int) -> MatrixInstruction:
    """The instruction with most products that processors of a compute capability have.

    >>> largest(Factor.F16, 90).shape, largest(Factor.S8, 75).shape
    ('m16n8k16', 'm8n8k16')

    Raises:
        ValueError: they have none.
    """
    known = [each for each in INSTRUCTIONS if factor in each.factors and each.since <= capability]
    return max(known, key=lambda each: each.rows * each.depth)

"""The matrix instructions that products of tiles use: ``mma`` of 16 rows and 8 columns."""

from __future__ import annotations

from gridlane.core.dtypes import bf16, f16, f32, i8, u8
from gridlane.ir.ops import tiles
from gridlane.ir.ops.products import Factor
from gridlane.ir.values import Value

FACTORS = {
    f16: Factor.F16,
    bf16: Factor.BF16,
    f32: Factor.TF32,
    i8: Factor.S8,
    u8: Factor.U8,
}
"""Factors of matrix instructions, by the elements of tiles."""

DEPTHS = {2: 16, 4: 8, 1: 32}
"""The inner extent of a matrix instruction, by the bytes of a factor's element."""


def factor_of(value: Value) -> tuple[Value, bool]:
    """The tile that a factor is, and whether transposed."""
    turned = False
    while isinstance(value.op, tiles.TileTranspose) and value.op.order == (1, 0):
        value, turned = value.op.source, not turned
    return value, turned

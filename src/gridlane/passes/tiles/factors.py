"""Factors of products."""

from __future__ import annotations

from gridlane.ir.ops import tiles
from gridlane.ir.values import Value


def factor_of(value: Value) -> tuple[Value, bool]:
    """The tile that a factor is, and whether transposed."""
    turned = False
    while isinstance(value.op, tiles.TileTranspose) and value.op.order == (1, 0):
        value, turned = value.op.source, not turned
    return value, turned

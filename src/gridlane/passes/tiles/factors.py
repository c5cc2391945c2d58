"""Factors of products."""

from __future__ import annotations

from gridlane.ir.ops import tiles
from gridlane.ir.types import TileType
from gridlane.ir.values import Value


def factor_of(value: Value) -> tuple[Value, bool]:
    """The tile that a factor is, and whether its matrices are transposed. The tile may have axes of
    extent 1 in front, as a block of an array of matrices has."""
    turned = False
    while True:
        op = value.op
        if isinstance(op, tiles.TileTranspose) and is_of_matrices(op):
            value, turned = op.source, not turned
        elif isinstance(op, tiles.TileReshape) and is_of_one(op):
            value = op.source
        else:
            return value, turned


def is_of_matrices(op: tiles.TileTranspose) -> bool:
    """Whether a transposition exchanges the last two axes."""
    axes = range(len(op.order))
    return op.order == (*axes[:-2], *reversed(axes[-2:])) and len(op.order) > 1


def is_of_one(op: tiles.TileReshape) -> bool:
    """Whether a change of shape drops axes of extent 1 in front."""
    type_, source = op.result.type, op.source.type
    assert isinstance(type_, TileType) and isinstance(source, TileType)
    more = len(source.shape) - len(type_.shape)
    return more >= 0 and source.shape == (1,) * more + type_.shape

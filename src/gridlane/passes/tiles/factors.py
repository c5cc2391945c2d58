"""Factors of products."""

from __future__ import annotations

from gridlane.ir.ops import arith, tile_memory, tiles
from gridlane.ir.types import TileType
from gridlane.ir.values import Value


def factor_of(value: Value) -> tuple[Value, bool]:
    """The tile that a factor is, and whether its matrices are transposed. The tile may have axes of
    extent 1 in front, as a block of an array of matrices has; and a block of an array may have
    several axes of lines, which the factor has as one."""
    turned = False
    while True:
        op = value.op
        if isinstance(op, tiles.TileTranspose) and is_of_matrices(op):
            value, turned = op.source, not turned
        elif isinstance(op, tiles.TileReshape) and is_of_lines(op):
            value = op.source
        else:
            return value, turned


def is_of_matrices(op: tiles.TileTranspose) -> bool:
    """Whether a transposition exchanges the last two axes."""
    axes = range(len(op.order))
    return op.order == (*axes[:-2], *reversed(axes[-2:])) and len(op.order) > 1


def is_of_lines(op: tiles.TileReshape) -> bool:
    """Whether a change of shape drops axes of extent 1 in front, or joins the axes of lines of a
    block of an array. Shared memory has lines of the last axis then: a transposition in between
    would have others."""
    return _is_of_one(op) or (_keeps_lines(op) and _is_of_block(op.source))


def _is_of_one(op: tiles.TileReshape) -> bool:
    type_, source = op.result.type, op.source.type
    assert isinstance(type_, TileType) and isinstance(source, TileType)
    more = len(source.shape) - len(type_.shape)
    return more >= 0 and source.shape == (1,) * more + type_.shape


def _keeps_lines(op: tiles.TileReshape) -> bool:
    type_, source = op.result.type, op.source.type
    assert isinstance(type_, TileType) and isinstance(source, TileType)
    return 2 <= len(type_.shape) <= len(source.shape) and type_.shape[-1] == source.shape[-1]


def _is_of_block(value: Value) -> bool:
    """Whether a tile is a block whose neighbours in memory are those of the last axis alone."""
    op = value.op
    if isinstance(op, tiles.TileReshape):
        return _keeps_lines(op) and _is_of_block(op.source)
    if not isinstance(op, tile_memory.TileLoadBlock) or len(op.strides) < 2:
        return False
    ones = [isinstance(s.op, arith.Const) and s.op.value == 1 for s in op.strides[-2:]]
    return ones == [False, True]

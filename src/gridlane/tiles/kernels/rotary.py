"""Rotary position embedding (Su et al., "RoFormer", 2021)."""

from __future__ import annotations

from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.tiles.kernels.blocks import power_of_2
from gridlane.tiles.kernels.operands import (
    FLOATS,
    INDICES,
    Operand,
    expect_like,
    expect_shape,
    index_type,
    operand,
    result,
    sum_type,
)
from gridlane.tiles.kernels.programs.rotary import rope_tiles

_LENGTH = 16
"""Positions of a program."""


def rope(
    x: Any,
    cos: Any,
    sin: Any,
    out: Any = None,
    *,
    positions: Any = None,
    interleaved: bool = False,
    inverse: bool = False,
    rotary: int | None = None,
) -> Any:
    """Rotate pairs of each row's elements by the angles of its position.

    Args:
        x: of shape (batch, heads, length, width), float16, bfloat16, float32 or float64; views of
            other orders of axes are as good.
        cos, sin: of the angles, of shape (positions, rotary / 2), in any of these dtypes.
        out: of x's shape and dtype, which may be x itself; a new array by default.
        positions: int32 or int64 of shape (batch, length), the rows of cos and sin; by default the
            place along the length. A position outside of cos makes NaN.
        interleaved: a pair is elements 2j and 2j + 1 of a row; else j and j + rotary / 2.
        inverse: rotate back, which is the gradient.
        rotary: how many of a row's elements are pairs, from the first on, an even number; the
            others stay. By default all.

    Returns:
        ``out``, computed in float32, or float64 for float64.

    Raises:
        ArgumentError: an array does not fit.

    >>> import numpy as np
    >>> x = np.array([1.0, 2.0]).reshape(1, 1, 1, 2)
    >>> rope(x, np.array([[0.0]]), np.array([[1.0]])).ravel()
    array([-2.,  1.])
    """
    source = operand("x", x, FLOATS, 4)
    batch, heads, length, width = source.shape
    turned = width if rotary is None else rotary
    if turned % 2:
        raise ArgumentError(f"{source}; its width must be even")
    if not 0 <= turned <= width:
        raise ArgumentError(f"rotary is {rotary}, and {source}: it must be at most the width")
    half, rest = turned // 2, width - turned
    turns, more = operand("cos", cos, FLOATS, 2), operand("sin", sin, FLOATS, 2)
    expect_shape(turns, (turns.shape[0], half))
    expect_like(more, turns)
    where = _positions(positions, source, turns)
    target = result("out", out, source, source.shape, source.dtype)
    if not target.size:
        return target.value
    rope_tiles[(batch * heads * -(-length // _LENGTH),)](
        source.value, turns.value, more.value, where.value if where else None, target.value,
        heads, length, turns.shape[0], half, width, source.strides, turns.strides, more.strides,
        where.strides if where else (0, 0), target.strides,
        PAIRS=bool(interleaved), INVERSE=bool(inverse), LENGTH=_LENGTH,
        HALF=power_of_2(half), REST=power_of_2(rest) if rest else 0, SUM=sum_type(source.dtype),
        INDEX=index_type(source, turns, more, where, target),
    )  # fmt: skip
    return target.value


def _positions(positions: Any, x: Operand, cos: Operand) -> Operand | None:
    batch, _, length, _ = x.shape
    if positions is not None:
        made = operand("positions", positions, INDICES, 2)
        expect_shape(made, (batch, length))
        return made
    if cos.shape[0] < length:
        raise ArgumentError(f"{cos}, and {x}: there are angles for less than {length} positions")
    return None

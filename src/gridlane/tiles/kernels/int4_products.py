"""Products with weights of 4 bits."""

from __future__ import annotations

from typing import Any, NamedTuple

from gridlane.core.errors import ArgumentError
from gridlane.frontends.triton import language as tl
from gridlane.tiles.kernels.addressed import add_split
from gridlane.tiles.kernels.blocks import (
    least_rows,
    multiprocessors,
    power_of_2,
    product_blocks,
    record,
)
from gridlane.tiles.kernels.described import address_of_array
from gridlane.tiles.kernels.factors import bias_of, check_options
from gridlane.tiles.kernels.norms import value_of
from gridlane.tiles.kernels.operands import (
    FLOATS,
    Operand,
    expect_shape,
    index_type,
    new,
    operand,
    result,
    sum_name,
    sum_type,
)
from gridlane.tiles.kernels.programs.int4_products import (
    int4_row_tiles,
    int4_tiles,
    int4_word_tiles,
)

_LEAST_GROUP = 32
_STEP = 64
"""Bytes of a column in a step, at most."""
_MOST_ROWS = 2
"""Of products without matrix instructions, each of which reads all weights."""
_COLUMNS = 128
_PROGRAMS = 4
"""For each of a GPU's multiprocessors."""
_LEAST_STEPS = 4
"""Of a part of the sums."""


def int4_matmul(
    a: Any,
    weights: Any,
    scales: Any,
    zeros: Any = None,
    out: Any = None,
    *,
    bias: Any = None,
    activation: str | None = None,
    split_k: int | None = None,
) -> Any:
    """The product of a matrix and the transpose of one of 4-bit weights, and
    ``activation(product + bias)`` of it.

    Args:
        a: of shape (m, k), float16, bfloat16, float32 or float64.
        weights: uint8 of shape (n, k / 2), each with the weights of two columns of ``a``: that of
            the even one in the low four bits.
        scales: float32, or a's dtype, of shape (n, groups): of as many neighbours of a row each,
            a multiple of 32.
        zeros: uint8 of shape (n, groups), what is subtracted from a weight's number of 0 to 15
            before it is scaled; None for 0.
        out: of shape (m, n) and a's dtype; a new array by default.
        bias: floats of shape (n,).
        activation: as of ``matmul``.
        split_k: the parts of the sums that are computed apart and then added in order; by default
            as many as keep the device busy.

    Returns:
        ``out``. Products with the differences of numbers and zeros, which are exact, are added, and
        those of a step times their scale, in float32, or float64 for float64.

    Raises:
        ArgumentError: an array or option does not fit.

    >>> import numpy as np
    >>> a, weights = np.ones((1, 32)), np.full((1, 16), 0x31, np.uint8)
    >>> int4_matmul(a, weights, np.array([[0.5]]))
    array([[32.]])
    """
    left, packed = operand("a", a, FLOATS, 2), operand("weights", weights, ("uint8",), 2)
    (m, k), n = left.shape, packed.shape[0]
    if k % 2:
        raise ArgumentError(f"{left}; its columns must be even")
    expect_shape(packed, (n, k // 2))
    scale = operand("scales", scales, ("float32", left.dtype), 2)
    groups = scale.shape[1]
    expect_shape(scale, (n, groups))
    if (k and not groups) or (groups and (k % groups or k // groups % _LEAST_GROUP)):
        raise ArgumentError(
            f"{scale}, and {left}: a's columns must be in groups of a multiple of {_LEAST_GROUP}"
        )
    zero = None if zeros is None else operand("zeros", zeros, ("uint8",), 2)
    if zero is not None:
        expect_shape(zero, scale.shape)
    check_options(activation, split_k)
    shift = bias_of(bias, n)
    target = result("out", out, left, (m, n), left.dtype)
    if target.size:
        _launch(left, packed, scale, zero, target, shift, activation, split_k)
    return target.value


class _Tile(NamedTuple):
    """A tile: its rows and columns, bytes of a step and of a group along them, its warps, whether
    it is a row alone; and into how many parts sums are divided."""

    rows: int
    columns: int
    step: int
    group: int
    warps: int
    is_row: bool
    parts: int


def _tile(a: Operand, count: int, groups: int, m: int, n: int, split_k: int | None) -> _Tile:
    """The tile of a product with columns of so many bytes."""
    group = max(count // max(groups, 1), 1)
    step = min(group & -group, _STEP)
    is_row = m <= _MOST_ROWS
    tile = product_blocks(m, n, 2 * step, a.dtype)
    rows = 1 if is_row else max(tile.m, least_rows(a.dtype))
    columns = min(power_of_2(n), _COLUMNS) if is_row else tile.n
    parts = _parts(-(-m // rows) * -(-n // columns), -(-count // step), split_k)
    return _Tile(rows, columns, step, group, tile.warps, is_row, parts)


def _launch(
    a: Operand,
    packed: Operand,
    scales: Operand,
    zeros: Operand | None,
    out: Operand,
    bias: Operand | None,
    activation: str | None,
    split_k: int | None,
) -> None:
    (m, n), count = out.shape, packed.shape[1]
    tile = _tile(a, count, scales.shape[1], m, n, split_k)
    parts, columns, is_row = tile.parts, tile.columns, tile.is_row
    split, kind = None, sum_type(a.dtype)
    target, out_steps = out, (*out.strides, 0)
    if parts > 1 or bias is not None or activation is not None:
        split = target = new("parts", a, (parts, m * n), sum_name(a.dtype))
        out_steps = n, 1, m * n
    index = index_type(a, packed, scales, zeros, out, split)
    strides = a.strides, packed.strides, scales.strides, zeros.strides if zeros else (0, 0)
    arrays = a.value, packed.value, scales.value, value_of(zeros), target.value
    grid = (-(-m // tile.rows) * -(-n // columns) * parts,)
    constants: dict[str, Any] = {"N": columns, "STEP": tile.step, "SUM": kind, "INDEX": index}
    if is_row and n % columns == 0 and _has_words(packed, tile.step) and kind is tl.float32:
        del constants["SUM"]
        int4_word_tiles[grid](
            *arrays, n, count, tile.group, parts, *strides, out_steps, **constants
        )
    elif is_row:
        int4_row_tiles[grid](
            *arrays, n, count, tile.group, parts, *strides, out_steps, WHOLE=n % columns == 0,
            **constants,
        )  # fmt: skip
    else:
        int4_tiles[grid](
            *arrays, m, n, count, tile.group, parts, *strides, out_steps, M=tile.rows,
            num_warps=tile.warps, **constants,
        )  # fmt: skip
    if split is not None:
        add_split(split, out, bias, activation, parts, kind, index)


def _parts(tiles: int, steps: int, asked: int | None) -> int:
    """Into how many parts sums are divided, so that the device is busy."""
    busy = multiprocessors() * (1 if record().on_host else _PROGRAMS)
    wanted = min(busy // tiles, steps // _LEAST_STEPS) if asked is None else asked
    return max(min(wanted, steps), 1)


def _has_words(packed: Operand, step: int) -> bool:
    """Whether a GPU reads columns by words of eight numbers."""
    return (
        record().name == "cuda"
        and packed.strides[1] == 1
        and packed.strides[0] % 4 == 0
        and address_of_array(packed.value) % 4 == 0
        and step % 4 == 0
    )

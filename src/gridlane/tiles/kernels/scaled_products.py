"""Products of matrices whose factors have scales of blocks, as floats of 8 bits do."""

from __future__ import annotations

from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.core.tensor_map import fits
from gridlane.frontends.triton import language as tl
from gridlane.tiles.descriptors import TensorDescriptor
from gridlane.tiles.kernels.addressed import add_split
from gridlane.tiles.kernels.blocks import (
    has_warpgroups,
    multiprocessors,
    power_of_2,
    product_blocks,
)
from gridlane.tiles.kernels.described import address_of_array
from gridlane.tiles.kernels.factors import bias_of, check_options, factors
from gridlane.tiles.kernels.norms import step_of, value_of
from gridlane.tiles.kernels.operands import (
    FLOATS,
    NARROW,
    Operand,
    expect_shape,
    index_type,
    new,
    operand,
    result,
)
from gridlane.tiles.kernels.programs.scaled_products import scaled_product_tiles

_FACTORS = ("float16", "bfloat16", "float32", *NARROW)
_GROUP = 8
_STEP = 128
"""The most elements of the inner dimension of a step."""
_STAGES = 6
_LEAST_BLOCKS = 4
"""Of a part of the sums."""


def scaled_matmul(
    a: Any,
    b: Any,
    scale_a: Any,
    scale_b: Any,
    out: Any = None,
    *,
    block: int = 128,
    bias: Any = None,
    activation: str | None = None,
    out_dtype: str = "bfloat16",
    split_k: int | None = None,
) -> Any:
    """The product of two matrices whose elements are times scales of blocks, and
    ``activation(product + bias)`` of it.

    Args:
        a, b: of shapes (m, k) and (k, n), both of float16, bfloat16 or float32, or any two of the
            floats of 8 bits. A transposed view is as good as a copy of it.
        scale_a: float32 of shape (m, blocks of k), or (blocks of m, blocks of k).
        scale_b: float32 of shape (blocks of k, n), or (blocks of k, blocks of n).
        out: of shape (m, n) and ``out_dtype``; a new array by default.
        block: the rows, columns or elements of the inner dimension of a block; a power of two, of
            16 at least. The last block of an axis may have less.
        bias: floats of shape (n,).
        activation: as of ``matmul``.
        out_dtype: float16, bfloat16 or float32.
        split_k: the parts of the sums that are computed apart and then added in order; by default
            as many as keep the device busy.

    Returns:
        ``out``. Sums of a block of the inner dimension are times its scales, and added in float32.

    Raises:
        ArgumentError: an array or option does not fit.

    >>> import numpy as np
    >>> a, b = np.ones((1, 32), np.float32), np.ones((32, 1), np.float32)
    >>> scales = np.array([[2.0, 3.0]], np.float32)
    >>> scaled_matmul(a, b, scales, scales.T, block=16, out_dtype="float32")
    array([[208.]], dtype=float32)
    """
    left, right = factors(a, b, (2, 2), _FACTORS)
    (m, k), n = left.shape, right.shape[1]
    if right.shape[0] != k:
        raise ArgumentError(f"{left}, and {right}: a's columns must be b's rows")
    if block < 16 or block & (block - 1):
        raise ArgumentError(f"block is {block}; it must be a power of two, of 16 at least")
    if out_dtype not in FLOATS[:3]:
        raise ArgumentError(f"out_dtype is {out_dtype}; it must be {', '.join(FLOATS[:3])}")
    check_options(activation, split_k)
    scales = _scales(scale_a, scale_b, (m, n, k), block)
    shift = bias_of(bias, n)
    target = result("out", out, left, (m, n), out_dtype)
    if target.size:
        _launch(left, right, scales, target, block, shift, activation, split_k)
    return target.value


def _scales(
    scale_a: Any, scale_b: Any, extents: tuple[int, int, int], block: int
) -> tuple[Operand, Operand]:
    m, n, k = extents
    one = operand("scale_a", scale_a, ("float32",), 2)
    other = operand("scale_b", scale_b, ("float32",), 2)
    inner = -(-k // block)
    if one.shape != (-(-m // block), inner):
        expect_shape(one, (m, inner))
    if other.shape != (inner, -(-n // block)):
        expect_shape(other, (inner, n))
    return one, other


def _launch(
    a: Operand,
    b: Operand,
    scales: tuple[Operand, Operand],
    out: Operand,
    block: int,
    bias: Operand | None,
    activation: str | None,
    split_k: int | None,
) -> None:
    (m, n), k, step = out.shape, a.shape[1], min(block, _STEP)
    tile = product_blocks(m, n, k, a.dtype, of_arrays=True)
    rows, columns, warps = tile.m, tile.n, tile.warps
    forms, busy = None, multiprocessors()
    if has_warpgroups() and a.dtype in NARROW:
        rows, columns, warps = (64, 128, 4) if m <= 64 else (128, 128, 8)
        forms = _forms(a, b, (rows, columns, step))
    tiles = -(-m // rows) * -(-n // columns)
    parts = _parts(tiles, -(-k // block), busy) if split_k is None else split_k
    parts = max(min(parts, -(-k // block)), 1)
    one, other = scales
    split, target, steps = None, out, (*out.strides, 0)
    index = index_type(a, b, out)
    if parts > 1:
        split = target = new("parts", a, (parts, m * n), "float32")
        steps, index = (n, 1, m * n), index_type(a, b, out, split)
    persistent = forms is not None
    count = tiles * parts
    scaled_product_tiles[(min(count, busy) if persistent else count,)](
        *(forms or (a.value, b.value)), one.value, other.value, target.value,
        None if split else value_of(bias), count, m, n, k, parts, a.strides, b.strides, one.strides,
        other.strides, steps, step_of(bias), DESCRIBED=persistent,
        ROWS=1 if one.shape[0] == m else block, COLUMNS=1 if other.shape[1] == n else block,
        BLOCK=block, ACTIVATION=None if split else activation, M=rows, N=columns, K=step,
        GROUP=_GROUP, INDEX=index, num_warps=warps, num_stages=_STAGES if persistent else 3,
    )  # fmt: skip
    if split:
        add_split(split, out, bias, activation, parts, tl.float32, index)


def _forms(a: Operand, b: Operand, tile: tuple[int, int, int]) -> Any:
    """Descriptors of a and of b's transpose; None where no tensor maps describe them."""
    made: list[TensorDescriptor] = []
    rows, columns, step = tile
    turned = Operand(b.name, b.value, b.shape[::-1], b.strides[::-1], b.dtype)
    for each, extent in ((a, rows), (turned, columns)):
        far, near = each.strides
        if each.shape[0] <= 1:
            far = -(-each.shape[1] // 16) * 16
        if near != 1 or not fits(address_of_array(each.value), each.shape, (far,)):
            return None
        made.append(TensorDescriptor(each.value, each.shape, (far, 1), (extent, step)))
    return tuple(made)


def _parts(tiles: int, blocks: int, busy: int) -> int:
    """Into how many parts sums are divided, so that the device is busy."""
    if tiles * 2 > busy:
        return 1
    return min(busy // tiles, power_of_2(blocks // _LEAST_BLOCKS + 1) // 2)

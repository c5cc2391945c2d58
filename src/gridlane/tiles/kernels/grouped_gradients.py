"""The gradients of ``grouped_matmul``'s matrices."""

from __future__ import annotations

from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.tiles.kernels.blocks import power_of_2, product_blocks
from gridlane.tiles.kernels.operands import (
    FLOATS,
    INDICES,
    expect_dtype,
    expect_shape,
    index_type,
    operand,
    result,
    sum_type,
)
from gridlane.tiles.kernels.programs.grouped_gradients import group_gradient_tiles

_GROUP = 8


def grouped_weight_gradient(a: Any, grad: Any, sizes: Any, out: Any = None) -> Any:
    """The products of the transposed rows of each group with the rows of their gradients: the
    gradients of ``grouped_matmul``'s matrices. That of its rows is ``grouped_matmul`` of ``grad``
    and the transposed matrices.

    Args:
        a: of shape (rows, k), float16, bfloat16, float32 or float64; the rows of a group follow
            each other.
        grad: of shape (rows, n) and a's dtype.
        sizes: the rows of each group, int32 or int64 of shape (groups,). Groups end where the rows
            do; rows behind the last group are not read.
        out: of shape (groups, k, n) and a's dtype; a new array by default.

    Returns:
        ``out``; zeros for a group without rows.

    Raises:
        ArgumentError: an array does not fit.

    >>> import numpy as np
    >>> a, grad = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [1.0], [5.0]])
    >>> grouped_weight_gradient(a, grad, np.array([2, 1])).ravel()
    array([ 3., 15.])
    """
    left, right = operand("a", a, FLOATS, 2), operand("grad", grad, FLOATS, 2)
    expect_dtype(right, left)
    (rows, k), n = left.shape, right.shape[1]
    expect_shape(right, (rows, n))
    if rows >= 2**31:
        raise ArgumentError(f"{left}; it must have less than 2 ** 31 rows")
    each = operand("sizes", sizes, INDICES, 1)
    (groups,) = each.shape
    target = result("out", out, left, (groups, k, n), left.dtype)
    if not target.size:
        return target.value
    tile = product_blocks(k, n, -(-rows // groups), left.dtype, groups, of_arrays=True)
    grid = (groups * -(-k // tile.m) * -(-n // tile.n),)
    group_gradient_tiles[grid](
        left.value, right.value, each.value, target.value, rows, groups, k, n, left.strides,
        right.strides, each.strides[0], target.strides, GROUPS=power_of_2(groups), GROUP=_GROUP,
        M=tile.m, N=tile.n, K=tile.k, num_warps=tile.warps, SUM=sum_type(left.dtype),
        INDEX=index_type(left, right, target),
    )  # fmt: skip
    return target.value

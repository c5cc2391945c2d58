"""Rows of a table by their numbers, and the gradient of the table."""

from __future__ import annotations

from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.tiles.kernels.blocks import power_of_2
from gridlane.tiles.kernels.operands import (
    FLOATS,
    INDICES,
    as_rows,
    contiguous,
    expect_shape,
    index_type,
    operand,
    result,
    sum_name,
    sum_type,
    zeros,
)
from gridlane.tiles.kernels.programs.embeddings import (
    convert_tiles,
    embedding_gradient_tiles,
    embedding_tiles,
)

_ROWS, _COLUMNS = 8, 128
"""The largest tile."""


def embedding(table: Any, indices: Any, out: Any = None) -> Any:
    """The rows of a table by their numbers.

    Args:
        table: of shape (rows, width), float16, bfloat16, float32 or float64.
        indices: int32 or int64 of any shape; a number that the table does not have makes NaN.
        out: of the indices' shape and the width, of the table's dtype; a new array by default.

    Returns:
        ``out``.

    Raises:
        ArgumentError: an array does not fit.

    >>> import numpy as np
    >>> embedding(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0, 1]))
    array([[3., 4.],
           [1., 2.],
           [3., 4.]])
    """
    source = operand("table", table, FLOATS, 2)
    which = operand("indices", indices, INDICES)
    width = source.shape[1]
    target = result("out", out, source, (*which.shape, width), source.dtype)
    if not target.size:
        return target.value
    (rows,) = as_rows(target)
    which = contiguous(which)
    grid, tile = _tiles(which.size, width)
    embedding_tiles[grid](
        source.value, which.value, rows.value, source.shape[0], which.size, width,
        source.strides, rows.strides, **tile, INDEX=index_type(source, which, rows),
    )  # fmt: skip
    return target.value


def embedding_backward(
    grad: Any, indices: Any, count: int, out: Any = None, *, padding_index: int | None = None
) -> Any:
    """The gradient of ``embedding``'s table: for each of its rows the sum of the gradients of the
    results that are this row.

    Args:
        grad: of the result, of the indices' shape and the width.
        indices: as they were passed to ``embedding``; numbers that the table does not have add
            nothing.
        count: the rows of the table.
        out: of shape (count, width) and grad's dtype; a new array by default.
        padding_index: a row whose gradient is 0.

    Returns:
        ``out``. Sums are of float32, or float64 for float64. Their order is not fixed, so that the
        last bits may differ from run to run.

    Raises:
        ArgumentError: an array does not fit.

    >>> import numpy as np
    >>> embedding_backward(np.array([[1.0], [2.0], [4.0]]), np.array([1, 0, 1]), 2)
    array([[2.],
           [5.]])
    """
    given, which = operand("grad", grad, FLOATS), operand("indices", indices, INDICES)
    if not given.shape:
        raise ArgumentError(f"{given}; it must have a width")
    width = given.shape[-1]
    expect_shape(given, (*which.shape, width))
    target = None if out is None else result("out", out, given, (count, width), given.dtype)
    sums = zeros("sums", given, (count, width), sum_name(given.dtype))
    if given.size and count:
        (rows,) = as_rows(given)
        which = contiguous(which)
        grid, tile = _tiles(which.size, width)
        embedding_gradient_tiles[grid](
            rows.value, which.value, sums.value, count, which.size, width, rows.strides,
            -1 if padding_index is None else padding_index, IGNORES=padding_index is not None,
            **tile, SUM=sum_type(given.dtype), INDEX=index_type(given, which, sums),
        )  # fmt: skip
    if target is None and sums.dtype == given.dtype:
        return sums.value
    target = target or result("out", None, given, (count, width), given.dtype)
    if target.size:
        grid, tile = _tiles(count, width)
        convert_tiles[grid](
            sums.value, target.value, count, width, sums.strides, target.strides, **tile,
            INDEX=index_type(sums, target),
        )  # fmt: skip
    return target.value


def _tiles(rows: int, columns: int) -> tuple[tuple[int], dict[str, int]]:
    """A grid over an array, and the extents of its tiles."""
    width = min(power_of_2(columns), _COLUMNS)
    return (-(-rows // _ROWS) * -(-columns // width),), {"ROWS": _ROWS, "COLUMNS": width}

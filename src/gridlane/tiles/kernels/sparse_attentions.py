"""Attention of each query to keys that are listed by their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.launch.geometry import address_of
from gridlane.tiles.kernels.attention_calls import checked_softcap
from gridlane.tiles.kernels.attentions import scale_of
from gridlane.tiles.kernels.blocks import (
    AttentionBlocks,
    attention_blocks,
    least_rows,
    power_of_2,
)
from gridlane.tiles.kernels.operands import (
    FLOATS,
    INDICES,
    Operand,
    expect_dtype,
    expect_shape,
    index_type,
    operand,
    result,
    sum_type,
)
from gridlane.tiles.kernels.programs.sparse_attention import sparse_attention_tiles

_ROWS, _COLUMNS, _WARPS = 64, 32, 8
"""Heads and keys of a tile of matrix instructions, and its warps, of long rows."""
_LONG = 128


def sparse_attention(
    q: Any,
    k: Any,
    v: Any,
    indices: Any,
    out: Any = None,
    *,
    scale: float | None = None,
    softcap: float | None = None,
) -> Any:
    """Attention of each query to keys that are listed by their numbers.

    Args:
        q: of shape (batch, heads, queries, width), of float16, bfloat16, float32 or float64; views
            of other orders of axes are as good.
        k: of shape (batch, heads of keys, keys, width) and q's dtype; as many heads of q share one
            of keys as there are of these.
        v: of shape (batch, heads of keys, keys, width of values) and q's dtype. Values that are the
            first elements of the keys, in the same memory, are read once.
        indices: int32 or int64 of shape (batch, heads of keys, queries, count). A number that no
            key has, as -1, is left out; a key that is listed twice counts twice.
        out: of shape (batch, heads, queries, width of values); a new array by default.
        scale, softcap: as of ``attention``.

    Returns:
        ``out``; zeros for a query of no key.

    Raises:
        ArgumentError: an array or option does not fit.

    >>> import numpy as np
    >>> q, k = np.zeros((1, 1, 2, 1)), np.arange(4.0).reshape(1, 1, 4, 1)
    >>> sparse_attention(q, k, k, np.array([[[[0, 3], [2, -1]]]])).ravel()
    array([1.5, 2. ])
    """
    made = [operand(name, each, FLOATS, 4) for name, each in (("q", q), ("k", k), ("v", v))]
    query, key, value = made
    (batch, heads, queries, width), (far, keys) = query.shape, key.shape[1:3]
    values = value.shape[3]
    expect_shape(key, (batch, far, keys, width))
    expect_shape(value, (batch, far, keys, values))
    for each in (key, value):
        expect_dtype(each, query)
    if not far or heads % far:
        raise ArgumentError(f"{query}, and {key}: the heads of q must be a multiple of those of k")
    number = operand("indices", indices, INDICES, 4)
    count = number.shape[3]
    expect_shape(number, (batch, far, queries, count))
    bound = checked_softcap(softcap)
    target = result("out", out, query, (batch, heads, queries, values), query.dtype)
    if not target.size:
        return target.value
    main = 1 << max(width.bit_length() - 1, 0)  # the largest power of two
    tail = power_of_2(width - main) if width > main else 0
    group = heads // far
    tile = _tile(group, count, max(main, power_of_2(values)), query.dtype)
    blocks = -(-group // tile.rows)
    sparse_attention_tiles[(blocks * queries * far * batch,)](
        *[each.value for each in (*made, number, target)], blocks, far, group, queries, keys, count,
        width, values, *[each.strides for each in (*made, number, target)],
        SCALE=scale_of(scale, width), SOFTCAP=bound, SHARED=_are_shared(key, value, main),
        M=tile.rows, N=tile.columns, MAIN=main, TAIL=tail, VALUES=power_of_2(values),
        SUM=sum_type(query.dtype), INDEX=index_type(*made, number, target), num_warps=tile.warps,
    )  # fmt: skip
    return target.value


def _tile(group: int, count: int, width: int, dtype: str) -> AttentionBlocks:
    least = least_rows(dtype)
    if least > 1 and width > _LONG:
        rows = max(min(power_of_2(group), _ROWS), least)
        return AttentionBlocks(rows, max(min(power_of_2(count), _COLUMNS), least), _WARPS)
    tile = attention_blocks(group, count, width, dtype)
    return AttentionBlocks(max(tile.rows, least), max(tile.columns, least), tile.warps)


def _are_shared(k: Operand, v: Operand, main: int) -> bool:
    """Whether values are the first elements of the keys."""
    same = v.strides == k.strides and v.shape[3] == main and k.size > 0
    return same and _begin(k.value) == _begin(v.value)


def _begin(array: Any) -> int:
    """Where an array begins, in the host's memory or a device's."""
    if isinstance(array, np.ndarray):
        return address_of(array)
    return array.address if isinstance(array, DeviceNDArray) else int(array.data_ptr())

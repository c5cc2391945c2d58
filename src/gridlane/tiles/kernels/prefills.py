"""Several new tokens of sequences whose keys and values a cache has in pages: their places, their
way into the cache, and their attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.tiles.kernels.attention_calls import (
    Weighing,
    checked_softcap,
    scale_arguments,
    scales_of,
)
from gridlane.tiles.kernels.attentions import checked_window, scale_of
from gridlane.tiles.kernels.blocks import (
    AttentionBlocks,
    attention_blocks,
    has_warpgroups,
    least_rows,
    power_of_2,
)
from gridlane.tiles.kernels.norms import value_of
from gridlane.tiles.kernels.operands import (
    FLOATS,
    INDICES,
    NARROW,
    Operand,
    contiguous,
    expect_dtype,
    expect_shape,
    index_type,
    new,
    operand,
    result,
    sum_type,
)
from gridlane.tiles.kernels.programs.paged import (
    append_tiles,
    paged_prefill_tiles,
    token_places,
)

_LIMITS = {
    "float8_e4m3fn": 448.0, "float8_e5m2": 57344.0, "float8_e4m3fnuz": 240.0,
    "float8_e5m2fnuz": 57344.0,
}  # fmt: skip
"""The largest numbers of floats of 8 bits."""
_TOKENS = 16
"""Of a program that stores them."""
_BLOCK = 256
_ROWS = 128
"""Queries of a tile of two warpgroups."""


def packed_positions(starts: Any, tokens: int, lengths: Any = None) -> Any:
    """The place of each packed token in its sequence.

    Args:
        starts: int32 or int64 of shape (sequences + 1,): where each sequence's tokens begin, and
            the end of the last; they do not decrease.
        tokens: the number of packed tokens.
        lengths: the tokens of each sequence that came before, int32 or int64 of shape (sequences,);
            by default none.

    Returns:
        int32 of shape (1, tokens), as ``rope`` takes it; -1 for tokens of no sequence.

    Raises:
        ArgumentError: an array does not fit.

    >>> import numpy as np
    >>> packed_positions(np.array([0, 2, 3]), 4, np.array([7, 0]))
    array([[ 7,  8,  0, -1]], dtype=int32)
    """
    begins = _starts(starts)
    before = None if lengths is None else operand("lengths", lengths, INDICES, 1)
    if before is not None:
        expect_shape(before, (begins.size - 1,))
    if tokens < 0:
        raise ArgumentError(f"tokens is {tokens}; it must be at least 0")
    out = new("positions", begins, (1, tokens), "int32")
    if tokens:
        token_places[(-(-tokens // _BLOCK),)](
            begins.value, value_of(before), out.value, tokens, begins.size - 1,
            0 if before is None else before.strides[0], BLOCK=_BLOCK,
        )  # fmt: skip
    return out.value


def append_paged(
    k: Any,
    v: Any,
    keys: Any,
    values: Any,
    tables: Any,
    lengths: Any,
    starts: Any,
    *,
    k_scale: Any = None,
    v_scale: Any = None,
) -> None:
    """Write keys and values of new tokens into a cache, behind those of their sequences.

    Args:
        k: of packed tokens, of shape (tokens, heads, width), float16, bfloat16, float32 or float64.
        v: of shape (tokens, heads, width of values) and k's dtype.
        keys: the cache, of shape (pages, tokens of a page, heads, width), of k's dtype or of floats
            of 8 bits, which take the nearest number that they have.
        values: of shape (pages, tokens of a page, heads, width of values) and keys' dtype.
        tables, lengths: as of ``paged_attention``; the lengths are those before.
        starts: as of ``packed_positions``.
        k_scale, v_scale: what the cache's numbers are times: float32 of shape () or (heads,).

    Tokens of no sequence, behind the last page of their sequence's table, or of a page that the
    cache does not have, are not written. Pages that several tokens are written to at once have
    any of these.

    Raises:
        ArgumentError: an array does not fit.
    """
    new_keys, new_values = operand("k", k, FLOATS, 3), operand("v", v, FLOATS, 3)
    expect_dtype(new_values, new_keys)
    cache = _cache(keys, values, new_keys)
    (tokens, heads, width), value_width = new_keys.shape, cache[1].shape[3]
    expect_shape(cache[0], (*cache[0].shape[:2], heads, width))
    expect_shape(new_values, (tokens, heads, value_width))
    for each, given in zip(cache, (keys, values), strict=True):
        result(
            each.name, given, each, each.shape, each.dtype
        )  # refuses steps that are not positive
    table, length, begins = _sequences(tables, lengths, starts)
    scales: list[Operand | None] = []
    for name, value in (("k_scale", k_scale), ("v_scale", v_scale)):
        made = None if value is None else operand(name, value, ("float32",))
        if made is not None and made.shape:
            expect_shape(made, (heads,))
        scales.append(made)
    if not new_keys.size and not new_values.size:
        return
    none = all(each is None for each in scales)
    steps = tuple([each.strides[0] if each is not None and each.shape else 0 for each in scales])
    pages, page = cache[0].shape[:2]
    append_tiles[(-(-tokens // _TOKENS) * heads,)](
        new_keys.value, new_values.value, cache[0].value, cache[1].value, table.value, length.value,
        begins.value, tokens, begins.size - 1, pages, page, table.shape[1] * page, heads, width,
        value_width, new_keys.strides, new_values.strides, cache[0].strides, cache[1].strides,
        table.strides, length.strides[0], None if none else tuple(map(value_of, scales)), steps,
        M=_TOKENS, WIDTH=power_of_2(width), VALUES=power_of_2(value_width),
        LIMIT=_LIMITS.get(cache[0].dtype, 0.0),
        INDEX=index_type(new_keys, new_values, *cache, table),
    )  # fmt: skip


def paged_prefill(
    q: Any,
    k: Any,
    v: Any,
    keys: Any,
    values: Any,
    tables: Any,
    lengths: Any,
    starts: Any,
    out: Any = None,
    *,
    causal: bool = True,
    window: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    k_scale: Any = None,
    v_scale: Any = None,
    longest: int | None = None,
) -> Any:
    """Attention of new tokens to those of their sequences that a cache has in pages, and to each
    other.

    Args:
        q: of packed tokens, of shape (tokens, heads, width), float16, bfloat16, float32 or float64.
        k, v: of the same tokens, of shapes (tokens, heads of keys, width) and (tokens, heads of
            keys, width of values), and q's dtype. They are read here, whether or not the cache has
            them already.
        keys, values: the cache, as of ``append_paged``.
        tables, lengths: as of ``paged_attention``; the lengths are those before the new tokens. A
            page that the cache does not have makes NaN.
        starts: as of ``packed_positions``. Tokens of no sequence have undefined results.
        out: of shape (tokens, heads, width of values) and q's dtype; a new array by default.
        causal: a token sees no new one behind it.
        window, scale, softcap: as of ``attention``.
        k_scale, v_scale: what the cache's numbers are times: float32 of shape (), or (sequences,
            heads of keys).
        longest: the most new tokens of a sequence, or more, where that is known; without it, and
            ``starts`` on a device, there are programs for a sequence of all tokens.

    Returns:
        ``out``.

    Raises:
        ArgumentError: an array or option does not fit.

    >>> import numpy as np
    >>> cache, new = np.arange(4.0).reshape(1, 4, 1, 1), np.array([5.0, 9.0]).reshape(2, 1, 1)
    >>> pages, lengths, starts = np.array([[0]]), np.array([2]), np.array([0, 2])
    >>> paged_prefill(new * 0, new, new, cache, cache, pages, lengths, starts).ravel()
    array([2.  , 3.75])
    """
    made = [operand(name, each, FLOATS, 3) for name, each in (("q", q), ("k", k), ("v", v))]
    query, new_keys, new_values = made
    tokens, heads, width = query.shape
    far = new_keys.shape[1]
    cache = _cache(keys, values, query)
    value_width = cache[1].shape[3]
    expect_shape(new_keys, (tokens, far, width))
    expect_shape(new_values, (tokens, far, value_width))
    expect_shape(cache[0], (*cache[0].shape[:2], far, width))
    for each in (new_keys, new_values):
        expect_dtype(each, query)
    if not far or heads % far:
        raise ArgumentError(f"{query}, and {new_keys}: the heads of q must be a multiple of k's")
    table, length, begins = _sequences(tables, lengths, starts)
    weighing = Weighing(causal, window, scale, softcap)
    scales = scales_of((None, k_scale, v_scale), (length.size, far))
    target = result("out", out, query, (tokens, heads, value_width), query.dtype)
    most = _longest(begins, tokens) if longest is None else min(longest, tokens)
    if target.size and most:
        pages, page = cache[0].shape[:2]
        widths = power_of_2(width), power_of_2(value_width)
        known = table.shape[1] * page + most
        tile = attention_blocks(most, known, max(widths), query.dtype)
        if most >= _ROWS and max(widths) == 256 and least_rows(query.dtype) > 1:
            columns = 32 if cache[0].dtype in NARROW else 64
            tile = AttentionBlocks(_ROWS, columns, 8) if has_warpgroups() else tile
        blocks = -(-most // tile.rows)
        paged_prefill_tiles[(blocks * heads * length.size,)](
            *[each.value for each in (*made, *cache, table, length, begins, target)],
            blocks, heads, heads // far, tokens, pages, page, table.shape[1] * page,
            checked_window(window), width, value_width, *[each.strides for each in made],
            *[each.strides for each in cache], table.strides, length.strides[0], target.strides,
            *scale_arguments(scales), SCALE=scale_of(scale, width),
            SOFTCAP=checked_softcap(softcap), CAUSAL=bool(weighing.causal),
            WINDOW=window is not None, M=tile.rows, N=tile.columns, WIDTH=widths[0],
            VALUES=widths[1], SUM=sum_type(query.dtype),
            INDEX=index_type(*made, *cache, table, target), num_warps=tile.warps,
        )  # fmt: skip
    return target.value


def _starts(starts: Any) -> Operand:
    made = contiguous(operand("starts", starts, INDICES, 1))
    if not made.size:
        raise ArgumentError(f"{made}; it must have the end of the last sequence")
    return made


def _sequences(tables: Any, lengths: Any, starts: Any) -> tuple[Operand, Operand, Operand]:
    begins = _starts(starts)
    table, length = operand("tables", tables, INDICES, 2), operand("lengths", lengths, INDICES, 1)
    expect_shape(length, (begins.size - 1,))
    expect_shape(table, (begins.size - 1, table.shape[1]))
    return table, length, begins


def _cache(keys: Any, values: Any, like: Operand) -> tuple[Operand, Operand]:
    dtypes = (like.dtype, *NARROW)
    one, other = operand("keys", keys, dtypes, 4), operand("values", values, dtypes, 4)
    expect_dtype(other, one)
    expect_shape(other, (*one.shape[:3], other.shape[3]))
    if not one.shape[1]:
        raise ArgumentError(f"{one}; its pages must have tokens")
    return one, other


def _longest(starts: Operand, total: int) -> int:
    if not isinstance(starts.value, np.ndarray):
        return total
    return int(np.diff(np.clip(starts.value, 0, total)).max(initial=0))

"""Several new tokens of sequences whose keys and values a cache has in pages: their places, their
way into the cache, and their attention."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.core.tensor_map import fits
from gridlane.tiles.descriptors import TensorDescriptor
from gridlane.tiles.kernels import described
from gridlane.tiles.kernels.attention_calls import (
    Scales,
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
from gridlane.tiles.kernels.described import address_of_array
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
from gridlane.tiles.kernels.programs.described_prefill import described_prefill_tiles
from gridlane.tiles.kernels.programs.paged import (
    append_tiles,
    paged_prefill_tiles,
    token_places,
    widened_pages,
)

_LIMITS = {
    "float8_e4m3fn": 448.0, "float8_e5m2": 57344.0, "float8_e4m3fnuz": 240.0,
    "float8_e5m2fnuz": 57344.0,
}  # fmt: skip
"""The largest numbers of floats of 8 bits."""
_TOKENS = 16
"""Of a program that stores them."""
_BLOCK = 256
_ROWS, _LEAST_COLUMNS = 128, 32
"""Queries of a tile of two warpgroups, and the fewest keys of one that is a part of a page."""
_LAST = 16
"""Keys of a tile behind the last full one."""


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
            of 8 bits, which take the nearest number that they have, of float64 that of its float32.
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
    _append((new_keys, new_values), cache, table, length, begins, (scales[0], scales[1]))


def _append(
    fresh: tuple[Operand, Operand],
    cache: tuple[Operand, Operand],
    tables: Operand,
    lengths: Operand,
    starts: Operand,
    scales: tuple[Operand | None, Operand | None],
) -> None:
    (tokens, heads, width), value_width = fresh[0].shape, fresh[1].shape[2]
    none = all(each is None for each in scales)
    steps = tuple([each.strides[0] if each is not None and each.shape else 0 for each in scales])
    pages, page = cache[0].shape[:2]
    append_tiles[(-(-tokens // _TOKENS) * heads,)](
        fresh[0].value, fresh[1].value, cache[0].value, cache[1].value, tables.value, lengths.value,
        starts.value, tokens, starts.size - 1, pages, page, tables.shape[1] * page, heads, width,
        value_width, fresh[0].strides, fresh[1].strides, cache[0].strides, cache[1].strides,
        tables.strides, lengths.strides[0], None if none else tuple(map(value_of, scales)), steps,
        M=_TOKENS, WIDTH=power_of_2(width), VALUES=power_of_2(value_width),
        LIMIT=_LIMITS.get(cache[0].dtype, 0.0), SUM=sum_type(fresh[0].dtype),
        INDEX=index_type(*fresh, *cache, tables),
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
            keys, width of values), and q's dtype; None where the cache has them already, behind
            the others, which is quickest.
        keys, values: the cache, as of ``append_paged``. On Hopper one of floats of 8 bits is first
            copied, as far as tables list it, to numbers of q's dtype.
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
    query = operand("q", q, FLOATS, 3)
    cache = _cache(keys, values, query)
    fresh = _fresh(k, v, query, cache)
    table, length, begins = _sequences(tables, lengths, starts)
    weighing = Weighing(causal, window, scale, softcap)
    scales = scales_of((None, k_scale, v_scale), (length.size, cache[0].shape[2]))
    shape = (*query.shape[:2], cache[1].shape[3])
    target = result("out", out, query, shape, query.dtype)
    most = _longest(begins, shape[0]) if longest is None else min(longest, shape[0])
    if target.size and most:
        call = Prefill(query, fresh, cache, table, length, begins, target, most, weighing, scales)
        _launch(call)
    return target.value


def _fresh(
    k: Any, v: Any, query: Operand, cache: tuple[Operand, Operand]
) -> tuple[Operand, Operand] | None:
    """Keys and values of new tokens."""
    tokens, heads, width = query.shape
    far, value_width = cache[0].shape[2], cache[1].shape[3]
    expect_shape(cache[0], (*cache[0].shape[:3], width))
    if not far or heads % far:
        raise ArgumentError(f"{query}, and {cache[0]}: the heads of q must be a multiple of keys'")
    if (k is None) != (v is None):
        raise ArgumentError("k and v must be given together")
    if k is None:
        return None
    new_keys, new_values = operand("k", k, FLOATS, 3), operand("v", v, FLOATS, 3)
    expect_shape(new_keys, (tokens, far, width))
    expect_shape(new_values, (tokens, far, value_width))
    for each in (new_keys, new_values):
        expect_dtype(each, query)
    return new_keys, new_values


class Prefill(NamedTuple):
    """A checked call of ``paged_prefill``."""

    q: Operand
    fresh: tuple[Operand, Operand] | None
    cache: tuple[Operand, Operand]
    tables: Operand
    lengths: Operand
    starts: Operand
    out: Operand
    longest: int
    weighing: Weighing
    scales: Scales

    @property
    def widths(self) -> tuple[int, int]:
        """Of rows of keys and of values, as powers of two."""
        return power_of_2(self.cache[0].shape[3]), power_of_2(self.cache[1].shape[3])

    @property
    def constants(self) -> dict[str, Any]:
        """What all programs have."""
        weighing, widths = self.weighing, self.widths
        return {
            "SCALE": scale_of(weighing.scale, self.q.shape[2]),
            "SOFTCAP": checked_softcap(weighing.softcap), "CAUSAL": bool(weighing.causal),
            "WINDOW": weighing.window is not None, "WIDTH": widths[0], "VALUES": widths[1],
            "INDEX": index_type(self.q, *(self.fresh or ()), *self.cache, self.tables, self.out),
        }  # fmt: skip


def _launch(call: Prefill) -> None:
    if call.fresh is not None and _gains_of_copies(call):
        call = _copied(call, call.fresh)
    tokens, heads, width = call.q.shape
    pages, page, far = call.cache[0].shape[:3]
    most, window = call.tables.shape[1] * page, checked_window(call.weighing.window)
    arrays = call.tables.value, call.lengths.value, call.starts.value, call.out.value
    value_width = call.cache[1].shape[3]
    columns = _described_columns(call)
    forms = None if columns is None else _forms(call, columns)
    if forms is not None and columns is not None:
        blocks = -(-call.longest // _ROWS)
        described_prefill_tiles[(blocks * heads * call.lengths.size,)](
            *forms, call.cache[0].value, call.cache[1].value, *arrays, blocks, heads, heads // far,
            tokens, pages, page, most, window, width, value_width, call.cache[0].strides,
            call.cache[1].strides, call.tables.strides, call.lengths.strides[0], call.out.strides,
            *scale_arguments(call.scales), M=_ROWS, N=columns, LAST=_LAST, num_warps=8,
            num_stages=2, **call.constants,
        )  # fmt: skip
        return
    tile = _tile(call, most + call.longest)
    blocks = -(-call.longest // tile.rows)
    fresh = (None, None) if call.fresh is None else tuple([each.value for each in call.fresh])
    steps = ((0,) * 3,) * 2 if call.fresh is None else [each.strides for each in call.fresh]
    paged_prefill_tiles[(blocks * heads * call.lengths.size,)](
        call.q.value, *fresh, call.cache[0].value, call.cache[1].value, *arrays, blocks, heads,
        heads // far, tokens, pages, page, most, window, width, value_width, call.q.strides, *steps,
        call.cache[0].strides, call.cache[1].strides, call.tables.strides, call.lengths.strides[0],
        call.out.strides, *scale_arguments(call.scales), M=tile.rows, N=tile.columns,
        SUM=sum_type(call.q.dtype), num_warps=tile.warps, **call.constants,
    )  # fmt: skip


def _gains_of_copies(call: Prefill) -> bool:
    """Whether a cache of floats of 8 bits is first copied to numbers of 16 bits, which products by
    tensor maps read."""
    if call.cache[0].dtype not in NARROW:
        return False
    like = tuple([Operand(e.name, e.value, e.shape, e.strides, call.q.dtype) for e in call.cache])
    return _described_columns(call._replace(fresh=None, cache=(like[0], like[1]))) is not None


def _copied(call: Prefill, fresh: tuple[Operand, Operand]) -> Prefill:
    """The same call of a cache of q's dtype, with pages for each sequence that have the new tokens
    as well."""
    pages, page, far = call.cache[0].shape[:3]
    sequences, entries = call.tables.shape
    slots = entries + -(-call.longest // page)
    tables = new("tables", call.q, (sequences, slots), "int32")
    made: list[Operand] = []
    for each, scale in zip(call.cache, call.scales[1:], strict=True):
        shape = sequences * slots, page, far, each.shape[3]
        made.append(new(each.name, call.q, shape, call.q.dtype))
        widened_pages[(sequences * slots * far,)](
            each.value, made[-1].value, call.tables.value, call.lengths.value,
            None if len(made) > 1 else tables.value, slots, entries, pages, page, far,
            each.shape[3], each.strides, made[-1].strides, call.tables.strides,
            call.lengths.strides[0], value_of(scale),
            scale.strides if scale is not None and scale.shape else (0, 0), ROWS=_TOKENS,
            WIDTH=power_of_2(each.shape[3]), INDEX=index_type(each, made[-1], call.tables),
        )  # fmt: skip
    whole = call._replace(
        fresh=None, cache=(made[0], made[1]), tables=tables, scales=(None, None, None)
    )
    _append(fresh, whole.cache, tables, call.lengths, call.starts, (None, None))
    return whole


def _tile(call: Prefill, keys: int) -> AttentionBlocks:
    wide, dtype = max(call.widths), call.q.dtype
    if call.longest >= _ROWS and wide == 256 and least_rows(dtype) > 1 and has_warpgroups():
        return AttentionBlocks(_ROWS, 32 if call.cache[0].dtype in NARROW else 64, 8)
    return attention_blocks(call.longest, keys, wide, dtype)


def _described_columns(call: Prefill) -> int | None:
    """The keys of a tile of the program with tensor maps; None where it is not for a call."""
    narrow = call.cache[0].dtype != call.q.dtype or call.q.dtype not in described.FACTORS
    if call.fresh is not None or narrow or not has_warpgroups():
        return None
    wide, page = max(call.widths), call.cache[0].shape[1]
    if call.longest < _ROWS // 2 or min(call.widths) < 64 or wide > 256:
        return None
    most = 128 if wide <= 128 and call.weighing.softcap is None else 64
    columns = min(page & -page, most)
    return columns if columns >= _LEAST_COLUMNS else None


def _forms(call: Prefill, columns: int) -> list[TensorDescriptor] | None:
    """The descriptors of q, by (head, token, width), and of keys and values, by (page, head, slot,
    width); None where no tensor maps describe them."""
    made: list[TensorDescriptor] = []
    for each, order, rows in (
        (call.q, (1, 0, 2), _ROWS), (call.cache[0], (0, 2, 1, 3), columns),
        (call.cache[1], (0, 2, 1, 3), columns),
    ):  # fmt: skip
        shape, steps = ([x[axis] for axis in order] for x in (each.shape, each.strides))
        bytes_ = [step * 2 for step in steps[:-1]]
        if steps[-1] != 1 or not fits(address_of_array(each.value), shape, bytes_):
            return None
        width = power_of_2(shape[-1])
        block = (*[1] * (len(shape) - 2), rows, width)
        made.append(TensorDescriptor(each.value, shape, steps, block))
    return made


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

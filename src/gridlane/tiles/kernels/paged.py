"""Attention of one query a sequence to keys and values that a cache has in pages (Kwon et al.,
"PagedAttention", 2023), in parts that are joined (Dao et al., "Flash-Decoding", 2023)."""

from __future__ import annotations

from typing import Any, NamedTuple

from gridlane.core.errors import ArgumentError
from gridlane.tiles.descriptors import TensorDescriptor
from gridlane.tiles.kernels import described, prepared
from gridlane.tiles.kernels.attention_calls import Weighing, checked_softcap
from gridlane.tiles.kernels.attentions import checked_window, scale_of
from gridlane.tiles.kernels.blocks import (
    attention_blocks,
    has_warpgroups,
    least_rows,
    multiprocessors,
    power_of_2,
    record,
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
    sum_name,
    sum_type,
)
from gridlane.tiles.kernels.prepared import Launch, empty, over
from gridlane.tiles.kernels.programs.described_paged import described_paged_parts
from gridlane.tiles.kernels.programs.paged import join_parts, paged_attention_parts

_MOST_PARTS = 64
_WIDE, _COLUMNS = 128, 64
"""Keys of a tile of matrix instructions, of rows up to a width."""
_AT_ONCE = 4
"""Programs that a GPU's multiprocessor should run at once: each waits for memory."""
_BOXES_AT_ONCE = 2
"""Those that have a part of the keys in flight."""
_STAGES = 2
_LONG = 512
"""Tokens of sequences that are read so: a last tile, which is not, takes as long as several."""
_GROUP_ROWS = 64
"""Rows of an instruction of a warpgroup."""
_WIDTHS = (64, 128)
"""Of keys and values that are boxes."""


class PreparedPaged(NamedTuple):
    """The launches of attention to pages.

    Attributes:
        forms: the descriptors of keys and values; None where their addresses are read.
        first: of the parts.
        second: of their join.
        parts, logs: the shapes of the results of parts, and of their logarithms.
        sum_name: the type of both.
        shape, dtype: of the result.
    """

    forms: tuple[TensorDescriptor, TensorDescriptor] | None
    first: Launch
    second: Launch
    parts: tuple[int, int]
    logs: tuple[int]
    sum_name: str
    shape: tuple[int, ...]
    dtype: str

    def run(self, q: Any, keys: Any, values: Any, tables: Any, lengths: Any, out: Any) -> Any:
        """Launch over arrays like those that it was prepared for; ``out`` is new where it is
        None."""
        if out is None:
            out = empty(q, self.shape, self.dtype)
        split = empty(q, self.parts, self.sum_name)
        logs = empty(q, self.logs, self.sum_name)
        boxes: tuple[TensorDescriptor, ...] = ()
        if self.forms is not None:
            boxes = over(self.forms[0], keys), over(self.forms[1], values)
        arrays = keys, values, tables, lengths, split, logs
        self.first.over(q, *boxes, *arrays, *self.first.rest, **self.first.options)
        self.second.over(split, logs, out, *self.second.rest, **self.second.options)
        return out


def paged_attention(
    q: Any,
    keys: Any,
    values: Any,
    tables: Any,
    lengths: Any,
    out: Any = None,
    *,
    window: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    parts: int | None = None,
) -> Any:
    """Attention of the newest token of each sequence to all its tokens.

    Args:
        q: of shape (sequences, heads, width), of float16, bfloat16, float32 or float64.
        keys: of shape (pages, tokens of a page, heads of keys, width) and q's dtype.
        values: of shape (pages, tokens of a page, heads of keys, width of values).
        tables: the numbers of each sequence's pages, int32 or int64 of shape (sequences, most
            pages). A page that the cache does not have makes NaN.
        lengths: the tokens of each sequence, int32 or int64 of shape (sequences,).
        out: of shape (sequences, heads, width of values); a new array by default.
        window: see the last this many tokens alone.
        scale: of the products; by default 1 / sqrt(width).
        softcap: bounds scaled products, to ``softcap * tanh(products * scale / softcap)``.
        parts: into which a sequence is divided among programs; by default as many as keep the
            device busy.

    Returns:
        ``out``; zeros for a sequence of no tokens.

    Raises:
        ArgumentError: an array or option does not fit.

    >>> import numpy as np
    >>> keys, values = np.zeros((2, 4, 1, 1)), np.arange(8.0).reshape(2, 4, 1, 1)
    >>> q, tables = np.zeros((1, 1, 1)), np.array([[1, 0]])
    >>> paged_attention(q, keys, values, tables, np.array([5])).ravel()  # the mean of 4 to 7, and 0
    array([4.4])
    """
    options = "paged", window, scale, softcap, parts
    key = prepared.key_of((q, keys, values, tables, lengths, out), options)
    known = prepared.find(key)
    if known is not None:
        return known.run(q, keys, values, tables, lengths, out)
    query = operand("q", q, FLOATS, 3)
    k, v = operand("keys", keys, FLOATS, 4), operand("values", values, FLOATS, 4)
    table, length = operand("tables", tables, INDICES, 2), operand("lengths", lengths, INDICES, 1)
    _check(query, k, v, table, length)
    if parts is not None and parts < 1:
        raise ArgumentError(f"parts is {parts}; it must be at least 1")
    shape = (*query.shape[:2], v.shape[3])
    target = result("out", out, query, shape, query.dtype)
    if not target.size:
        return target.value
    weighing = Weighing(True, window, scale, softcap)
    launches = _prepared(query, k, v, table, length, target, weighing, parts)
    if key is not None:
        prepared.remember(key, launches)
    return launches.run(query.value, k.value, v.value, table.value, length.value, target.value)


def _check(q: Operand, k: Operand, v: Operand, tables: Operand, lengths: Operand) -> None:
    pages, page, heads, _ = k.shape
    expect_shape(k, (pages, page, heads, q.shape[2]))
    expect_shape(v, (pages, page, heads, v.shape[3]))
    for each in (k, v):
        expect_dtype(each, q)
    if not heads or q.shape[1] % heads:
        raise ArgumentError(f"{q}, and {k}: the heads of q must be a multiple of those of keys")
    if not page:
        raise ArgumentError(f"{k}; its pages must have tokens")
    expect_shape(tables, (q.shape[0], tables.shape[1]))
    expect_shape(lengths, q.shape[:1])


def _programs() -> int:
    """As many programs as keep the device busy."""
    return multiprocessors() * (1 if record().on_host else _AT_ONCE)


def _boxes(
    q: Operand, k: Operand, v: Operand, group: int
) -> tuple[TensorDescriptor, TensorDescriptor] | None:
    """The descriptors of keys and values; None where the device or the arrays have no tensor maps
    for them."""
    widths = q.shape[2], v.shape[3]
    if q.dtype not in described.FACTORS or not has_warpgroups() or group > _GROUP_ROWS:
        return None
    if k.shape[1] % _COLUMNS or not set(widths) <= set(_WIDTHS):
        return None
    found: list[TensorDescriptor] = []
    for each, width in zip((k, v), widths, strict=True):
        pages, page, heads, _ = each.shape
        far, row, head, step = each.strides
        turned = Operand(each.name, each.value, (page, width), (row, step), each.dtype)
        boxes = described.described(turned, ((pages, far), (heads, head)))
        if boxes is None or boxes.turned:
            return None
        found.append(boxes.descriptor(_COLUMNS, width))
    return found[0], found[1]


def _tile(
    q: Operand, k: Operand, v: Operand, most: int, weighing: Weighing
) -> tuple[tuple[TensorDescriptor, TensorDescriptor] | None, int, int]:
    """The boxes of keys and values, if these are such, the keys of a tile, and its least rows."""
    group, wide = q.shape[1] // k.shape[2], max(power_of_2(k.shape[3]), power_of_2(v.shape[3]))
    large = most >= _LONG and weighing.softcap is None
    boxes = _boxes(q, k, v, group) if large else None
    if boxes is not None:
        return boxes, _COLUMNS, _GROUP_ROWS
    columns, least = attention_blocks(group, most, wide, q.dtype).columns, least_rows(q.dtype)
    if least > 1 and wide <= _WIDE:
        columns = min(max(power_of_2(most), least), _COLUMNS)
    return None, columns, least


def _parts(asked: int | None, rows: int, most: int, columns: int, in_boxes: bool) -> int:
    """Into how many parts the keys of each row are divided among programs."""
    if asked is None:
        busy = multiprocessors() * _BOXES_AT_ONCE if in_boxes else _programs()
        asked = min(busy // rows, most // (2 * columns))  # of two tiles at least
    return max(min(asked, -(-most // columns), _MOST_PARTS), 1)


def _prepared(
    q: Operand,
    k: Operand,
    v: Operand,
    tables: Operand,
    lengths: Operand,
    out: Operand,
    weighing: Weighing,
    parts: int | None,
) -> PreparedPaged:
    pages, page, heads, width = k.shape
    sequences, group, values = q.shape[0], q.shape[1] // heads, v.shape[3]
    most = tables.shape[1] * page
    boxes, columns, least = _tile(q, k, v, most, weighing)
    count = _parts(parts, sequences * heads, most, columns, boxes is not None)
    kind, name = sum_type(q.dtype), sum_name(q.dtype)
    rows = sequences * heads * count * group
    split = Operand("parts", None, (rows, values), (values, 1), name)
    index = index_type(q, k, v, tables, out, split)
    rest = (
        pages, page, most, heads, group, count, checked_window(weighing.window), width, values,
        q.strides, k.strides, v.strides, tables.strides, lengths.strides[0],
    )  # fmt: skip
    options: dict[str, Any] = {
        "SCALE": scale_of(weighing.scale, width), "WINDOW": weighing.window is not None,
        "M": max(power_of_2(group), least), "N": columns, "WIDTH": power_of_2(width),
        "VALUES": power_of_2(values), "INDEX": index,
    }  # fmt: skip
    grid = (sequences * heads * count,)
    if boxes is not None:
        first = Launch(described_paged_parts[grid], rest, {**options, "num_stages": _STAGES})
    else:
        further = {"SUM": kind, "SOFTCAP": checked_softcap(weighing.softcap)}
        first = Launch(paged_attention_parts[grid], rest, {**options, **further})
    second = Launch(
        join_parts[(sequences * heads * group,)],
        (heads, group, count, values, out.strides),
        {"PARTS": power_of_2(count), "VALUES": options["VALUES"], "SUM": kind, "INDEX": index},
    )
    return PreparedPaged(boxes, first, second, (rows, values), (rows,), name, out.shape, out.dtype)

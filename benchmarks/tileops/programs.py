"""Tile programs of norms that the library has not: rows are tiles as a whole."""

from __future__ import annotations

from typing import Any

from gridlane import tiles

tl = tiles.language


@tiles.jit
def centred_row(a, inside, columns, eps, CENTRED: tl.constexpr):
    """A row less its mean, unless it stays, divided by the root of its mean square."""
    if CENTRED:
        a = tl.where(inside, a - tl.sum(a, axis=0) / columns, 0.0)
    return a / tl.sqrt(tl.sum(a * a, axis=0) / columns + eps)


@tiles.jit
def adaptive_rows(x, scale, shift, gate, out, columns, eps, BLOCK: tl.constexpr):
    """A row a program, normalised, times ``1 + scale``, plus a shift, and times a gate."""
    i = tl.arange(0, BLOCK)
    inside, row = i < columns, tl.program_id(0).to(tl.int64) * columns
    a = tl.load(x + row + i, mask=inside, other=0.0).to(tl.float32)
    a = centred_row(a, inside, columns, eps, True)
    a *= 1.0 + tl.load(scale + row + i, mask=inside, other=0.0).to(tl.float32)
    a += tl.load(shift + row + i, mask=inside, other=0.0).to(tl.float32)
    if gate is not None:
        a *= tl.load(gate + row + i, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row + i, a, mask=inside)


@tiles.jit
def added_rows(
    x, more, weight, bias, total, out, columns, eps, CENTRED: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """The sum of two rows, rounded, and its norm, a program."""
    i = tl.arange(0, BLOCK)
    inside, row = i < columns, tl.program_id(0).to(tl.int64) * columns
    a = tl.load(x + row + i, mask=inside, other=0.0).to(tl.float32)
    a += tl.load(more + row + i, mask=inside, other=0.0).to(tl.float32)
    rounded = a.to(total.dtype.element_ty)
    tl.store(total + row + i, rounded, mask=inside)
    a = centred_row(rounded.to(tl.float32), inside, columns, eps, CENTRED)
    a *= tl.load(weight + i, mask=inside, other=0.0).to(tl.float32)
    if bias is not None:
        a += tl.load(bias + i, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row + i, a, mask=inside)


@tiles.jit
def scaled_rows(
    x, mean, variance, weight, bias, out, length, blocks, channels, eps, BLOCK: tl.constexpr
):  # fmt: skip
    """A tile of a row a program, normalised by the numbers of its channel."""
    row, block = tl.program_id(0) // blocks, tl.program_id(0) % blocks
    channel, i = row % channels, block * BLOCK + tl.arange(0, BLOCK)
    scale = tl.load(weight + channel) / tl.sqrt(tl.load(variance + channel) + eps)
    shift = tl.load(bias + channel) - tl.load(mean + channel) * scale
    where = row.to(tl.int64) * length + i
    a = tl.load(x + where, mask=i < length, other=0.0).to(tl.float32)
    tl.store(out + where, a * scale + shift, mask=i < length)


@tiles.jit
def scaled_columns(
    x, mean, variance, weight, bias, out, count, channels, eps, BLOCK: tl.constexpr
):  # fmt: skip
    """A tile of elements a program, whose channels follow each other."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside, channel = i < count, i % channels
    a = tl.load(x + i, mask=inside, other=0.0).to(tl.float32)
    a -= tl.load(mean + channel, mask=inside, other=0.0)
    a /= tl.sqrt(tl.load(variance + channel, mask=inside, other=1.0) + eps)
    a = a * tl.load(weight + channel, mask=inside, other=0.0)
    a += tl.load(bias + channel, mask=inside, other=0.0)
    tl.store(out + i, a, mask=inside)


@tiles.jit
def turned_tiles(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """A tile of the transpose of a matrix a program, of matrices one behind the other."""
    down, across = tl.cdiv(rows, ROWS), tl.cdiv(columns, COLUMNS)
    place = tl.program_id(0)
    i = place // across % down * ROWS + tl.arange(0, ROWS)
    j = place % across * COLUMNS + tl.arange(0, COLUMNS)
    first = (place // across // down).to(tl.int64) * rows * columns
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    a = tl.load(x + first + i[:, None] * columns + j[None, :], mask=inside)
    inside = (j[:, None] < columns) & (i[None, :] < rows)
    tl.store(out + first + j[:, None] * rows + i[None, :], tl.trans(a), mask=inside)


def turned(x: Any) -> Any:
    """The same matrices of bytes, whose columns are neighbours in memory."""
    import torch

    count, rows, columns = x.shape
    out = x.new_empty((count, columns, rows))
    turned_tiles[(count * -(-rows // 64) * -(-columns // 64),)](
        x.view(torch.uint8), out.view(torch.uint8), rows, columns, ROWS=64, COLUMNS=64
    )
    return out.transpose(1, 2)


def _options(columns: int) -> dict[str, int]:
    block = 1 << (columns - 1).bit_length()
    return {"BLOCK": block, "num_warps": min(max(block // 1024, 1), 16)}


def adaptive_norm(x: Any, scale: Any, shift: Any, gate: Any, eps: float) -> Any:
    """Layer norm with a factor, a shift and perhaps a gate for each element."""
    out, (rows, columns) = x.new_empty(x.shape), x.shape
    adaptive_rows[(rows,)](x, scale, shift, gate, out, columns, eps, **_options(columns))
    return out


def added_norm(x: Any, more: Any, w: Any, b: Any, centred: bool, eps: float) -> tuple[Any, Any]:
    """The layer norm, or RMS norm, of a sum, and the sum."""
    out, total, (rows, columns) = x.new_empty(x.shape), x.new_empty(x.shape), x.shape
    added_rows[(rows,)](
        x, more, w, b, total, out, columns, eps, CENTRED=centred, **_options(columns)
    )
    return out, total


BLOCK = 1024


def scaled_channels(x: Any, mean: Any, variance: Any, w: Any, b: Any, eps: float) -> Any:
    """Channels by means and variances that are known."""
    out, count, channels = x.new_empty(x.shape), x.numel(), x.shape[1]
    length = count // (x.shape[0] * channels)
    if length == 1:
        scaled_columns[(-(-count // BLOCK),)](
            x, mean, variance, w, b, out, count, channels, eps, BLOCK=BLOCK
        )
        return out
    blocks = -(-length // BLOCK)
    scaled_rows[(x.shape[0] * channels * blocks,)](
        x, mean, variance, w, b, out, length, blocks, channels, eps, BLOCK=BLOCK
    )
    return out

"""Copies between the blocks of a row and NumPy's arrays, or files, block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.memory.tiers.pieces import Layout, Piece, pieces
from gridlane.memory.tiers.rows import Row

_NUMBERS = frozenset("biufc")


def read(row: Row, layout: Layout, dtype: np.dtype[Any], out: np.ndarray) -> None:
    """Copy the elements of a view to an array of its shape."""
    for piece in pieces(layout, dtype.itemsize, row.block_bytes):
        if row.is_zero(piece.block):
            out[piece.where] = np.zeros((), dtype)
            continue
        with row.tiers.brief(row.block(piece.block)) as data:
            out[piece.where] = _elements(data, piece, dtype)


def write(
    row: Row,
    layout: Layout,
    dtype: np.dtype[Any],
    source: Callable[[tuple[slice, ...]], Any],
    kind: np.dtype[Any],
) -> None:
    """Write the elements of a view.

    Args:
        source: the values of some of the view's elements, by slices of its axes. No block is pinned
            while it is called.
        kind: the type of the values.
    """
    # A view of some fields leaves the others of its records as they are.
    whole = (kind == dtype or {kind.kind, dtype.kind} <= _NUMBERS) and not _has_gaps(dtype)
    for piece in pieces(layout, dtype.itemsize, row.block_bytes):
        part = source(piece.where)
        block = row.block(piece.block)
        covers = piece.layout.size * dtype.itemsize == block.size
        with row.tiers.brief(block, write=True, fresh=whole and covers) as data:
            _elements(data, piece, dtype)[...] = part


def read_file(row: Row, offset: int, nbytes: int, file: Any) -> None:
    """Write bytes of a row from a binary file.

    Raises:
        EOFError: the file ends too early. What it had is written.
    """
    # The file may block, so nothing is pinned while it is read.
    room = np.empty(min(row.block_bytes, nbytes), np.uint8)
    done = 0
    for piece in pieces(Layout(offset, (nbytes,), (1,)), 1, row.block_bytes):
        size = piece.layout.size
        count = _fill(file, room.data[:size])
        block = row.block(piece.block)
        with row.tiers.brief(block, write=True, fresh=count == block.size) as data:
            begin = piece.layout.offset
            data[begin : begin + count] = room[:count]
        done += count
        if count < size:
            raise EOFError(f"the file has {done} bytes, and the array {nbytes}")


def _fill(file: Any, into: memoryview) -> int:
    """Read bytes until there are so many, or the file ends; their number."""
    count = 0
    while count < len(into):
        more = file.readinto(into[count:])
        if not more:
            break
        count += more
    return count


def _elements(data: np.ndarray, piece: Piece, dtype: np.dtype[Any]) -> np.ndarray:
    layout = piece.layout
    return np.ndarray(layout.shape, dtype, data.data, layout.offset, layout.strides)


def _has_gaps(dtype: np.dtype[Any]) -> bool:
    """Whether some bytes of an element are of none of its fields."""
    fields = dtype.fields
    if fields is None:
        return False
    kinds = [each[0] for each in fields.values()]
    return sum(each.itemsize for each in kinds) < dtype.itemsize or any(map(_has_gaps, kinds))

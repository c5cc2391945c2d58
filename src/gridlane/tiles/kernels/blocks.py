"""The extents of tiles on this thread's device."""

from __future__ import annotations

from typing import NamedTuple

from gridlane.backends import backend
from gridlane.backends.record import Backend
from gridlane.launch import current

_HOST_BYTES = 64 << 10
"""Of a row that a processor keeps near while it computes."""


def power_of_2(n: int) -> int:
    """The smallest power of two that is no less than a number, and 1 for 0.

    >>> power_of_2(5), power_of_2(8), power_of_2(0)
    (8, 8, 1)
    """
    return 1 << max(n - 1, 0).bit_length()


def record() -> Backend:
    """The record of this thread's device."""
    return backend(current.device().target((1, 1, 1)).name)


def row_block(columns: int, size: int) -> int:
    """The elements of a row that are a tile at once.

    Args:
        size: bytes of an element while it is computed with.
    """
    known = record()
    room = _HOST_BYTES if known.on_host else known.program_shared // 4
    return min(power_of_2(columns), 1 << (room // size).bit_length() - 1)


def multiprocessors() -> int:
    """The programs that this thread's device runs at once, or a few times as many."""
    return max(current.device().limits.multiprocessors, 1)


class ProductBlocks(NamedTuple):
    """The extents of a tile of a product, and of a step along its inner dimension."""

    m: int
    n: int
    k: int


def product_blocks(m: int, n: int, k: int, dtype: str) -> ProductBlocks:
    """The tile of a product of matrices of (m, k) and (k, n) elements."""
    known = record()
    if known.on_host:
        most = ProductBlocks(64, 64, 64)
    elif known.program_shared >= 48 << 10 and dtype != "float64":
        most = ProductBlocks(64, 64, 32)
    else:
        most = ProductBlocks(32, 32, 16)
    return ProductBlocks(
        *[min(power_of_2(each), limit) for each, limit in zip((m, n, k), most, strict=True)]
    )


def attention_blocks(queries: int, keys: int, width: int, dtype: str) -> tuple[int, int]:
    """The queries and the keys of a tile of attention."""
    known = record()
    if known.on_host:
        most = 64
    elif known.program_shared >= 48 << 10 and width <= 64 and dtype != "float64":
        most = 32
    else:
        most = 16
    return min(power_of_2(queries), most), min(power_of_2(keys), most)

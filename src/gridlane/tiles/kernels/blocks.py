"""The extents of tiles on this thread's device."""

from __future__ import annotations

from typing import NamedTuple

from gridlane.backends import backend
from gridlane.backends.record import Backend
from gridlane.launch import current
from gridlane.tiles.kernels.operands import NARROW

_BY_CORES = frozenset(("float16", "bfloat16", "int8", *NARROW))
"""The dtypes of factors that NVIDIA's tensor cores multiply without loss."""

_OF_GROUPS = frozenset(("float16", "bfloat16"))
"""Those whose products warpgroups compute along either axis of both factors."""

_HOST_BYTES = 64 << 10
"""Of a row that a processor keeps near while it computes."""

_HELD_BYTES = 64 << 10
"""Of a row that 16 warps of an NVIDIA GPU hold in registers."""

_WARP_BYTES = 4 << 10
"""Of a row for each of these: 32 registers a lane, so that several blocks run at once."""

_STEP_BYTES = 16 << 10
"""Of a tile of a longer row."""


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


def held_row(columns: int, size: int) -> dict[str, int]:
    """The options of a program that reads a row once where one tile is a whole row: the elements of
    a tile, and the warps that hold it where these matter.

    Args:
        size: bytes of an element while it is computed with.
    """
    if record().name != "cuda":
        return {"BLOCK": row_block(columns, size)}
    block = power_of_2(columns)
    if block * size > _HELD_BYTES:
        block = _STEP_BYTES // size
    return {"BLOCK": block, "num_warps": max(block * size // _WARP_BYTES, 1)}


def multiprocessors() -> int:
    """The programs that this thread's device runs at once, or a few times as many."""
    return max(current.device().limits.multiprocessors, 1)


class ProductBlocks(NamedTuple):
    """The extents of a tile of a product, of a step along its inner dimension, and the warps."""

    m: int
    n: int
    k: int
    warps: int = 4


_ON_HOST = (ProductBlocks(256, 256, 128), ProductBlocks(128, 128, 128))
"""The tiles of processors that have many of them to compute, the largest first."""
_ON_HOPPER = (ProductBlocks(128, 256, 64, 8), ProductBlocks(128, 128, 64, 8))
"""Likewise of GPUs with products of warpgroups."""
_OF_WORDS = ProductBlocks(128, 64, 16)
"""That of products of float32 on NVIDIA GPUs: 8 rows by 8 columns of a thread."""
_MOST_AREA = 1.25
"""Of such tiles, by that of the product: what lies behind it is computed as well."""


def is_hopper() -> bool:
    """Whether this thread's device multiplies by warpgroups."""
    return record().name == "cuda" and current.device().compute_capability[0] == 9


def product_blocks(
    m: int, n: int, k: int, dtype: str, count: int = 1, of_arrays: bool = False
) -> ProductBlocks:
    """The tile of products of matrices of (m, k) and (k, n) elements.

    Args:
        count: the number of products.
        of_arrays: the factors are matrices in memory, whose addresses take few registers.
    """
    known, small = record(), ProductBlocks(32, 32, 16)
    large: tuple[ProductBlocks, ...] = ()
    if known.on_host:
        large, small = _ON_HOST, ProductBlocks(64, 64, 64)
    elif _has_room(known) and dtype != "float64":
        small = ProductBlocks(64, 64, 32)
        large = (ProductBlocks(128, 128, 32, 8),) if dtype in _BY_CORES else ()
        if dtype == "float32" and known.name == "cuda":
            large = (_OF_WORDS,)
        if of_arrays and dtype in _OF_GROUPS and is_hopper():
            large = _ON_HOPPER
    for each in large:
        tile = _fitting(each, (m, n, k))
        down, across = -(-m // each.m), -(-n // each.n)
        is_full = down * tile.m * across * tile.n <= _MOST_AREA * m * n or not known.on_host
        if count * down * across >= 2 * multiprocessors() and is_full:
            return tile
    return _fitting(small, (m, n, k))


def _fitting(tile: ProductBlocks, extents: tuple[int, int, int]) -> ProductBlocks:
    m, n, k = [min(power_of_2(each), most) for each, most in zip(extents, tile, strict=False)]
    return ProductBlocks(m, n, k, tile.warps)


def _has_room(known: Backend) -> bool:
    return known.program_shared >= 48 << 10


_GROUPS_ROWS = 128
"""The rows of two warpgroups."""
_HALVES = ("float16", "bfloat16")


def has_warpgroups() -> bool:
    """Whether this thread's device copies boxes of tensors, and multiplies them where they are."""
    return record().name == "cuda" and current.device().compute_capability[0] == 9


def least_rows(dtype: str) -> int:
    """The rows of the smallest product that matrix instructions compute; 1 where there are none.
    With fewer rows each element would be computed by itself."""
    if record().name != "cuda" or dtype not in _HALVES:
        return 1
    return 16 if current.device().compute_capability >= (8, 0) else 1


class AttentionBlocks(NamedTuple):
    """The queries and the keys of a tile of attention, and the warps."""

    rows: int
    columns: int
    warps: int = 4


def attention_blocks(queries: int, keys: int, width: int, dtype: str) -> AttentionBlocks:
    """The tile of attention over rows of a width."""
    known = record()
    if queries >= _GROUPS_ROWS and width <= 128 and dtype in _HALVES and has_warpgroups():
        return AttentionBlocks(_GROUPS_ROWS, min(max(power_of_2(keys), 16), 64), 8)
    if known.on_host:
        most = 64, 64
    elif not _has_room(known) or dtype == "float64":
        most = 16, 16
    elif dtype in _BY_CORES:
        most = (64, 64) if width <= 64 else (64, 32) if width <= 128 else (32, 32)
    else:
        most = (32, 32) if width <= 64 else (16, 16)
    return AttentionBlocks(min(power_of_2(queries), most[0]), min(power_of_2(keys), most[1]))

"""Reductions over the middle one of three axes, by programs over tiles of columns."""

from __future__ import annotations

from typing import Any

from gridlane import tiles

tl = tiles.language

ROWS, COLUMNS = 8, 512
"""On an H200 few long lines are faster than many short ones."""


@tiles.jit
def reduced_columns(
    x, out, rows, columns, KIND: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):  # fmt: skip
    """Some columns of one matrix a program. Each element of a tile reduces its own rows; then the
    tile is reduced. Of equal elements the place is the first."""
    across = tl.cdiv(columns, COLUMNS)
    matrix, block = tl.program_id(0) // across, tl.program_id(0) % across
    i = tl.arange(0, ROWS)[:, None]
    j = (block * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    x += matrix.to(tl.int64) * rows * columns
    IS_SUM: tl.constexpr = KIND == "sum" or KIND == "mean"
    IS_LEAST: tl.constexpr = KIND == "least" or KIND == "place_of_least"
    HAS_PLACE: tl.constexpr = KIND == "place_of_most" or KIND == "place_of_least"
    start: tl.constexpr = 0.0 if IS_SUM else float("inf") if IS_LEAST else -float("inf")
    total = tl.full((ROWS, COLUMNS), start, tl.float32)
    place = tl.zeros((ROWS, COLUMNS), tl.int32) + i
    for at in range(0, rows, ROWS):
        inside = (at + i < rows) & (j < columns)
        a = tl.load(x + (at + i) * columns + j, mask=inside, other=start)
        if IS_SUM:
            total += a
        elif HAS_PLACE:
            nearer = a < total if IS_LEAST else a > total
            place = tl.where(nearer, at + i, place)
            total = tl.where(nearer, a, total)
        else:
            total = tl.minimum(total, a) if IS_LEAST else tl.maximum(total, a)
    if IS_SUM:
        result = tl.sum(total, axis=0)
        if KIND == "mean":
            result = result / rows
    else:
        result = tl.min(total, axis=0) if IS_LEAST else tl.max(total, axis=0)
    j = block * COLUMNS + tl.arange(0, COLUMNS)
    where = out + matrix.to(tl.int64) * columns + j
    if HAS_PLACE:
        first = tl.min(tl.where(total == result[None, :], place, rows), axis=0)
        tl.store(where, first.to(tl.int64), mask=j < columns)
    else:
        tl.store(where, result, mask=j < columns)


def reduced(kind: str, x: Any, dtype: Any = None) -> Any:
    """Reduce the middle axis.

    Args:
        kind: ``sum``, ``mean``, ``most``, ``least``, ``place_of_most`` or ``place_of_least``.
        dtype: of places.
    """
    matrices, rows, columns = x.shape
    out = x.new_empty((matrices, columns), dtype=dtype or x.dtype)
    reduced_columns[(matrices * -(-columns // COLUMNS),)](
        x, out, rows, columns, KIND=kind, ROWS=ROWS, COLUMNS=COLUMNS, num_warps=8
    )
    return out


def _reduced(kind: str, model: Any, x: Any, dtype: Any = None) -> Any:
    if model.dim != 1 or x.dim() != 3:
        raise ValueError(f"axis {model.dim} of {x.dim()}")
    return reduced(kind, x, dtype)


def total(model: Any, x: Any) -> Any:
    """Sums, with the axis."""
    return _reduced("sum", model, x).unsqueeze(1)


def mean(model: Any, x: Any) -> Any:
    return _reduced("mean", model, x)


def most(model: Any, x: Any) -> Any:
    return _reduced("most", model, x)


def least(model: Any, x: Any) -> Any:
    return _reduced("least", model, x)


def place_of_most(model: Any, x: Any) -> Any:
    """The first place of the largest element."""
    import torch

    return _reduced("place_of_most", model, x, torch.int64)


def place_of_least(model: Any, x: Any) -> Any:
    """The first place of the smallest element."""
    import torch

    return _reduced("place_of_least", model, x, torch.int64)

"""Rows of a table by their numbers, and the gradient of the table."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit


@jit(do_not_specialize=("count", "rows"))
def embedding_tiles(
    table, indices, out, count, rows, columns, table_steps, out_steps,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Some columns of some rows a program."""
    across = tl.cdiv(columns, COLUMNS)
    place = tl.program_id(0)
    i = ((place // across).to(INDEX)) * ROWS + tl.arange(0, ROWS)
    j = ((place % across) * COLUMNS + tl.arange(0, COLUMNS)).to(INDEX)
    which = tl.load(indices + i, mask=i < rows, other=0)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    known = inside & ((which >= 0) & (which < count))[:, None]
    where = table + which.to(INDEX)[:, None] * table_steps[0] + j[None, :] * table_steps[1]
    values = tl.load(where, mask=known, other=float("nan"))
    tl.store(out + i[:, None] * out_steps[0] + j[None, :] * out_steps[1], values, mask=inside)


@jit(do_not_specialize=("count", "rows", "ignored"))
def embedding_gradient_tiles(
    grad, indices, sums, count, rows, columns, grad_steps, ignored,
    IGNORES: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Add some columns of some rows to those of the table."""
    across = tl.cdiv(columns, COLUMNS)
    place = tl.program_id(0)
    i = ((place // across).to(INDEX)) * ROWS + tl.arange(0, ROWS)
    j = ((place % across) * COLUMNS + tl.arange(0, COLUMNS)).to(INDEX)
    which = tl.load(indices + i, mask=i < rows, other=-1)
    known = (which >= 0) & (which < count)
    if IGNORES:
        known &= which != ignored
    inside = known[:, None] & (i[:, None] < rows) & (j[None, :] < columns)
    where = grad + i[:, None] * grad_steps[0] + j[None, :] * grad_steps[1]
    values = tl.load(where, mask=inside, other=0.0).to(SUM)
    tl.atomic_add(
        sums + which.to(INDEX)[:, None] * columns + j[None, :], values, mask=inside, sem="relaxed"
    )


@jit(do_not_specialize=("rows",))
def convert_tiles(
    source, out, rows, columns, source_steps, out_steps,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Copy some columns of some rows to an array of another type."""
    across = tl.cdiv(columns, COLUMNS)
    place = tl.program_id(0)
    i = ((place // across).to(INDEX)) * ROWS + tl.arange(0, ROWS)
    j = ((place % across) * COLUMNS + tl.arange(0, COLUMNS)).to(INDEX)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    where = source + i[:, None] * source_steps[0] + j[None, :] * source_steps[1]
    values = tl.load(where, mask=inside)
    tl.store(out + i[:, None] * out_steps[0] + j[None, :] * out_steps[1], values, mask=inside)

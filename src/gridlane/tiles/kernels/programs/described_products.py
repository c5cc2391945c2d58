"""Products of matrices by tensor descriptors, of whose boxes a GPU copies itself.

A tile of sums has N columns, and ``EXTRA`` more in a tile of their own. Products of batches have
descriptors of four axes: (outer, inner) batches, rows and columns. ``CLUSTER`` programs that are
neighbours compute tiles below each other, so that they need the same columns, which a GPU copies
once for all of them.
"""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.products import finish, group_of


@jit
def described_rows(
    a, batch, i, at, TURNED: tl.constexpr, M: tl.constexpr, K: tl.constexpr
):  # fmt: skip
    """M rows from i on and K columns from one on, of a matrix or of one of a batch. A turned one is
    a descriptor of its transpose."""
    if batch is None:
        if TURNED:
            return tl.trans(a.load([at, i]))
        return a.load([i, at])
    if TURNED:
        return tl.trans(a.load([batch[0], batch[1], at, i]).reshape(K, M))
    return a.load([batch[0], batch[1], i, at]).reshape(M, K)


@jit
def described_sums(
    a, b, more_b, first, last, i, j, batch_a, batch_b, TURNED_A: tl.constexpr,
    TURNED_B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, EXTRA: tl.constexpr,
    K: tl.constexpr, SUM: tl.constexpr, APART: tl.constexpr = False,
):  # fmt: skip
    """The products of the rows from i on and the columns from j on, added from one place of the
    inner dimension to another; those of more columns apart. ``APART``: those of K places are added
    by themselves first, as instructions that multiply floats of 8 bits add with few bits."""
    total = tl.zeros((M, N), SUM)
    if more_b is None:
        for at in range(first, last, K):
            rows = described_rows(a, batch_a, i, at, TURNED_A, M, K)
            columns = described_rows(b, batch_b, at, j, TURNED_B, K, N)
            if APART:
                total += tl.dot(rows, columns, out_dtype=SUM)
            else:
                total = tl.dot(rows, columns, total, out_dtype=SUM)
        return total, None
    extra = tl.zeros((M, EXTRA), SUM)
    for at in range(first, last, K):
        columns = described_rows(b, batch_b, at, j, TURNED_B, K, N)
        rows = described_rows(a, batch_a, i, at, TURNED_A, M, K)
        others = described_rows(more_b, batch_b, at, j + N, TURNED_B, K, EXTRA)
        total = tl.dot(rows, columns, total, out_dtype=SUM)
        extra = tl.dot(rows, others, extra, out_dtype=SUM)
    return total, extra


@jit
def batch_of(tile, tiles, batches, MOVES: tl.constexpr):
    """The tile in its matrix, and the batches (outer, inner) of the result, of a and of b, of which
    bits of ``MOVES`` say which have steps; Nones without batches."""
    if batches is None:
        return tile, None, None, None
    batch = tile // tiles
    outer, inner = batch // batches[1], batch % batches[1]
    batch_a = outer * (MOVES & 1), inner * (MOVES // 2 & 1)
    batch_b = outer * (MOVES // 4 & 1), inner * (MOVES // 8 & 1)
    return tile % tiles, (outer, inner), batch_a, batch_b


@jit
def count_of(m, n, batches, M: tl.constexpr, COLUMNS: tl.constexpr):
    """The tiles of all products."""
    tiles = tl.cdiv(m, M) * tl.cdiv(n, COLUMNS)
    if batches is not None:
        tiles *= batches[0]
    return tiles


@jit
def part_of(place, whole, rest, k, parts, K: tl.constexpr):
    """The tile of a place, and what is added of it: the first of the inner dimension, and behind
    the last one. The first ``whole`` places are tiles, then come the parts of the ``rest``."""
    beyond = tl.maximum(place - whole, 0)
    tile = tl.where(place < whole, place, whole + beyond % rest)
    share = tl.cdiv(tl.cdiv(k, K), tl.where(place < whole, 1, parts)) * K
    first = beyond // rest * share
    return tile, first, tl.minimum(k, first + share)


@jit
def store_part(
    total, extra, split, number, i, m, M: tl.constexpr, N: tl.constexpr, EXTRA: tl.constexpr
):  # fmt: skip
    """Store a part of the sums of the rows from i on."""
    lines = number * M + tl.arange(0, M)
    inside = (i + tl.arange(0, M) < m)[:, None]
    where = split + lines[:, None] * (N + EXTRA) + tl.arange(0, N)[None, :]
    tl.store(where, total, mask=inside)
    if extra is not None:
        where = split + lines[:, None] * (N + EXTRA) + tl.arange(0, EXTRA)[None, :]
        tl.store(where + N, extra, mask=inside)


@jit(do_not_specialize=("count", "whole"))
def described_product_tiles(
    a, b, more_b, out, more_out, split, more, count, whole, batches, m, n, k, parts, out_steps,
    more_steps, MOVES: tl.constexpr, TURNED_A: tl.constexpr, TURNED_B: tl.constexpr,
    DESCRIBED: tl.constexpr, ACTIVATION: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    EXTRA: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, SUM: tl.constexpr,
    INDEX: tl.constexpr, CLUSTER: tl.constexpr, APART: tl.constexpr,
):  # fmt: skip
    """All tiles of the products, by as many programs as there are: ``whole`` of them, and the parts
    of the sums of the others, which ``split`` receives. ``out`` is a descriptor, or an address with
    steps of batches, rows and columns; ``batches`` has their number and that of the inner ones.
    A program counts the tiles of ``CLUSTER`` programs as one, of so many times as many rows."""
    down, across = tl.cdiv(m, M * CLUSTER), tl.cdiv(n, N + EXTRA)
    rest = tl.maximum(count_of(m, n, batches, M * CLUSTER, N + EXTRA) - whole, 1)
    begin, step, rank = tl.program_id(0), tl.num_programs(0), 0
    if CLUSTER > 1:
        begin, step, rank = begin // CLUSTER, step // CLUSTER, begin % CLUSTER
    for place in range(begin, count, step):
        tile, first, last = place, 0, k
        if split is not None:
            tile, first, last = part_of(place, whole, rest, k, parts, K)
        tile, batch, batch_a, batch_b = batch_of(tile, down * across, batches, MOVES)
        row, column = tl.swizzle2d(tile // across, tile % across, down, across, GROUP)
        i, j = (row * CLUSTER + rank) * M, column * (N + EXTRA)
        total, extra = described_sums(
            a, b, more_b, first, last, i, j, batch_a, batch_b, TURNED_A, TURNED_B, M, N, EXTRA, K,
            SUM, APART,
        )  # fmt: skip
        if split is not None:
            if place < whole:
                store_products(
                    total, extra, i, j, batch, out, more_out, more, m, n, out_steps, more_steps,
                    DESCRIBED, ACTIVATION, M, N, EXTRA, INDEX,
                )  # fmt: skip
            else:
                number = (place - whole) * CLUSTER + rank
                store_part(total, extra, split, number, i, m, M, N, EXTRA)
        else:
            store_products(
                total, extra, i, j, batch, out, more_out, more, m, n, out_steps, more_steps,
                DESCRIBED, ACTIVATION, M, N, EXTRA, INDEX,
            )  # fmt: skip


@jit
def store_products(
    total, extra, i, j, batch, out, more_out, more, m, n, out_steps, more_steps,
    DESCRIBED: tl.constexpr, ACTIVATION: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    EXTRA: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Finish and store the sums of both tiles."""
    store_product(
        total, i, j, batch, out, more, m, n, out_steps, more_steps, DESCRIBED, ACTIVATION, M, N,
        INDEX,
    )  # fmt: skip
    if extra is not None:
        store_product(
            extra, i, j + N, batch, more_out, more, m, n, out_steps, more_steps, DESCRIBED,
            ACTIVATION, M, EXTRA, INDEX,
        )  # fmt: skip


@jit
def finished(
    total, batch, i, j, m, n, more, more_steps, ACTIVATION: tl.constexpr, INDEX: tl.constexpr
):  # fmt: skip
    """Sums with the scales, the bias and the residual of ``more``."""
    if more is None:
        return total
    scale_a, scale_b, bias, residual = more
    a_step, b_step, bias_step, residual_steps = more_steps
    if residual is not None and batch is not None:
        residual += batch[0].to(INDEX) * residual_steps[0] + batch[1].to(INDEX) * residual_steps[1]
    return finish(
        total, i, j, m, n, scale_a, scale_b, bias, residual,
        a_step, b_step, bias_step, residual_steps[2], residual_steps[3], ACTIVATION,
    )  # fmt: skip


@jit
def store_product(
    total, first, begin, batch, out, more, m, n, out_steps, more_steps,
    DESCRIBED: tl.constexpr, ACTIVATION: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    INDEX: tl.constexpr,
):  # fmt: skip
    """Finish the sums of a tile, and store them."""
    i = (first + tl.arange(0, M)).to(INDEX)
    j = (begin + tl.arange(0, N)).to(INDEX)
    total = finished(total, batch, i, j, m, n, more, more_steps, ACTIVATION, INDEX)
    if DESCRIBED:
        if batch is None:
            out.store([first, begin], total.to(out.dtype))
        else:
            block = total.to(out.dtype).reshape(1, 1, M, N)
            out.store([batch[0], batch[1], first, begin], block)
    else:
        store_elements(total, i, j, batch, out, m, n, out_steps, INDEX)


@jit
def store_elements(total, i, j, batch, out, m, n, out_steps, INDEX: tl.constexpr):
    """Store elements of the rows i and the columns j."""
    if batch is not None:
        out += batch[0].to(INDEX) * out_steps[0] + batch[1].to(INDEX) * out_steps[1]
    where = out + i[:, None] * out_steps[2] + j[None, :] * out_steps[3]
    tl.store(where, total, mask=(i[:, None] < m) & (j[None, :] < n))


@jit(do_not_specialize=("whole",))
def add_described_parts(
    split, out, more, whole, batches, m, n, parts, out_steps, more_steps,
    ACTIVATION: tl.constexpr, M: tl.constexpr, N: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr, GROUP: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Add the parts of a piece of a tile in order, and finish them."""
    down, across = tl.cdiv(m, M), tl.cdiv(n, N)
    rest = count_of(m, n, batches, M, N) - whole
    pieces, width = (M // ROWS) * (N // COLUMNS), N // COLUMNS
    which, piece = tl.program_id(0) // pieces, tl.program_id(0) % pieces
    tile, batch, _, _ = batch_of(whole + which, down * across, batches, 0)
    row, column = tl.swizzle2d(tile // across, tile % across, down, across, GROUP)
    down_piece = piece // width * ROWS + tl.arange(0, ROWS)
    across_piece = piece % width * COLUMNS + tl.arange(0, COLUMNS)
    where = split + (which * M + down_piece)[:, None] * N + across_piece[None, :]
    i = (row * M + down_piece).to(INDEX)
    total = tl.zeros((ROWS, COLUMNS), SUM)
    for _ in range(parts):
        total += tl.load(where, mask=(i < m)[:, None], other=0)
        where += rest * (M * N)
    j = (column * N + across_piece).to(INDEX)
    total = finished(total, batch, i, j, m, n, more, more_steps, ACTIVATION, INDEX)
    store_elements(total, i, j, batch, out, m, n, out_steps, INDEX)


@jit(do_not_specialize=("rows", "groups"))
def described_group_tiles(
    a, b, more_b, sizes, out, rows, groups, n, k, size_step, out_steps, TURNED_A: tl.constexpr,
    TURNED_B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, EXTRA: tl.constexpr,
    K: tl.constexpr, GROUP: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """A tile of rows of one group a program; the groups' matrices are the inner batches of b."""
    down, across = tl.cdiv(rows, M) + groups, tl.cdiv(n, N + EXTRA)
    place = tl.program_id(0)
    tile, column = tl.swizzle2d(place // across, place % across, down, across, GROUP)
    start, end, group = group_of(tile, sizes, rows, groups, size_step, M)
    if start < end:
        last = tl.where(group < groups, k, 0)
        batch, j = (0, tl.minimum(group, groups - 1)), column * (N + EXTRA)
        total, extra = described_sums(
            a, b, more_b, 0, last, start.to(tl.int32), j, None, batch, TURNED_A, TURNED_B, M, N,
            EXTRA, K, SUM,
        )  # fmt: skip
        i = start.to(INDEX) + tl.arange(0, M)
        columns = (j + tl.arange(0, N)).to(INDEX)
        store_elements(total, i, columns, None, out, end, n, out_steps, INDEX)
        if extra is not None:
            others = (j + N + tl.arange(0, EXTRA)).to(INDEX)
            store_elements(extra, i, others, None, out, end, n, out_steps, INDEX)

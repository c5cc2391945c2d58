"""Products of two matrices by tensor descriptors, of whose boxes a GPU copies itself."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.products import finish


@jit
def described_sums(
    a, b, first, last, i, j, TURNED_A: tl.constexpr, TURNED_B: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SUM: tl.constexpr,
):  # fmt: skip
    """The products of the rows from i on and the columns from j on, added from one place of the
    inner dimension to another. A turned factor is a descriptor of its transpose."""
    total = tl.zeros((M, N), SUM)
    for at in range(first, last, K):
        if TURNED_A:
            rows = tl.trans(a.load([at, i]))
        else:
            rows = a.load([i, at])
        if TURNED_B:
            columns = tl.trans(b.load([j, at]))
        else:
            columns = b.load([at, j])
        total = tl.dot(rows, columns, total, out_dtype=SUM)
    return total


@jit(do_not_specialize=("count", "whole"))
def described_product_tiles(
    a, b, out, split, more, count, whole, m, n, k, parts, out_steps, more_steps,
    TURNED_A: tl.constexpr, TURNED_B: tl.constexpr, DESCRIBED: tl.constexpr,
    ACTIVATION: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    GROUP: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """All tiles of the product, by as many programs as there are: ``whole`` of them, and the parts
    of the sums of the others, which ``split`` receives. ``out`` is a descriptor, or an address with
    steps of rows and columns."""
    down, across = tl.cdiv(m, M), tl.cdiv(n, N)
    rest = tl.maximum(down * across - whole, 1)
    for place in range(tl.program_id(0), count, tl.num_programs(0)):
        tile, first, last = place, 0, k
        if split is not None:
            beyond = tl.maximum(place - whole, 0)
            tile = tl.where(place < whole, place, whole + beyond % rest)
            share = tl.cdiv(tl.cdiv(k, K), tl.where(place < whole, 1, parts)) * K
            first = beyond // rest * share
            last = tl.minimum(k, first + share)
        row, column = tl.swizzle2d(tile // across, tile % across, down, across, GROUP)
        total = described_sums(
            a, b, first, last, row * M, column * N, TURNED_A, TURNED_B, M, N, K, SUM
        )
        if split is not None:
            if place < whole:
                store_product(
                    total, row, column, out, more, m, n, out_steps, more_steps, DESCRIBED,
                    ACTIVATION, M, N, INDEX,
                )  # fmt: skip
            else:
                lines = (place - whole) * M + tl.arange(0, M)
                inside = row * M + tl.arange(0, M) < m
                where = split + lines[:, None] * N + tl.arange(0, N)[None, :]
                tl.store(where, total, mask=inside[:, None])
        else:
            store_product(
                total, row, column, out, more, m, n, out_steps, more_steps, DESCRIBED,
                ACTIVATION, M, N, INDEX,
            )  # fmt: skip


@jit
def store_product(
    total, row, column, out, more, m, n, out_steps, more_steps,
    DESCRIBED: tl.constexpr, ACTIVATION: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    INDEX: tl.constexpr,
):  # fmt: skip
    """Finish the sums of a tile, and store them."""
    i = (row * M + tl.arange(0, M)).to(INDEX)
    j = (column * N + tl.arange(0, N)).to(INDEX)
    if more is not None:
        scale_a, scale_b, bias, residual = more
        a_step, b_step, bias_step, residual_steps = more_steps
        total = finish(
            total, i, j, m, n, scale_a, scale_b, bias, residual,
            a_step, b_step, bias_step, residual_steps[2], residual_steps[3], ACTIVATION,
        )  # fmt: skip
    if DESCRIBED:
        out.store([row * M, column * N], total.to(out.dtype))
    else:
        where = out + i[:, None] * out_steps[0] + j[None, :] * out_steps[1]
        tl.store(where, total, mask=(i[:, None] < m) & (j[None, :] < n))


@jit(do_not_specialize=("whole",))
def add_described_parts(
    split, out, more, whole, m, n, parts, out_steps, more_steps,
    ACTIVATION: tl.constexpr, M: tl.constexpr, N: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr, GROUP: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Add the parts of a piece of a tile in order, and finish them."""
    down, across = tl.cdiv(m, M), tl.cdiv(n, N)
    rest = down * across - whole
    pieces, width = (M // ROWS) * (N // COLUMNS), N // COLUMNS
    which, piece = tl.program_id(0) // pieces, tl.program_id(0) % pieces
    tile = whole + which
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
    if more is not None:
        scale_a, scale_b, bias, residual = more
        a_step, b_step, bias_step, residual_steps = more_steps
        total = finish(
            total, i, j, m, n, scale_a, scale_b, bias, residual,
            a_step, b_step, bias_step, residual_steps[2], residual_steps[3], ACTIVATION,
        )  # fmt: skip
    target = out + i[:, None] * out_steps[0] + j[None, :] * out_steps[1]
    tl.store(target, total, mask=(i[:, None] < m) & (j[None, :] < n))

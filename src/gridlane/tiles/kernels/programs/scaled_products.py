"""Products of matrices whose factors have scales of blocks: sums of a block of the inner dimension
are times its scales, and added to those of others."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.products import finish


@jit
def factor_tiles(
    a, b, at, last, i, j, m, n, a_steps, b_steps, DESCRIBED: tl.constexpr, M: tl.constexpr,
    N: tl.constexpr, K: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Rows from i on, and columns from j on, from a place of the inner dimension. Descriptors are
    those of a and of b's transpose."""
    if DESCRIBED:
        return a.load([i, at]), tl.trans(b.load([j, at]))
    rows = i + tl.arange(0, M)
    columns = j + tl.arange(0, N)
    inner = at + tl.arange(0, K)
    where = a + rows.to(INDEX)[:, None] * a_steps[0] + inner.to(INDEX)[None, :] * a_steps[1]
    left = tl.load(where, mask=(rows[:, None] < m) & (inner[None, :] < last), other=0)
    where = b + inner.to(INDEX)[:, None] * b_steps[0] + columns.to(INDEX)[None, :] * b_steps[1]
    return left, tl.load(where, mask=(inner[:, None] < last) & (columns[None, :] < n), other=0)


@jit
def load_scales(base, step, i, count, at, last, BLOCK: tl.constexpr, INDEX: tl.constexpr):
    """The scales i at a place of the inner dimension, 0 behind the last one."""
    where = base + (at // BLOCK).to(INDEX) * step
    return tl.load(where, mask=(i < count) & (at < last), other=0.0)


@jit(do_not_specialize=("count", "parts"))
def scaled_product_tiles(
    a, b, scale_a, scale_b, out, bias, count, m, n, k, parts, a_steps, b_steps, scale_a_steps,
    scale_b_steps, out_steps, bias_step, DESCRIBED: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr, BLOCK: tl.constexpr, ACTIVATION: tl.constexpr, M: tl.constexpr,
    N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """All tiles, or the parts of their sums, by as many programs as there are. A scale of a is that
    of ROWS rows, one of b that of COLUMNS columns, both of BLOCK elements of the inner dimension.
    ``out_steps`` are those of rows, columns and parts.

    Scales are loaded while products run; those of columns, which pass through shared memory, two
    steps ahead. Barriers wait for loads in front of them, so there are none between the products
    and the barriers behind these.
    """
    down, across = tl.cdiv(m, M), tl.cdiv(n, N)
    for place in range(tl.program_id(0), count, tl.num_programs(0)):
        tile, part = place // parts, place % parts
        row, column = tl.swizzle2d(tile // across, tile % across, down, across, GROUP)
        share = tl.cdiv(tl.cdiv(k, BLOCK), parts) * BLOCK
        first = part * share
        last = tl.minimum(k, first + share)
        rows = row * M + tl.arange(0, M)
        columns = column * N + tl.arange(0, N)
        left = scale_a + (rows // ROWS).to(INDEX) * scale_a_steps[0]
        right = scale_b + (columns // COLUMNS).to(INDEX) * scale_b_steps[1]
        total = tl.zeros((M, N), tl.float32)
        across_scale = load_scales(right, scale_b_steps[0], columns, n, first, last, BLOCK, INDEX)
        ahead = load_scales(right, scale_b_steps[0], columns, n, first + K, last, BLOCK, INDEX)
        for at in range(first, last, K):
            down_scale = load_scales(left, scale_a_steps[1], rows, m, at, last, BLOCK, INDEX)
            one, other = factor_tiles(
                a, b, at, last, row * M, column * N, m, n, a_steps, b_steps, DESCRIBED, M, N, K,
                INDEX,
            )  # fmt: skip
            sums = tl.dot(one, other, input_precision="ieee", out_dtype=tl.float32)
            total += sums * (down_scale[:, None] * across_scale[None, :])
            across_scale = ahead
            ahead = load_scales(right, scale_b_steps[0], columns, n, at + 2 * K, last, BLOCK, INDEX)
        i, j = rows.to(INDEX), columns.to(INDEX)
        total = finish(total, i, j, m, n, None, None, bias, None, 0, 0, bias_step, 0, 0, ACTIVATION)
        where = out + part.to(INDEX) * out_steps[2]
        where += i[:, None] * out_steps[0] + j[None, :] * out_steps[1]
        tl.store(where, total, mask=(i[:, None] < m) & (j[None, :] < n))

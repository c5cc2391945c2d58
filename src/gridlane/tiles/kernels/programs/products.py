"""Products of matrices with epilogues."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit


@jit
def sum_products(
    a, b, first, last, m, n, i, j, a_row, a_inner, b_inner, b_column,
    K: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The products of rows i and columns j, added from one place of the inner dimension to
    another."""
    step = tl.arange(0, K).to(INDEX)
    left = a + i[:, None] * a_row + (first + step)[None, :] * a_inner
    right = b + (first + step)[:, None] * b_inner + j[None, :] * b_column
    total = tl.zeros((i.shape[0], j.shape[0]), SUM)
    for at in range(first, last, K):
        rows = tl.load(left, mask=(i[:, None] < m) & (step[None, :] < last - at), other=0)
        columns = tl.load(right, mask=(step[:, None] < last - at) & (j[None, :] < n), other=0)
        total = tl.dot(rows, columns, total, input_precision="ieee", out_dtype=SUM)
        left += a_inner * K
        right += b_inner * K
    return total


@jit
def activated(x, ACTIVATION: tl.constexpr):
    """A function of elements by its name."""
    if ACTIVATION == "relu":
        return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)
    if ACTIVATION == "gelu":
        return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    if ACTIVATION == "gelu_tanh":
        return x / (1.0 + tl.exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)))
    if ACTIVATION == "silu":
        return x / (1.0 + tl.exp(-x))
    return x


@jit
def finish(
    total, i, j, m, n, scale_a, scale_b, bias, residual,
    scale_a_step, scale_b_step, bias_step, residual_row, residual_column,
    ACTIVATION: tl.constexpr,
):  # fmt: skip
    """Sums times scales, plus a bias, as an argument of the activation, plus a residual."""
    inside = (i[:, None] < m) & (j[None, :] < n)
    if scale_a is not None:
        total *= tl.load(scale_a + i * scale_a_step, mask=i < m, other=0.0)[:, None]
    if scale_b is not None:
        total *= tl.load(scale_b + j * scale_b_step, mask=j < n, other=0.0)[None, :]
    if bias is not None:
        total += tl.load(bias + j * bias_step, mask=j < n, other=0.0).to(total.dtype)[None, :]
    total = activated(total, ACTIVATION)
    if residual is not None:
        where = residual + i[:, None] * residual_row + j[None, :] * residual_column
        total += tl.load(where, mask=inside, other=0.0).to(total.dtype)
    return total


@jit
def product_tile(
    place, a, b, out, more, inner_batches, m, n, k, parts, a_steps, b_steps, out_steps, more_steps,
    ACTIVATION: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    GROUP: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """One tile of the product, or of a part of its sums. ``more`` has the scales, the bias and the
    residual; steps are those of (outer, inner) batches, rows and columns."""
    down, across = tl.cdiv(m, M), tl.cdiv(n, N)
    row, column = tl.swizzle2d(
        place % (down * across) // across, place % across, down, across, GROUP
    )
    which = place // (down * across)
    batch, part = which // parts, which % parts
    outer, inner = (batch // inner_batches).to(INDEX), (batch % inner_batches).to(INDEX)
    a += outer * a_steps[0] + inner * a_steps[1]
    b += outer * b_steps[0] + inner * b_steps[1]
    i = (row * M + tl.arange(0, M)).to(INDEX)
    j = (column * N + tl.arange(0, N)).to(INDEX)
    first, last = 0, k
    if parts != 1:
        share = tl.cdiv(tl.cdiv(k, K), parts) * K
        first = part * share
        last = tl.minimum(k, first + share)
    total = sum_products(
        a, b, first, last, m, n, i, j, a_steps[2], a_steps[3], b_steps[2], b_steps[3], K, SUM, INDEX
    )
    if more is not None:
        scale_a, scale_b, bias, residual = more
        a_step, b_step, bias_step, residual_steps = more_steps
        if residual is not None:
            residual += outer * residual_steps[0] + inner * residual_steps[1]
        total = finish(
            total, i, j, m, n, scale_a, scale_b, bias, residual,
            a_step, b_step, bias_step, residual_steps[2], residual_steps[3], ACTIVATION,
        )  # fmt: skip
    out += outer * out_steps[0] + inner * out_steps[1] + part.to(INDEX) * out_steps[4]
    where = out + i[:, None] * out_steps[2] + j[None, :] * out_steps[3]
    tl.store(where, total, mask=(i[:, None] < m) & (j[None, :] < n))


@jit(do_not_specialize=("count", "inner_batches"))
def product_tiles(
    a, b, out, more, count, inner_batches, m, n, k, parts,
    a_steps, b_steps, out_steps, more_steps, PERSISTENT: tl.constexpr,
    ACTIVATION: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    GROUP: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """A tile a program, or all tiles by as many programs as there are."""
    if PERSISTENT:
        for place in range(tl.program_id(0), count, tl.num_programs(0)):
            product_tile(
                place, a, b, out, more, inner_batches, m, n, k, parts,
                a_steps, b_steps, out_steps, more_steps, ACTIVATION, M, N, K, GROUP, SUM, INDEX,
            )  # fmt: skip
    else:
        product_tile(
            tl.program_id(0), a, b, out, more, inner_batches, m, n, k, parts,
            a_steps, b_steps, out_steps, more_steps, ACTIVATION, M, N, K, GROUP, SUM, INDEX,
        )  # fmt: skip


@jit(do_not_specialize=("count", "inner_batches"))
def add_parts(
    parts, out, more, count, inner_batches, m, n, parts_step, out_steps, more_steps,
    ACTIVATION: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Add the parts of sums in order: contiguous arrays of all products, one behind the other."""
    down, across = tl.cdiv(m, M), tl.cdiv(n, N)
    place = tl.program_id(0)
    batch = place // (down * across)
    outer, inner = (batch // inner_batches).to(INDEX), (batch % inner_batches).to(INDEX)
    i = (place % (down * across) // across * M + tl.arange(0, M)).to(INDEX)
    j = (place % across * N + tl.arange(0, N)).to(INDEX)
    inside = (i[:, None] < m) & (j[None, :] < n)
    part = parts + (batch.to(INDEX) * m + i[:, None]) * n + j[None, :]
    total = tl.zeros((M, N), SUM)
    for each in range(count):
        total += tl.load(part + tl.cast(each, INDEX) * parts_step, mask=inside, other=0)
    scale_a, scale_b, bias, residual = more
    a_step, b_step, bias_step, residual_steps = more_steps
    if residual is not None:
        residual += outer * residual_steps[0] + inner * residual_steps[1]
    total = finish(
        total, i, j, m, n, scale_a, scale_b, bias, residual,
        a_step, b_step, bias_step, residual_steps[2], residual_steps[3], ACTIVATION,
    )  # fmt: skip
    where = out + outer * out_steps[0] + inner * out_steps[1]
    where += i[:, None] * out_steps[2] + j[None, :] * out_steps[3]
    tl.store(where, total, mask=inside)


@jit
def group_of(tile, sizes, rows, groups, size_step, M: tl.constexpr):
    """The rows of a tile, of whose group it is, and that group; none behind the last tile. Rows
    behind the last group are one more."""
    begin = tl.zeros((), tl.int64)
    before = tl.zeros((), tl.int64)
    start = tl.zeros((), tl.int64)
    end = tl.zeros((), tl.int64)
    group = tl.zeros((), tl.int32)
    for each in range(groups + 1):
        size = tl.load(sizes + tl.minimum(each, groups - 1) * size_step).to(tl.int64)
        size = tl.where(each < groups, size, rows)
        size = tl.minimum(tl.maximum(size, 0), rows - begin)
        count = tl.cdiv(size, M)
        if (tile >= before) & (tile < before + count):
            start = begin + (tile - before) * M
            end = begin + size
            group = each
        begin += size
        before += count
    return start, end, group


@jit(do_not_specialize=("rows", "groups"))
def grouped_product_tiles(
    a, b, sizes, out, rows, groups, n, k, a_steps, b_steps, size_step, out_steps,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """A tile of rows of one group a program. Rows behind the last group are one more group, whose
    products have no terms."""
    across = tl.cdiv(n, N)
    place = tl.program_id(0)
    tile, column = place // across, place % across
    start, end, group = group_of(tile, sizes, rows, groups, size_step, M)
    if start < end:
        i = start.to(INDEX) + tl.arange(0, M)
        j = (column * N + tl.arange(0, N)).to(INDEX)
        last = tl.where(group < groups, k, 0)
        b += tl.minimum(group, groups - 1).to(INDEX) * b_steps[0]
        total = sum_products(
            a, b, 0, last, end, n, i, j, a_steps[0], a_steps[1], b_steps[1], b_steps[2],
            K, SUM, INDEX,
        )  # fmt: skip
        where = out + i[:, None] * out_steps[0] + j[None, :] * out_steps[1]
        tl.store(where, total, mask=(i[:, None] < end) & (j[None, :] < n))

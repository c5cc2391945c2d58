"""Products of the transposed rows of groups with other rows of theirs."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.products import sum_products


@jit(do_not_specialize=("rows", "groups"))
def group_gradient_tiles(
    a, b, sizes, out, rows, groups, m, n, a_steps, b_steps, size_step, out_steps,
    GROUPS: tl.constexpr, GROUP: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """A tile of the matrix of one group. Groups end where the rows do."""
    down, across = tl.cdiv(m, M), tl.cdiv(n, N)
    place = tl.program_id(0)
    group, tile = place // (down * across), place % (down * across)
    row, column = tl.swizzle2d(tile // across, tile % across, down, across, GROUP)
    g = tl.arange(0, GROUPS)
    size = tl.load(sizes + g * size_step, mask=g < groups, other=0).to(tl.int64)
    size = tl.maximum(size, 0)
    begin = tl.sum(tl.where(g < group, size, 0), axis=0)
    end = begin + tl.sum(tl.where(g == group, size, 0), axis=0)
    first = tl.minimum(begin, rows).to(tl.int32)
    last = tl.minimum(end, rows).to(tl.int32)
    i = (row * M + tl.arange(0, M)).to(INDEX)
    j = (column * N + tl.arange(0, N)).to(INDEX)
    total = sum_products(
        a, b, first, last, m, n, i, j, a_steps[1], a_steps[0], b_steps[0], b_steps[1], K, SUM, INDEX
    )
    out += group.to(INDEX) * out_steps[0]
    where = out + i[:, None] * out_steps[1] + j[None, :] * out_steps[2]
    tl.store(where, total, mask=(i[:, None] < m) & (j[None, :] < n))

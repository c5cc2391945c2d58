"""Products of matrices whose sums have one order."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit


@jit
def rounded_product(
    a, b, out, stack, rows, columns, inner, a_stack, a_row, a_column, a_inner,
    b_stack, b_row, b_column, b_inner,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SUM: tl.constexpr,
    INDEX: tl.constexpr,
):  # fmt: skip
    """One tile of the products of a stack of matrices; the result is in C's order. Without fusion
    products are rounded, K of them are added one after the other, and these sums in order."""
    down, across = tl.cdiv(rows, M), tl.cdiv(columns, N)
    place = tl.program_id(0).to(INDEX)
    matrix = place // (down * across)
    i = place // across % down * M + tl.arange(0, M)
    j = place % across * N + tl.arange(0, N)
    step = tl.arange(0, K)
    left = a + matrix * a_stack + i[:, None] * a_row + step[None, :] * a_inner
    right = b + matrix * b_stack + step[:, None] * b_inner + j[None, :] * b_column
    total = tl.zeros((M, N), SUM)
    for start in range(0, inner, K):
        ahead = inner - start
        one = tl.load(left, mask=(i[:, None] < rows) & (step[None, :] < ahead), other=0)
        other = tl.load(right, mask=(step[:, None] < ahead) & (j[None, :] < columns), other=0)
        if one.dtype != other.dtype:
            one, other = one.to(SUM), other.to(SUM)
        total += tl.dot(one, other, input_precision="ieee", out_dtype=SUM)
        left += K * a_inner
        right += K * b_inner
    where = out + (matrix * rows + i[:, None]) * columns + j[None, :]
    tl.store(where, total, mask=(i[:, None] < rows) & (j[None, :] < columns))

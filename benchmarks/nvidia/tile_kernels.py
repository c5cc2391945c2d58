"""Tile programs that gridlane and Triton both run: ``tiles.py`` loads this file once for each."""

import triton
import triton.language as tl


@triton.jit
def product(a, b, c, m, n, k, SUMS: tl.constexpr, PRECISION: tl.constexpr,
            M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):  # fmt: skip
    """Rows by rows: ``b`` is the transpose of the right factor."""
    program, down, across = tl.program_id(0), tl.cdiv(m, M), tl.cdiv(n, N)
    group = program // (GROUP * across)
    high = min(down - group * GROUP, GROUP)
    row = group * GROUP + program % (GROUP * across) % high
    column = program % (GROUP * across) // high
    i = (row * M + tl.arange(0, M)) % m
    j = (column * N + tl.arange(0, N)) % n
    s = tl.arange(0, K)
    left = a + i[:, None] * k + s[None, :]
    right = b + j[None, :] * k + s[:, None]
    total = tl.zeros((M, N), dtype=SUMS)
    for at in range(0, k, K):
        x = tl.load(left, mask=s[None, :] < k - at, other=0.0)
        y = tl.load(right, mask=s[:, None] < k - at, other=0.0)
        total = tl.dot(x, y, total, input_precision=PRECISION, out_dtype=SUMS)
        left += K
        right += K
    i, j = row * M + tl.arange(0, M), column * N + tl.arange(0, N)
    inside = (i[:, None] < m) & (j[None, :] < n)
    tl.store(c + i[:, None] * n + j[None, :], total.to(c.dtype.element_ty), mask=inside)


@triton.jit
def product_descriptors(a, b, c, m, n, k, SUMS: tl.constexpr,
                        M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                        GROUP: tl.constexpr):  # fmt: skip
    """Likewise by tensor descriptors, and each program has several tiles."""
    down, across = tl.cdiv(m, M), tl.cdiv(n, N)
    for place in range(tl.program_id(0), down * across, tl.num_programs(0)):
        group = place // (GROUP * across)
        high = min(down - group * GROUP, GROUP)
        row = (group * GROUP + place % (GROUP * across) % high) * M
        column = place % (GROUP * across) // high * N
        total = tl.zeros((M, N), dtype=SUMS)
        for at in range(0, k, K):
            total = tl.dot(a.load([row, at]), b.load([column, at]).T, total, out_dtype=SUMS)
        c.store([row, column], total.to(c.dtype))


@triton.jit
def nothing():
    pass


@triton.jit
def many(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, n0, n1, n2, n3, n4, n5, n6, n7, n8):
    """Nineteen arguments, which are all read where ``n0`` is negative."""
    if n0 < 0:
        total = n1 + n2 + n3 + n4 + n5 + n6 + n7 + n8
        total += tl.load(a1) + tl.load(a2) + tl.load(a3) + tl.load(a4) + tl.load(a5)
        tl.store(a0, total + tl.load(a6) + tl.load(a7) + tl.load(a8) + tl.load(a9))


@triton.jit
def attend(mine, k, v, row, begin, end, i, scale, largest, weight, total,
           MASKED: tl.constexpr, BOXES: tl.constexpr, WIDTH: tl.constexpr,
           N: tl.constexpr):  # fmt: skip
    """Attention of some keys, ``row`` of which is the first; ``BOXES``: by tensor descriptors."""
    j, d = tl.arange(0, N), tl.arange(0, WIDTH)
    for at in range(begin, end, N):
        if BOXES:
            keys = k.load([row + at, 0])
        else:
            keys = tl.load(k + (row + at + j)[:, None] * WIDTH + d[None, :])
        scores = tl.dot(mine, tl.trans(keys))
        if MASKED:
            scores = tl.where(i[:, None] >= at + j[None, :], scores, -1.0e30)
        higher = tl.maximum(largest, tl.max(scores, 1) * scale)
        powers = tl.exp2(scores * scale - higher[:, None])
        less = tl.exp2(largest - higher)
        weight = weight * less + tl.sum(powers, 1)
        if BOXES:
            values = v.load([row + at, 0])
        else:
            values = tl.load(v + (row + at + j)[:, None] * WIDTH + d[None, :])
        total = tl.dot(powers.to(values.dtype), values, total * less[:, None])
        largest = higher
    return largest, weight, total


@triton.jit
def attention_of(mine, k, v, row, first, length, scale, CAUSAL: tl.constexpr, BOXES: tl.constexpr,
                 WIDTH: tl.constexpr, M: tl.constexpr, N: tl.constexpr):  # fmt: skip
    """Attention of M queries from ``first`` on; a mask is for the last keys alone."""
    i = first + tl.arange(0, M)
    largest = tl.full((M,), -float("inf"), tl.float32)
    weight = tl.zeros((M,), tl.float32)
    total = tl.zeros((M, WIDTH), tl.float32)
    middle = first // N * N if CAUSAL else length
    largest, weight, total = attend(
        mine, k, v, row, 0, middle, i, scale, largest, weight, total, False, BOXES, WIDTH, N
    )
    if CAUSAL:
        largest, weight, total = attend(
            mine, k, v, row, middle, first + M, i, scale, largest, weight, total, True, BOXES,
            WIDTH, N,
        )  # fmt: skip
    return total * (1 / weight)[:, None]


@triton.jit
def attention(q, k, v, out, length, scale, CAUSAL: tl.constexpr, WIDTH: tl.constexpr,
              M: tl.constexpr, N: tl.constexpr):  # fmt: skip
    """The longest blocks of queries are the first ones."""
    row, block = tl.program_id(1) * length, tl.program_id(0)
    first = (tl.num_programs(0) - 1 - block if CAUSAL else block) * M
    i, d = row + first + tl.arange(0, M), tl.arange(0, WIDTH)
    mine = tl.load(q + i[:, None] * WIDTH + d[None, :])
    result = attention_of(mine, k, v, row, first, length, scale, CAUSAL, False, WIDTH, M, N)
    tl.store(out + i[:, None] * WIDTH + d[None, :], result.to(out.dtype.element_ty))


@triton.jit
def attention_descriptors(q, k, v, out, length, scale, CAUSAL: tl.constexpr, WIDTH: tl.constexpr,
                          M: tl.constexpr, N: tl.constexpr):  # fmt: skip
    """Likewise by tensor descriptors of the rows of all heads."""
    row, block = tl.program_id(1) * length, tl.program_id(0)
    first = (tl.num_programs(0) - 1 - block if CAUSAL else block) * M
    mine = q.load([row + first, 0])
    result = attention_of(mine, k, v, row, first, length, scale, CAUSAL, True, WIDTH, M, N)
    out.store([row + first, 0], result.to(out.dtype))


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    start, i = tl.program_id(0).to(tl.int64) * columns, tl.arange(0, BLOCK)
    values = tl.load(x + start + i, mask=i < columns, other=-float("inf")).to(tl.float32)
    powers = tl.exp(values - tl.max(values, axis=0))
    result = powers / tl.sum(powers, axis=0)
    tl.store(out + start + i, result.to(out.dtype.element_ty), mask=i < columns)


@triton.jit
def layer_norm(x, scale, shift, out, columns, BLOCK: tl.constexpr):
    start, i = tl.program_id(0).to(tl.int64) * columns, tl.arange(0, BLOCK)
    inside = i < columns
    values = tl.load(x + start + i, mask=inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, values - tl.sum(values, axis=0) / columns, 0.0)
    spread = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + 1e-5)
    result = centred * spread * tl.load(scale + i, mask=inside) + tl.load(shift + i, mask=inside)
    tl.store(out + start + i, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def rms_norm(x, scale, out, columns, BLOCK: tl.constexpr):
    start, i = tl.program_id(0).to(tl.int64) * columns, tl.arange(0, BLOCK)
    inside = i < columns
    values = tl.load(x + start + i, mask=inside, other=0.0).to(tl.float32)
    spread = 1 / tl.sqrt(tl.sum(values * values, axis=0) / columns + 1e-5)
    result = values * spread * tl.load(scale + i, mask=inside)
    tl.store(out + start + i, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def cross_entropy(x, labels, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    largest, weight = -float("inf"), 0.0
    for at in range(0, columns, BLOCK):
        inside = at + i < columns
        values = tl.load(x + row * columns + at + i, mask=inside, other=-float("inf"))
        values = values.to(tl.float32)
        higher = tl.maximum(largest, tl.max(values, axis=0))
        weight = weight * tl.exp(largest - higher) + tl.sum(tl.exp(values - higher), axis=0)
        largest = higher
    chosen = tl.load(x + row * columns + tl.load(labels + row)).to(tl.float32)
    tl.store(out + row, largest + tl.log(weight) - chosen)

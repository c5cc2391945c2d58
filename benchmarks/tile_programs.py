"""The tile programs of tiles.py. With TRITON_INTERPRET=1 they are Triton's, which runs them by its
interpreter; else gridlane's."""

from __future__ import annotations

import os

if os.environ.get("TRITON_INTERPRET") == "1":
    import triton  # pyright: ignore[reportMissingImports]
    import triton.language as tl  # pyright: ignore[reportMissingImports]

    jit = triton.jit
else:
    from gridlane import tiles

    tl, jit = tiles.language, tiles.jit


@jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + i, powers / tl.sum(powers, axis=0), mask=i < columns)


@jit
def layer_norm(x, scale, shift, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    inside = i < columns
    values = tl.load(x + row * columns + i, mask=inside, other=0.0)
    centred = tl.where(inside, values - tl.sum(values, axis=0) / columns, 0.0)
    spread = tl.sqrt(tl.sum(centred * centred, axis=0) / columns + 1e-5)
    scaled = centred / spread * tl.load(scale + i, mask=inside)
    tl.store(out + row * columns + i, scaled + tl.load(shift + i, mask=inside), mask=inside)


@jit
def product(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    step = tl.arange(0, K)
    left = a + i[:, None] * k + step[None, :]
    right = b + step[:, None] * n + j[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, k, K):
        rows = tl.load(left, mask=(i[:, None] < m) & (step[None, :] < k - at), other=0.0)
        columns = tl.load(right, mask=(step[:, None] < k - at) & (j[None, :] < n), other=0.0)
        total = tl.dot(rows, columns, total, input_precision="ieee")
        left += K
        right += K * n
    inside = (i[:, None] < m) & (j[None, :] < n)
    tl.store(c + i[:, None] * n + j[None, :], total, mask=inside)


@jit
def attention(q, k, v, out, length, scale, WIDTH: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Softmax of scaled products of rows, one tile of queries a program, as it comes."""
    head = tl.program_id(1) * length * WIDTH
    i, d, j = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, WIDTH), tl.arange(0, N)
    mine = tl.load(q + head + i[:, None] * WIDTH + d[None, :]) * scale
    largest = tl.full((M,), -float("inf"), tl.float32)
    weight = tl.zeros((M,), tl.float32)
    total = tl.zeros((M, WIDTH), tl.float32)
    for at in range(0, length, N):
        keys = tl.load(k + head + (at + j)[None, :] * WIDTH + d[:, None])
        scores = tl.dot(mine, keys, input_precision="ieee")
        higher = tl.maximum(largest, tl.max(scores, 1))
        powers = tl.exp(scores - higher[:, None])
        less = tl.exp(largest - higher)
        weight = weight * less + tl.sum(powers, 1)
        values = tl.load(v + head + (at + j)[:, None] * WIDTH + d[None, :])
        total = tl.dot(powers, values, total * less[:, None], input_precision="ieee")
        largest = higher
    tl.store(out + head + i[:, None] * WIDTH + d[None, :], total / weight[:, None])

"""Programs over tiles, as their users write them."""

from __future__ import annotations

from gridlane import tiles

tl = tiles.language


@tiles.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n)
    tl.store(out + i, total, mask=i < n)


@tiles.jit
def softmax(out, x, out_step, x_step, rows, columns, BLOCK: tl.constexpr):
    """A row at a time, over a grid of any size."""
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        i = tl.arange(0, BLOCK)
        values = tl.load(x + row * x_step + i, mask=i < columns, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * out_step + i, powers / tl.sum(powers, axis=0), mask=i < columns)


@tiles.jit
def product(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A tile of a product of matrices in rows, with pointers that move along k."""
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


@tiles.jit
def copy_block(source, target, AXES: tl.constexpr):
    """A block of a tensor descriptor to one of another."""
    tl.static_assert(AXES == 2)
    target.store([0, 0], source.load([1, -1]))


@tiles.jit
def scaled(x, pair, out, n, scale, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    shift, other = pair
    tl.store(out + i, tl.load(x + i, mask=i < n) * scale + shift + tl.load(other), mask=i < n)


@tiles.jit
def checked_scalar(x, limit):
    tl.device_assert(tl.load(x) < limit, "too large")


@tiles.jit
def checked(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    values = tl.load(x + i, mask=i < n, other=0)
    tl.device_assert(values >= 0, "a negative number")

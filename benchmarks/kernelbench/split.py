"""Products of float32 as three products of tf32 each (Ootomo & Yokota, "Recovering single precision
accuracy from Tensor Cores", 2022).

A number is the sum of one with 11 bits and of a rest, whose 11 leading bits count. The product of
the two rests is below the precision of float32 and left out. Both parts of all numbers are written
first, in rows along the inner dimension, from where a GPU copies boxes of them by itself.
"""

from __future__ import annotations

from typing import Any

from gridlane import tiles
from gridlane.launch import current
from gridlane.tiles.descriptors import TensorDescriptor

tl = tiles.language

WHOLE, UPPER, LOWER = 0, 1, 2
M, N, K = 128, 256, 32
LONGEST = 4096
"""Of the inner dimension that a program adds: sums in tensor cores lose bits with their number."""
_LINE = 4
"""Elements of 16 bytes, of which rows are multiples."""


calls: list[str] = []
"""The products of this process that were computed so, by what computed them."""


@tiles.jit
def split_rows(
    x, out, rows, columns, x_batch, x_row, x_column, out_part, pitch, scale,
    TURNED: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Both parts of a tile of a matrix, times a number. ``TURNED``: its columns are neighbours in
    memory, along which tiles are read."""
    across, down = tl.cdiv(columns, COLUMNS), tl.cdiv(rows, ROWS)
    program = tl.program_id(0)
    batch, i0 = (program // (across * down)).to(tl.int64), program // across % down * ROWS
    j0 = program % across * COLUMNS
    x += batch * x_batch
    if TURNED:
        i, j = i0 + tl.arange(0, ROWS)[None, :], j0 + tl.arange(0, COLUMNS)[:, None]
    else:
        i, j = i0 + tl.arange(0, ROWS)[:, None], j0 + tl.arange(0, COLUMNS)[None, :]
    where = i.to(tl.int64) * x_row + j.to(tl.int64) * x_column
    a = tl.load(x + where, mask=(i < rows) & (j < columns), other=0.0) * scale
    if TURNED:
        a = tl.trans(a)
    bits = (a.to(tl.int32, bitcast=True) + 0x1000) & -0x2000
    large = bits.to(tl.float32, bitcast=True)
    i, j = i0 + tl.arange(0, ROWS)[:, None], j0 + tl.arange(0, COLUMNS)[None, :]
    where = out + (batch * rows + i) * pitch + j
    inside = (i < rows) & (j < columns)
    tl.store(where, large, mask=inside)
    tl.store(where + out_part, a - large, mask=inside)


@tiles.jit
def split_products(
    a, b, out, batches, m, n, k, a_rows, b_rows, parts, share,
    SHAPE: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Tiles of the products of rows of ``a`` and of ``b``, and parts of their sums, by as many
    programs as there are; ``share`` is a part's blocks. Rests are added first. ``SHAPE``: 1 of
    upper triangular factors, 2 of lower ones."""
    down, across = tl.cdiv(m, M), tl.cdiv(n, N)
    tiles_of_one = down * across
    for place in range(tl.program_id(0), batches * tiles_of_one * parts, tl.num_programs(0)):
        which, part = place // parts, place % parts
        batch, tile = which // tiles_of_one, which % tiles_of_one
        row, column = tl.swizzle2d(tile // across, tile % across, down, across, GROUP)
        i, j = row * M, column * N
        first = part * share * K
        last = tl.minimum(first + share * K, k)
        if SHAPE == 1:
            first, last = tl.maximum(first, i // K * K), tl.minimum(last, j + N)
        if SHAPE == 2:
            first, last = tl.maximum(first, j // K * K), tl.minimum(last, i + M)
        steps = tl.cdiv(tl.maximum(last - first, 0), K)
        total = tl.zeros((M, N), tl.float32)
        for step in range(3 * steps):
            turn = step // steps
            at = first + (step - turn * steps) * K
            upper = batch * m + i + tl.where(turn == 0, a_rows, 0)
            lower = batch * n + j + tl.where(turn == 1, b_rows, 0)
            total = tl.dot(a.load([upper, at]), b.load([lower, at]).T, total)
        y, x = i + tl.arange(0, M)[:, None], j + tl.arange(0, N)[None, :]
        if SHAPE == 1:
            total = tl.where(y <= x, total, 0.0)
        if SHAPE == 2:
            total = tl.where(y >= x, total, 0.0)
        where = (part * batches + batch).to(tl.int64) * m * n + y.to(tl.int64) * n + x
        tl.store(out + where, total, mask=(y < m) & (x < n))


def is_for(m: int, n: int) -> bool:
    """Whether this thread's device multiplies by warpgroups, and the result has whole tiles."""
    device = current.device()
    return device.name == "cuda" and device.compute_capability[0] == 9 and m >= 64 and n >= 16


def multiplied(a: Any, b: Any, shape: int = WHOLE, scale: float = 1.0) -> Any:
    """``scale * a @ b`` of batches of matrices of float32, of any strides.

    Args:
        a: of shape (batches, m, k).
        b: of shape (batches, k, n).
        shape: ``UPPER`` or ``LOWER`` of triangular matrices; what is beside is not read.
    """
    calls.append("split")
    batches, m, k = a.shape
    n = b.shape[2]
    one, pitch = _split(a, scale)
    other, _ = _split(b.transpose(1, 2), 1.0)
    programs = max(current.device().limits.multiprocessors, 1)
    count = batches * -(-m // M) * -(-n // N)
    parts = max(-(-k // LONGEST), min(-(-programs // count), k // 512, 64), 1)
    share = -(-k // (parts * K))
    parts = -(-k // (share * K))
    out = a.new_empty((parts, batches, m, n))
    split_products[(min(count * parts, programs),)](
        TensorDescriptor(one, (2 * batches * m, k), (pitch, 1), (M, K)),
        TensorDescriptor(other, (2 * batches * n, k), (pitch, 1), (N, K)),
        out, batches, m, n, k, batches * m, batches * n, parts, share,
        SHAPE=shape, M=M, N=N, K=K, GROUP=8, num_warps=8, num_stages=4,
    )  # fmt: skip
    return out[0] if parts == 1 else added(out)


def added(parts: Any) -> Any:
    """The sum along the first axis."""
    from benchmarks.kernelbench.reductions import reduced

    return reduced("sum", parts.view(1, parts.shape[0], -1)).view(parts.shape[1:])


def _split(x: Any, scale: float) -> tuple[Any, int]:
    """Both parts of batches of matrices, and the elements from one row to the next."""
    batches, rows, columns = x.shape
    pitch = -(-columns // _LINE) * _LINE
    out = x.new_empty((2, batches * rows, pitch))
    turned = x.stride(2) != 1 and x.stride(1) == 1
    tile = {"ROWS": 64, "COLUMNS": 64} if turned else {"ROWS": 16, "COLUMNS": 256}
    count = batches * -(-rows // tile["ROWS"]) * -(-columns // tile["COLUMNS"])
    split_rows[(count,)](
        x, out, rows, columns, *x.stride(), batches * rows * pitch, pitch, scale, TURNED=turned,
        num_warps=8, **tile,
    )  # fmt: skip
    return out, pitch

"""Masks that are alike for neighbours are computed once for a vector of them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.passes.tiles.test_products import by_threads, by_turns, program

from gridlane import tiles
from gridlane.ir.ops import arith

jit, tl = tiles.jit, tiles.language
SIZE, WARPS = 1024, 4


@jit
def masked(x, out, n, low, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside = (i < n) & (i // 8 != low)
    values = tl.load(x + i)
    total = tl.sum(tl.where(inside, values, 0), axis=0)
    tl.store(out + i, tl.where(inside, values - total, -1))


@jit
def by_columns(x, out, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    inside = (j < n) & (i % 2 == 0)
    values = tl.load(x + i * COLUMNS + j)
    tl.store(out + i * COLUMNS + j, tl.where(inside, values, i - j))


@pytest.mark.parametrize("n, low", [(1024, 9), (512, 2), (512, 63), (1000, 3), (77, 5), (0, 0)])
def test_masks_of_vectors(n, low):
    x = np.random.default_rng(1).integers(-9, 9, SIZE).astype(np.int32)
    args = [x, np.zeros(SIZE, np.int32), n, low]
    module, threads = by_threads(program(masked, args, WARPS, BLOCK=SIZE), True)
    i = np.arange(SIZE)
    inside = (i < n) & (i // 8 != low)
    want = np.where(inside, x - x[inside].sum(), -1)
    np.testing.assert_array_equal(by_turns(module, args, threads)[1], want)
    compares = sum(isinstance(op, arith.Lt) for op in module.kernel.body.walk())
    # Two phases, of two vectors of four elements each.
    assert compares == (4 if n % 16 == 0 else 16)


@pytest.mark.parametrize("n", [64, 32, 16, 17, 3])
def test_masks_of_matrices(n):
    x = np.random.default_rng(2).integers(-9, 9, (16, 64)).astype(np.int32)
    args = [x, np.zeros((16, 64), np.int32), n]
    module, threads = by_threads(program(by_columns, args, WARPS, ROWS=16, COLUMNS=64), True)
    i, j = np.ogrid[:16, :64]
    want = np.where((j < n) & (i % 2 == 0), x, i - j)
    np.testing.assert_array_equal(by_turns(module, args, threads)[1], want)


@jit
def with_others(x, out, n, other, BLOCK: tl.constexpr, OTHER: tl.constexpr):
    i = tl.arange(0, BLOCK)
    values = tl.load(x + i, mask=i < n, other=OTHER)
    tl.store(out + i, values)
    tl.store(out + BLOCK + i, tl.load(x + i, mask=i < n, other=other))


@pytest.mark.parametrize(
    "dtype, other",
    [
        (np.float16, -np.inf), (np.float16, -0.0), (np.float32, 1.5), (np.float64, 1e300),
        (np.float64, -0.0), (np.int8, -3), (np.uint8, 200), (np.int16, -2), (np.int32, 7),
        (np.int64, -(2**40)),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("n", [512, 96, 0, 77])
def test_others(dtype, other, n):
    x = np.random.default_rng(3).integers(0, 100, SIZE).astype(dtype)
    args = [x, np.zeros(2 * SIZE, dtype), n, 5]
    module, threads = by_threads(program(with_others, args, WARPS, BLOCK=SIZE, OTHER=other), True)
    got = by_turns(module, args, threads)[1]
    want = np.where(np.arange(SIZE) < n, x, np.array(other, dtype))
    assert got[:SIZE].tobytes() == want.tobytes()
    np.testing.assert_array_equal(got[SIZE:], np.where(np.arange(SIZE) < n, x, 5))

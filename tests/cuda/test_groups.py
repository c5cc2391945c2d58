"""Cooperative groups in the dialect, on every device, against numpy."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.core.errors import ConstantError
from gridlane.cuda import cg

ALL = ["interp", *DEVICES]
EVERYWHERE = pytest.mark.parametrize("device", ALL)
RNG = np.random.default_rng(3)
THREADS = 64


@cache
def tiles_of(size: int):
    """A kernel for tiles of a size."""

    @cuda.jit
    def kernel(x, out, moved):
        i, block = cuda.grid(1), cg.this_thread_block()
        tile = cg.tiled_partition(block, size)
        value = x[i]
        out[0, i] = tile.reduce(value, cg.plus)
        out[1, i] = cg.reduce(tile, value, cg.less)
        out[2, i] = tile.inclusive_scan(value)
        out[3, i] = cg.exclusive_scan(tile, value)
        out[4, i] = tile.thread_rank() + 100 * tile.size()
        out[5, i] = tile.meta_group_rank() + 100 * tile.meta_group_size()
        out[6, i] = tile.ballot(value > 0)
        out[7, i] = tile.any(value > 40) + 2 * tile.all(value < 40)
        tile.sync()
        moved[0, i] = tile.shfl(value, 1)
        moved[1, i] = tile.shfl_up(value, 2)
        moved[2, i] = tile.shfl_down(value, 3)
        moved[3, i] = tile.shfl_xor(value, 1)

    return kernel


@pytest.mark.parametrize(
    ("device", "size", "dtype"),
    [*((each, 4, np.int32) for each in ALL), ("cpu", 32, np.float32), ("interp", 16, np.int64)],
)
def test_tiles(device, size, dtype):
    x = RNG.integers(-50, 50, 2 * THREADS).astype(dtype)
    out, moved = np.zeros((8, x.size), dtype), np.zeros((4, x.size), dtype)
    with gridlane.device(device):
        tiles_of(size)[2, THREADS](x, out, moved)
    rows = x.reshape(-1, size)
    rank, each = np.arange(x.size) % size, np.arange(x.size) // size
    sums = rows.cumsum(1)
    bits = np.array([sum(1 << n for n, value in enumerate(row) if value > 0) for row in rows])
    votes = (rows > 40).any(1) + 2 * (rows < 40).all(1)
    count = THREADS // size
    want = [rows.sum(1)[each], rows.min(1)[each], sums.ravel(), (sums - rows).ravel()]
    want += [rank + 100 * size, each % count + 100 * count, bits[each], votes[each]]
    np.testing.assert_array_equal(out, np.array(want).astype(dtype))
    column = np.arange(size)
    sources = [column * 0 + 1 % size, np.where(column < 2, column, column - 2)]
    sources += [np.where(column + 3 < size, column + 3, column), column ^ 1]
    np.testing.assert_array_equal(moved, [rows[:, at].ravel() for at in sources])


@cuda.jit
def parts(x, out):
    i = cuda.grid(1)
    warp = cg.tiled_partition(cg.this_thread_block(), 32)
    part = cg.tiled_partition(warp, 8)
    odd = cg.binary_partition(warp, x[i] % 2)
    label = cg.labeled_partition(warp, x[i] % 3)
    out[0, i] = part.reduce(x[i], cg.greater) + 1000 * part.meta_group_rank()
    out[1, i] = odd.reduce(x[i]) * 100 + odd.size()
    out[2, i] = label.inclusive_scan(x[i], cg.greater) * 100 + label.thread_rank()
    pairs = cg.tiled_partition(label, 2)
    out[3, i] = pairs.exclusive_scan(x[i]) * 100 + pairs.meta_group_rank()
    out[4, i] = odd.shfl(x[i], 2) + 1000 * odd.shfl_down(odd.thread_rank(), 1)
    out[5, i] = odd.ballot(x[i] > 40)


@EVERYWHERE
def test_partitions(device):
    x = RNG.integers(0, 100, THREADS).astype(np.int32)
    out = np.zeros((6, THREADS), np.int32)
    with gridlane.device(device):
        parts[1, THREADS](x, out)
    want = np.zeros_like(out)
    for i in range(THREADS):
        lanes = np.arange(32) + i // 32 * 32
        eight = x[i // 8 * 8 : i // 8 * 8 + 8]
        want[0, i] = eight.max() + 1000 * (i // 8 % 4)
        odd, label = lanes[x[lanes] % 2 == x[i] % 2], lanes[x[lanes] % 3 == x[i] % 3]
        own, rank = list(odd).index(i), list(label).index(i)
        want[1, i] = x[odd].sum() * 100 + odd.size
        want[2, i] = x[label[: rank + 1]].max() * 100 + rank
        want[3, i] = (x[label[rank - 1]] if rank % 2 else 0) * 100 + rank // 2
        want[4, i] = x[odd[2]] + 1000 * min(own + 1, odd.size - 1)
        want[5, i] = sum(1 << n for n, lane in enumerate(odd) if x[lane] > 40)
    np.testing.assert_array_equal(out, want)


@cuda.jit
def together(x, out):
    i = cuda.grid(1)
    if x[i] % 3 == 0:
        group = cg.coalesced_threads()
        out[i] = group.reduce(x[i]) * 100 + group.thread_rank()
        cg.sync(group)


@EVERYWHERE
def test_coalesced_threads(device):
    x = RNG.integers(0, 100, THREADS).astype(np.int32)
    out = np.zeros_like(x)
    with gridlane.device(device):
        together[1, THREADS](x, out)
    want = np.zeros_like(x)
    for first in (0, 32):
        lanes = [first + n for n in range(32) if x[first + n] % 3 == 0]
        want[lanes] = x[lanes].sum() * 100 + np.arange(len(lanes))
    np.testing.assert_array_equal(out, want)


@cuda.jit
def places(blocks, grids):
    block, grid = cg.this_thread_block(), cg.this_grid()
    at = grid.thread_rank()
    blocks[at, 0] = block.thread_rank()
    blocks[at, 1] = block.size() + block.num_threads()
    x, y, z = block.thread_index()
    blocks[at, 2] = x + 100 * y + 10000 * z
    blocks[at, 3] = block.group_index()[0] + 100 * block.dim_threads()[1]
    grids[at, 0] = grid.size()
    grids[at, 1] = grid.block_rank() + 100 * grid.num_blocks()
    grids[at, 2] = grid.dim_blocks()[1] + 100 * grid.block_index()[0]
    grids[at, 3] = grid.is_valid()
    block.sync()
    grid.sync()


@EVERYWHERE
def test_ranks_and_sizes(device):
    blocks, grids = np.zeros((96, 4), np.int32), np.zeros((96, 4), np.int32)
    with gridlane.device(device):
        places[(2, 2), (4, 3, 2)](blocks, grids)
    own, block = np.arange(96) % 24, np.arange(96) // 24
    places_ = own % 4 + 100 * (own // 4 % 3) + 10000 * (own // 12)
    np.testing.assert_array_equal(blocks.T, [own, own * 0 + 48, places_, block % 2 + 300])
    one = np.ones(96)
    np.testing.assert_array_equal(grids.T, [96 * one, block + 400, 2 + 100 * (block % 2), one])


def test_a_tile_has_a_constant_size():
    @cuda.jit
    def kernel(x, n):
        cg.tiled_partition(cg.this_thread_block(), n)

    @cuda.jit
    def odd(x):
        cg.tiled_partition(cg.this_thread_block(), 12)

    x = np.zeros(32)
    with pytest.raises(ConstantError, match="the size of a tile must be a constant integer"):
        kernel[1, 32](x, 8)
    with pytest.raises(ConstantError, match="a tile has 1, 2, 4, 8, 16 or 32 threads, not 12"):
        odd[1, 32](x)

"""Shuffles, differences, flags, run lengths, histograms and ranks of blocks, and exchanges, loads
and stores of warps, called in kernels, on every device, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.algorithms.on_devices import ALL, room, up

import gridlane
from gridlane import cuda
from gridlane.algorithms.coop import block, warp
from gridlane.algorithms.coop.block import (
    BlockAdjacentDifferenceType,
    BlockDiscontinuityType,
    BlockShuffleType,
)
from gridlane.algorithms.coop.warp import WarpExchangeType

N = 42
DIM = (3, 7, 2)
ITEMS = 3


@cuda.jit(device=True)
def rank():
    row = cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z
    return cuda.threadIdx.x + cuda.blockDim.x * row


def numbers(count=N * ITEMS, low=-9, high=9):
    return np.random.default_rng(count).integers(low, high, count).astype(np.int32)


@pytest.mark.parametrize("device", ALL)
def test_shuffles(device):
    offset, rotate, down = (
        block.make_shuffle(np.int32, DIM, block_shuffle_type=kind, distance=steps)
        for kind, steps in zip((BlockShuffleType.Offset, 2, 4), (5, None, 2), strict=True)
    )
    up_rows = block.make_shuffle("int32", DIM, ITEMS, BlockShuffleType.Up, block_suffix=True)
    down_rows = block.make_shuffle("int32", DIM, ITEMS, BlockShuffleType.Down)
    size = up_rows.temp_storage_bytes

    @cuda.jit
    def kernel(x, singles, rows, last):
        t = rank()
        memory = cuda.shared.array(size, np.uint8)
        singles[0, t] = offset(x[t])
        singles[1, t] = rotate(x[t], 40)
        singles[2, t] = down(x[t])
        few, other = cuda.local.array(ITEMS, np.int32), cuda.local.array(ITEMS, np.int32)
        edge = cuda.local.array(1, np.int32)
        for e in range(ITEMS):
            few[e] = x[t * ITEMS + e]
            other[e] = -100
        down_rows(few, other)
        up_rows(memory, few, few, edge)
        for e in range(ITEMS):
            rows[0, t * ITEMS + e] = few[e]
            rows[1, t * ITEMS + e] = other[e]
        last[t] = edge[0]

    x = numbers()
    with gridlane.device(device):
        singles, rows = up(np.zeros((3, N), np.int32)), up(np.zeros((2, N * ITEMS), np.int32))
        last = room(N, np.int32)
        kernel[1, DIM](up(x), singles, rows, last)
        singles, rows, last = (each.copy_to_host() for each in (singles, rows, last))
    assert (singles[0] == np.append(x[5:N], x[N - 5 : N])).all()
    assert (singles[1] == np.roll(x[:N], -40)).all()
    assert (singles[2] == np.append(x[2:N], x[N - 2 : N])).all()
    assert (rows[0] == np.append(x[0], x[:-1])).all()
    assert (rows[1] == np.append(x[1:], -100)).all()
    assert (last == x[-1]).all()


@pytest.mark.parametrize("device", ALL)
def test_differences(device):
    left = block.make_adjacent_difference(np.int32, DIM, ITEMS)
    right = block.make_adjacent_difference(
        np.int32,
        DIM,
        ITEMS,
        lambda a, b: a * 10 + b,
        BlockAdjacentDifferenceType.SubtractRight,
        valid_items=True,
        tile_successor_item=True,
    )
    size = right.temp_storage_bytes

    @cuda.jit
    def kernel(x, out, part, valid):
        t = rank()
        memory = cuda.shared.array(size, np.uint8)
        few, other = cuda.local.array(ITEMS, np.int32), cuda.local.array(ITEMS, np.int32)
        for e in range(ITEMS):
            few[e] = x[t * ITEMS + e]
        right(memory, few, other, valid, 7)
        left(few, few)
        for e in range(ITEMS):
            out[t * ITEMS + e] = few[e]
            part[t * ITEMS + e] = other[e]

    x = numbers()
    with gridlane.device(device):
        for valid in (100, N * ITEMS):
            out, part = room(N * ITEMS, np.int32), room(N * ITEMS, np.int32)
            kernel[1, DIM](up(x), out, part, valid)
            expected = np.where(np.arange(N * ITEMS) < valid, x * 10 + np.append(x[1:], 7), x)
            expected[valid - 1] = x[valid - 1] * 10 + 7
            assert (out.copy_to_host() == np.diff(x, prepend=0)).all()
            assert (part.copy_to_host() == expected).all()


@pytest.mark.parametrize("device", ALL)
def test_flags(device):
    heads = block.make_discontinuity(np.int32, DIM, ITEMS, lambda a, b: a != b)
    tails = block.make_discontinuity(
        np.int32,
        DIM,
        ITEMS,
        lambda a, b: a > b,
        BlockDiscontinuityType.TAILS,
        tile_successor_item=True,
    )
    both = block.make_discontinuity(
        np.float32,
        DIM,
        ITEMS,
        lambda a, b: a < b,
        BlockDiscontinuityType.HEADS_AND_TAILS,
        tile_predecessor_item=True,
    )
    size = tails.temp_storage_bytes

    @cuda.jit
    def kernel(x, out, edge):
        t = rank()
        memory = cuda.shared.array(size, np.uint8)
        few, floats = cuda.local.array(ITEMS, np.int32), cuda.local.array(ITEMS, np.float32)
        first, second = cuda.local.array(ITEMS, np.bool_), cuda.local.array(ITEMS, np.int8)
        for e in range(ITEMS):
            few[e] = floats[e] = x[t * ITEMS + e]
        heads(first, few)
        tails(memory, second, few, edge)
        for e in range(ITEMS):
            out[0, t * ITEMS + e] = first[e]
            out[1, t * ITEMS + e] = second[e]
        both(first, edge, second, floats)
        for e in range(ITEMS):
            out[2, t * ITEMS + e] = first[e]
            out[3, t * ITEMS + e] = second[e]

    x = numbers(low=0, high=3)
    with gridlane.device(device):
        for edge in (-1, 5):
            out = up(np.zeros((4, N * ITEMS), np.int32))
            kernel[1, DIM](up(x), out, edge)
            rows = out.copy_to_host()
            assert (rows[0] == np.append(True, x[:-1] != x[1:])).all()
            assert (rows[1] == (x > np.append(x[1:], edge))).all()
            assert (rows[2] == (np.append(edge, x[:-1]) < x)).all()
            assert (rows[3] == np.append(x[:-1] < x[1:], True)).all()


@pytest.mark.parametrize("device", ALL)
def test_run_lengths(device):
    wanted = 2
    runs = block.make_run_length(np.int16, DIM, ITEMS, wanted)
    size = runs.temp_storage_bytes

    @cuda.jit
    def kernel(values, lengths, out, places, total):
        t = rank()
        memory = cuda.shared.array(size, np.uint8)
        few, counts = cuda.local.array(ITEMS, np.int16), cuda.local.array(ITEMS, np.int32)
        decoded, inside = cuda.local.array(wanted, np.int16), cuda.local.array(wanted, np.int32)
        for e in range(ITEMS):
            few[e] = values[t * ITEMS + e]
            counts[e] = lengths[t * ITEMS + e]
        count = runs(memory, few, counts)
        total[t] = count + runs(few, counts)
        for first in range(0, count, N * wanted):
            runs.decode(memory, decoded, first)
            runs.decode(decoded, first, inside)
            for e in range(wanted):
                i = first + t * wanted + e
                if i < count:
                    out[i] = decoded[e]
                    places[i] = inside[e]

    values, lengths = numbers().astype(np.int16), numbers(low=0, high=4)
    expected = np.repeat(values, lengths)
    inside = np.concatenate([np.arange(each) for each in lengths])
    with gridlane.device(device):
        out, places = room(len(expected), np.int16), room(len(expected), np.int32)
        total = room(N, np.int32)
        kernel[1, DIM](up(values), up(lengths), out, places, total)
        assert (total.copy_to_host() == 2 * len(expected)).all()
        assert (out.copy_to_host() == expected).all()
        assert (places.copy_to_host() == inside).all()


@pytest.mark.parametrize("device", ALL)
def test_histograms(device):
    counts = block.make_histogram(np.int32, np.uint32, DIM, ITEMS, bins=8)
    counted = block.make_histogram(np.uint8, np.int32, DIM, ITEMS)

    @cuda.jit
    def kernel(x, out, all_counts):
        t = rank()
        bins = cuda.shared.array(8, np.uint32)
        few, small = cuda.local.array(ITEMS, np.int32), cuda.local.array(ITEMS, np.uint8)
        for e in range(ITEMS):
            few[e] = small[e] = x[t * ITEMS + e]
        counts(few, bins)
        counts.composite(few, bins)
        if t < 8:
            out[t] = bins[t]
        counted.init(all_counts)
        counted.composite(small, all_counts)

    x = numbers()
    with gridlane.device(device):
        out, all_counts = room(8, np.int32), up(np.full(256, 9, np.int32))
        kernel[1, DIM](up(x), out, all_counts)
        inside = x[(x >= 0) & (x < 8)]
        assert (out.copy_to_host() == 2 * np.bincount(inside, minlength=8)).all()
        assert (all_counts.copy_to_host() == np.bincount(x.astype(np.uint8), minlength=256)).all()


@pytest.mark.parametrize("device", ALL)
def test_ranks(device):
    ranks = block.make_radix_rank(np.uint32, DIM, ITEMS, 1, 4, exclusive_digit_prefix=True)
    descending = block.make_radix_rank(np.uint64, DIM, ITEMS, 33, 35, descending=True)
    size = ranks.temp_storage_bytes

    @cuda.jit
    def kernel(x, out, other, prefix):
        t = rank()
        memory = cuda.shared.array(size, np.uint8)
        few, wide = cuda.local.array(ITEMS, np.uint32), cuda.local.array(ITEMS, np.uint64)
        places, before = cuda.local.array(ITEMS, np.int32), cuda.local.array(1, np.int32)
        for e in range(ITEMS):
            few[e] = x[t * ITEMS + e]
            wide[e] = np.uint64(few[e]) << np.uint64(32)
        ranks(memory, few, places, before)
        for e in range(ITEMS):
            out[t * ITEMS + e] = places[e]
        descending(wide, places)
        for e in range(ITEMS):
            other[t * ITEMS + e] = places[e]
        if t < 8:
            prefix[t] = before[0]

    x = numbers(low=0, high=60).astype(np.uint32)
    with gridlane.device(device):
        out, other, prefix = room(len(x), "i4"), room(len(x), "i4"), room(8, "i4")
        kernel[1, DIM](up(x), out, other, prefix)
        places, places_down = np.empty(len(x), int), np.empty(len(x), int)
        places[np.argsort(x >> 1 & 7, kind="stable")] = np.arange(len(x))
        places_down[np.argsort(3 - (x >> 1 & 3), kind="stable")] = np.arange(len(x))
        assert (out.copy_to_host() == places).all()
        assert (other.copy_to_host() == places_down).all()
        counts = np.bincount(x >> 1 & 7, minlength=8)
        assert (prefix.copy_to_host() == np.cumsum(counts) - counts).all()


@pytest.mark.parametrize("device", ALL)
def test_exchanges_loads_and_stores_of_warps(device):
    width, threads = 8, 40
    count = threads * ITEMS
    load = warp.make_load(np.int16, ITEMS, width, "transpose")
    store = warp.make_store(np.int16, ITEMS, width, "striped")
    exchange = warp.make_exchange(np.int16, ITEMS, width, WarpExchangeType.BlockedToStriped)
    scatter = warp.make_exchange(np.int16, ITEMS, width, WarpExchangeType.ScatterToStriped)

    @cuda.jit
    def kernel(x, out, scattered):
        t = cuda.threadIdx.x
        first = t // width * width * ITEMS
        few, other = cuda.local.array(ITEMS, np.int16), cuda.local.array(ITEMS, np.int16)
        places = cuda.local.array(ITEMS, np.int32)
        load(x[first:], few, 20, -5)
        for e in range(ITEMS):
            places[e] = width * ITEMS - 1 - (t % width * ITEMS + e)
        scatter(few, other, places)
        exchange(few)
        store(out[first:], few)
        store(scattered[first:], other)

    x = numbers(count).astype(np.int16)
    expected = x.reshape(-1, width * ITEMS).copy()
    expected[:, 20:] = -5
    with gridlane.device(device):
        out, scattered = room(count, np.int16), room(count, np.int16)
        kernel[1, threads](up(x), out, scattered)
        assert (out.copy_to_host().reshape(expected.shape) == expected).all()
        assert (scattered.copy_to_host().reshape(expected.shape) == expected[:, ::-1]).all()


def test_refusals():
    with pytest.raises(ValueError, match="items_per_thread is only valid for Up and Down"):
        block.make_shuffle(np.int32, 32, 2, BlockShuffleType.Offset)
    with pytest.raises(ValueError, match="Up has a block_suffix"):
        block.make_shuffle(np.int32, 32, 2, BlockShuffleType.Up, block_prefix=True)
    with pytest.raises(ValueError, match="flag_op must be provided"):
        block.make_discontinuity(np.int32, 32, 1)
    with pytest.raises(ValueError, match="tile_successor_item is not valid for HEADS"):
        block.make_discontinuity(np.int32, 32, 1, max, tile_successor_item=1)
    with pytest.raises(ValueError, match="tile_predecessor_item is not valid for SubtractRight"):
        block.make_adjacent_difference(
            np.int32, 32, block_adjacent_difference_type=2, tile_predecessor_item=1
        )
    with pytest.raises(ValueError, match="bins are required for items of int32"):
        block.make_histogram(np.int32, np.int32, 32)
    with pytest.raises(NotImplementedError, match="Explicit temp_storage is not supported"):
        block.make_histogram(np.uint8, np.int32, 32, temp_storage=1)
    with pytest.raises(ValueError, match="are no digit of 1 to 16 bits"):
        block.make_radix_rank(np.uint32, 32, 1, 0, 20)
    with pytest.raises(ValueError, match=r"one of direct, striped, vectorize, transpose$"):
        warp.make_load(np.int32, 1, 32, "warp_transpose")

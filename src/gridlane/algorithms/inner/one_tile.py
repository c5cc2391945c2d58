"""Stable radix sorts of few items: one block sorts them by all digits, in its own memory."""

# pyright: reportMissingParameterType=false, reportPrivateUsage=false
# Kernels: their arguments have the types of each launch. The steps are those of ``one_sweep``.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner import one_sweep
from gridlane.algorithms.inner.launching import Kernel, kernel
from gridlane.algorithms.inner.merge_sort import Pairs
from gridlane.algorithms.inner.one_sweep import BITS, DIGITS
from gridlane.algorithms.item_types import ItemType, item_type
from gridlane.algorithms.sequences import Code
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher

_THREADS = DIGITS
_WARPS = _THREADS // 32
_WARP_NUMBERS = tuple(range(_WARPS))
_HALF = np.uint32(16)
_LOW = np.uint32(0xFFFF)
_ITEMS = (4, 16)
"""How many items a thread may have."""


def fits(count: int, items: list[ItemType]) -> bool:
    """Whether one block sorts so many items, the keys and the values if there are any."""
    return count <= _ITEMS[-1] * _THREADS and not any(each.is_struct for each in items)


@jit(device=True)
def _scan_warps(counters, t):
    """Replace each warp's count of digit t by those of the warps before; return the sum."""
    total = np.uint32(0)
    for k in _WARP_NUMBERS:
        found = np.uint32(counters[np.uint32(k * DIGITS + t)])
        counters[np.uint32(k * DIGITS + t)] = np.uint16(total)
        total = np.uint32(total + found)
    return total


def _ranking(digit_of: Dispatcher, items: int) -> Dispatcher:
    """The device function that counts the digits of a warp's keys, in its column of the counters,
    and sets ranks: the digit of each key above the number of equal ones before it."""
    turns = tuple(range(items))

    def rank_keys(keys, ranks, counters, column, lane, shift, mask, flip, zero, one, ones):
        lower = cuda.lanemask_lt()
        upper = np.uint32(~(lower | (np.uint32(1) << lane)))
        for k in turns:
            digit = digit_of(keys[k], shift, mask, flip)
            peers = one_sweep.peers_of(digit, zero, one, ones)
            place = np.uint32(column + digit)
            before = np.uint32(counters[place])
            cuda.syncwarp()
            rank = np.uint32(before + np.uint32(cuda.popc(np.uint32(peers & lower))))
            if np.uint32(peers & upper) == np.uint32(0):  # the last of them
                counters[place] = np.uint16(rank + 1)
            cuda.syncwarp()
            ranks[k] = np.uint32(rank | np.uint32(digit << _HALF))

    return jit(rank_keys, device=True)


def _placing(items: int) -> Dispatcher:
    """The device function that moves a thread's keys to their places in the tile, which replace
    their ranks. All reads come before all writes: no write then delays a read that a compiler
    cannot tell apart."""
    turns = tuple(range(items))

    def place_keys(keys, ranks, counters, column, tile):
        for k in turns:
            digit, rank = np.uint32(ranks[k] >> _HALF), np.uint32(ranks[k] & _LOW)
            ranks[k] = np.uint32(rank + counters[np.uint32(column + digit)])
        for k in turns:
            tile[ranks[k]] = keys[k]

    return jit(place_keys, device=True)


@cached
def _sorting(
    source: tuple[Code, Code],
    sink: tuple[Code, Code],
    digit_of: Dispatcher,
    key: ItemType,
    value: ItemType | None,
    items: int,
) -> Kernel:
    tile_items, turns, is_paired = items * _THREADS, tuple(range(items)), value is not None
    word = item_type(np.uint32)
    load_keys = one_sweep.loading(source[0].load, word, items)
    rank_keys, place_keys = _ranking(digit_of, items), _placing(items)
    scan_warps, sum_below = _scan_warps, one_sweep.summing_below(word)
    load_value, store, store_value = source[1].load, sink[0].store, sink[1].store
    key_dtype, value_dtype = key.dtype, (value or key).dtype

    def sort_tile(
        ins, values, outs, out_values, count, begin_bit, end_bit, falling, filler, zero, one, ones
    ):
        """Write all items to their places in order."""
        counters = cuda.shared.array(_WARPS * DIGITS, np.uint16)
        sums = cuda.shared.array(_WARPS, np.uint32)
        tile = cuda.shared.array(tile_items, key_dtype)
        origins = cuda.shared.array(tile_items if is_paired else 1, np.uint16)
        keys = cuda.local.array(items, key_dtype)
        ranks = cuda.local.array(items, np.uint32)
        own = cuda.local.array(items, np.uint16)
        moved = cuda.local.array(items, value_dtype)
        t = np.uint32(cuda.threadIdx.x)
        lane, warp = np.uint32(t & np.uint32(31)), np.uint32(t >> np.uint32(5))
        first, column = np.uint32(warp * (32 * items) + lane), np.uint32(warp * DIGITS)
        inside = np.uint32(count)
        load_keys(ins, keys, np.uint32(0), first, inside, filler)
        for k in turns:
            own[k] = np.uint16(first + k * 32)
        for start in range(begin_bit, end_bit, BITS):
            shift = np.uint32(start)
            mask = np.uint32((1 << np.uint32(min(BITS, end_bit - start))) - 1)
            flip = mask if falling else np.uint32(0)
            for k in _WARP_NUMBERS:
                counters[np.uint32(k * DIGITS + t)] = 0
            cuda.syncthreads()
            rank_keys(keys, ranks, counters, column, lane, shift, mask, flip, zero, one, ones)
            cuda.syncthreads()
            below = sum_below(scan_warps(counters, t), sums, lane, warp)
            for k in _WARP_NUMBERS:
                counters[np.uint32(k * DIGITS + t)] += np.uint16(below)
            cuda.syncthreads()
            place_keys(keys, ranks, counters, column, tile)
            if is_paired:
                for k in turns:
                    origins[ranks[k]] = own[k]
            cuda.syncthreads()
            for k in turns:
                keys[k] = tile[np.uint32(first + k * 32)]
                if is_paired:
                    own[k] = origins[np.uint32(first + k * 32)]
        if is_paired:  # outputs may be the inputs
            for k in turns:
                if np.uint32(first + k * 32) < inside:
                    moved[k] = load_value(values, np.int64(own[k]))
        cuda.syncthreads()
        for k in turns:
            place = np.uint32(first + k * 32)
            if place < inside:
                store(outs, np.int64(place), keys[k])
                if is_paired:
                    store_value(out_values, np.int64(place), moved[k])

    return kernel(sort_tile, launch_bounds=_THREADS)


def sort(
    source: Pairs,
    sink: Pairs,
    digit_of: Dispatcher,
    last: np.generic,
    items: list[ItemType],
    bits: tuple[int, int],
    descending: bool,
    count: int,
    stream: Any,
) -> None:
    """Sort keys, and their values with them, by their bits from ``bits[0]`` to below ``bits[1]``;
    see ``one_sweep.sort``."""
    key, value = items[0], items[1] if len(items) > 1 else None
    each = next(each for each in _ITEMS if count <= each * _THREADS)
    launched = _sorting(source.codes, sink.codes, digit_of, key, value, each)
    begin, end = (np.int32(bit) for bit in bits)
    launched[1, _THREADS, stream](
        *source.states, *sink.states, count, begin, end, descending, last, *one_sweep.KNOWN
    )

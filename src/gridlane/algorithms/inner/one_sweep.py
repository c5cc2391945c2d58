"""Stable radix sorts with one read and one write of the items for each digit of eight bits, after
A. Adinets and D. Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022.

A block sorts a tile of items by a digit. How many items of each digit are in all tiles before its
own it learns by a look back at what these have published: the count of their own tile, or already
that of all tiles up to theirs. A block waits for blocks that began before it, so the blocks of the
device have to make progress independently. The results are those of ``radix_sort``'s other ways.
"""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner.launching import Kernel, kernel
from gridlane.algorithms.inner.merge_sort import Pairs
from gridlane.algorithms.item_types import ItemType, item_type
from gridlane.algorithms.sequences import Access, Code
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.frontends.python.system import load_volatile, store_volatile

BITS = 8
DIGITS = 1 << BITS
PASSES = 8
"""The most passes: those of 64 bits."""
TICKETS = PASSES * DIGITS
"""Where among the counts the numbers of tiles that have begun are, one for each pass."""
COUNTS = TICKETS + PASSES
_THREADS = DIGITS
_WARPS = _THREADS // 32
_BLOCKS, _FEW_BLOCKS = 3, 2
"""Blocks that a multiprocessor holds at once, and the same where a thread's items are in more than
``_MANY_REGISTERS``; bounds its registers."""
_MANY_REGISTERS, _MOST_REGISTERS = 48, 72
_MOST_ITEMS = 32
_MOST_BYTES = 144
"""Of a thread in a tile; blocks have 48 KiB of shared memory."""
_TOGETHER = 8
"""Items of a thread that it reads before it writes them."""
_SEEN = 4
"""Words of tiles that a look back reads at once."""
_SEEN_NUMBERS = tuple(range(_SEEN))
_WARP_NUMBERS = tuple(range(_WARPS))
_BITS_OF_DIGIT = tuple(range(BITS))
_ALL = np.uint32(0xFFFFFFFF)
_NONE = np.uint32(0)
_COUNTING_BLOCKS = 1056
_COUNTING_THREADS = 256
_COUNTED = 16
"""Items that a thread counts in a row."""
SMALL_COUNT = 1 << 30


def _size_of(items: Sequence[ItemType]) -> int:
    """The bytes of shared memory for an item: values take the place of keys if they are numbers."""
    sizes = [each.size for each in items]
    return sum(sizes) if any(each.is_struct for each in items) else max(sizes)


def _items_of(items: Sequence[ItemType]) -> int:
    """How many items of a tile are a thread's."""
    most = min(
        _MOST_ITEMS,
        _MOST_BYTES // _size_of(items),
        _MOST_REGISTERS // _registers_of(items),
    )
    return max(1, most)


def _registers_of(items: Sequence[ItemType]) -> int:
    """The registers of an item: for its key and, with a value, its rank and a value that is no
    structure."""
    words = sum(max(each.size // 4, 1) for each in items if not each.is_struct)
    return words if len(items) == 1 else words + 1


def fits(items: Sequence[ItemType]) -> bool:
    """Whether a tile with an item for each thread is within the shared memory of a block."""
    return _size_of(items) <= _MOST_BYTES


def states_of(count: int, items: Sequence[ItemType]) -> tuple[int, ItemType]:
    """How many words the tiles publish in two passes, and their type.

    Args:
        items: the keys, and the values if there are any.
    """
    word = item_type(np.uint32 if count < SMALL_COUNT else np.uint64)
    return 2 * DIGITS * -(-count // (_THREADS * _items_of(items))), word


@cached
def _clearing(word: ItemType) -> Kernel:
    zero = word.dtype.type(0)

    @kernel
    def clear(counts, states, number):
        """Store zero in the counts and in the words of the first pass."""
        own, step = cuda.grid(1), cuda.gridsize(1)
        for i in range(own, COUNTS, step):
            counts[i] = 0
        for i in range(own, number, step):
            states[i] = zero

    return clear


@cached
def _counting(source: Code, digit_of: Dispatcher, key: ItemType) -> Kernel:
    load, dtype, turns = source.load, key.dtype, tuple(range(_COUNTED))
    tile_items = _COUNTED * _COUNTING_THREADS
    room = max(2, key.size) * DIGITS  # of so many passes at most
    columns = 4 if key.size == 8 else 8  # counters of a digit, each one's of some lanes
    column_numbers = tuple(range(columns))

    def count_digit(bins, key, n, begin_bit, width, end_bit, falling, column):
        shift = np.uint32(begin_bit + n * width)
        mask = np.uint32((1 << np.uint32(min(width, end_bit - shift))) - 1)
        digit = digit_of(key, shift, mask, mask if falling else np.uint32(0))
        place = np.uint32(np.uint32(np.uint32(n * DIGITS) + digit) * np.uint32(columns) + column)
        cuda.atomic.add(bins, place, np.uint32(1))

    count_digit = jit(count_digit, device=True)

    @kernel
    def count_all_digits(ins, counts, count, begin_bit, width, end_bit, passes, falling):
        """Add how often each digit of each pass is in the block's tiles to the counts."""
        bins = cuda.shared.array(room * columns, np.uint32)
        t = np.uint32(cuda.threadIdx.x)
        column = np.uint32(t & np.uint32(columns - 1))
        for i in range(t, passes * (DIGITS * columns), _COUNTING_THREADS):
            bins[i] = 0
        cuda.syncthreads()
        keys = cuda.local.array(_COUNTED, dtype)
        for base in range(cuda.blockIdx.x * tile_items, count, cuda.gridDim.x * tile_items):
            inside = np.uint32(min(tile_items, count - base))
            if inside == tile_items:
                for k in turns:
                    keys[k] = load(ins, base + np.int64(np.uint32(k * _COUNTING_THREADS + t)))
                for n in range(passes):
                    for k in turns:
                        count_digit(bins, keys[k], n, begin_bit, width, end_bit, falling, column)
            else:
                for j in range(t, inside, _COUNTING_THREADS):
                    one = load(ins, base + np.int64(j))
                    for n in range(passes):
                        count_digit(bins, one, n, begin_bit, width, end_bit, falling, column)
        cuda.syncthreads()
        for i in range(t, passes * DIGITS, _COUNTING_THREADS):
            total = np.uint32(0)
            for k in column_numbers:  # from one on that other lanes do not read
                each = np.uint32(np.uint32(k + t) & np.uint32(columns - 1))
                total = np.uint32(total + bins[np.uint32(np.uint32(i * columns) + each)])
            if total > 0:
                cuda.atomic.add(counts, i, np.int64(total))

    return count_all_digits


@jit(device=True)
def peers_of(digit, zero, one, ones):
    """The lanes of the warp whose items have the same digit. In 32 bits: the dialect's rule for
    operators is 64. By numbers that compilers do not know (``KNOWN``): a bit of the digit is then
    one test and one selection, not shifts."""
    others = _NONE
    for bit in _BITS_OF_DIGIT:
        is_set = np.uint32(digit & np.uint32(one << np.uint32(bit))) != _NONE
        vote = np.uint32(cuda.ballot_sync(_ALL, is_set))
        others = np.uint32(others | np.uint32(vote ^ (ones if is_set else zero)))
    return np.uint32(~others)


KNOWN = np.uint32(0), np.uint32(1), _ALL
"""The arguments of ``peers_of`` behind the digit: 0, 1 and all bits."""


@cached
def summing_below(word: ItemType) -> Dispatcher:
    """The device function that sums the values of the threads before each one, in its block."""
    number, nothing = word.dtype.type, word.dtype.type(0)

    def sum_below(value, sums, lane, warp):
        running = value
        for step in (1, 2, 4, 8, 16):
            below = cuda.shfl_up_sync(_ALL, running, step)
            if lane >= step:
                running = number(running + below)
        if lane == 31:
            sums[warp] = running
        cuda.syncthreads()
        start = number(running - value)
        for k in _WARP_NUMBERS:
            start = number(start + (sums[k] if k < warp else nothing))
        return start

    return jit(sum_below, device=True)


@cached
def _summing_digits(word: ItemType) -> Dispatcher:
    """The device function that sums the counts of all digits below a thread's, from memory: without
    a barrier, as one block alone does it."""
    number = word.dtype.type

    def sum_digits(counts, at, lane, warp):
        own = number(counts[at + np.int64(warp * np.uint32(32) + lane)])
        running, others = own, number(0)
        for k in range(np.int32(warp)):
            others = number(others + number(counts[at + np.int64(k * 32 + lane)]))
        for step in (1, 2, 4, 8, 16):
            below = cuda.shfl_up_sync(_ALL, running, step)
            if lane >= step:
                running = number(running + below)
            others = number(others + cuda.shfl_xor_sync(_ALL, others, step))
        return number(number(running - own) + others)

    return jit(sum_digits, device=True)


def _flags(word: ItemType) -> tuple[Any, Any]:
    """What a word has besides a count: of a tile, or of all tiles up to one."""
    top = word.size * 8 - 2
    return word.dtype.type(1 << top), word.dtype.type(2 << top)


@cached
def _looking_back(word: ItemType) -> tuple[Dispatcher, Dispatcher]:
    """The device functions that read the words of tiles, from one at a place on back to the first
    tile's, and that sum their counts, up to a word of all tiles."""
    own_tile, all_tiles = _flags(word)
    count, nothing = word.dtype.type(int(own_tile) - 1), word.dtype.type(0)

    def read_back(states, found, at, first):
        for k in _SEEN_NUMBERS:
            found[k] = load_volatile(states, max(at - k * DIGITS, first))

    def look_back(states, found, at, first):
        seen = nothing
        while True:
            is_known = True
            for k in _SEEN_NUMBERS:
                is_known = is_known and found[k] >= own_tile
                if is_known:
                    seen += found[k] & count
                    at -= DIGITS
                    if found[k] >= all_tiles:
                        return seen
            for k in _SEEN_NUMBERS:
                found[k] = load_volatile(states, max(at - k * DIGITS, first))

    return jit(read_back, device=True), jit(look_back, device=True)


def loading(load: Dispatcher, word: ItemType, items: int) -> Dispatcher:
    """The device function that loads a thread's keys, a warp's in a row for each turn; those behind
    the last one are the filler."""
    turns, number, tile_items = tuple(range(items)), word.dtype.type, items * _THREADS

    def load_keys(ins, keys, base, first, inside, filler):
        if inside == tile_items:
            for k in turns:
                keys[k] = load(ins, number(base + number(np.uint32(first + k * 32))))
        else:
            for k in turns:
                keys[k] = filler
                if np.uint32(first + k * 32) < inside:
                    keys[k] = load(ins, number(base + number(np.uint32(first + k * 32))))

    return jit(load_keys, device=True)


def _counting_own(digit_of: Dispatcher, items: int) -> Dispatcher:
    """The device function that counts the digits of a warp's keys, in its column of the
    counters."""
    turns = tuple(range(items))

    def count_own(keys, counters, column, shift, mask, flip):
        for k in turns:
            digit = digit_of(keys[k], shift, mask, flip)
            cuda.atomic.add(counters, np.uint32(column + digit), np.uint32(1))

    return jit(count_own, device=True)


def _placing(digit_of: Dispatcher, items: int) -> Dispatcher:
    """The device function that moves a thread's keys to their places in the tile. A warp's column
    of the counters has the places of the next key of each digit."""
    turns = tuple(range(items))

    def place_keys(keys, ranks, tile, counters, column, lane, shift, mask, flip, zero, one, ones):
        lower = cuda.lanemask_lt()
        upper = np.uint32(~(lower | (np.uint32(1) << lane)))
        for k in turns:
            digit = digit_of(keys[k], shift, mask, flip)
            peers = peers_of(digit, zero, one, ones)
            place = np.uint32(column + digit)
            first = counters[place]
            cuda.syncwarp()
            ranks[k] = np.uint32(first + np.uint32(cuda.popc(np.uint32(peers & lower))))
            if np.uint32(peers & upper) == np.uint32(0):  # the last of them
                counters[place] = np.uint32(ranks[k] + 1)
            cuda.syncwarp()
            tile[ranks[k]] = keys[k]

    return jit(place_keys, device=True)


def _loading_values(load_value: Dispatcher, word: ItemType, items: int) -> Dispatcher:
    """The device function that loads a thread's values, those of its keys."""
    turns, number, tile_items = tuple(range(items)), word.dtype.type, items * _THREADS

    def load_values(values, own, base, first, inside):
        if inside == tile_items:
            for k in turns:
                own[k] = load_value(values, number(base + number(np.uint32(first + k * 32))))
            return
        for k in turns:
            if np.uint32(first + k * 32) < inside:
                own[k] = load_value(values, number(base + number(np.uint32(first + k * 32))))

    return jit(load_values, device=True)


def _placing_values(
    load_value: Dispatcher, item: ItemType, word: ItemType, items: int
) -> Dispatcher:
    """The device function that moves a thread's values to the places of their keys in the tile:
    numbers from its registers, structures from memory."""
    turns, number, put = tuple(range(items)), word.dtype.type, item.store

    def place_values(values, own, tile_values, ranks, base, first, inside):
        for k in turns:
            if np.uint32(first + k * 32) < inside:
                tile_values[ranks[k]] = own[k]

    def place_structs(values, own, tile_values, ranks, base, first, inside):
        for k in turns:
            if np.uint32(first + k * 32) < inside:
                place = number(base + number(np.uint32(first + k * 32)))
                put(tile_values, ranks[k], load_value(values, place))

    return jit(place_structs if item.is_struct else place_values, device=True)


def _storing(
    sink: tuple[Code, Code], digit_of: Dispatcher, item: ItemType, word: ItemType, items: int
) -> tuple[Dispatcher, Dispatcher]:
    """The device functions that store the keys of a sorted tile, and its values: ``places`` are
    those of the first items of digits, less their places in the tile, and ``spots`` gets those of a
    thread's items."""
    turns, number, tile_items = tuple(range(items)), word.dtype.type, items * _THREADS
    store, store_value = sink[0].store, sink[1].store
    get = item.load

    parts = tuple(turns[k : k + _TOGETHER] for k in range(0, items, _TOGETHER))

    def store_keys(keys, tile, places, outs, spots, inside, t, shift, mask, flip):
        if inside == tile_items:
            for part in parts:  # in one block of code, or each read waits for the write before
                for k in part:
                    keys[k] = tile[np.uint32(k * _THREADS + t)]
                for k in part:
                    j = np.uint32(k * _THREADS + t)
                    spots[k] = number(places[digit_of(keys[k], shift, mask, flip)] + number(j))
                for k in part:
                    store(outs, spots[k], keys[k])
        else:
            for k in turns:
                j = np.uint32(k * _THREADS + t)
                if j < inside:
                    key = tile[j]
                    spots[k] = number(places[digit_of(key, shift, mask, flip)] + number(j))
                    store(outs, spots[k], key)

    def store_values(tile, out_values, spots, inside, t):
        if inside == tile_items:
            for k in turns:
                store_value(out_values, spots[k], get(tile, np.uint32(k * _THREADS + t)))
        else:
            for k in turns:
                j = np.uint32(k * _THREADS + t)
                if j < inside:
                    store_value(out_values, spots[k], get(tile, j))

    return jit(store_keys, device=True), jit(store_values, device=True)


@cached
def _sorting(
    source: tuple[Code, Code],
    sink: tuple[Code, Code],
    digit_of: Dispatcher,
    key: ItemType,
    value: ItemType | None,
    word: ItemType,
) -> Kernel:
    items = _items_of([key] if value is None else [key, value])
    tile_items = items * _THREADS
    is_paired, item = value is not None, value or key
    number = word.dtype.type
    own_tile, all_tiles, nothing = *_flags(word), number(0)
    load_keys, count_own = loading(source[0].load, word, items), _counting_own(digit_of, items)
    place_keys, (read_back, look_back) = _placing(digit_of, items), _looking_back(word)
    sum_below, sum_digits = summing_below(item_type(np.uint32)), _summing_digits(word)
    place_values = _placing_values(source[1].load, item, word, items)
    store_keys, store_values = _storing(sink, digit_of, item, word, items)
    is_shared = not item.is_struct  # keys and values are in the same memory, in turns
    is_loaded = is_paired and is_shared
    struct_items = tile_items if is_paired and not is_shared else 1
    load_values = _loading_values(source[1].load, word, items)
    tile_bytes = tile_items * max(key.size, item.size if is_shared else 1)
    key_dtype, item_dtype, word_dtype = key.dtype, item.dtype, word.dtype

    def sort_tiles(
        ins,
        values,
        outs,
        out_values,
        counts,
        states,
        own,
        other,
        n,
        count,
        shift,
        mask,
        flip,
        filler,
        zero,
        one,
        ones,
        again,
    ):
        """Write the tile of each block to the places of its digits, in order; ``again`` is the
        shift, so that no compiler keeps the digits of all keys from their first use on."""
        counters = cuda.shared.array(_WARPS * DIGITS, np.uint32)
        places = cuda.shared.array(DIGITS, word_dtype)
        sums = cuda.shared.array(_WARPS, np.uint32)
        turn = cuda.shared.array(1, np.int64)
        memory = cuda.shared.array(tile_bytes, np.uint8, alignment=16)
        tile = memory.view(key_dtype)
        tile_values = (
            memory.view(item_dtype) if is_shared else cuda.shared.array(struct_items, item_dtype)
        )
        keys = cuda.local.array(items, key_dtype)
        ranks = cuda.local.array(items, np.uint32)
        spots = cuda.local.array(items, word_dtype)
        found = cuda.local.array(_SEEN, word_dtype)
        of_warps = cuda.local.array(_WARPS, np.uint32)
        own_values = cuda.local.array(items if is_loaded else 1, item_dtype)
        t = np.uint32(cuda.threadIdx.x)
        lane, warp = np.uint32(t & np.uint32(31)), np.uint32(t >> np.uint32(5))
        if t == 0:
            turn[0] = cuda.atomic.add(counts, TICKETS + n, 1)
        for k in _WARP_NUMBERS:
            counters[np.uint32(k * DIGITS + t)] = 0
        cuda.syncthreads()
        b = turn[0]
        base = number(b * tile_items)
        inside = np.uint32(min(tile_items, count - base))
        first = np.uint32(warp * (32 * items) + lane)
        load_keys(ins, keys, base, first, inside, filler)
        states[other + b * DIGITS + np.int64(t)] = nothing  # for the next pass
        column = np.uint32(warp * DIGITS)
        count_own(keys, counters, column, again, mask, flip)
        cuda.syncthreads()
        for k in _WARP_NUMBERS:
            of_warps[k] = counters[np.uint32(k * DIGITS + t)]
        total, before = np.uint32(0), nothing
        for k in _WARP_NUMBERS:
            total = np.uint32(total + of_warps[k])
        oldest = own + np.int64(t)
        at = oldest + b * DIGITS
        if b > 0:
            store_volatile(states, at, number(total) | own_tile)
        else:
            before = sum_digits(counts, n * DIGITS, lane, warp)
            store_volatile(states, at, number(before + number(total)) | all_tiles)
        start = sum_below(total, sums, lane, warp)
        running = start
        for k in _WARP_NUMBERS:
            counters[np.uint32(k * DIGITS + t)] = running
            running = np.uint32(running + of_warps[k])
        read_back(states, found, at - DIGITS, oldest)  # while keys are ranked
        if is_loaded:
            load_values(values, own_values, base, first, inside)
        cuda.syncthreads()
        place_keys(keys, ranks, tile, counters, column, lane, shift, mask, flip, zero, one, ones)
        if b > 0:
            before = look_back(states, found, at - DIGITS, oldest)
            store_volatile(states, at, number(before + number(total)) | all_tiles)
        places[t] = number(before - number(start))  # of the tile's first item; it may wrap around
        cuda.syncthreads()
        store_keys(keys, tile, places, outs, spots, inside, t, shift, mask, flip)
        if is_paired:
            cuda.syncthreads()
            place_values(values, own_values, tile_values, ranks, base, first, inside)
            cuda.syncthreads()
            store_values(tile_values, out_values, spots, inside, t)

    registers = items * _registers_of([key] if value is None else [key, value])
    blocks = _FEW_BLOCKS if registers > _MANY_REGISTERS else _BLOCKS
    return kernel(sort_tiles, launch_bounds=(_THREADS, blocks))


def words_of(shift: int, width: int, descending: bool) -> tuple[np.uint32, np.uint32, np.uint32]:
    """What a digit is by: a shift, a mask, and what the order of digits is the reverse by."""
    mask = np.uint32((1 << width) - 1)
    return np.uint32(shift), mask, mask if descending else np.uint32(0)


def sort(
    stages: list[Pairs],
    digit_of: Dispatcher,
    last: np.generic,
    items: list[ItemType],
    passes: list[tuple[int, int]],
    descending: bool,
    count: int,
    scratch: tuple[Access, Access],
    stream: Any,
) -> None:
    """Sort keys, and their values with them, by several digits.

    Args:
        stages: the input, and what each pass writes to.
        digit_of: the device function from a key and ``words_of`` to a digit.
        last: a key that no other one is behind.
        items: the keys' type, and the values' if there are any.
        passes: the first bit and the number of bits of each digit; all but the last are as wide.
        scratch: ``COUNTS`` counts, int64, and the words of ``states_of``.
    """
    counts, states = scratch
    key, value = items[0], items[1] if len(items) > 1 else None
    number, word = states_of(count, items)
    half = number // 2
    _clearing(word)[min(1024, -(-half // 256)), 256, stream](counts.state, states.state, half)
    numbers = [np.int32(each) for each in (*passes[0], sum(passes[-1]), len(passes))]
    blocks = min(_COUNTING_BLOCKS, -(-count // (_COUNTED * _COUNTING_THREADS)))
    _counting(stages[0].keys.code, digit_of, key)[blocks, _COUNTING_THREADS, stream](
        stages[0].keys.state, counts.state, count, *numbers, descending
    )
    for n, (shift, width) in enumerate(passes):
        before, after = stages[n], stages[n + 1]
        launched = _sorting(before.codes, after.codes, digit_of, key, value, word)
        own, other = (half, 0) if n % 2 else (0, half)
        launched[half // DIGITS, _THREADS, stream](
            *before.states, *after.states, counts.state, states.state, own, other, np.int32(n),
            count, *words_of(shift, width, descending), last, *KNOWN, np.uint32(shift),
        )  # fmt: skip

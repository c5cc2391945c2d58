"""Stable radix sorts of numbers: by four bits in each pass, in tiles of blocks; on the CPU by
eight, in parts of one thread each; by one sweep for eight bits where blocks may wait for another
(``one_sweep``), and there a few thousand by one block (``one_tile``). The results are the same.

Keys are read as unsigned integers whose order is that of the numbers: by CUB's rules, -0.0 and 0.0
are equal, and NaN is above infinity, or below the negative one if its sign is set.
"""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner import one_sweep, one_tile
from gridlane.algorithms.inner.block import block_scan
from gridlane.algorithms.inner.launching import Kernel, blocks_for, kernel
from gridlane.algorithms.inner.merge_sort import Pairs
from gridlane.algorithms.inner.scan import scan, scan_layout
from gridlane.algorithms.item_types import ItemType, item_type
from gridlane.algorithms.operators import Operator, OpKind, operator
from gridlane.algorithms.sequences import Access, Code
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.launch import current

_BITS = 4
_DIGITS = 1 << _BITS
_THREADS = 128
_ITEMS = 8
_TILE = _THREADS * _ITEMS
MOST_CHUNKS = 1024
_PART_BITS = 8
_PART_DIGITS = 1 << _PART_BITS
_LEAST_PART = 1 << 14
_MOST_PARTS = 256
_COUNTS = max(_DIGITS * MOST_CHUNKS, _PART_DIGITS * _MOST_PARTS, one_sweep.COUNTS)
"""The most counts: of each digit in each block's chunk, or part."""


@cached
def ordered_bits(kind: str, bits: int) -> Operator:
    """The device function from a number's bits to an unsigned integer of its order.

    Args:
        kind: numpy's letter: ``u`` and ``b``, ``i``, ``f``.
    """
    word = np.dtype(f"u{bits // 8}").type
    sign, zero, last = word(1 << (bits - 1)), word(0), word(bits - 1)
    wide = np.uint64 if bits == 64 else np.uint32

    def of_unsigned(x):
        return wide(x)

    def of_signed(x):
        return wide(word(x ^ sign))

    def of_float(x):
        if x == sign:  # -0.0
            x = zero
        # Without a branch, which half of random signs would mispredict.
        negative = word(zero - word(x >> last))
        return wide(word(x ^ word(negative | sign)))

    function = of_float if kind == "f" else of_signed if kind == "i" else of_unsigned
    return Operator(("ordered bits", kind, bits), jit(function, device=True))


def last_key(kind: str, bits: int, descending: bool) -> np.generic:
    """The bits of a key that is behind all others, in unsigned integers.

    >>> int(last_key("i", 8, False)), int(last_key("f", 16, True))
    (127, 65535)
    """
    ones = (1 << bits) - 1
    top = 1 << (bits - 1)
    least, greatest = {"i": (top, top - 1), "f": (ones, top - 1)}.get(kind, (0, ones))
    return np.dtype(f"u{bits // 8}").type(least if descending else greatest)


@cached
def _digit(order: Operator, bits: int) -> Dispatcher:
    """The device function from a key's bits to its digit in a pass; see ``one_sweep.words_of``."""
    ordered, wide, last = order.function, np.uint64 if bits == 64 else np.uint32, bits - 1

    def digit_of(x, shift, mask, flip):
        # Of 32 bits also between operators, where the dialect's rule is 64.
        word = np.uint32(wide(ordered(x)) >> wide(shift & np.uint32(last)))
        return np.uint32(np.uint32(word & mask) ^ flip)

    return jit(digit_of, device=True)


@cached
def _counting(source: Code, digit_of: Dispatcher) -> Kernel:
    load = source.load

    @kernel
    def count_digits(ins, counts, count, chunk, shift, mask, flip):
        """Store how often each digit is in block b's chunk."""
        tile = cuda.shared.array(_DIGITS, np.int32)
        t = cuda.threadIdx.x
        if t < _DIGITS:
            tile[t] = 0
        cuda.syncthreads()
        begin = cuda.blockIdx.x * chunk
        for i in range(begin + t, min(begin + chunk, count), _THREADS):
            cuda.atomic.add(tile, np.int32(digit_of(load(ins, i), shift, mask, flip)), 1)
        cuda.syncthreads()
        if t < _DIGITS:
            counts[t * cuda.gridDim.x + cuda.blockIdx.x] = tile[t]

    return count_digits


@cached
def _moving(source: tuple[Code, Code], sink: tuple[Code, Code], digit_of: Dispatcher) -> Kernel:
    (load, load_value), (store, store_value) = ((s.load for s in source), (s.store for s in sink))

    @kernel
    def move_by_digit(ins, values, outs, out_values, places, count, chunk, shift, mask, flip):
        """Write block b's chunk to the places of its digits, in order. In a tile each thread counts
        the digits of its own items in a column, and all columns are scanned digit by digit."""
        columns = cuda.shared.array(_DIGITS * _THREADS, np.int32)
        sums = cuda.shared.array(_THREADS, np.int32)
        bases = cuda.shared.array(_DIGITS, np.int64)
        t = cuda.threadIdx.x
        begin = cuda.blockIdx.x * chunk
        end = min(begin + chunk, count)
        if t < _DIGITS:
            bases[t] = places[t * cuda.gridDim.x + cuda.blockIdx.x]
        for base in range(begin, end, _TILE):
            first = base + t * _ITEMS
            last = min(first + _ITEMS, end)
            for d in range(_DIGITS):
                columns[d * _THREADS + t] = 0
            for i in range(first, last):
                digit = np.int32(digit_of(load(ins, i), shift, mask, flip))
                columns[digit * _THREADS + t] += 1
            cuda.syncthreads()
            total = np.int32(0)
            for k in range(t * _DIGITS, (t + 1) * _DIGITS):
                total += columns[k]
            sums[t] = total
            block_scan(sums, t)
            running = sums[t] - total
            for k in range(t * _DIGITS, (t + 1) * _DIGITS):
                own = columns[k]
                columns[k] = running
                running += own
            cuda.syncthreads()
            size = np.int32(min(_TILE, end - base))
            start = np.int32(0)
            stop = size
            if t < _DIGITS:  # where the digit t begins and ends in the sorted tile
                start = columns[t * _THREADS]
                if t + 1 < _DIGITS:
                    stop = columns[(t + 1) * _THREADS]
                bases[t] -= start
            cuda.syncthreads()
            for i in range(first, last):
                key = load(ins, i)
                digit = np.int32(digit_of(key, shift, mask, flip))
                rank = columns[digit * _THREADS + t]
                columns[digit * _THREADS + t] = rank + 1
                place = bases[digit] + rank
                store(outs, place, key)
                store_value(out_values, place, load_value(values, i))
            cuda.syncthreads()
            if t < _DIGITS:
                bases[t] += stop

    return move_by_digit


@cached
def _counting_parts(source: Code, digit_of: Dispatcher) -> Kernel:
    load = source.load

    @kernel
    def count_parts(ins, counts, count, part, shift, mask, flip):
        """Store how often each digit is in block b's part, by one thread."""
        own = cuda.shared.array(_PART_DIGITS, np.int64)  # other threads' counts are in no line
        b, parts = cuda.blockIdx.x, cuda.gridDim.x
        for d in range(_PART_DIGITS):
            own[d] = 0
        for i in range(b * part, min((b + 1) * part, count)):
            own[digit_of(load(ins, i), shift, mask, flip)] += 1
        for d in range(np.int32(mask) + 1):
            counts[d * parts + b] = own[d]

    return count_parts


@cached
def _moving_parts(
    source: tuple[Code, Code], sink: tuple[Code, Code], digit_of: Dispatcher
) -> Kernel:
    (load, load_value), (store, store_value) = ((s.load for s in source), (s.store for s in sink))

    @kernel
    def move_parts(ins, values, outs, out_values, places, count, part, shift, mask, flip):
        """Write block b's part to the places of its digits, in order, by one thread."""
        own = cuda.shared.array(_PART_DIGITS, np.int64)
        b, parts = cuda.blockIdx.x, cuda.gridDim.x
        for d in range(np.int32(mask) + 1):
            own[d] = places[d * parts + b]
        for i in range(b * part, min((b + 1) * part, count)):
            key = load(ins, i)
            digit = digit_of(key, shift, mask, flip)
            place = own[digit]
            own[digit] = place + 1
            store(outs, place, key)
            store_value(out_values, place, load_value(values, i))

    return move_parts


@cached
def _whole(source: tuple[Code, Code], sink: tuple[Code, Code], digit_of: Dispatcher) -> Kernel:
    (load, load_value), (store, store_value) = ((s.load for s in source), (s.store for s in sink))

    @kernel
    def sort_by_digit(ins, values, outs, out_values, count, shift, mask, flip):
        """Write all items to the places of their digits, in order, by one thread."""
        own = cuda.shared.array(_PART_DIGITS, np.int64)
        for d in range(_PART_DIGITS):
            own[d] = 0
        for i in range(count):
            own[digit_of(load(ins, i), shift, mask, flip)] += 1
        place = np.int64(0)
        for d in range(np.int32(mask) + 1):
            number = own[d]
            own[d] = place
            place += number
        for i in range(count):
            key = load(ins, i)
            digit = digit_of(key, shift, mask, flip)
            following = own[digit]
            own[digit] = following + 1
            store(outs, following, key)
            store_value(out_values, following, load_value(values, i))

    return sort_by_digit


def scratch_of(count: int, items: list[ItemType]) -> tuple[tuple[int, ItemType], ...]:
    """The memory of a sort besides that of its items, on any device.

    Args:
        items: the keys, and the values if there are any.
    """
    total, plus = _totals()
    states = one_sweep.states_of(count, items)
    return (_COUNTS, total), *scan_layout(total, plus, _COUNTS).parts, states


def _totals() -> tuple[ItemType, Operator]:
    """The type of counts, and the operator that adds them."""
    total = item_type(np.int64)
    return total, operator(OpKind.PLUS, 2, total)


def _is_swept() -> bool:
    """Whether sorts are by one sweep: where blocks may wait for earlier ones, and a block's threads
    are no lanes of a processor's vectors, which parts of one thread outrun."""
    device = current.device()
    return device.limits.independent_blocks and not device.host_visible


class _Way(NamedTuple):
    """The kernels of a pass, their launches, and the bits of a digit."""

    bits: int
    counting: Callable[..., Kernel]
    moving: Callable[..., Kernel]
    blocks: int
    threads: int
    size: tuple[int, ...]


def _way_for(count: int) -> _Way:
    if current.kind() == "cpu":
        part = max(_LEAST_PART, -(-count // _MOST_PARTS))
        parts = -(-count // part)
        # Blocks of one thread are scalar code: vectors would gather and scatter.
        return _Way(_PART_BITS, _counting_parts, _moving_parts, parts, 1, (count, part))
    tiles = -(-count // _TILE)
    chunk = -(-tiles // MOST_CHUNKS) * _TILE
    blocks = blocks_for(count, chunk, MOST_CHUNKS)
    return _Way(_BITS, _counting, _moving, blocks, _THREADS, (count, chunk))


def _passes(begin_bit: int, end_bit: int, most: int) -> list[tuple[int, int]]:
    """The first bit and the number of bits of each pass, at most ``most``. Passes are even in
    number: the first writes to other memory than the last. The last ones may be narrower."""
    bits = end_bit - begin_bit
    number = max(1, -(-bits // (2 * most))) * 2
    width = -(-bits // number)
    starts = [min(begin_bit + n * width, end_bit) for n in range(number)]
    return [(start, min(width, end_bit - start)) for start in starts]


def radix_sort(
    source: Pairs,
    sink: Pairs,
    other: Pairs,
    kind: str,
    items: list[ItemType],
    bits: tuple[int, int],
    descending: bool,
    count: int,
    scratch: list[Access],
    zero: Access,
    stream: Any,
) -> None:
    """Sort keys, and their values with them, by their bits from ``bits[0]`` to below ``bits[1]``.

    Args:
        source: keys are read as unsigned integers, and so are those of the others.
        sink: may be the source.
        other: memory of ``count`` pairs.
        kind: of the keys' numbers, as for ``ordered_bits``.
        items: the unsigned integers, and the values if there are any.
        scratch: the memory of ``scratch_of``.
        zero: the number 0, int64.
    """
    if not count:
        return
    counts, *scanned, states = scratch
    digit_of = _digit(ordered_bits(kind, items[0].size * 8), items[0].size * 8)
    if _is_swept() and one_tile.fits(count, items):
        last = last_key(kind, items[0].size * 8, descending)
        one_tile.sort(source, sink, digit_of, last, items, bits, descending, count, stream)
        return
    if _is_swept() and one_sweep.fits(items):
        passes = _passes(*bits, one_sweep.BITS)
        stages = [source, *[sink if n % 2 else other for n in range(len(passes))]]
        last = last_key(kind, items[0].size * 8, descending)
        memory = counts, states
        one_sweep.sort(stages, digit_of, last, items, passes, descending, count, memory, stream)
        return
    is_whole = current.kind() == "cpu" and count <= _LEAST_PART
    way = _way_for(count)
    total, plus = _totals()
    before = source
    for n, (shift, width) in enumerate(_passes(*bits, way.bits)):
        after = sink if n % 2 else other
        word = one_sweep.words_of(shift, width, descending)
        if is_whole:
            whole = _whole(before.codes, after.codes, digit_of)
            whole[1, 1, stream](*before.states, *after.states, count, *word)
            before = after
            continue
        counting = way.counting(before.keys.code, digit_of)
        shape = way.blocks, way.threads, stream
        counting[shape](before.keys.state, counts.state, *way.size, *word)
        number = (1 << width) * way.blocks
        types = total, total
        scan(counts, counts, types, plus, total, zero, True, False, number, scanned, stream)
        moving = way.moving(before.codes, after.codes, digit_of)
        moving[shape](*before.states, *after.states, counts.state, *way.size, *word)
        before = after

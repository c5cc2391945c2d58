"""Scans with one read and one write of the items, by decoupled look-back, after D. Merrill and
M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA, 2016.

A block scans a tile. What is in front of it a warp learns by a look back at what the tiles before
have published, 32 of them at once: what their items are in all, or already what all items up to
theirs are. A block waits for blocks that began before it, so the blocks of the device have to make
progress independently. The grouping of operands differs from run to run: only operators that are
associative and commutative to the bit are scanned so, or those of floats where the caller says so.

A word of 64 bits has a flag and 32 bits of a number, and is read by one access; a number of 64 bits
is two words, which belong together if their flags are equal, since a tile sets each flag once. So
no access orders others.
"""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

import operator as python
from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner.launching import Kernel, kernel
from gridlane.algorithms.item_types import ItemType
from gridlane.algorithms.operators import Operator, OpKind, operator
from gridlane.algorithms.sequences import Access, Code, pointer_code
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.frontends.python.system import (
    bits_of,
    from_bits,
    load_volatile,
    store_volatile,
)
from gridlane.frontends.python.vector_stubs import load as load_vector
from gridlane.frontends.python.vector_stubs import store as store_vector

_THREADS = 512
_BLOCKS = 2
"""Blocks that a multiprocessor holds at once; bounds the registers of a thread."""
_WARPS = _THREADS // 32
_WARP_NUMBERS = tuple(range(_WARPS))
_BYTES, _BYTES_OF_PAIRS = 128, 96
"""Of a thread in a tile, and the same for numbers of 64 bits."""
_ALL = np.uint32(0xFFFFFFFF)
_LOW = 0xFFFFFFFF
_STEPS = (1, 2, 4, 8, 16)
OWN, PREFIX = 1, 2
"""The flags of a word: what a tile's items are in all, and what all items up to its end are."""
FRONT = 32
"""Tiles in front of the first one, which have no items, so that each look back has 32."""


def is_one_pass(op: Operator, item: ItemType, any_order: bool) -> bool:
    """Whether scans by an operator may take one pass.

    Args:
        any_order: whether the last bits of sums and products of floats may differ.
    """
    return neutral_of(op, item) is not None and (item.dtype.kind in "iu" or any_order)


@cached
def neutral_of(op: Operator, item: ItemType) -> Any:
    """The number that an operator adds nothing with, where it is commutative and associative; up to
    rounding for floats. None for other operators and types."""
    dtype = item.dtype
    if item.is_struct or (dtype.kind not in "iu" and dtype.name not in ("float32", "float64")):
        return None
    neutrals: dict[OpKind, float] = {OpKind.PLUS: -0.0, OpKind.MULTIPLIES: 1}
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        neutrals = {
            OpKind.PLUS: 0, OpKind.MULTIPLIES: 1, OpKind.BIT_OR: 0, OpKind.BIT_XOR: 0,
            OpKind.BIT_AND: limits.max if dtype.kind == "u" else -1,
            OpKind.MINIMUM: limits.max, OpKind.MAXIMUM: limits.min,
        }  # fmt: skip
    for kind, number in neutrals.items():
        names = kind, *_SAME.get(kind, ())
        if op.key in [operator(each, 2, item).key for each in names]:
            return dtype.type(number)
    return None


_SAME: dict[OpKind, tuple[Any, ...]] = {
    OpKind.PLUS: (python.add, np.add), OpKind.MULTIPLIES: (python.mul, np.multiply),
    OpKind.BIT_OR: (python.or_, np.bitwise_or), OpKind.BIT_XOR: (python.xor, np.bitwise_xor),
    OpKind.BIT_AND: (python.and_, np.bitwise_and), OpKind.MINIMUM: (min, np.minimum),
    OpKind.MAXIMUM: (max, np.maximum),
}  # fmt: skip
"""Functions with the same results for numbers without NaN."""


def _shape(item: ItemType) -> tuple[int, int]:
    """Neighbouring items of a thread, and how often it has such."""
    together = 4 if item.size <= 4 else 2
    bytes_ = _BYTES if item.size <= 4 else _BYTES_OF_PAIRS
    return together, max(1, bytes_ // max(item.size, 4) // together)


def tile_of(item: ItemType) -> int:
    """The items of a tile."""
    together, rows = _shape(item)
    return together * rows * _THREADS


def _parts_of(item: ItemType) -> int:
    """The words of a number."""
    return 1 if item.size <= 4 else 2


def words_of(count: int, item: ItemType) -> int:
    """How many words of 64 bits a scan uses."""
    tiles = -(-count // tile_of(item))
    return (tiles + FRONT) * _parts_of(item) + 1 if tiles > 1 else 0


# --- what tiles publish ---


@cached
def publishing(item: ItemType) -> Dispatcher:
    """The device function that publishes a tile's number with a flag."""
    narrow, flag_of = np.dtype(f"u{item.size}").type, np.uint64

    def publish_word(words, tile, number, flag):
        word = np.uint64(narrow(bits_of(number))) | (flag_of(flag) << np.uint64(32))
        store_volatile(words, tile, word)

    def publish_two(words, tile, number, flag):
        bits, above = np.uint64(bits_of(number)), flag_of(flag) << np.uint64(32)
        store_volatile(words, 2 * tile, (bits & np.uint64(_LOW)) | above)
        store_volatile(words, 2 * tile + 1, (bits >> np.uint64(32)) | above)

    return jit(publish_word if item.size <= 4 else publish_two, device=True)


@cached
def _seeing(item: ItemType) -> Dispatcher:
    """The device function that reads what a tile has published: the flag, 0 for nothing whole, and
    the number."""
    dtype, narrow = item.dtype, np.dtype(f"u{item.size}").type

    def see_word(words, tile):
        word = load_volatile(words, tile)
        return np.uint32(word >> np.uint64(32)), from_bits(narrow(word), dtype)

    def see_two(words, tile):
        low, high = load_volatile(words, 2 * tile), load_volatile(words, 2 * tile + 1)
        flag = np.uint32(low >> np.uint64(32))
        if flag != np.uint32(high >> np.uint64(32)):
            flag = np.uint32(0)
        bits = (low & np.uint64(_LOW)) | (high << np.uint64(32))
        return flag, from_bits(bits, dtype)

    return jit(see_word if item.size <= 4 else see_two, device=True)


@cached
def looking_back(op: Operator, item: ItemType) -> Dispatcher:
    """The device function by which a warp learns what all items before a tile are."""
    see, combine, cast, neutral = _seeing(item), op.function, item.cast, neutral_of(op, item)

    def look_back(words, tile, lane):
        total = neutral
        at = tile + FRONT - 1 - np.int64(lane)
        while True:
            flag, number = see(words, at)
            while cuda.any_sync(_ALL, flag == 0):
                flag, number = see(words, at)
            whole = cuda.ballot_sync(_ALL, flag == PREFIX)
            nearest = np.uint32(np.uint32(whole) & np.uint32(-np.int32(whole)))
            # The lanes up to the nearest one whose tile has published all up to its end.
            used = np.uint32(np.uint32(nearest << np.uint32(1)) - np.uint32(1))
            if np.uint32(used >> lane) & np.uint32(1) == 0:
                number = neutral
            for step in _STEPS:
                number = cast(combine(number, cuda.shfl_xor_sync(_ALL, number, step)))
            total = cast(combine(total, number))
            if whole != 0:
                return total
            at -= 32

    return jit(look_back, device=True)


# --- the items of a thread ---


def _width(code: Code, given: ItemType | None, together: int) -> int:
    """How many numbers one access of a sequence has: up to 16 bytes of an array."""
    if given is None or given.is_struct or given.dtype.kind not in "iuf":
        return 1
    return min(together, 16 // given.size) if code == pointer_code(given) else 1


@cached
def _loading(source: Code, given: ItemType | None, item: ItemType) -> Dispatcher:
    """The device function that loads neighbouring items."""
    together, _ = _shape(item)
    width = _width(source, given, together)
    cast, load, turns = item.cast, source.load, tuple(range(together))
    starts, lanes, shape = tuple(range(0, together, width)), tuple(range(width)), (width,)

    def load_each(ins, own, at, place):
        for j in turns:
            own[at + j] = cast(load(ins, place + j))

    def load_vectors(ins, own, at, place):
        for start in starts:
            vector = load_vector(ins, place + start, shape, alignment=1)
            for j in lanes:
                own[at + start + j] = cast(vector[j])

    return jit(load_vectors if width > 1 else load_each, device=True)


@cached
def _storing(sink: Code, given: ItemType | None, item: ItemType) -> Dispatcher:
    """The device function that stores neighbouring items."""
    together, _ = _shape(item)
    width = _width(sink, given, together)
    store, turns, starts = sink.store, tuple(range(together)), tuple(range(0, together, width))
    vector: Any = getattr(cuda, f"{given.dtype}x{width}") if given and width > 1 else None

    def store_each(outs, own, at, place):
        for j in turns:
            store(outs, place + j, own[at + j])

    def store_pairs(outs, own, at, place):
        for start in starts:
            items = vector(own[at + start], own[at + start + 1])
            store_vector(outs, place + start, items, alignment=1)

    def store_fours(outs, own, at, place):
        items = vector(own[at], own[at + 1], own[at + 2], own[at + 3])
        store_vector(outs, place, items, alignment=1)

    return jit({1: store_each, 2: store_pairs, 4: store_fours}[width], device=True)


@cached
def _scanning_rows(op: Operator, item: ItemType) -> Dispatcher:
    """The device function that scans each row of a warp, and returns what all of them are;
    ``fronts`` gets what is in front of a thread's items in the warp."""
    together, rows = _shape(item)
    combine, cast, neutral = op.function, item.cast, neutral_of(op, item)
    row_numbers, others = tuple(range(rows)), tuple(range(1, together))

    def scan_rows(own, fronts, lane):
        total = neutral
        for r in row_numbers:
            at = r * together
            for j in others:
                own[at + j] = cast(combine(own[at + j - 1], own[at + j]))
            running = own[at + together - 1]
            for step in _STEPS:
                below = cuda.shfl_up_sync(_ALL, running, step)
                if lane >= step:
                    running = cast(combine(below, running))
            front = cuda.shfl_up_sync(_ALL, running, 1)
            if lane == 0:
                front = neutral
            fronts[r] = cast(combine(total, front))
            total = cast(combine(total, cuda.shfl_sync(_ALL, running, 31)))
        return total

    return jit(scan_rows, device=True)


# --- kernels ---


@cached
def clearing(op: Operator, item: ItemType) -> Kernel:
    publish, neutral, parts = publishing(item), neutral_of(op, item), _parts_of(item)

    @kernel
    def clear(words, number):
        """Store zero in the words, but what is in front of the first tile."""
        for i in range(cuda.grid(1), number, cuda.gridsize(1)):
            if i >= FRONT * parts:
                words[i] = 0
            elif i < FRONT:
                publish(words, i, neutral, PREFIX)

    return clear


@cached
def _scanning(
    source: tuple[Code, ItemType | None],
    sink: tuple[Code, ItemType | None],
    start: Code,
    op: Operator,
    item: ItemType,
    inclusive: bool,
    is_alone: bool,
) -> Kernel:
    together, rows = _shape(item)
    items, tile_items = together * rows, tile_of(item)
    row_items, warp_items = 32 * together, 32 * items
    load_row, store_row = _loading(*source, item), _storing(*sink, item)
    load, store, first_of = source[0].load, sink[0].store, start.load
    combine, cast, neutral = op.function, item.cast, neutral_of(op, item)
    scan_rows, publish, look_back = (
        _scanning_rows(op, item), publishing(item), looking_back(op, item),
    )  # fmt: skip
    row_numbers, turns, dtype = tuple(range(rows)), tuple(range(together)), item.dtype

    def scan_tiles(ins, outs, words, init, use_init, count, number):
        """Scan a tile after ``init`` and the tiles before it; ``words[number]`` counts those that
        have begun."""
        sums = cuda.shared.array(_WARPS, dtype)
        before = cuda.shared.array(1, dtype)
        turn = cuda.shared.array(1, np.int64)
        own = cuda.local.array(items, dtype)
        fronts = cuda.local.array(rows, dtype)
        t = np.uint32(cuda.threadIdx.x)
        lane, warp = np.uint32(t & np.uint32(31)), np.uint32(t >> np.uint32(5))
        tile = np.int64(0)
        if not is_alone:
            if t == 0:
                turn[0] = np.int64(cuda.atomic.add(words, number, np.uint64(1)))
            cuda.syncthreads()
            tile = turn[0]
        base = tile * tile_items
        first = np.int32(warp * warp_items + lane * together)
        inside = np.int32(min(tile_items, count - base))
        if inside == tile_items:
            for r in row_numbers:
                load_row(ins, own, r * together, base + (first + r * row_items))
        else:
            for r in row_numbers:
                for j in turns:
                    own[r * together + j] = neutral
                    if first + (r * row_items + j) < inside:
                        item_ = load(ins, base + (first + (r * row_items + j)))
                        own[r * together + j] = cast(item_)
        total = scan_rows(own, fronts, lane)
        if lane == 0:
            sums[warp] = total
        cuda.syncthreads()
        front, total = neutral, neutral
        for k in _WARP_NUMBERS:
            if k == warp:
                front = total
            total = cast(combine(total, sums[k]))
        if warp == 0:
            seen = neutral
            if tile == 0:
                if use_init:
                    seen = cast(first_of(init, 0))
            elif lane == 0:
                publish(words, FRONT + tile, total, OWN)
            if not is_alone:
                if tile > 0:
                    seen = look_back(words, tile, lane)
                if lane == 0:
                    publish(words, FRONT + tile, cast(combine(seen, total)), PREFIX)
            if lane == 0:
                before[0] = seen
        cuda.syncthreads()
        front = cast(combine(before[0], front))
        for r in row_numbers:
            carry = cast(combine(front, fronts[r]))
            last = carry
            for j in turns:
                after = cast(combine(carry, own[r * together + j]))
                own[r * together + j] = after if inclusive else last
                last = after
        if inside == tile_items:
            for r in row_numbers:
                store_row(outs, own, r * together, base + (first + r * row_items))
        else:
            for r in row_numbers:
                for j in turns:
                    if first + (r * row_items + j) < inside:
                        place = base + (first + (r * row_items + j))
                        store(outs, place, own[r * together + j])

    return kernel(scan_tiles, launch_bounds=(_THREADS, _BLOCKS))


def scan(
    source: Access,
    sink: Access,
    given: tuple[ItemType | None, ItemType | None],
    op: Operator,
    item: ItemType,
    init: Access,
    use_init: bool,
    inclusive: bool,
    count: int,
    words: Access,
    stream: Any,
) -> None:
    """Store the scan of ``source`` in ``sink``, with ``use_init`` after the item 0 of ``init``.

    Args:
        given: the types of the sequences' items, where they have any.
        op: one with a ``neutral_of``.
        words: the words of ``words_of``.
    """
    number = words_of(count, item) - 1
    tiles = -(-count // tile_of(item))
    launched = _scanning(
        (source.code, given[0]), (sink.code, given[1]), init.code, op, item, inclusive, tiles == 1
    )
    if tiles > 1:
        blocks = min(1024, -(-(number + 1) // _THREADS))
        clearing(op, item)[blocks, _THREADS, stream](words.state, number + 1)
    launched[tiles, _THREADS, stream](
        source.state, sink.state, words.state, init.state, use_init, count, number
    )

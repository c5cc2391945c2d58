"""Stable compaction with one read and one write of the items, by the look back of ``one_pass``.

A word has how many items of the class 0 are in a tile or up to its end, and of the class 1 in its
upper half. The results are those of ``compaction``.
"""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner import one_pass
from gridlane.algorithms.inner.launching import Kernel, kernel
from gridlane.algorithms.item_types import ItemType, item_type
from gridlane.algorithms.operators import Operator, OpKind, operator
from gridlane.algorithms.sequences import Access, Code
from gridlane.launch import current

_THREADS, _BLOCKS = 512, 2
_WARPS = _THREADS // 32
_WARP_NUMBERS = tuple(range(_WARPS))
_ITEMS = 16
_TURNS = tuple(range(_ITEMS))
_TILE = _THREADS * _ITEMS
_ALL = np.uint32(0xFFFFFFFF)
_OUTSIDE = np.uint32(3)
"""The class of what is behind the last item."""
_ABOVE = np.uint32(2)
"""The bits of a class."""
MOST = 1 << 31
"""Fewer items have counts of 32 bits."""


def is_one_pass(count: int) -> bool:
    """Whether one pass compacts so many items: where blocks may wait for earlier ones, on a device
    whose threads are no lanes of a processor's vectors."""
    device = current.device()
    return device.limits.independent_blocks and not device.host_visible and count < MOST


def _sums() -> tuple[Operator, ItemType]:
    """The operator that adds counts, and their type."""
    both = item_type(np.int64)
    return operator(OpKind.PLUS, 2, both), both


def words_of(count: int) -> int:
    """How many words of 64 bits a compaction uses: two for each tile, and what counts those that
    have begun."""
    return 2 * (-(-count // _TILE) + one_pass.FRONT) + 1


@cached
def _compacting(classify: Operator, emit: Operator, totals: Code, outputs: int) -> Kernel:
    class_of, write, store_total = classify.function, emit.function, totals.store
    publish, look_back = one_pass.publishing(_sums()[1]), one_pass.looking_back(*_sums())
    is_three = outputs > 2
    front_tiles, own_tile, all_tiles = one_pass.FRONT, one_pass.OWN, one_pass.PREFIX

    def compact_tiles(ins, outs, words, total, count, number):
        """Write each tile's items to their places; the last one stores how many there are."""
        sums = cuda.shared.array(_WARPS, np.int64)
        before = cuda.shared.array(1, np.int64)
        turn = cuda.shared.array(1, np.int64)
        classes = cuda.local.array(_ITEMS, np.uint32)  # and ranks above them, below
        t = np.uint32(cuda.threadIdx.x)
        lane, warp = np.uint32(t & np.uint32(31)), np.uint32(t >> np.uint32(5))
        if t == 0:
            turn[0] = np.int64(cuda.atomic.add(words, number, np.uint64(1)))
        cuda.syncthreads()
        tile = turn[0]
        base = tile * _TILE
        first = np.int32(warp * (32 * _ITEMS) + lane)
        inside = np.int32(min(_TILE, count - base))
        if inside == _TILE:
            for k in _TURNS:
                classes[k] = np.uint32(class_of(ins, base + (first + k * 32)))
        else:
            for k in _TURNS:
                classes[k] = _OUTSIDE
                if first + k * 32 < inside:
                    classes[k] = np.uint32(class_of(ins, base + (first + k * 32)))
        lower = np.uint32(cuda.lanemask_lt())
        zeros, ones = np.uint32(0), np.uint32(0)
        for k in _TURNS:
            c = classes[k]
            is_zero = np.uint32(cuda.ballot_sync(_ALL, c == 0))
            below = np.uint32(zeros + np.uint32(cuda.popc(np.uint32(is_zero & lower))))
            rank = np.uint32(np.uint32(lane + np.uint32(k * 32)) - below)
            if is_three:
                is_one = np.uint32(cuda.ballot_sync(_ALL, c == 1))
                below1 = np.uint32(ones + np.uint32(cuda.popc(np.uint32(is_one & lower))))
                rank = below1 if c == 1 else np.uint32(rank - below1)
                ones = np.uint32(ones + np.uint32(cuda.popc(is_one)))
            rank = below if c == 0 else rank
            classes[k] = np.uint32(c | np.uint32(rank << _ABOVE))
            zeros = np.uint32(zeros + np.uint32(cuda.popc(is_zero)))
        if lane == 0:
            sums[warp] = np.int64(zeros) | (np.int64(ones) << 32)
        cuda.syncthreads()
        front, whole = np.int64(0), np.int64(0)
        for k in _WARP_NUMBERS:
            if k == warp:
                front = whole
            whole += sums[k]
        if warp == 0:
            seen = np.int64(0)
            if lane == 0:
                publish(words, front_tiles + tile, whole, own_tile)
            seen = look_back(words, tile, lane)
            if lane == 0:
                publish(words, front_tiles + tile, seen + whole, all_tiles)
                before[0] = seen
        cuda.syncthreads()
        front += before[0]
        base0, base1 = np.uint32(front & 0xFFFFFFFF), np.uint32(front >> 32)
        base2 = np.uint32(np.uint32(base) + np.uint32(warp * (32 * _ITEMS)))
        base2 = np.uint32(base2 - np.uint32(base0 + base1))
        if not is_three:
            base1 = base2
        for k in _TURNS:
            c = np.uint32(classes[k] & _OUTSIDE)
            if c != _OUTSIDE:
                start = base0 if c == 0 else (base1 if c == 1 else base2)
                place = np.uint32(start + np.uint32(classes[k] >> _ABOVE))
                write(ins, outs, base + (first + k * 32), np.int32(c), np.int64(place))
        if t == 0 and base + inside == count:
            both = before[0] + whole
            store_total(total, 0, both & 0xFFFFFFFF)
            if outputs > 2:
                store_total(total, 1, both >> 32)

    return kernel(compact_tiles, launch_bounds=(_THREADS, _BLOCKS))


def compact(
    ins: Any,
    outs: Any,
    classify: Operator,
    emit: Operator,
    totals: Access,
    outputs: int,
    count: int,
    words: Any,
    stream: Any,
) -> None:
    """Write each item where it belongs; see ``compaction.compact``.

    Args:
        words: those of ``words_of``.
    """
    tiles, number = max(1, -(-count // _TILE)), words_of(count) - 1
    blocks = min(1024, -(-(number + 1) // _THREADS))
    one_pass.clearing(*_sums())[blocks, _THREADS, stream](words, number + 1)
    launched = _compacting(classify, emit, totals.code, outputs)
    launched[tiles, _THREADS, stream](ins, outs, words, totals.state, count, number)

"""Stable compaction: items go to up to three outputs, by a class that is computed once for each.

Blocks count the classes of their chunks, then each moves its chunk behind those of the blocks
before it. Devices whose blocks make progress independently have ``one_pass_compaction``.
"""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner import one_pass_compaction
from gridlane.algorithms.inner.block import block_scan, block_sum
from gridlane.algorithms.inner.launching import MOST_BLOCKS, Kernel, kernel
from gridlane.algorithms.inner.scratch import Layout
from gridlane.algorithms.item_types import item_type
from gridlane.algorithms.operators import Operator
from gridlane.algorithms.sequences import Access, Code

_THREADS = 256  # at least MOST_BLOCKS
_ITEMS = 8
_TILE = _THREADS * _ITEMS  # below 2**15: two sums of it have 16 bits each
_UNITS = (1, 1 << 16, 0)
"""The class 0 is counted in the lower half of a sum, the class 1 in the upper."""


@cached
def _marking(classify: Operator) -> Kernel:
    class_of = classify.function

    @kernel
    def mark(ins, classes, counts, count, chunk):
        """Store each item's class, and how many of block b's chunk have the classes 0 and 1."""
        tile = cuda.shared.array(_THREADS, np.int64)
        t = cuda.threadIdx.x
        begin = cuda.blockIdx.x * chunk
        zeros = np.int64(0)
        ones = np.int64(0)
        for i in range(begin + t, min(begin + chunk, count), _THREADS):
            c = class_of(ins, i)
            classes[i] = np.uint8(c)
            if c == 0:
                zeros += 1
            if c == 1:
                ones += 1
        zeros = block_sum(tile, t, zeros)
        ones = block_sum(tile, t, ones)
        if t == 0:
            counts[cuda.blockIdx.x] = zeros
            counts[MOST_BLOCKS + cuda.blockIdx.x] = ones

    return mark


@cached
def _moving(emit: Operator, totals: Code, outputs: int) -> Kernel:
    write, store_total = emit.function, totals.store

    @kernel
    def move(ins, outs, classes, counts, total, count, chunk):
        """Write block b's items to their places; block 0 stores how many there are in all."""
        tile = cuda.shared.array(_THREADS, np.int64)
        sums = cuda.shared.array(_THREADS, np.int32)
        own = cuda.shared.array(_TILE, np.uint8)
        ranks = cuda.shared.array(_TILE, np.int16)
        t = cuda.threadIdx.x
        begin = cuda.blockIdx.x * chunk
        end = min(begin + chunk, count)
        zeros = counts[t] if t < cuda.gridDim.x else np.int64(0)
        ones = counts[MOST_BLOCKS + t] if t < cuda.gridDim.x else np.int64(0)
        all_zeros = block_sum(tile, t, zeros)
        all_ones = block_sum(tile, t, ones)
        base0 = block_sum(tile, t, zeros if t < cuda.blockIdx.x else np.int64(0))
        base1 = block_sum(tile, t, ones if t < cuda.blockIdx.x else np.int64(0))
        base2 = begin - base0 - base1
        for base in range(begin, end, _TILE):
            inside = np.int32(min(_TILE, end - base))
            for e in range(t, inside, _THREADS):
                own[e] = classes[base + e]
            cuda.syncthreads()
            first = min(t * _ITEMS, inside)
            last = min(first + _ITEMS, inside)
            both = np.int32(0)  # the class 0 in the lower half, the class 1 in the upper
            for e in range(first, last):
                both += _UNITS[own[e]]
            sums[t] = both
            block_scan(sums, t)
            both = sums[t] - both
            for e in range(first, last):
                c = own[e]
                below0 = both & 0xFFFF
                below1 = both >> 16
                rank = e - below0 - below1
                if c == 0:
                    rank = below0
                if c == 1:
                    rank = below1
                ranks[e] = np.int16(rank)
                both += _UNITS[c]
            cuda.syncthreads()
            for e in range(t, inside, _THREADS):
                c = np.int32(own[e])
                place = base2 + ranks[e]
                if c == 0:
                    place = base0 + ranks[e]
                if c == 1:
                    place = base1 + ranks[e]
                write(ins, outs, base + e, c, place)
            whole = sums[_THREADS - 1]
            base0 += whole & 0xFFFF
            base1 += whole >> 16
            base2 += inside - (whole & 0xFFFF) - (whole >> 16)
            cuda.syncthreads()
        if cuda.blockIdx.x == 0 and t == 0:
            store_total(total, 0, all_zeros)
            if outputs > 2:
                store_total(total, 1, all_ones)

    return move


def compaction_layout(count: int) -> Layout:
    """The temporary memory of ``compact`` on any device: classes, counts, words of one pass."""
    words = one_pass_compaction.words_of(count)
    return Layout(
        (
            (count, item_type(np.uint8)),
            (2 * MOST_BLOCKS, item_type(np.int64)),
            (words, item_type(np.uint64)),
        )
    )


def compact(
    ins: Any,
    outs: Any,
    classify: Operator,
    emit: Operator,
    totals: Access,
    outputs: int,
    count: int,
    parts: list[Access],
    stream: Any,
) -> None:
    """Write each item where it belongs, and the sizes of the classes to ``totals``.

    Args:
        classify: ``f(ins, i)``: the class of item i: 0, 1, or 2.
        emit: ``f(ins, outs, i, class, place)``: writes item i as the item ``place`` of its class.
        outputs: how many classes there are, 2 or 3; all but the last are counted.
    """
    classes, counts, words = (each.state for each in parts)
    if one_pass_compaction.is_one_pass(count):
        one_pass_compaction.compact(
            ins, outs, classify, emit, totals, outputs, count, words, stream
        )
        return
    mark, move = _marking(classify), _moving(emit, totals.code, outputs)
    tiles = -(-count // _TILE)
    chunk = max(1, -(-tiles // MOST_BLOCKS)) * _TILE
    blocks = max(1, -(-count // chunk))
    mark[blocks, _THREADS, stream](ins, classes, counts, count, chunk)
    move[blocks, _THREADS, stream](ins, outs, classes, counts, totals.state, count, chunk)

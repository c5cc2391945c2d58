"""Stable compaction: items go to up to three outputs, by a class that is computed once for each.

Blocks count the classes of their chunks, then each moves its chunk behind those of the blocks
before it.
"""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner.launching import MOST_BLOCKS, kernel
from gridlane.algorithms.inner.scratch import Layout
from gridlane.algorithms.item_types import item_type
from gridlane.algorithms.operators import Operator
from gridlane.algorithms.sequences import Access, Code
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher

_THREADS = 256  # at least MOST_BLOCKS, and below 2**15
_TILES = 8
"""Tiles of a chunk, while there are fewer blocks than the most."""


@jit(device=True)
def _block_sum(tile, t, value):
    """The sum of the threads' values, for all of them."""
    tile[t] = value
    cuda.syncthreads()
    step = _THREADS // 2
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    total = tile[0]
    cuda.syncthreads()
    return total


@cached
def _marking(classify: Operator) -> Dispatcher:
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
        zeros = _block_sum(tile, t, zeros)
        ones = _block_sum(tile, t, ones)
        if t == 0:
            counts[cuda.blockIdx.x] = zeros
            counts[MOST_BLOCKS + cuda.blockIdx.x] = ones

    return mark


@cached
def _moving(emit: Operator, totals: Code, outputs: int) -> Dispatcher:
    write, store_total = emit.function, totals.store

    @kernel
    def move(ins, outs, classes, counts, total, count, chunk):
        """Write block b's items to their places; block 0 stores how many there are in all."""
        tile = cuda.shared.array(_THREADS, np.int64)
        sums = cuda.shared.array(2 * _THREADS, np.int32)
        t = cuda.threadIdx.x
        begin = cuda.blockIdx.x * chunk
        end = min(begin + chunk, count)
        zeros = counts[t] if t < cuda.gridDim.x else np.int64(0)
        ones = counts[MOST_BLOCKS + t] if t < cuda.gridDim.x else np.int64(0)
        all_zeros = _block_sum(tile, t, zeros)
        all_ones = _block_sum(tile, t, ones)
        base0 = _block_sum(tile, t, zeros if t < cuda.blockIdx.x else np.int64(0))
        base1 = _block_sum(tile, t, ones if t < cuda.blockIdx.x else np.int64(0))
        base2 = begin - base0 - base1
        for base in range(begin, end, _THREADS):
            i = base + t
            c = np.int32(3)
            if i < end:
                c = np.int32(classes[i])
            both = np.int32(0)  # the class 0 in the lower half, the class 1 in the upper
            if c == 0:
                both = np.int32(1)
            if c == 1:
                both = np.int32(1 << 16)
            sums[t] = both
            cuda.syncthreads()
            half = 0
            step = 1
            while step < _THREADS:
                value = sums[half + t]
                if t >= step:
                    value += sums[half + t - step]
                sums[_THREADS - half + t] = value
                cuda.syncthreads()
                half = _THREADS - half
                step *= 2
            before = sums[half + t] - both
            whole = sums[half + _THREADS - 1]
            before0 = before & 0xFFFF
            before1 = before >> 16
            if i < end:
                place = base2 + t - before0 - before1
                if c == 0:
                    place = base0 + before0
                if c == 1:
                    place = base1 + before1
                write(ins, outs, i, c, place)
            base0 += whole & 0xFFFF
            base1 += whole >> 16
            base2 += min(_THREADS, end - base) - (whole & 0xFFFF) - (whole >> 16)
            cuda.syncthreads()
        if cuda.blockIdx.x == 0 and t == 0:
            store_total(total, 0, all_zeros)
            if outputs > 2:
                store_total(total, 1, all_ones)

    return move


def compaction_layout(count: int) -> Layout:
    """The temporary memory of ``compact``: classes, and counts."""
    return Layout(((count, item_type(np.uint8)), (2 * MOST_BLOCKS, item_type(np.int64))))


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
    classes, counts = (each.state for each in parts)
    mark, move = _marking(classify), _moving(emit, totals.code, outputs)
    tiles = -(-count // _THREADS)
    chunk = max(_TILES, -(-tiles // MOST_BLOCKS)) * _THREADS
    blocks = max(1, -(-count // chunk))
    mark[blocks, _THREADS, stream](ins, classes, counts, count, chunk)
    move[blocks, _THREADS, stream](ins, outs, classes, counts, totals.state, count, chunk)

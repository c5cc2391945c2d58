"""Reductions of segments: a thread reduces a short one, a block a long one, in a tree that depends
on its length alone."""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner.launching import Kernel, kernel, threads_for
from gridlane.algorithms.item_types import ItemType
from gridlane.algorithms.operators import Operator
from gridlane.algorithms.sequences import Access, Code

_THREADS = 64
_SHORT = 64  # at least as many as threads: each has an item of a longer segment
_BLOCKS = 256
"""The least number of blocks, if there are that many segments."""
_MOST_BLOCKS = 32768


@cached
def _kernel(
    source: Code, sink: Code, starts: Code, ends: Code, op: Operator, item: ItemType
) -> Kernel:
    load, store, start_of, end_of = source.load, sink.store, starts.load, ends.load
    combine, cast, put, get, element = op.function, item.cast, item.store, item.load, item.dtype
    threads = threads_for(item.size, _THREADS)

    @kernel
    def reduce_segments(ins, outs, begins, stops, init, segments, group):
        """Each block reduces a group of consecutive segments after the other."""
        tile = cuda.shared.array(threads, element)
        own_begins = cuda.shared.array(threads, np.int64)
        own_ends = cuda.shared.array(threads, np.int64)
        t = cuda.threadIdx.x
        for low in range(cuda.blockIdx.x * group, segments, cuda.gridDim.x * group):
            inside = min(group, segments - low)
            if t < inside:
                begin = np.int64(start_of(begins, low + t))
                end = np.int64(end_of(stops, low + t))
                own_begins[t] = begin
                own_ends[t] = end
                if end - begin <= _SHORT:
                    total = init
                    for i in range(begin, end):
                        total = cast(combine(total, cast(load(ins, i))))
                    store(outs, low + t, total)
            cuda.syncthreads()
            for s in range(inside):
                begin = own_begins[s]
                end = own_ends[s]
                if end - begin > _SHORT:
                    total = cast(load(ins, begin + t))
                    for i in range(begin + t + threads, end, threads):
                        total = cast(combine(total, cast(load(ins, i))))
                    put(tile, t, total)
                    cuda.syncthreads()
                    step = threads // 2
                    while step > 0:
                        if t < step:
                            put(tile, t, combine(get(tile, t), get(tile, t + step)))
                        cuda.syncthreads()
                        step //= 2
                    if t == 0:
                        store(outs, low + s, cast(combine(init, get(tile, 0))))
                    cuda.syncthreads()
            cuda.syncthreads()

    return reduce_segments


def reduce_segments(
    source: Access,
    sink: Access,
    starts: Access,
    ends: Access,
    op: Operator,
    item: ItemType,
    init: Any,
    segments: int,
    stream: Any,
) -> None:
    """Store ``init op source[starts[s]] op … op source[ends[s] - 1]`` in ``sink[s]``."""
    launched = _kernel(source.code, sink.code, starts.code, ends.code, op, item)
    if segments:
        threads = threads_for(item.size, _THREADS)
        group = max(1, min(threads, segments // _BLOCKS))
        blocks = min(-(-segments // group), _MOST_BLOCKS)
        states = source.state, sink.state, starts.state, ends.state
        launched[blocks, threads, stream](*states, init, segments, group)

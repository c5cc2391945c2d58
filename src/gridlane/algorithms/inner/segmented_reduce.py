"""Reductions of segments: a block reduces one at a time, in a tree that depends on its length."""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner.launching import kernel, threads_for
from gridlane.algorithms.item_types import ItemType
from gridlane.algorithms.operators import Operator
from gridlane.algorithms.sequences import Access, Code
from gridlane.cuda.kernels.dispatcher import Dispatcher

_THREADS = 64
_MOST_BLOCKS = 32768


@cached
def _kernel(
    source: Code, sink: Code, starts: Code, ends: Code, op: Operator, item: ItemType
) -> Dispatcher:
    load, store, start_of, end_of = source.load, sink.store, starts.load, ends.load
    combine, cast, put, get, element = op.function, item.cast, item.store, item.load, item.dtype
    threads = threads_for(item.size, _THREADS)

    @kernel
    def reduce_segments(ins, outs, begins, stops, init, segments):
        tile = cuda.shared.array(threads, element)
        t = cuda.threadIdx.x
        for s in range(cuda.blockIdx.x, segments, cuda.gridDim.x):
            begin = start_of(begins, s)
            end = end_of(stops, s)
            first = begin + t
            if first < end:
                total = cast(load(ins, first))
                for i in range(first + threads, end, threads):
                    total = cast(combine(total, cast(load(ins, i))))
                put(tile, t, total)
            cuda.syncthreads()
            step = threads // 2
            while step > 0:
                if t < step and first + step < end:
                    put(tile, t, combine(get(tile, t), get(tile, t + step)))
                cuda.syncthreads()
                step //= 2
            if t == 0:
                store(outs, s, cast(combine(init, get(tile, 0))) if begin < end else init)
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
        blocks = min(segments, _MOST_BLOCKS)
        states = source.state, sink.state, starts.state, ends.state
        launched[blocks, threads_for(item.size, _THREADS), stream](*states, init, segments)

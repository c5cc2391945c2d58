"""Reductions: of all items, and of segments, in trees that depend on the count alone."""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner.launching import MOST_BLOCKS, Kernel, kernel, threads_for
from gridlane.algorithms.inner.scratch import Layout
from gridlane.algorithms.item_types import ItemType
from gridlane.algorithms.operators import Operator
from gridlane.algorithms.sequences import Access, Code

_ONE_BLOCK = 4096
"""Items that one block reduces alone."""


@cached
def _kernel(source: Code, sink: Code, op: Operator, item: ItemType) -> Kernel:
    load, store, combine = source.load, sink.store, op.function
    cast, put, get, element = item.cast, item.store, item.load, item.dtype
    threads = threads_for(item.size)

    @kernel
    def reduce_chunks(ins, outs, init, use_init, count, chunk):
        """Store the reduction of block b's chunk in outs[b]; without items, ``init``."""
        tile = cuda.shared.array(threads, element)
        t = cuda.threadIdx.x
        first = cuda.blockIdx.x * chunk + t
        end = min(cuda.blockIdx.x * chunk + chunk, count)
        if first < end:
            total = cast(load(ins, first))
            for i in range(first + threads, end, threads):
                total = cast(combine(total, cast(load(ins, i))))
            put(tile, t, total)
        cuda.syncthreads()
        step = threads // 2
        while step > 0:
            # A thread past the end has no value, and neither have the threads after it.
            if t < step and first + step < end:
                put(tile, t, combine(get(tile, t), get(tile, t + step)))
            cuda.syncthreads()
            step //= 2
        if t == 0:
            if count == 0:
                store(outs, 0, init)
            elif use_init:
                store(outs, cuda.blockIdx.x, cast(combine(init, get(tile, 0))))
            else:
                store(outs, cuda.blockIdx.x, get(tile, 0))

    return reduce_chunks


def reduce_layout(item: ItemType) -> Layout:
    """The temporary memory of ``reduce``."""
    return Layout(((MOST_BLOCKS, item),))


def reduce(
    source: Access,
    sink: Access,
    op: Operator,
    item: ItemType,
    init: Any,
    count: int,
    partials: Access,
    stream: Any,
) -> None:
    """Store ``init op source[0] op …`` in ``sink[0]``. The operator is associative and commutative;
    values have the type ``item``."""
    threads = threads_for(item.size)
    if count <= _ONE_BLOCK:
        launched = _kernel(source.code, sink.code, op, item)
        launched[1, threads, stream](source.state, sink.state, init, True, count, count)
        return
    chunk = -(-count // (MOST_BLOCKS * threads)) * threads
    blocks = -(-count // chunk)
    first = _kernel(source.code, partials.code, op, item)
    first[blocks, threads, stream](source.state, partials.state, init, False, count, chunk)
    last = _kernel(partials.code, sink.code, op, item)
    last[1, threads, stream](partials.state, sink.state, init, True, blocks, blocks)

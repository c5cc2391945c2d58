"""Scans. In one pass (``one_pass``) where the grouping of operands does not show in the results,
and blocks may wait for earlier ones. Else in two: blocks reduce their chunks, then scan them with
the carry of those before; the tree depends on the count alone.

The operator is associative; it need not be commutative.
"""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner import one_pass
from gridlane.algorithms.inner.launching import (
    MOST_BLOCKS,
    SHARED_BYTES,
    Kernel,
    kernel,
    threads_for,
)
from gridlane.algorithms.inner.scratch import Layout
from gridlane.algorithms.item_types import ItemType, item_type
from gridlane.algorithms.operators import Operator
from gridlane.algorithms.sequences import Access, Code
from gridlane.launch import current

_THREADS = 128
_MOST_ITEMS = 8


def _shape(item: ItemType) -> tuple[int, int]:
    """Threads of a block, and consecutive items of a thread in a tile."""
    threads = threads_for(4 * item.size, _THREADS)
    return threads, max(1, min(_MOST_ITEMS, SHARED_BYTES // (threads * item.size)))


@cached
def _reducing(source: Code, op: Operator, item: ItemType) -> Kernel:
    load, combine = source.load, op.function
    cast, put, get, element = item.cast, item.store, item.load, item.dtype
    threads, items = _shape(item)
    tile_items = threads * items

    @kernel
    def reduce_chunks(ins, carries, count, chunk):
        """Store the reduction of block b's chunk, in order, in carries[b]."""
        tile = cuda.shared.array(tile_items, element)
        sums = cuda.shared.array(threads, element)
        t = cuda.threadIdx.x
        begin = cuda.blockIdx.x * chunk
        end = min(begin + chunk, count)
        for base in range(begin, end, tile_items):
            inside = min(tile_items, end - base)
            for e in range(t, inside, threads):
                put(tile, e, load(ins, base + e))
            cuda.syncthreads()
            low = t * items
            if low < inside:
                total = get(tile, low)
                for e in range(low + 1, min(low + items, inside)):
                    total = cast(combine(total, get(tile, e)))
                put(sums, t, total)
            cuda.syncthreads()
            step = 1
            while step < threads:
                if t % (2 * step) == 0 and t + step < threads and (t + step) * items < inside:
                    put(sums, t, combine(get(sums, t), get(sums, t + step)))
                cuda.syncthreads()
                step *= 2
            if t == 0:
                total = get(sums, 0)
                if base > begin:
                    total = cast(combine(get(carries, cuda.blockIdx.x), total))
                put(carries, cuda.blockIdx.x, total)

    return reduce_chunks


@cached
def _scanning(
    source: Code, sink: Code, start: Code, op: Operator, item: ItemType, inclusive: bool
) -> Kernel:
    load, store, combine, first = source.load, sink.store, op.function, start.load
    cast, put, get, element = item.cast, item.store, item.load, item.dtype
    threads, items = _shape(item)
    tile_items = threads * items

    @kernel
    def scan_chunks(ins, outs, carries, init, use_init, count, chunk):
        """Scan block b's chunk after ``init`` and carries[b - 1], the scan of the chunks before."""
        tile = cuda.shared.array(tile_items, element)
        sums = cuda.shared.array(2 * threads, element)
        t = cuda.threadIdx.x
        begin = cuda.blockIdx.x * chunk
        end = min(begin + chunk, count)
        carry = cast(first(init, 0))
        carried = use_init
        if cuda.blockIdx.x > 0:
            before = get(carries, cuda.blockIdx.x - 1)
            carry = cast(combine(carry, before)) if carried else before
            carried = True
        for base in range(begin, end, tile_items):
            inside = min(tile_items, end - base)
            for e in range(t, inside, threads):
                put(tile, e, load(ins, base + e))
            cuda.syncthreads()
            low = t * items
            high = min(low + items, inside)
            if low < inside:
                total = get(tile, low)
                for e in range(low + 1, high):
                    total = cast(combine(total, get(tile, e)))
                    put(tile, e, total)
                put(sums, t, total)
            cuda.syncthreads()
            # W. D. Hillis and G. L. Steele's scan of the threads' sums, between two halves.
            half = 0
            step = 1
            while step < threads:
                if low < inside:
                    total = get(sums, half + t)
                    if t >= step:
                        total = cast(combine(get(sums, half + t - step), total))
                    put(sums, threads - half + t, total)
                cuda.syncthreads()
                half = threads - half
                step *= 2
            if low < inside:
                prefix = carry
                prefixed = carried
                if t > 0:
                    before = get(sums, half + t - 1)
                    prefix = cast(combine(carry, before)) if carried else before
                    prefixed = True
                if inclusive:
                    if prefixed:
                        for e in range(low, high):
                            put(tile, e, combine(prefix, get(tile, e)))
                else:
                    for e in range(high - 1, low, -1):
                        put(tile, e, combine(prefix, get(tile, e - 1)))
                    put(tile, low, prefix)
            total = get(sums, half + (inside - 1) // items)
            carry = cast(combine(carry, total)) if carried else total
            carried = True
            cuda.syncthreads()
            for e in range(t, inside, threads):
                store(outs, base + e, get(tile, e))
            cuda.syncthreads()

    return scan_chunks


def scan_layout(item: ItemType, op: Operator, count: int, any_order: bool = False) -> Layout:
    """The temporary memory of ``scan``, on any device."""
    words = one_pass.words_of(count, item) if one_pass.is_one_pass(op, item, any_order) else 0
    return Layout(((MOST_BLOCKS, item), (words, item_type(np.uint64))))


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
    scratch: Sequence[Access],
    stream: Any,
    any_order: bool = False,
) -> None:
    """Store the scan of ``source`` in ``sink``, with ``use_init`` after the item 0 of ``init``.

    Values have the type ``item``. An exclusive scan uses an ``init``.

    Args:
        given: the types of the sequences' items, where they have any.
        scratch: the memory of ``scan_layout``.
        any_order: whether the last bits of floats may differ from run to run.
    """
    is_alone = current.device().limits.independent_blocks
    if is_alone and count and one_pass.is_one_pass(op, item, any_order):
        one_pass.scan(
            source, sink, given, op, item, init, use_init, inclusive, count, scratch[1], stream
        )
        return
    carries = scratch[0]
    threads, items = _shape(item)
    tiles = -(-count // (threads * items))
    if not tiles:
        return
    chunk = -(-tiles // MOST_BLOCKS) * threads * items
    blocks = -(-count // chunk)
    launched = _scanning(source.code, sink.code, init.code, op, item, inclusive)
    if blocks > 1:
        first = _reducing(source.code, op, item)
        first[blocks, threads, stream](source.state, carries.state, count, chunk)
        middle = _scanning(carries.code, carries.code, init.code, op, item, True)
        whole = -(-blocks // (threads * items)) * threads * items
        middle[1, threads, stream](
            carries.state, carries.state, carries.state, init.state, False, blocks, whole
        )
    launched[blocks, threads, stream](
        source.state, sink.state, carries.state, init.state, use_init, count, chunk
    )

"""Stable merge sorts by any comparison: blocks sort tiles, then merge runs of twice the length.

A merge's output is cut into tiles, and a tile into threads' parts, by merge paths, as O. Green,
R. McColl and D. Bader describe.
"""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner.launching import Kernel, kernel
from gridlane.algorithms.item_types import ItemType
from gridlane.algorithms.operators import Operator
from gridlane.algorithms.sequences import Access, Code
from gridlane.core.frozen import frozen
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher

_OWN_ITEMS = 8
_MOST_ITEMS = 1024
_MOST_BLOCKS = 32768
_SHARED_BYTES = 12288


@frozen
class Pairs:
    """Keys and their values; ``NOTHING`` if there are none."""

    keys: Access
    values: Access

    @property
    def codes(self) -> tuple[Code, Code]:
        """The codes of both."""
        return self.keys.code, self.values.code

    @property
    def states(self) -> tuple[Any, Any]:
        """The states of both."""
        return self.keys.state, self.values.state


def _nothing() -> Access:
    def store(state, i, value):
        pass

    load = jit(lambda state, i: np.int32(0), device=True)
    return Access(Code("nothing", load, jit(store, device=True)), np.int32(0))


NOTHING = _nothing()
"""Values of keys that have none."""


def _shape(item: ItemType) -> tuple[int, int, int]:
    """Items of a tile, threads, and items of a thread: two tiles of keys and of places are in
    shared memory."""
    items = _MOST_ITEMS
    while items > 2 and 2 * items * (item.size + 4) > _SHARED_BYTES:
        items //= 2
    own = min(_OWN_ITEMS, items)
    return items, items // own, own


@cached
def _merging_in_tiles(item: ItemType, less: Operator) -> Dispatcher:
    """The device function that merges two runs of a tile, for one thread's items of the result."""
    get, put, before = item.load, item.store, less.function

    def merge(keys, places, source, target, a, a_end, b, b_end, out, first, number):
        """Merge the runs from ``a`` and ``b`` of the half ``source``, of which the items ``first``
        and so on, ``number`` of them, go to ``out + first`` of the half ``target``."""
        low = max(0, first - (b_end - b))
        high = min(first, a_end - a)
        while low < high:
            middle = (low + high) // 2
            if before(get(keys, source + b + first - 1 - middle), get(keys, source + a + middle)):
                high = middle
            else:
                low = middle + 1
        i = source + a + low
        j = source + b + first - low
        for place in range(target + out + first, target + out + first + number):
            second = i >= source + a_end
            if not second and j < source + b_end:
                second = bool(before(get(keys, j), get(keys, i)))
            origin = j if second else i
            put(keys, place, get(keys, origin))
            places[place] = places[origin]
            if second:
                j += 1
            else:
                i += 1

    return jit(merge, device=True)


@cached
def _sorting(
    source: tuple[Code, Code], sink: tuple[Code, Code], less: Operator, item: ItemType
) -> Kernel:
    (load, load_value), (store, store_value) = ((s.load for s in source), (s.store for s in sink))
    put, get, element, before = item.store, item.load, item.dtype, less.function
    merge = _merging_in_tiles(item, less)
    items, threads, own = _shape(item)

    @kernel
    def sort_tiles(ins, values, outs, out_values, count):
        keys = cuda.shared.array(2 * items, element)
        places = cuda.shared.array(2 * items, np.int32)
        t = cuda.threadIdx.x
        stride = np.int64(cuda.gridDim.x) * items
        for base in range(np.int64(cuda.blockIdx.x) * items, count, stride):
            inside = np.int32(min(items, count - base))
            for e in range(t, inside, threads):
                put(keys, e, load(ins, base + e))
                places[e] = e
            cuda.syncthreads()
            first = min(t * own, inside)
            number = min(own, inside - first)
            for e in range(first + 1, first + number):  # insert each into those before it
                key = get(keys, e)
                place = e
                while place > first and before(key, get(keys, place - 1)):
                    put(keys, place, get(keys, place - 1))
                    places[place] = places[place - 1]
                    place -= 1
                put(keys, place, key)
                places[place] = e
            cuda.syncthreads()
            half = 0
            width = own
            while width < inside:
                start = first // (2 * width) * (2 * width)
                middle = min(start + width, inside)
                end = min(start + 2 * width, inside)
                merge(
                    keys, places, half, items - half, start, middle, middle, end, start,
                    first - start, number,
                )  # fmt: skip
                cuda.syncthreads()
                half = items - half
                width *= 2
            for e in range(t, inside, threads):
                store(outs, base + e, get(keys, half + e))
                store_value(out_values, base + e, load_value(values, base + places[half + e]))
            cuda.syncthreads()

    return sort_tiles


@cached
def _merging(
    source: tuple[Code, Code], sink: tuple[Code, Code], less: Operator, item: ItemType
) -> Kernel:
    (load, load_value), (store, store_value) = ((s.load for s in source), (s.store for s in sink))
    put, get, element, before = item.store, item.load, item.dtype, less.function
    merge = _merging_in_tiles(item, less)
    items, threads, own = _shape(item)

    @jit(device=True)
    def split(ins, start, middle, end, diagonal):
        """How many of the first ``diagonal`` merged items are of the first run."""
        low = max(np.int64(0), diagonal - (end - middle))
        high = min(diagonal, middle - start)
        while low < high:
            half = (low + high) // 2
            if before(load(ins, middle + diagonal - 1 - half), load(ins, start + half)):
                high = half
            else:
                low = half + 1
        return low

    @kernel
    def merge_tiles(ins, values, outs, out_values, count, width):
        keys = cuda.shared.array(2 * items, element)
        places = cuda.shared.array(2 * items, np.int32)
        t = cuda.threadIdx.x
        stride = np.int64(cuda.gridDim.x) * items
        for base in range(np.int64(cuda.blockIdx.x) * items, count, stride):
            inside = np.int32(min(items, count - base))
            start = base // (2 * width) * (2 * width)
            middle = min(start + width, count)
            end = min(start + 2 * width, count)
            before_tile = split(ins, start, middle, end, base - start)
            size = np.int32(split(ins, start, middle, end, base - start + inside) - before_tile)
            # Item e of the tile is one + e of the first run, or two + e of the second.
            one = start + before_tile
            two = middle + (base - start - before_tile) - size
            for e in range(t, inside, threads):
                put(keys, e, load(ins, one + e if e < size else two + e))
                places[e] = e
            cuda.syncthreads()
            first = min(t * own, inside)
            number = min(own, inside - first)
            merge(keys, places, 0, items, 0, size, size, inside, 0, first, number)
            cuda.syncthreads()
            for e in range(t, inside, threads):
                store(outs, base + e, get(keys, items + e))
                origin = places[items + e]
                origin = one + origin if origin < size else two + origin
                store_value(out_values, base + e, load_value(values, origin))
            cuda.syncthreads()

    return merge_tiles


def merge_sort(
    source: Pairs,
    sink: Pairs,
    first: Pairs,
    second: Pairs,
    less: Operator,
    item: ItemType,
    count: int,
    stream: Any,
) -> None:
    """Sort keys of the type ``item``, and their values with them.

    Args:
        sink: gets the result; in other memory than the source's.
        first, second: memory of ``count`` pairs each, used if there is more than one tile.
            ``second`` may be the sink's.
    """
    if not count:
        return
    items, threads, _ = _shape(item)
    tiles = -(-count // items)
    blocks = min(tiles, _MOST_BLOCKS)
    passes = (tiles - 1).bit_length()
    buffers = [sink, *(first if n % 2 == 0 else second for n in range(passes))][::-1]
    launched = _sorting(source.codes, buffers[0].codes, less, item)
    launched[blocks, threads, stream](*source.states, *buffers[0].states, count)
    for n in range(passes):
        before, after = buffers[n], buffers[n + 1]
        merging = _merging(before.codes, after.codes, less, item)
        merging[blocks, threads, stream](*before.states, *after.states, count, items << n)

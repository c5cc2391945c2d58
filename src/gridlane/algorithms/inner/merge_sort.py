"""Stable merge sorts by any comparison: blocks sort tiles, then merge runs of twice the length.

A merge's output is cut into tiles by merge paths, as O. Green, R. McColl and D. Bader describe; in
a tile, an item's place is its place in its run and its rank in the other.
"""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner.launching import kernel
from gridlane.algorithms.item_types import ItemType
from gridlane.algorithms.operators import Operator
from gridlane.algorithms.sequences import Access, Code
from gridlane.core.frozen import frozen
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher

_THREADS = 256
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


def _tile_items(item: ItemType) -> int:
    """Items of a tile: two tiles of keys and of places are in shared memory."""
    items = _MOST_ITEMS
    while items > 2 and 2 * items * (item.size + 4) > _SHARED_BYTES:
        items //= 2
    return items


@cached
def _rank_functions(item: ItemType, less: Operator) -> tuple[Dispatcher, Dispatcher]:
    get, before = item.load, less.function

    def below(keys, low, high, key):
        """The first place of a sorted range whose key is not less than ``key``."""
        while low < high:
            middle = (low + high) // 2
            if before(get(keys, middle), key):
                low = middle + 1
            else:
                high = middle
        return low

    def not_above(keys, low, high, key):
        """The first place of a sorted range whose key is greater than ``key``."""
        while low < high:
            middle = (low + high) // 2
            if before(key, get(keys, middle)):
                high = middle
            else:
                low = middle + 1
        return low

    return jit(below, device=True), jit(not_above, device=True)


@cached
def _sorting(
    source: tuple[Code, Code], sink: tuple[Code, Code], less: Operator, item: ItemType
) -> Dispatcher:
    (load, load_value), (store, store_value) = ((s.load for s in source), (s.store for s in sink))
    put, get, element = item.store, item.load, item.dtype
    below, not_above = _rank_functions(item, less)
    items = _tile_items(item)
    threads = min(_THREADS, items)

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
            half = np.int32(0)
            width = np.int32(1)
            while width < inside:
                for e in range(t, inside, threads):
                    start = e // (2 * width) * (2 * width)
                    middle = min(start + width, inside)
                    end = min(start + 2 * width, inside)
                    key = get(keys, half + e)
                    if e < middle:
                        place = e + below(keys, half + middle, half + end, key) - half - middle
                    else:
                        place = (
                            e - middle + not_above(keys, half + start, half + middle, key) - half
                        )
                    put(keys, items - half + place, key)
                    places[items - half + place] = places[half + e]
                cuda.syncthreads()
                half = np.int32(items - half)
                width *= np.int32(2)
            for e in range(t, inside, threads):
                store(outs, base + e, get(keys, half + e))
                store_value(out_values, base + e, load_value(values, base + places[half + e]))
            cuda.syncthreads()

    return sort_tiles


@cached
def _merging(
    source: tuple[Code, Code], sink: tuple[Code, Code], less: Operator, item: ItemType
) -> Dispatcher:
    (load, load_value), (store, store_value) = ((s.load for s in source), (s.store for s in sink))
    put, get, element, before = item.store, item.load, item.dtype, less.function
    below, not_above = _rank_functions(item, less)
    items = _tile_items(item)
    threads = min(_THREADS, items)

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
        keys = cuda.shared.array(items, element)
        t = cuda.threadIdx.x
        stride = np.int64(cuda.gridDim.x) * items
        for base in range(np.int64(cuda.blockIdx.x) * items, count, stride):
            inside = np.int32(min(items, count - base))
            start = base // (2 * width) * (2 * width)
            middle = min(start + width, count)
            end = min(start + 2 * width, count)
            first = split(ins, start, middle, end, base - start)
            size = np.int32(split(ins, start, middle, end, base - start + inside) - first)
            # Item e of the tile is first + e of the first run, or second + e of the second.
            second = middle + (base - start - first) - size
            first += start
            for e in range(t, inside, threads):
                put(keys, e, load(ins, first + e if e < size else second + e))
            cuda.syncthreads()
            for e in range(t, inside, threads):
                key = get(keys, e)
                if e < size:
                    place = e + below(keys, size, inside, key) - size
                    origin = first + e
                else:
                    place = e - size + not_above(keys, np.int32(0), size, key)
                    origin = second + e
                store(outs, base + place, key)
                store_value(out_values, base + place, load_value(values, origin))
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
    items = _tile_items(item)
    threads = min(_THREADS, items)
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

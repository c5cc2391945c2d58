"""Stable merge sorts of the items of a group of threads, a block or a warp."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

import numpy as np

from gridlane import cuda
from gridlane.algorithms.coop.elements import Element, element_of
from gridlane.algorithms.coop.groups import Group
from gridlane.cuda import types
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher

_PLACE = element_of(types.int32)


def _aligned(size: int) -> int:
    return -(-size // 16) * 16


def sort_bytes(group: Group, key: Element, value: Element | None) -> int:
    """The bytes of a sort's memory."""
    keys = _aligned(group.count * key.size)
    if value is None:
        return keys
    return max(keys + _aligned(group.count * _PLACE.size), _aligned(group.count * value.size))


def sorting(group: Group, key: Element, before: Dispatcher, value: Element | None) -> Dispatcher:
    """The device function ``(memory, keys, values)`` that sorts keys, and values, if there
    are any, with them: each thread sorts its items, then runs of twice the length are merged until
    there is one. Equal keys keep their order.

    Args:
        before: the device function whether a key comes before another.
    """
    items, has_values = group.items, value is not None
    places, gather = sorting_places(group, key, before, has_values), gathering(group, value or key)

    @jit(device=True)
    def sort(memory, keys, values):
        origins = cuda.local.array(items, np.int32)
        places(memory, keys, origins)
        if has_values:
            gather(memory, values, origins)

    return sort


def gathering(group: Group, element: Element) -> Dispatcher:
    """The device function ``(memory, values, origins)`` that replaces each value by that
    of its origin, a place among the group's."""
    items, locate, sync = group.items, group.place, group.sync
    get, put, section = element.get, element.put, group.section(element)

    @jit(device=True)
    def gather(memory, values, origins):
        tile = section(memory)
        t, _, mask = locate()
        for e in range(items):
            put(tile, t * items + e, get(values, e))
        sync(mask)
        for e in range(items):
            put(values, e, get(tile, origins[e]))
        sync(mask)

    return gather


def sorting_places(group: Group, key: Element, before: Dispatcher, keeps: bool) -> Dispatcher:
    """The device function ``(memory, keys, origins)`` that sorts keys, and with ``keeps`` sets
    ``origins`` to the places where they were."""
    items, most, locate, sync = group.items, group.count, group.place, group.sync
    get, put, section = key.get, key.put, group.section(key)
    numbers = group.section(_PLACE, _aligned(most * key.size))
    sort_own, search = _sorting_own(items, key, before), _searching(key, before)
    merge = _merging(items, key, before, keeps)

    @jit(device=True)
    def sort_places(memory, keys, origins):
        tile = section(memory)
        t, threads, mask = locate()
        count = threads * items
        places = numbers(memory) if keeps else origins
        for e in range(items):
            origins[e] = t * items + e
        sort_own(keys, origins)
        width = items
        while width < most:
            for e in range(items):
                put(tile, t * items + e, get(keys, e))
            if keeps:
                for e in range(items):
                    places[t * items + e] = origins[e]
            sync(mask)
            low = t * items // (2 * width) * (2 * width)
            middle = min(low + width, count)
            high = min(middle + width, count)
            diagonal = t * items - low
            a = search(tile, low, middle, high, diagonal)
            b = middle + diagonal - (a - low)
            merge(tile, places, keys, origins, a, middle, b, high)
            sync(mask)
            width *= 2

    return sort_places


def _merging(items: int, key: Element, before: Dispatcher, keeps: bool) -> Dispatcher:
    """The device function that merges a thread's items from two runs of the tile: from ``a`` to
    ``middle``, and from ``b`` to ``high``."""
    get, put = key.get, key.put

    @jit(device=True)
    def merge(tile, places, keys, origins, a, middle, b, high):
        for e in range(items):
            takes_second = a >= middle
            if a < middle and b < high:
                takes_second = bool(before(get(tile, b), get(tile, a)))
            source = b if takes_second else a
            put(keys, e, get(tile, source))
            if keeps:
                origins[e] = places[source]
            if takes_second:
                b += 1
            else:
                a += 1

    return merge


def _sorting_own(items: int, key: Element, before: Dispatcher) -> Dispatcher:
    get, put, cast = key.get, key.put, key.cast

    @jit(device=True)
    def sort_own(keys, origins):
        """Sort by insertion."""
        for e in range(1, items):
            item = cast(get(keys, e))
            origin = origins[e]
            hole = e
            while hole > 0 and bool(before(item, get(keys, hole - 1))):
                put(keys, hole, get(keys, hole - 1))
                origins[hole] = origins[hole - 1]
                hole -= 1
            put(keys, hole, item)
            origins[hole] = origin

    return sort_own


def _searching(key: Element, before: Dispatcher) -> Dispatcher:
    get = key.get

    @jit(device=True)
    def search(tile, low, middle, high, diagonal):
        """The first place of the first run behind the first ``diagonal`` merged items."""
        first = low + max(0, diagonal - (high - middle))
        last = low + min(diagonal, middle - low)
        while first < last:
            half = (first + last) // 2
            if bool(before(get(tile, middle + diagonal - (half - low) - 1), get(tile, half))):
                last = half
            else:
                first = half + 1
        return first

    return search

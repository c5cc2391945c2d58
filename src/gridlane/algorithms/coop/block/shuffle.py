"""Shuffles of a block's items: what other threads have."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

from gridlane.algorithms.coop.elements import Element, element_of
from gridlane.algorithms.coop.groups import Group, block_group
from gridlane.algorithms.coop.invocable import Invocable, with_memory
from gridlane.algorithms.coop.parameters import normalize_dtype_param
from gridlane.cuda.kernels.decorators import jit


class BlockShuffleType(IntEnum):
    """Which thread's item each gets: the one ``distance`` behind it, the same in a circle, the
    item in front of each, or the one behind it."""

    Offset = auto()
    Rotate = auto()
    Up = auto()
    Down = auto()


_T = BlockShuffleType


def make_shuffle(
    dtype: Any,
    threads_per_block: Any,
    items_per_thread: int | None = None,
    block_shuffle_type: BlockShuffleType = BlockShuffleType.Up,
    distance: int | None = None,
    block_prefix: Any = None,
    block_suffix: Any = None,
    methods: Any = None,
) -> Invocable:
    """Shuffle a block's items.

    Without ``items_per_thread`` the result has the call ``(item)`` or ``(item, distance)``, and
    returns the item of the thread that is ``distance`` behind, or in front by ``Up``. Where there
    is none, it returns the thread's own; by ``Rotate`` there always is one.

    With it, ``Up`` and ``Down`` have the call ``(items, outputs)``, which moves all items of the
    block by one place. The output that is left keeps its value.

    Args:
        dtype: the type of the items.
        threads_per_block: a number, or a tuple of two or three.
        items_per_thread: items of each thread in a row.
        block_shuffle_type: the kind.
        distance: that of calls without one; 1 by default.
        block_prefix, block_suffix: anything but None: the calls of ``Down`` have a third argument,
            an array that gets the block's first item, those of ``Up`` one for the last item.
        methods: accepted; values of a program's types need none.

    Raises:
        ValueError: a number, a kind, or an argument that the kind does not have.
    """
    if block_shuffle_type not in list(BlockShuffleType):
        raise ValueError(
            "block_shuffle_type must be a valid BlockShuffleType value; "
            f"got: {block_shuffle_type!r}"
        )
    kind = BlockShuffleType(block_shuffle_type)
    has_edge = block_prefix is not None or block_suffix is not None
    element = element_of(normalize_dtype_param(dtype))
    if items_per_thread is None:
        if has_edge:
            raise ValueError("block_prefix and block_suffix are for items_per_thread")
        steps = 1 if distance is None else distance
        return _of_items(block_group(threads_per_block, 1), element, kind, steps)
    if kind not in (_T.Up, _T.Down):
        raise ValueError("items_per_thread is only valid for Up and Down shuffles")
    if (block_prefix if kind is _T.Up else block_suffix) is not None:
        raise ValueError("Up has a block_suffix, and Down has a block_prefix")
    group = block_group(threads_per_block, items_per_thread)
    return _of_arrays(group, element, kind is _T.Up, has_edge)


def _of_items(group: Group, element: Element, kind: BlockShuffleType, steps: int) -> Invocable:
    get, put, cast = element.get, element.put, element.cast
    section, locate, sync = group.section(element), group.place, group.sync
    is_rotated, sign = kind is _T.Rotate, -1 if kind is _T.Up else 1

    @jit(device=True)
    def shuffle(memory, item, *distances):
        tile = section(memory)
        t, threads, mask = locate()
        result = cast(item)
        put(tile, t, result)
        sync(mask)
        distance = distances[0] if len(distances) > 0 else steps
        source = t + sign * distance
        if is_rotated:
            source %= threads
        if 0 <= source < threads:
            result = get(tile, source)
        sync(mask)
        return result

    return with_memory(shuffle, 0, group.count * element.size)


def _of_arrays(group: Group, element: Element, is_up: bool, has_edge: bool) -> Invocable:
    get, put, items = element.get, element.put, group.items
    section = group.section(element, count=group.threads)
    locate, sync = group.place, group.sync

    @jit(device=True)
    def shuffle(memory, values, outputs, *edges):
        """The outputs may be the values: each is read before it is written."""
        tile = section(memory)
        t, threads, mask = locate()
        put(tile, t, get(values, items - 1 if is_up else 0))
        sync(mask)
        for k in range(items - 1):
            e = items - 1 - k if is_up else k
            put(outputs, e, get(values, e - 1 if is_up else e + 1))
        if is_up:
            if t > 0:
                put(outputs, 0, get(tile, t - 1))
        elif t < threads - 1:
            put(outputs, items - 1, get(tile, t + 1))
        if has_edge:
            put(edges[0], 0, get(tile, threads - 1 if is_up else 0))
        sync(mask)

    return with_memory(shuffle, 3 if has_edge else 2, group.threads * element.size)

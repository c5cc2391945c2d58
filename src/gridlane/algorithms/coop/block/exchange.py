"""Exchanges of items among the threads of a block.

Item e of thread t has the place ``t * items + e`` in a blocked arrangement, ``t + e * threads`` in
a striped one. An arrangement striped by warps has the items of each warp in a row, striped.
"""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.coop.elements import Element, element_of
from gridlane.algorithms.coop.invocable import Invocable, block_bytes, rank_in_block
from gridlane.algorithms.coop.parameters import (
    WARP,
    block_of,
    dim3,
    items_of,
    normalize_dtype_param,
)
from gridlane.cuda import types
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher


class BlockExchangeType(IntEnum):
    """The arrangements before and after an exchange; a scatter has a rank for each item."""

    StripedToBlocked = auto()
    BlockedToStriped = auto()
    WarpStripedToBlocked = auto()
    BlockedToWarpStriped = auto()
    ScatterToBlocked = auto()
    ScatterToStriped = auto()
    ScatterToStripedGuarded = auto()
    ScatterToStripedFlagged = auto()


_T = BlockExchangeType
_BYTES: Any = types.Array(types.uint8, 1, "C"), types.Array(types.uint8, 1, "A")
# For each exchange without ranks, the arrangements before and after.
_ARRANGEMENTS = {
    _T.StripedToBlocked: ("striped", "blocked"),
    _T.BlockedToStriped: ("blocked", "striped"),
    _T.WarpStripedToBlocked: ("warp", "blocked"),
    _T.BlockedToWarpStriped: ("blocked", "warp"),
}


@cached
def place_in(arrangement: str, threads: int, items: int) -> Dispatcher:
    """The device function of the place of item e of thread t."""

    @jit(device=True)
    def blocked(t, e):
        return t * items + e

    @jit(device=True)
    def striped(t, e):
        return t + e * threads

    @jit(device=True)
    def warp(t, e):
        first = t - t % WARP
        return first * items + t % WARP + e * min(WARP, threads - first)

    return {"blocked": blocked, "striped": striped, "warp": warp}[arrangement]


def moving(
    element: Element, dim: dim3, threads: int, items: int, before: str, after: str
) -> Dispatcher:
    """The device function ``(memory, values, outputs)`` that changes an arrangement."""
    get, put = element.get, element.put
    section, rank = element.section(0, threads * items), rank_in_block(dim)
    place, wanted = place_in(before, threads, items), place_in(after, threads, items)

    @jit(device=True)
    def move(memory, values, outputs):
        tile = section(memory)
        t = rank()
        for e in range(items):
            put(tile, place(t, e), get(values, e))
        cuda.syncthreads()
        for e in range(items):
            put(outputs, e, get(tile, wanted(t, e)))
        cuda.syncthreads()

    return move


def _scattering(
    element: Element, dim: dim3, threads: int, items: int, kind: BlockExchangeType
) -> Dispatcher:
    get, put = element.get, element.put
    section, rank = element.section(0, threads * items), rank_in_block(dim)
    wanted = place_in("blocked" if kind is _T.ScatterToBlocked else "striped", threads, items)
    count = threads * items
    is_guarded, is_flagged = kind is _T.ScatterToStripedGuarded, kind is _T.ScatterToStripedFlagged

    @jit(device=True)
    def scatter(memory, values, outputs, ranks, *flags):
        """Items without a valid rank or flag leave the places of the tile as they are: a place that
        no item has keeps an undefined value."""
        tile = section(memory)
        t = rank()
        for e in range(items):
            place = ranks[e]
            if is_flagged:
                if flags[0][e]:
                    put(tile, place, get(values, e))
            elif is_guarded:
                if 0 <= place < count:
                    put(tile, place, get(values, e))
            else:
                put(tile, place, get(values, e))
        cuda.syncthreads()
        for e in range(items):
            put(outputs, e, get(tile, wanted(t, e)))
        cuda.syncthreads()

    return scatter


def make_exchange(
    block_exchange_type: BlockExchangeType,
    dtype: Any,
    threads_per_block: Any,
    items_per_thread: int,
    warp_time_slicing: bool = False,
    methods: Any = None,
) -> Invocable:
    """Exchange a block's items.

    The result has the call ``(items)`` or ``(items, outputs)``. A scatter has ranks behind them,
    the places of the items, and ``ScatterToStripedFlagged`` flags behind these.

    Args:
        block_exchange_type: the arrangements.
        dtype: the type of the items.
        threads_per_block: a number, or a tuple of two or three.
        items_per_thread: items of each thread.
        warp_time_slicing: accepted; the results are the same.
        methods: accepted; values of a program's types need none.

    Raises:
        ValueError: a number or a kind that is not allowed.
    """
    if block_exchange_type not in list(BlockExchangeType):
        raise ValueError(
            "block_exchange_type must be a valid BlockExchangeType enum value; "
            f"got: {block_exchange_type!r}"
        )
    kind = BlockExchangeType(block_exchange_type)
    items = items_of(items_per_thread)
    dim, threads = block_of(threads_per_block)
    element = element_of(normalize_dtype_param(dtype))
    size = threads * items * element.size
    behind = 0 if kind in _ARRANGEMENTS else 2 if kind is _T.ScatterToStripedFlagged else 1
    if behind:
        move = _scattering(element, dim, threads, items, kind)
    else:
        move = moving(element, dim, threads, items, *_ARRANGEMENTS[kind])

    @jit(device=True)
    def exchange(memory, *arrays):
        if len(arrays) == 1 + behind:
            move(memory, arrays[0], arrays[0], *arrays[1:])
        else:
            move(memory, *arrays)

    return exchanging(exchange, 1 + behind, size, element)


def exchanging(exchange: Dispatcher, least: int, size: int, element: Element) -> Invocable:
    """An algorithm of arrays, with outputs or in place. Of as many arrays as both have with or
    without a memory, the first is the memory if it has bytes, and items do not."""
    own = block_bytes(max(1, size))
    of_bytes = element.kind == types.uint8

    @jit(device=True)
    def call(*args):
        if len(args) == least:
            exchange(own(), *args)
        elif len(args) == least + 2:
            exchange(*args)
        elif of_bytes:
            if args[0].size >= size:
                exchange(*args)
            else:
                exchange(own(), *args)
        elif isinstance(args[0], _BYTES):
            exchange(*args)
        else:
            exchange(own(), *args)

    return Invocable(call, size)

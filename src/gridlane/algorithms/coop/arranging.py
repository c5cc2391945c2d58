"""Arrangements of a group's items: exchanges, loads and stores.

Item e of thread t has the place ``t * items + e`` in a blocked arrangement, ``t + e * threads`` in
a striped one. An arrangement striped by warps has the items of each warp in a row, striped.
"""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.coop.elements import Element
from gridlane.algorithms.coop.groups import Group
from gridlane.algorithms.coop.invocable import Invocable, checking, with_memory
from gridlane.algorithms.coop.parameters import WARP
from gridlane.cuda import types
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher

_BYTES: Any = types.Array(types.uint8, 1, "C"), types.Array(types.uint8, 1, "A")
# The algorithm of a load or store: the arrangement in which threads access memory.
_ALGORITHMS = {
    "direct": "blocked",
    "striped": "striped",
    "vectorize": "blocked",
    "transpose": "striped",
    "warp_transpose": "warp",
    "warp_transpose_timesliced": "warp",
}


@cached
def _place_in(arrangement: str, threads: int, items: int) -> Dispatcher:
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


def moving(group: Group, element: Element, before: str, after: str) -> Dispatcher:
    """The device function ``(memory, values, outputs)`` that changes an arrangement."""
    get, put, items = element.get, element.put, group.items
    section, locate, sync = group.section(element), group.place, group.sync
    place = _place_in(before, group.threads, items)
    wanted = _place_in(after, group.threads, items)

    @jit(device=True)
    def move(memory, values, outputs):
        tile = section(memory)
        t, _, mask = locate()
        for e in range(items):
            put(tile, place(t, e), get(values, e))
        sync(mask)
        for e in range(items):
            put(outputs, e, get(tile, wanted(t, e)))
        sync(mask)

    return move


def scattering(
    group: Group, element: Element, after: str, *, guarded: bool = False, flagged: bool = False
) -> Dispatcher:
    """The device function ``(memory, values, outputs, ranks)`` that moves items to ranks: with
    ``guarded`` those whose rank is a place, with ``flagged`` those with a flag, which are behind
    the ranks. What other places have is undefined."""
    get, put, items, count = element.get, element.put, group.items, group.count
    section, locate, sync = group.section(element), group.place, group.sync
    wanted = _place_in(after, group.threads, items)

    @jit(device=True)
    def scatter(memory, values, outputs, ranks, *flags):
        tile = section(memory)
        t, _, mask = locate()
        for e in range(items):
            place = ranks[e]
            moves = True
            if guarded:
                moves = 0 <= place < count
            elif flagged:
                moves = bool(flags[0][e])
            if moves:
                put(tile, place, get(values, e))
        sync(mask)
        for e in range(items):
            put(outputs, e, get(tile, wanted(t, e)))
        sync(mask)

    return scatter


def exchanging(group: Group, element: Element, move: Dispatcher, behind: int) -> Invocable:
    """An exchange of items, with outputs or in place, and ``behind`` arrays behind them. Of as many
    arrays as both have with or without a memory, the first is the memory if it has bytes, and items
    do not."""
    least, size = 1 + behind, group.count * element.size
    own, of_bytes = group.memory(size), element.kind == types.uint8
    check = checking(size)

    @jit(device=True)
    def exchange(memory, *arrays):
        if len(arrays) == least:
            move(memory, arrays[0], arrays[0], *arrays[1:])
        else:
            move(memory, *arrays)

    @jit(device=True)
    def call(*args):
        if len(args) == least:
            exchange(own(), *args)
        elif len(args) == least + 2:
            check(args[0])
            exchange(*args)
        elif of_bytes:
            if args[0].size >= size:
                exchange(*args)
            else:
                exchange(own(), *args)
        elif isinstance(args[0], _BYTES):
            check(args[0])
            exchange(*args)
        else:
            exchange(own(), *args)

    return Invocable(call, size)


def loading(group: Group, element: Element, algorithm: str) -> Invocable:
    """A load: the call is ``(source, items)``, then the number of valid items and a default.

    Raises:
        ValueError: the algorithm has no such name.
    """
    get, put, items = element.get, element.put, group.items
    arrangement, is_exchanged = _arrangement(algorithm), "transpose" in algorithm
    place, locate, most = _place_in(arrangement, group.threads, items), group.place, group.count
    exchange = moving(group, element, arrangement, "blocked")

    @jit(device=True)
    def load(memory, source, values, *valid):
        t, _, _ = locate()
        count = valid[0] if len(valid) > 0 else most
        for e in range(items):
            i = place(t, e)
            if i < count:
                put(values, e, get(source, i))
            elif len(valid) > 1:
                put(values, e, valid[1])
        if is_exchanged:
            exchange(memory, values, values)

    size = group.count * element.size if is_exchanged else 0
    return with_memory(load, 2, size, group.memory(size))


def storing(group: Group, element: Element, algorithm: str) -> Invocable:
    """A store: the call is ``(destination, items)``, then the number of valid items.

    Raises:
        ValueError: the algorithm has no such name.
    """
    get, put, items, dtype = element.get, element.put, group.items, element.dtype
    arrangement, is_exchanged = _arrangement(algorithm), "transpose" in algorithm
    place, locate, most = _place_in(arrangement, group.threads, items), group.place, group.count
    exchange = moving(group, element, "blocked", arrangement)

    @jit(device=True)
    def write(destination, values, valid):
        t, _, _ = locate()
        count = valid[0] if len(valid) > 0 else most
        for e in range(items):
            i = place(t, e)
            if i < count:
                put(destination, i, get(values, e))

    @jit(device=True)
    def store(memory, destination, values, *valid):
        if is_exchanged:
            exchanged = cuda.local.array(items, dtype)
            exchange(memory, values, exchanged)
            write(destination, exchanged, valid)
        else:
            write(destination, values, valid)

    size = group.count * element.size if is_exchanged else 0
    return with_memory(store, 2, size, group.memory(size))


def _arrangement(algorithm: str) -> str:
    if algorithm not in _ALGORITHMS:
        known = ", ".join(_ALGORITHMS)
        raise ValueError(f"Unsupported algorithm: {algorithm}; it is one of {known}")
    return _ALGORITHMS[algorithm]

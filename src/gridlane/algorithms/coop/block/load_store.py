"""Loads of a block's items from memory, and stores."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.algorithms.coop.block.exchange import moving, place_in
from gridlane.algorithms.coop.elements import element_of
from gridlane.algorithms.coop.invocable import Invocable, rank_in_block, with_memory
from gridlane.algorithms.coop.parameters import block_of, items_of, normalize_dtype_param
from gridlane.cuda.kernels.decorators import jit

# The algorithm: the arrangement in which threads access memory.
_ALGORITHMS = {
    "direct": "blocked",
    "striped": "striped",
    "vectorize": "blocked",
    "transpose": "striped",
    "warp_transpose": "warp",
    "warp_transpose_timesliced": "warp",
}


def make_load(
    dtype: Any, threads_per_block: Any, items_per_thread: int = 1, algorithm: str = "direct"
) -> Invocable:
    """Load a block's items from consecutive places.

    The result has the call ``(source, items)``, ``(source, items, valid_items)``, of the first
    places only, or ``(source, items, valid_items, default)``, which is the item of others.

    Args:
        dtype: the type of the items.
        threads_per_block: a number, or a tuple of two or three.
        items_per_thread: items of each thread.
        algorithm: ``"direct"`` and ``"vectorize"`` read the items of each thread in a row,
            ``"striped"`` each thread's items from places a block apart. ``"transpose"`` and
            ``"warp_transpose"`` read in stripes, of a block and of a warp, and exchange the items,
            so that each thread has a row.

    Raises:
        ValueError: a number or a name that is not allowed.
    """
    arrangement, items = _arrangement(algorithm), items_of(items_per_thread)
    dim, threads = block_of(threads_per_block)
    element = element_of(normalize_dtype_param(dtype))
    get, put, rank = element.get, element.put, rank_in_block(dim)
    place = place_in(arrangement, threads, items)
    is_exchanged = "transpose" in algorithm
    exchange = moving(element, dim, threads, items, arrangement, "blocked")

    @jit(device=True)
    def load(memory, source, values, *valid):
        t = rank()
        count = valid[0] if len(valid) > 0 else items * threads
        for e in range(items):
            i = place(t, e)
            if i < count:
                put(values, e, get(source, i))
            elif len(valid) > 1:
                put(values, e, valid[1])
        if is_exchanged:
            exchange(memory, values, values)

    size = threads * items * element.size if is_exchanged else 0
    return with_memory(load, 2, size)


def make_store(
    dtype: Any, threads_per_block: Any, items_per_thread: int = 1, algorithm: str = "direct"
) -> Invocable:
    """Store a block's items in consecutive places.

    The result has the call ``(destination, items)`` or ``(destination, items, valid_items)``, of
    the first places only. See ``make_load`` for the arguments.

    Raises:
        ValueError: a number or a name that is not allowed.
    """
    arrangement, items = _arrangement(algorithm), items_of(items_per_thread)
    dim, threads = block_of(threads_per_block)
    element = element_of(normalize_dtype_param(dtype))
    get, put, rank, dtype = element.get, element.put, rank_in_block(dim), element.dtype
    place = place_in(arrangement, threads, items)
    is_exchanged = "transpose" in algorithm
    exchange = moving(element, dim, threads, items, "blocked", arrangement)

    @jit(device=True)
    def write(destination, values, valid):
        t = rank()
        count = valid[0] if len(valid) > 0 else items * threads
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

    size = threads * items * element.size if is_exchanged else 0
    return with_memory(store, 2, size)


def _arrangement(algorithm: str) -> str:
    if algorithm not in _ALGORITHMS:
        raise ValueError(
            f"Unsupported algorithm: {algorithm}; it is one of {', '.join(_ALGORITHMS)}"
        )
    return _ALGORITHMS[algorithm]

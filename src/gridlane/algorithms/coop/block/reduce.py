"""Reductions of a block's items, in a tree that keeps their order."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.algorithms.coop.elements import element_of
from gridlane.algorithms.coop.groups import block_group
from gridlane.algorithms.coop.invocable import Invocable, with_memory
from gridlane.algorithms.coop.operators import combining
from gridlane.algorithms.coop.parameters import normalize_dtype_param
from gridlane.cuda.kernels.decorators import jit

_ALGORITHMS = "raking", "raking_commutative_only", "warp_reductions"


def make_reduce(
    dtype: Any,
    threads_per_block: Any,
    binary_op: Any,
    items_per_thread: int = 1,
    algorithm: str = "warp_reductions",
    methods: Any = None,
) -> Invocable:
    """Reduce a block's items by an associative operator.

    The result has the call ``(item)``, ``(item, num_valid)``, of the first threads only, or with
    several items ``(array)``. Every thread gets the reduction.

    Args:
        dtype: the type of the items.
        threads_per_block: a number, or a tuple of two or three.
        binary_op: a function, or the name of an operator.
        algorithm: accepted; each gives the same results.
        methods: accepted; values of a program's types need none.

    Raises:
        ValueError: a number or a name that is not allowed.
    """
    if algorithm not in _ALGORITHMS:
        raise ValueError(f"Unsupported algorithm: {algorithm}")
    group = block_group(threads_per_block, items_per_thread)
    element = element_of(normalize_dtype_param(dtype))
    combine = combining(binary_op, element, "binary_op")
    cast, get, put = element.cast, element.get, element.put
    items, threads, locate = group.items, group.threads, group.place
    section = group.section(element, count=threads)

    @jit(device=True)
    def reduce(memory, values, *counts):
        tile = section(memory)
        t, _, _ = locate()
        if items == 1:
            total = cast(values)
        else:
            total = cast(get(values, 0))
            for e in range(1, items):
                total = combine(total, get(values, e))
        valid = min(threads, counts[0]) if len(counts) > 0 else threads
        put(tile, t, total)
        cuda.syncthreads()
        step = 1
        while step < threads:
            low = t * 2 * step
            if low + step < valid:
                put(tile, low, combine(get(tile, low), get(tile, low + step)))
            cuda.syncthreads()
            step *= 2
        total = get(tile, 0)
        cuda.syncthreads()
        return total

    arrays = 0 if items == 1 else 1
    return with_memory(reduce, arrays, threads * element.size, alignment=element.alignment)


def make_sum(
    dtype: Any,
    threads_per_block: Any,
    items_per_thread: int = 1,
    algorithm: str = "warp_reductions",
    methods: Any = None,
) -> Invocable:
    """Add a block's items; see ``make_reduce``."""
    return make_reduce(dtype, threads_per_block, "+", items_per_thread, algorithm, methods)

"""Reductions of a warp's items, in a tree that keeps their order."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

from gridlane.algorithms.coop.elements import element_of
from gridlane.algorithms.coop.groups import lanes
from gridlane.algorithms.coop.invocable import Invocable, with_memory
from gridlane.algorithms.coop.operators import combining
from gridlane.algorithms.coop.parameters import normalize_dtype_param, warp_of
from gridlane.cuda.kernels.decorators import jit


def make_reduce(
    dtype: Any, binary_op: Any, threads_in_warp: int = 32, methods: Any = None
) -> Invocable:
    """Reduce the items of each warp by an associative operator.

    The result has the call ``(item)``, or ``(item, valid_items)``, of the first lanes only. The
    first lane gets the reduction; what others get is undefined.

    Args:
        dtype: the type of the items.
        binary_op: a function, or the name of an operator.
        threads_in_warp: consecutive threads of a warp, 1 to 32, that reduce their items.
        methods: accepted; values of a program's types need none.

    Raises:
        ValueError: a number or a name that is not allowed.
    """
    width = warp_of(threads_in_warp)
    element = element_of(normalize_dtype_param(dtype))
    combine, cast, exchange = (
        combining(binary_op, element, "binary_op"),
        element.cast,
        element.exchange,
    )
    place = lanes(width)

    @jit(device=True)
    def reduce(memory, item, *counts):
        rank, lane, count, mask = place()
        total = cast(item)
        valid = min(count, counts[0]) if len(counts) > 0 else count
        step = 1
        while step < width:
            takes = lane + step < valid
            other = exchange(total, rank, rank + step if takes else rank, mask)
            if takes and lane % (2 * step) == 0:
                total = combine(total, other)
            step *= 2
        return total

    return with_memory(reduce, 0, 1, alignment=element.alignment)


def make_sum(dtype: Any, threads_in_warp: int = 32) -> Invocable:
    """Add the items of each warp; see ``make_reduce``."""
    return make_reduce(dtype, "+", threads_in_warp)


def make_max(dtype: Any, threads_in_warp: int = 32) -> Invocable:
    """Find the largest item of each warp; see ``make_reduce``."""
    return make_reduce(dtype, "max", threads_in_warp)


def make_min(dtype: Any, threads_in_warp: int = 32) -> Invocable:
    """Find the smallest item of each warp; see ``make_reduce``."""
    return make_reduce(dtype, "min", threads_in_warp)

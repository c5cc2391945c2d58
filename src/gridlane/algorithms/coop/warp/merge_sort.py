"""Merge sorts of a warp's items by any comparison."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

from gridlane.algorithms.coop.elements import Element, element_of
from gridlane.algorithms.coop.groups import warp_group
from gridlane.algorithms.coop.invocable import Invocable, with_memory
from gridlane.algorithms.coop.merging import sort_bytes, sorting
from gridlane.algorithms.coop.operators import comparing
from gridlane.algorithms.coop.parameters import normalize_dtype_param
from gridlane.cuda.kernels.decorators import jit


def make_merge_sort_keys(
    dtype: Any,
    items_per_thread: int,
    compare_op: Any,
    threads_in_warp: int = 32,
    methods: Any = None,
) -> Invocable:
    """Sort the keys of each warp, a row of them in each lane: the call is ``(keys)``. Equal keys
    keep their order.

    Args:
        dtype: the type of the keys.
        items_per_thread: keys of each lane.
        compare_op: whether a key comes before another.
        threads_in_warp: consecutive threads of a warp, 1 to 32, that sort their keys.
        methods: accepted; values of a program's types need none.

    Raises:
        ValueError: a number that is not allowed.
    """
    return _merge_sort(dtype, None, items_per_thread, compare_op, threads_in_warp)


def make_merge_sort_pairs(
    keys: Any,
    values: Any,
    items_per_thread: int,
    compare_op: Any,
    threads_in_warp: int = 32,
    methods: Any = None,
) -> Invocable:
    """Sort the keys of each warp, and their values with them: the call is ``(keys, values)``.
    ``keys`` and ``values`` are types; see ``make_merge_sort_keys``."""
    value = element_of(normalize_dtype_param(values))
    return _merge_sort(keys, value, items_per_thread, compare_op, threads_in_warp)


def _merge_sort(
    dtype: Any, value: Element | None, items_per_thread: int, op: Any, threads_in_warp: int
) -> Invocable:
    group = warp_group(threads_in_warp, items_per_thread)
    key = element_of(normalize_dtype_param(dtype))
    sort, size = sorting(group, key, comparing(op, key), value), sort_bytes(group, key, value)
    arrays = 1 if value is None else 2

    @jit(device=True)
    def merge_sort(memory, keys, *values):
        if arrays == 1:
            sort(memory, keys, keys)
        else:
            sort(memory, keys, values[0])

    return with_memory(merge_sort, arrays, size, group.memory(size))

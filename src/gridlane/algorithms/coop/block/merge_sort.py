"""Merge sorts of a block's items by any comparison."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

from gridlane.algorithms.coop.elements import Element, element_of
from gridlane.algorithms.coop.groups import block_group
from gridlane.algorithms.coop.invocable import Invocable, with_memory
from gridlane.algorithms.coop.merging import sort_bytes, sorting
from gridlane.algorithms.coop.operators import comparing
from gridlane.algorithms.coop.parameters import normalize_dtype_param
from gridlane.cuda.kernels.decorators import jit


def make_merge_sort_keys(
    dtype: Any,
    threads_per_block: Any,
    items_per_thread: int,
    compare_op: Any,
    methods: Any = None,
) -> Invocable:
    """Sort a block's keys, a row of them in each thread. Equal keys keep their order.

    The result has the call ``(keys)``, or ``(keys, valid_items, default)``: the first keys only,
    and the others become ``default``, which comes after all.

    Args:
        dtype: the type of the keys.
        threads_per_block: a number, or a tuple of two or three.
        items_per_thread: keys of each thread.
        compare_op: whether a key comes before another.
        methods: accepted; values of a program's types need none.

    Raises:
        ValueError: a number that is not allowed.
    """
    return _merge_sort(dtype, None, threads_per_block, items_per_thread, compare_op)


def make_merge_sort_pairs(
    keys: Any,
    values: Any,
    threads_per_block: Any,
    items_per_thread: int,
    compare_op: Any,
    methods: Any = None,
) -> Invocable:
    """Sort a block's keys, and their values with them: the call is ``(keys, values)`` or ``(keys,
    values, valid_items, default)``. ``keys`` and ``values`` are types; see
    ``make_merge_sort_keys``."""
    value = element_of(normalize_dtype_param(values))
    return _merge_sort(keys, value, threads_per_block, items_per_thread, compare_op)


def _merge_sort(
    dtype: Any, value: Element | None, threads_per_block: Any, items_per_thread: int, op: Any
) -> Invocable:
    group = block_group(threads_per_block, items_per_thread)
    key = element_of(normalize_dtype_param(dtype))
    sort = sorting(group, key, comparing(op, key), value)
    items, locate, put = group.items, group.place, key.put
    arrays = 1 if value is None else 2

    @jit(device=True)
    def merge_sort(memory, keys, *rest):
        if len(rest) > arrays - 1:
            t, _, _ = locate()
            for e in range(items):
                if t * items + e >= rest[arrays - 1]:
                    put(keys, e, rest[arrays])
        if arrays == 1:
            sort(memory, keys, keys)
        else:
            sort(memory, keys, rest[0])

    return with_memory(merge_sort, arrays, sort_bytes(group, key, value))

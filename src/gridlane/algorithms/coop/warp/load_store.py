"""Loads of a warp's items from memory, and stores."""

from __future__ import annotations

from typing import Any

from gridlane.algorithms.coop.arranging import loading, storing
from gridlane.algorithms.coop.elements import element_of
from gridlane.algorithms.coop.groups import Group, warp_group
from gridlane.algorithms.coop.invocable import Invocable
from gridlane.algorithms.coop.parameters import normalize_dtype_param

_ALGORITHMS = "direct", "striped", "vectorize", "transpose"


def make_load(
    dtype: Any,
    items_per_thread: int = 1,
    threads_in_warp: int = 32,
    algorithm: str = "direct",
    methods: Any = None,
) -> Invocable:
    """Load a warp's items from consecutive places of its own array.

    The result has the call ``(source, items)``, ``(source, items, valid_items)``, of the first
    places only, or ``(source, items, valid_items, default)``, which is the item of others.

    Args:
        dtype: the type of the items.
        items_per_thread: items of each lane.
        threads_in_warp: consecutive threads of a warp, 1 to 32.
        algorithm: ``"direct"``, ``"vectorize"``, ``"striped"`` or ``"transpose"``; see the loads of
            blocks.
        methods: accepted; values of a program's types need none.

    Raises:
        ValueError: a number or a name that is not allowed.
    """
    group = _group(items_per_thread, threads_in_warp, algorithm)
    return loading(group, element_of(normalize_dtype_param(dtype)), algorithm)


def make_store(
    dtype: Any,
    items_per_thread: int = 1,
    threads_in_warp: int = 32,
    algorithm: str = "direct",
    methods: Any = None,
) -> Invocable:
    """Store a warp's items in consecutive places of its own array.

    The result has the call ``(destination, items)`` or ``(destination, items, valid_items)``, of
    the first places only. See ``make_load`` for the arguments.

    Raises:
        ValueError: a number or a name that is not allowed.
    """
    group = _group(items_per_thread, threads_in_warp, algorithm)
    return storing(group, element_of(normalize_dtype_param(dtype)), algorithm)


def _group(items_per_thread: int, threads_in_warp: int, algorithm: str) -> Group:
    if algorithm not in _ALGORITHMS:
        raise ValueError(
            f"Unsupported algorithm: {algorithm}; it is one of {', '.join(_ALGORITHMS)}"
        )
    return warp_group(threads_in_warp, items_per_thread)

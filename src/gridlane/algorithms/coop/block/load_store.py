"""Loads of a block's items from memory, and stores."""

from __future__ import annotations

from typing import Any

from gridlane.algorithms.coop.arranging import loading, storing
from gridlane.algorithms.coop.elements import element_of
from gridlane.algorithms.coop.groups import block_group
from gridlane.algorithms.coop.invocable import Invocable
from gridlane.algorithms.coop.parameters import normalize_dtype_param


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
            ``"striped"`` each thread's items from places a block apart. ``"transpose"``,
            ``"warp_transpose"`` and ``"warp_transpose_timesliced"`` read in stripes, of a block and
            of a warp, and exchange the items, so that each thread has a row.

    Raises:
        ValueError: a number or a name that is not allowed.
    """
    group = block_group(threads_per_block, items_per_thread)
    return loading(group, element_of(normalize_dtype_param(dtype)), algorithm)


def make_store(
    dtype: Any, threads_per_block: Any, items_per_thread: int = 1, algorithm: str = "direct"
) -> Invocable:
    """Store a block's items in consecutive places.

    The result has the call ``(destination, items)`` or ``(destination, items, valid_items)``, of
    the first places only. See ``make_load`` for the arguments.

    Raises:
        ValueError: a number or a name that is not allowed.
    """
    group = block_group(threads_per_block, items_per_thread)
    return storing(group, element_of(normalize_dtype_param(dtype)), algorithm)

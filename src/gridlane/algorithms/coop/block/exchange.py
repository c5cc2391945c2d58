"""Exchanges of items among the threads of a block."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

from gridlane.algorithms.coop.arranging import exchanging, moving, scattering
from gridlane.algorithms.coop.elements import element_of
from gridlane.algorithms.coop.groups import block_group
from gridlane.algorithms.coop.invocable import Invocable
from gridlane.algorithms.coop.parameters import normalize_dtype_param


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
# For each exchange without ranks, the arrangements before and after.
_ARRANGEMENTS = {
    _T.StripedToBlocked: ("striped", "blocked"),
    _T.BlockedToStriped: ("blocked", "striped"),
    _T.WarpStripedToBlocked: ("warp", "blocked"),
    _T.BlockedToWarpStriped: ("blocked", "warp"),
}


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
    group = block_group(threads_per_block, items_per_thread)
    element = element_of(normalize_dtype_param(dtype))
    if kind in _ARRANGEMENTS:
        return exchanging(group, element, moving(group, element, *_ARRANGEMENTS[kind]), 0)
    flagged = kind is _T.ScatterToStripedFlagged
    scatter = scattering(
        group,
        element,
        "blocked" if kind is _T.ScatterToBlocked else "striped",
        guarded=kind is _T.ScatterToStripedGuarded,
        flagged=flagged,
    )
    return exchanging(group, element, scatter, 2 if flagged else 1)

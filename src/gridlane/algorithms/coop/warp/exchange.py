"""Exchanges of items among the lanes of a warp."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

from gridlane.algorithms.coop.arranging import exchanging, moving, scattering
from gridlane.algorithms.coop.elements import element_of
from gridlane.algorithms.coop.groups import warp_group
from gridlane.algorithms.coop.invocable import Invocable
from gridlane.algorithms.coop.parameters import normalize_dtype_param


class WarpExchangeType(IntEnum):
    """The arrangements before and after an exchange; a scatter has a rank for each item."""

    StripedToBlocked = auto()
    BlockedToStriped = auto()
    ScatterToStriped = auto()


_ARRANGEMENTS = {
    WarpExchangeType.StripedToBlocked: ("striped", "blocked"),
    WarpExchangeType.BlockedToStriped: ("blocked", "striped"),
}


def make_exchange(
    dtype: Any,
    items_per_thread: int = 1,
    threads_in_warp: int = 32,
    warp_exchange_type: WarpExchangeType = WarpExchangeType.StripedToBlocked,
    offset_dtype: Any = None,
    methods: Any = None,
) -> Invocable:
    """Exchange the items of each warp, which has all its lanes.

    The result has the call ``(items)`` or ``(items, outputs)``. A scatter has ranks behind them,
    the places of the items.

    Args:
        dtype: the type of the items.
        items_per_thread: items of each lane.
        threads_in_warp: consecutive threads of a warp, 1 to 32, that exchange their items.
        warp_exchange_type: the arrangements.
        offset_dtype, methods: accepted; the types follow from the call.

    Raises:
        ValueError: a number or a kind that is not allowed.
    """
    if warp_exchange_type not in list(WarpExchangeType):
        raise ValueError(
            "warp_exchange_type must be a valid WarpExchangeType enum value; "
            f"got: {warp_exchange_type!r}"
        )
    kind = WarpExchangeType(warp_exchange_type)
    group = warp_group(threads_in_warp, items_per_thread)
    element = element_of(normalize_dtype_param(dtype))
    if kind in _ARRANGEMENTS:
        return exchanging(group, element, moving(group, element, *_ARRANGEMENTS[kind]), 0)
    return exchanging(group, element, scattering(group, element, "striped"), 1)

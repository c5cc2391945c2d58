"""What programs say about the pages of managed memory: advice, and where they want them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import memory
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.memory import Allocation

PAGE = 4096
NOWHERE, HOST, NODES = -2, -1, 1 << 20
"""Places: none, the host, and from ``NODES`` on the host's nodes; others are devices."""


class Pages:
    """The pages of an allocation.

    Attributes:
        mostly_read: whether each is; ``preferred``: its place; ``prefetched``: the place of the
            last prefetch.
        used_by: whether each place is advised as a user.
    """

    def __init__(self, allocation: Allocation) -> None:
        self._first = allocation.address // PAGE
        count = -(-(allocation.address + allocation.size) // PAGE) - self._first
        self.mostly_read: NDArray[np.bool_] = np.zeros(count, np.bool_)
        self.preferred: NDArray[np.int32] = np.full(count, NOWHERE, np.int32)
        self.prefetched: NDArray[np.int32] = np.full(count, NOWHERE, np.int32)
        self.used_by: dict[int, NDArray[np.bool_]] = {}

    def part(self, address: int, size: int) -> slice:
        """The pages that hold bytes."""
        return slice(address // PAGE - self._first, -(-(address + size) // PAGE) - self._first)

    def users(self, place: int) -> NDArray[np.bool_]:
        """Whether a place is advised as a user of each page."""
        return self.used_by.setdefault(place, np.zeros_like(self.mostly_read))


def pages(address: int, size: int, context: Context) -> tuple[Pages, slice]:
    """The pages of managed memory that hold bytes.

    Raises:
        Failure: INVALID_VALUE, the bytes are in no managed memory.
    """
    allocation = memory.find(address, size, context.ordinal) if size else None
    if allocation is None or allocation.kind != "managed":
        fail(INVALID_VALUE, f"{size} bytes at {address:#x} are not managed memory")
    if allocation.advice is None:
        allocation.advice = Pages(allocation)
    return allocation.advice, allocation.advice.part(address, size)


def place_of(values: NDArray[np.int32]) -> int:
    """The place that all pages have, or none."""
    return int(values[0]) if (values == values[0]).all() else NOWHERE

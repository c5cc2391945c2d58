"""Places in a ring: engine/ring.h has the same."""

from __future__ import annotations

from typing import Any

from gridlane.cuda import int64, jit, uint32


@jit(device=True)
def index_of(ticket: Any, shift: Any) -> Any:
    """The slot of a message, in a ring of ``1 << shift`` slots."""
    return ticket & ((int64(1) << shift) - 1)


@jit(device=True)
def sequence_of(ticket: Any, shift: Any) -> Any:
    """The sequence word of each chunk of a message: its lap, + 1, so that zeros are no message."""
    return uint32((ticket >> shift) + 1)

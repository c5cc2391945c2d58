"""Places in a ring of chunks, in the dialect. ``scripts/actor_headers.py`` writes
engine/ring.h, which has the same functions for C and CUDA C++.

A message is *pushed* by storing each of its chunks with the sequence word of its ticket, *peeked*
by loading chunks until they all have this word, and *popped* by publishing the next ticket as the
ring's head, which frees the slot. A ring has ``1 << shift`` slots of ``slot`` bytes.
"""

from __future__ import annotations

from typing import Any

from gridlane.cuda import int64, jit, uint32


@jit(device=True)
def index_of(ticket: Any, shift: Any) -> Any:
    """The slot of a message."""
    return ticket & ((int64(1) << shift) - 1)


@jit(device=True)
def sequence_of(ticket: Any, shift: Any) -> Any:
    """The sequence word of each chunk of a message: its lap, + 1, so that zeros are no message."""
    return uint32((ticket >> shift) + 1)


@jit(device=True)
def place_of(slots: Any, ticket: Any, shift: Any, slot: Any) -> Any:
    """The address of the first chunk of a message."""
    return slots + index_of(ticket, shift) * slot


@jit(device=True)
def free_of(head: Any, tail: Any, shift: Any) -> Any:
    """The free slots where ``tail`` messages were pushed and ``head`` popped."""
    return (int64(1) << shift) - (tail - head)

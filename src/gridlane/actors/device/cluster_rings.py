"""Rings between the blocks of a cluster, in the shared memory of the receiving block.

The host addresses such a ring by its copy in the device's memory, which is valid while the cluster
does not run. A block copies the rings that it receives from into its shared memory when it starts,
and back before it ends. A block has one ring for each block of the cluster, in their order.
"""

from __future__ import annotations

from typing import Any

from gridlane.actors.layouts import wire
from gridlane.cuda import blockDim, int32, int64, jit, shared, uint32
from gridlane.frontends.python.system import (
    address_of,
    cluster_rank,
    cluster_size,
    cluster_sync,
    load_words,
    load_words_anywhere,
    peer_address,
    store_words,
    store_words_anywhere,
)

READERS = 32
"""The first thread of those that copy. None of them runs a handler, which may end its thread."""


def accesses_of(clustered: bool) -> tuple[Any, Any]:
    """The functions that load and store a chunk of a ring between actors."""
    if clustered:
        return load_words_anywhere, store_words_anywhere
    return load_words, store_words


def nearest_of(clustered: bool) -> Any:
    """A device function: the address that a kernel uses for the ring that has an address on the
    host."""

    def nearest(place: Any, address: Any) -> Any:
        if clustered:
            offset = address - place.rings
            if offset >= 0 and offset < place.region * cluster_size():
                rank = int32(offset // place.region)
                here = shared.array(0, uint32)
                # The distributed address of a block's own shared memory is slower than its local
                # one.
                start = int64(address_of(here))
                if rank != cluster_rank():
                    start = int64(peer_address(here, rank))
                return start + (offset - rank * place.region)
        return address

    return jit(device=True)(nearest)


@jit(device=True)
def come_near(thread: Any, block: Any, rings: Any, region: Any) -> Any:
    """Copy the rings of a block into its shared memory, and wait for the other blocks."""
    here, own = shared.array(0, uint32), rings + block * region
    n = thread - READERS
    while n >= 0 and n < region // wire.CHUNK:
        index = uint32(4 * n)
        here[index], here[index + 1], here[index + 2], here[index + 3] = load_words(
            own + wire.CHUNK * n
        )
        n += blockDim.x - READERS
    cluster_sync()


@jit(device=True)
def go_away(thread: Any, block: Any, rings: Any, region: Any) -> Any:
    """Wait until the other blocks no longer write to this block's rings, and copy them back."""
    cluster_sync()
    here, own = shared.array(0, uint32), rings + block * region
    n = thread - READERS
    while n >= 0 and n < region // wire.CHUNK:
        index = uint32(4 * n)
        store_words(
            own + wire.CHUNK * n, here[index], here[index + 1], here[index + 2], here[index + 3]
        )
        n += blockDim.x - READERS

"""How messages enter a resident kernel: from the rings in memory into shared memory.

One warp reads the host's ring, and another one those of other actors, so the handler waits for
neither. Each has places in the block's shared memory and counts the messages that it has put there;
the handler counts the messages that it has taken. A ring's slot is released after its message is
handled, not before: a kernel that ends in between reads the message again.
"""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from gridlane.actors.device.resident_parts import ALL
from gridlane.actors.layouts import wire
from gridlane.core import numpy_types
from gridlane.core.argtypes import RecordType
from gridlane.cuda import all_sync, int64, jit, shfl_sync, syncwarp, threadfence_block
from gridlane.frontends.python.system import load_volatile, rest, store_volatile

ARRIVED, CAME, ORDERS, UNUSED = 0, 1, 2, 3
HANDLED, TAKEN, CLOCK, ENDED, PAUSE, PAUSED, SOURCES, FIRST, DELIVERED = range(4, 13)
"""Indices of the words that the warps publish to each other: of the host's messages, how many have
arrived and how many are handled; of other actors' messages since the last change of the tables, how
many arrived and how many are taken; the host's order, with the version of the tables above it; the
device's clock; whether the handler has ended; whether the second warp is to pause (odd numbers),
and since which number it pauses; how many sources there may be, and which is polled first; how many
of the kernel's messages the host has taken, which nothing reads; see ``from_host``."""
TOLD_WORDS = 16
SIGNALS = 1 << ENDED | 1 << PAUSE
"""The words that are odd where a reading warp must stop."""

ROOM = 8 << 10
"""Bytes of shared memory for arrived messages of one side."""


class Shape(NamedTuple):
    """The layout of messages of one size in shared memory.

    Attributes:
        chunks: of a message.
        slot: bytes of a ring's slot.
        words: of a place.
        depth: places for messages from one side, a power of two.
        lanes: that read a message, a power of two.
        apart: whether warps of their own read the rings. Otherwise one message is there at a time,
            and the handler's warp reads it.
        far, near: reads of a ring that are in flight at once, where there are many messages: of the
            host's memory, and of the device's.
        clustered: whether other actors' rings may be in the cluster's shared memory.
    """

    chunks: int
    slot: int
    words: int
    depth: int
    lanes: int
    apart: bool
    far: int
    near: int
    clustered: bool = False

    @property
    def places(self) -> int:
        """Bytes of all places."""
        return 2 * self.depth if self.apart else 1

    @property
    def together(self) -> int:
        """Messages that a warp reads at once."""
        return 32 // self.lanes

    @property
    def has_volleys(self) -> bool:
        """Whether several reads may be in flight: a volley reads the chunks of a message that a
        warp reads at once, and no others."""
        return self.apart and self.chunks <= 32


def shape_of(
    payload: int, together: bool, far: int = 8, near: int = 8, clustered: bool = False
) -> Shape:
    """The shape for messages whose payload has so many bytes, and whose handler is several threads
    together, or one."""
    chunks = wire.chunks_of(payload)
    words = -(-3 * chunks // 4) * 4
    most = ROOM // (4 * words)
    apart = most > 1 and not together
    depth = min(1 << most.bit_length() - 1, 32) if apart else 1
    lanes = 1 << min(chunks - 1, 31).bit_length()
    slot = wire.slot_of(chunks)
    return Shape(chunks, slot, words, depth, lanes, apart, far, near, clustered)


def arrival_record(message: RecordType, shape: Shape) -> RecordType:
    """A place: the header on the wire, and the payload."""
    names = [name for name in wire.HEADER.names or () if wire.HEADER[name].itemsize == 8]
    size = wire.HEADER.itemsize
    dtype = np.dtype(
        {
            "names": [*names, "payload"],
            "formats": [*[np.int64] * len(names), message.numpy],
            "offsets": [*[8 * n for n in range(len(names))], size],
            "itemsize": 4 * shape.words,
        },
        align=True,
    )
    slot_record = numpy_types.from_numpy(dtype)
    assert isinstance(slot_record, RecordType)
    *fields, (name, _, offset) = slot_record.fields
    return dataclasses.replace(slot_record, fields=(*fields, (name, message, offset)))


# The types of their fields are those of a kernel's variables.
Box: Any = namedtuple("Box", "words told")  # pyright: ignore[reportUntypedNamedTuple]
"""Shared memory: messages, each in so many uint32, and the words that the warps publish."""

Came: Any = namedtuple("Came", "origin next")  # pyright: ignore[reportUntypedNamedTuple]
"""Shared memory: the source of each message of another actor, and each source's next ticket."""


@jit(device=True)
def told(box: Any, number: Any) -> Any:
    """A word that another warp has published, the same for all lanes."""
    return shfl_sync(ALL, load_volatile(box.told, number), 0)


@jit(device=True)
def all_told(lane: Any, box: Any) -> Any:
    """The words that the warps have published, one for each lane."""
    return load_volatile(box.told, min(lane, TOLD_WORDS - 1))


@jit(device=True)
def pause(lane: Any, box: Any) -> Any:
    """Pause the warp that reads other actors' rings, before the tables change."""
    number = told(box, PAUSE) + 1
    if lane == 0:
        store_volatile(box.told, PAUSE, number)
    syncwarp()
    while not all_sync(ALL, load_volatile(box.told, PAUSED) == number):
        rest(0)


@jit(device=True)
def go_on(lane: Any, sources: Any, box: Any, came: Any, many: Any) -> Any:
    """Resume it with the present sources; it reads again the messages that it had read and that
    nothing took."""
    came.next[lane] = sources.head[lane]
    syncwarp()
    if lane == 0:
        store_volatile(box.told, SOURCES, int64(many))
        store_volatile(box.told, FIRST, int64(0))
        store_volatile(box.told, CAME, int64(0))
        store_volatile(box.told, TAKEN, int64(0))
        threadfence_block()
        number = load_volatile(box.told, PAUSE)
        store_volatile(box.told, PAUSE, number + (number & 1))
    syncwarp()

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

from gridlane.actors.device import wire
from gridlane.actors.device.cluster_rings import accesses_of
from gridlane.actors.device.resident_parts import ALL
from gridlane.core import numpy_types
from gridlane.core.argtypes import RecordType
from gridlane.cuda import (
    all_sync,
    ballot_sync,
    ffs,
    int32,
    int64,
    jit,
    local,
    shfl_sync,
    syncwarp,
    threadfence_block,
    uint32,
)
from gridlane.frontends.python.stubs import load_words, nanoseconds, rest
from gridlane.frontends.python.volatile_stubs import load_volatile, store_volatile

ARRIVED, CAME, ORDERS, UNUSED = 0, 1, 2, 3
HANDLED, TAKEN, CLOCK, ENDED, PAUSE, PAUSED, SOURCES, FIRST, DELIVERED = range(4, 13)
"""Indices of the words that the warps publish to each other: of the host's messages, how many have
arrived and how many are handled; of other actors' messages since the last change of the tables, how
many arrived and how many are taken; the host's order, with the version of the tables above it; the
device's clock; whether the handler has ended; whether the second warp is to pause (odd numbers),
and since which number it pauses; how many sources there may be, and which is polled first; how many
of the kernel's messages the host has taken, which nothing reads; see ``from_host``."""
TOLD_WORDS = 16
_SIGNALS = 1 << ENDED | 1 << PAUSE
"""The words that are odd where a reading warp must stop."""

ROOM = 8 << 10
"""Bytes of shared memory for arrived messages of one side."""
_IDLE, _LONG = 1 << 12, 1 << 16
"""Empty polls after which a warp begins to sleep, and after which it sleeps longer."""
_SPIN = 32
"""Polls of the only ring of another actor before other work."""
_NAP, _LONGEST = 100, 1000
"""Nanoseconds of these sleeps."""


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

Ring: Any = namedtuple("Ring", "slots ticket shift after")  # pyright: ignore[reportUntypedNamedTuple]
"""The ring of another actor that is polled next, in registers: the address of its slots, or 0; its
next ticket; log2 of its capacity; the number of the host's messages that precede its own."""


@jit(device=True)
def ring_of(sources: Any, came: Any, number: Any) -> Any:
    """The ring of a source."""
    address = sources.at[number]
    slots = address + wire.INBOX_HEAD if address != 0 else address
    return Ring(slots, came.next[number], int32(sources.shift[number]), sources.after[number])


@jit(device=True)
def told(box: Any, number: Any) -> Any:
    """A word that another warp has published, the same for all lanes."""
    return shfl_sync(ALL, load_volatile(box.told, number), 0)


@jit(device=True)
def _all_told(lane: Any, box: Any) -> Any:
    """The words that the warps have published, one for each lane."""
    return load_volatile(box.told, min(lane, TOLD_WORDS - 1))


@jit(device=True)
def _heard(heard: Any, number: Any) -> Any:
    """One of these words, or its low half."""
    return int32(shfl_sync(ALL, int32(heard), number))


@jit(device=True)
def _wait(vain: Any) -> Any:
    """Yield to the other warps, and sleep after many empty polls; returns the number of empty
    polls."""
    rest(0)
    if vain > _IDLE:
        rest(_NAP)
    if vain > _LONG:
        rest(_LONGEST)
    return int32(min(vain, _LONG) + 1)


def reads_of(shape: Shape, reads: int, load: Any) -> tuple[Any, Any]:
    """Device functions that read a ring, whose chunks ``load`` loads: one message; several, with so
    many reads in flight at once. Each returns how many messages are complete, and the words that
    the warps have published, which it reads while the ring's words are in flight."""
    chunks, words, depth, lanes = shape.chunks, shape.words, shape.depth, shape.lanes
    together = 32 // lanes
    slot, long = shape.slot, chunks > 32
    first = (1 << lanes) - 1
    """The lanes that read the first message."""

    def keep(
        lane: Any, box: Any, position: Any, count: Any, missing: Any, most: Any, abc: Any
    ) -> Any:
        """Store the messages of one volley behind ``count`` others; returns how many are
        complete."""
        part, chunk = lane // lanes, lane & (lanes - 1)
        whole = int32(together)
        if missing != 0:
            whole = int32((ffs(missing) - 1) // lanes)
        whole = int32(min(whole, most - count))
        if part < whole and chunk < chunks:
            to = (position[0] + ((position[1] + count + part) & (depth - 1))) * words + 3 * chunk
            box.words[to], box.words[to + 1], box.words[to + 2] = abc
        return whole

    _keep = jit(device=True)(keep)

    def single(
        lane: Any,
        box: Any,
        ring: Any,
        ticket: Any,
        shift: Any,
        position: Any,
        most: Any,
        looks: Any,
    ) -> Any:
        """As a volley of one read, but poll again, up to ``looks`` times, while there is no message
        and no request of the other warps. Such a poll takes little more than the latency of the
        memory."""
        mine = ticket + lane // lanes
        place = ring + (mine & ((int64(1) << shift) - 1)) * slot
        place += wire.CHUNK * min(lane & (lanes - 1), chunks - 1)
        sequence, wanted = uint32((mine >> shift) + 1), uint32(_SIGNALS)
        while True:
            a, b, c, d = load(place)
            heard = _all_told(lane, box)
            signals = ballot_sync(ALL, heard & 1 != 0)
            missing = ballot_sync(ALL, d != sequence)
            looks = int32(looks - 1)
            if looks <= 0 or missing & first == 0 or signals & wanted != 0:
                break
            rest(0)
        return _keep(lane, box, position, int32(0), missing, most, (a, b, c)), heard

    def volley(lane: Any, box: Any, ring: Any, ticket: Any, shift: Any, position: Any, most: Any):
        """Store messages from a ticket on into the places from ``position[0]`` on,
        starting with the number ``position[1]``; return how many are complete in a row, up to
        ``most``."""
        mask = (int64(1) << shift) - 1
        part, chunk = lane // lanes, lane & (lanes - 1)
        a, b = local.array(reads, uint32), local.array(reads, uint32)
        c, there = local.array(reads, uint32), local.array(reads, int32)
        for n in range(reads):
            mine = ticket + n * together + part
            place = ring + (mine & mask) * slot + wire.CHUNK * min(chunk, chunks - 1)
            a[n], b[n], c[n], d = load(place)
            there[n] = int32(d == uint32((mine >> shift) + 1))
        heard = _all_told(lane, box)
        count = int32(0)
        for n in range(reads):
            missing = ~ballot_sync(ALL, there[n] != 0)
            if count == n * together:
                count += _keep(lane, box, position, count, missing, most, (a[n], b[n], c[n]))
                count = int32(count)
        return count, heard

    _single = jit(device=True)(single)

    def keep_rest(lane: Any, box: Any, ring: Any, ticket: Any, shift: Any, first: Any) -> Any:
        """The chunks after the first volley; the sender is writing them."""
        base = ring + (ticket & ((int64(1) << shift) - 1)) * slot
        chunk = 32 + lane
        while chunk < chunks:
            a, b, c, d = load(base + wire.CHUNK * chunk)
            if d == uint32((ticket >> shift) + 1):
                to = first * words + 3 * chunk
                box.words[to] = a
                box.words[to + 1] = b
                box.words[to + 2] = c
                chunk += 32

    _keep_rest = jit(device=True)(keep_rest)

    def one(
        lane: Any,
        box: Any,
        ring: Any,
        ticket: Any,
        shift: Any,
        position: Any,
        most: Any,
        looks: Any,
    ) -> Any:
        count, heard = _single(lane, box, ring, ticket, shift, position, most, looks)
        if long and count != 0:
            syncwarp()
            first = position[0] + (position[1] & (depth - 1))
            _keep_rest(lane, box, ring, ticket, shift, first)
        return count, heard

    return jit(device=True)(one), jit(device=True)(volley)


def receivers_of(shape: Shape) -> tuple[Any, Any]:
    """Device functions for a warp: poll the host's ring once, and those of other actors. ``last``
    is the number of messages of the previous poll, and ``free`` a lower bound of the free places.
    Each returns the number of messages, and the words that the warps have published; that of the
    other actors also returns which source is polled first next time."""
    depth, apart = shape.depth, shape.apart
    # A volley reads the chunks of a message that a warp reads at once, and no others.
    several = apart and shape.chunks <= 32
    deep_far, deep_near = several and shape.far > 1, several and shape.near > 1
    load_near, _ = accesses_of(shape.clustered)
    one, far = reads_of(shape, shape.far, load_words)
    one_near, near = reads_of(shape, shape.near, load_near)
    together = 32 // shape.lanes

    def from_host(lane: Any, place: Any, box: Any, arrived: Any, free: Any, last: Any) -> Any:
        # All words are used behind the volley: the compiler would reuse a free register for it,
        # which would make it wait for this load.
        order, version, low, high = load_words(place.orders)
        now = int64(nanoseconds())
        count = int32(0)
        if free > 0:
            position = (0, int32(arrived) & (depth - 1))
            if deep_far and last >= together and free > 1:
                count, heard = far(lane, box, place.inbox, arrived, place.shift, position, free)
            else:
                count, heard = one(lane, box, place.inbox, arrived, place.shift, position, free, 1)
        else:
            heard = _all_told(lane, box)
        syncwarp()
        if lane == 0:
            if count > 0:
                threadfence_block()
                store_volatile(box.told, ARRIVED, arrived + count)
            store_volatile(box.told, CLOCK, now)
            store_volatile(box.told, DELIVERED, int64(low) | int64(high) << 32)
            store_volatile(box.told, ORDERS, int64(order) | int64(version) << 32)
        syncwarp()
        return count, heard

    def from_actors(
        lane: Any,
        sources: Any,
        box: Any,
        came: Any,
        turn: Any,
        ring: Any,
        free: Any,
        head: Any,
        last: Any,
        looks: Any,
    ) -> Any:
        many, first, before = turn
        count, following = int32(0), int32(first)
        if many > 0 and free > 0:
            others, heard = uint32(0), int64(0)
            if many > 1:
                ready = False
                if lane < many and sources.at[lane] != 0 and head >= sources.after[lane]:
                    ticket, shift = came.next[lane], sources.shift[lane]
                    slot = sources.at[lane] + wire.INBOX_HEAD
                    slot += (ticket & ((int64(1) << shift) - 1)) * shape.slot
                    _, _, _, d = load_near(slot)
                    ready = d == uint32((ticket >> shift) + 1)
                others = ballot_sync(ALL, ready)
            if ring.slots != 0 and head >= ring.after:
                position = (depth if apart else 0, int32(before) & (depth - 1))
                if deep_near and last >= together and free > 1:
                    count, heard = near(
                        lane, box, ring.slots, ring.ticket, ring.shift, position, free
                    )
                else:
                    count, heard = one_near(
                        lane, box, ring.slots, ring.ticket, ring.shift, position, free, looks
                    )
                if lane < count:
                    came.origin[(int32(before) + lane) & (depth - 1)] = first
            else:
                heard = _all_told(lane, box)
            syncwarp()
            if lane == 0 and count > 0:
                threadfence_block()
                store_volatile(box.told, CAME, int64(before + count))
                came.next[first] = ring.ticket + count
            # Fairness: the next source that has a message is polled next.
            others &= ~(uint32(1) << first)
            if others != 0:
                behind = others & (uint32(0xFFFFFFFE) << first)
                following = int32(ffs(behind if behind != 0 else others) - 1)
                if lane == 0:
                    store_volatile(box.told, FIRST, int64(following))
            syncwarp()
        else:
            heard = _all_told(lane, box)
        return count, heard, following

    return jit(device=True)(from_host), jit(device=True)(from_actors)


def warps_of(shape: Shape) -> tuple[Any, Any]:
    """Device functions for the warps that read rings until the handler has ended: the host's, and
    those of other actors. Their copy of the published words may be one poll old."""
    from_host, from_actors = receivers_of(shape)
    depth = shape.depth

    def keep_host(lane: Any, place: Any, box: Any) -> Any:
        arrived, free, last, vain = told(box, ARRIVED), int32(depth), int32(0), int32(0)
        ended = int32(0)
        while ended == 0:
            last, heard = from_host(lane, place, box, arrived, free, last)
            arrived += last
            if last > 0:  # many may arrive: a place is free as soon as its message is handled
                heard = _all_told(lane, box)
            ended = _heard(heard, ENDED)
            free = int32(depth - (int32(arrived) - _heard(heard, HANDLED)))
            vain = _wait(int32(0) if last > 0 else vain)

    def keep_actors(lane: Any, sources: Any, box: Any, came: Any) -> Any:
        many, first, before = int32(0), int32(0), int64(0)
        free, head, last, vain = int32(depth), int64(0), int32(0), int32(0)
        heard, stands, looks = _all_told(lane, box), True, int32(1)
        ring = ring_of(sources, came, int32(0))
        while _heard(heard, ENDED) == 0:
            pause = _heard(heard, PAUSE)
            if pause & 1 != 0:
                if lane == 0:
                    store_volatile(box.told, PAUSED, int64(pause))
                last, vain, stands = int32(0), int32(0), True
                heard = _all_told(lane, box)
            else:
                if stands:
                    many, first = _heard(heard, SOURCES), _heard(heard, FIRST)
                    before, stands = shfl_sync(ALL, heard, CAME), False
                    ring = ring_of(sources, came, first)
                head = shfl_sync(ALL, heard, HANDLED)
                free = int32(depth - (int32(before) - _heard(heard, TAKEN)))
                looks = int32(_SPIN if many == 1 and vain < _IDLE else 1)
                last, heard, following = from_actors(
                    lane,
                    sources,
                    box,
                    came,
                    (many, first, before),
                    ring,
                    free,
                    head,
                    last,
                    looks,
                )
                before += last
                if last > 0:
                    heard = _all_told(lane, box)
                    ring = Ring(ring.slots, ring.ticket + last, ring.shift, ring.after)
                if following != first:
                    first = following
                    ring = ring_of(sources, came, first)
            vain = _wait(int32(0) if last > 0 else vain + looks - 1)

    return jit(device=True)(keep_host), jit(device=True)(keep_actors)


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

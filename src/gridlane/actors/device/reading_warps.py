"""The warps of a resident kernel that read rings: the host's, and those of other actors."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from gridlane.actors.device.cluster_rings import accesses_of
from gridlane.actors.device.receiving import (
    ARRIVED,
    CAME,
    CLOCK,
    DELIVERED,
    ENDED,
    FIRST,
    HANDLED,
    ORDERS,
    PAUSE,
    PAUSED,
    SOURCES,
    TAKEN,
    Shape,
    all_told,
    told,
)
from gridlane.actors.device.resident_parts import ALL
from gridlane.actors.device.ring_reads import reader_of, volley_of
from gridlane.actors.layouts import wire
from gridlane.actors.layouts.ring import place_of, sequence_of
from gridlane.cuda import (
    ballot_sync,
    ffs,
    int32,
    int64,
    jit,
    shfl_sync,
    syncwarp,
    threadfence_block,
    uint32,
)
from gridlane.frontends.python.system import load_words, nanoseconds, rest, store_volatile

_IDLE, _LONG = 1 << 12, 1 << 16
"""Empty polls after which a warp begins to sleep, and after which it sleeps longer."""
_SPIN = 32
"""Polls of the only ring of another actor before other work."""
_NAP, _LONGEST = 100, 1000
"""Nanoseconds of these sleeps."""

Ring: Any = namedtuple("Ring", "slots ticket shift after")  # pyright: ignore[reportUntypedNamedTuple]
"""The ring of another actor that is polled next, in registers: the address of its slots, or 0; its
next ticket; log2 of its capacity; the number of the host's messages that precede its own."""


@jit(device=True)
def ring_of(block: Any, number: Any) -> Any:
    """The ring of a source."""
    sources = block.sources
    address = sources.at[number]
    slots = address + wire.INBOX_HEAD if address != 0 else address
    return Ring(slots, block.came.next[number], int32(sources.shift[number]), sources.after[number])


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


def host_receiver_of(shape: Shape) -> Any:
    """A device function for a warp that polls the host's ring once. ``last`` is the number of
    messages of the previous poll, and ``free`` a lower bound of the free places. It returns the
    number of messages, and the words that the warps have published."""
    depth, together, deep = shape.depth, shape.together, shape.has_volleys and shape.far > 1
    one, far = reader_of(shape, load_words), volley_of(shape, shape.far, load_words)

    def from_host(block: Any, arrived: Any, free: Any, last: Any) -> Any:
        lane, place, box = block.lane, block.place, block.box
        ring = Ring(place.inbox, arrived, place.shift, int64(0))
        # All words are used behind the volley: the compiler would reuse a free register for it,
        # which would make it wait for this load.
        order, version, low, high = load_words(place.orders)
        now = int64(nanoseconds())
        count = int32(0)
        if free > 0:
            position = (0, int32(arrived) & (depth - 1))
            if deep and last >= together and free > 1:
                count, heard = far(lane, box, ring, position, free)
            else:
                count, heard = one(lane, box, ring, position, free, 1)
        else:
            heard = all_told(lane, box)
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

    return jit(device=True)(from_host)


def _others_of(shape: Shape) -> Any:
    """A device function: the sources that have a message now, as bits."""
    load, _ = accesses_of(shape.clustered)

    def others(block: Any, many: Any, head: Any) -> Any:
        lane, sources, ready = block.lane, block.sources, False
        if lane < many and sources.at[lane] != 0 and head >= sources.after[lane]:
            ticket, shift = block.came.next[lane], sources.shift[lane]
            slots = sources.at[lane] + wire.INBOX_HEAD
            _, _, _, d = load(place_of(slots, ticket, shift, shape.slot))
            ready = d == sequence_of(ticket, shift)
        return ballot_sync(ALL, ready)

    return jit(device=True)(others)


def _source_reader_of(shape: Shape) -> Any:
    """A device function that reads the ring of a source, as ``host_receiver_of``."""
    depth, behind = shape.depth, shape.depth if shape.apart else 0
    together, deep = shape.together, shape.has_volleys and shape.near > 1
    load, _ = accesses_of(shape.clustered)
    one, near = reader_of(shape, load), volley_of(shape, shape.near, load)

    def read(block: Any, turn: Any, ring: Any, free: Any, last: Any, looks: Any) -> Any:
        lane, box, (_, first, before) = block.lane, block.box, turn
        position = (behind, int32(before) & (depth - 1))
        if deep and last >= together and free > 1:
            count, heard = near(lane, box, ring, position, free)
        else:
            count, heard = one(lane, box, ring, position, free, looks)
        if lane < count:
            block.came.origin[(int32(before) + lane) & (depth - 1)] = first
        return count, heard

    return jit(device=True)(read)


@jit(device=True)
def _following_of(lane: Any, box: Any, first: Any, others: Any) -> Any:
    """The source that is polled next. Fairness: it is the next one that has a message."""
    following = int32(first)
    others &= ~(uint32(1) << first)
    if others != 0:
        behind = others & (uint32(0xFFFFFFFE) << first)
        following = int32(ffs(behind if behind != 0 else others) - 1)
        if lane == 0:
            store_volatile(box.told, FIRST, int64(following))
    return following


def actors_receiver_of(shape: Shape) -> Any:
    """A device function for a warp that polls the rings of other actors once: as
    ``host_receiver_of``, and the source that is polled first next time. ``turn`` has the number of
    sources, the one that is polled first, and the number of messages so far."""
    ready, read = _others_of(shape), _source_reader_of(shape)

    def from_actors(
        block: Any, turn: Any, ring: Any, free: Any, head: Any, last: Any, looks: Any
    ) -> Any:
        lane, box, (many, first, before) = block.lane, block.box, turn
        count, following = int32(0), int32(first)
        if many > 0 and free > 0:
            others, heard = uint32(0), int64(0)
            if many > 1:
                others = ready(block, many, head)
            if ring.slots != 0 and head >= ring.after:
                count, heard = read(block, turn, ring, free, last, looks)
            else:
                heard = all_told(lane, box)
            syncwarp()
            if lane == 0 and count > 0:
                threadfence_block()
                store_volatile(box.told, CAME, int64(before + count))
                block.came.next[first] = ring.ticket + count
            following = _following_of(lane, box, first, others)
            syncwarp()
        else:
            heard = all_told(lane, box)
        return count, heard, following

    return jit(device=True)(from_actors)


def host_warp_of(shape: Shape) -> Any:
    """A device function for the warp that reads the host's ring until the handler has ended. Its
    copy of the published words may be one poll old."""
    depth, from_host = shape.depth, host_receiver_of(shape)

    def keep_host(block: Any) -> None:
        lane, box = block.lane, block.box
        arrived, free, last, vain = told(box, ARRIVED), int32(depth), int32(0), int32(0)
        ended = int32(0)
        while ended == 0:
            last, heard = from_host(block, arrived, free, last)
            arrived += last
            if last > 0:  # many may arrive: a place is free as soon as its message is handled
                heard = all_told(lane, box)
            ended = _heard(heard, ENDED)
            free = int32(depth - (int32(arrived) - _heard(heard, HANDLED)))
            vain = _wait(int32(0) if last > 0 else vain)

    return jit(device=True)(keep_host)


def actors_warp_of(shape: Shape) -> Any:
    """A device function for the warp that reads those of other actors; as ``host_warp_of``."""
    depth, from_actors = shape.depth, actors_receiver_of(shape)

    def keep_actors(block: Any) -> None:
        lane, box = block.lane, block.box
        many, first, before = int32(0), int32(0), int64(0)
        free, head, last, vain = int32(depth), int64(0), int32(0), int32(0)
        heard, stands, looks = all_told(lane, box), True, int32(1)
        ring = ring_of(block, int32(0))
        while _heard(heard, ENDED) == 0:
            pause = _heard(heard, PAUSE)
            if pause & 1 != 0:
                if lane == 0:
                    store_volatile(box.told, PAUSED, int64(pause))
                last, vain, stands = int32(0), int32(0), True
                heard = all_told(lane, box)
            else:
                if stands:
                    many, first = _heard(heard, SOURCES), _heard(heard, FIRST)
                    before, stands = shfl_sync(ALL, heard, CAME), False
                    ring = ring_of(block, first)
                head = shfl_sync(ALL, heard, HANDLED)
                free = int32(depth - (int32(before) - _heard(heard, TAKEN)))
                looks = int32(_SPIN if many == 1 and vain < _IDLE else 1)
                turn = (many, first, before)
                last, heard, following = from_actors(block, turn, ring, free, head, last, looks)
                before += last
                if last > 0:
                    heard = all_told(lane, box)
                    ring = ring._replace(ticket=ring.ticket + last)
                if following != first:
                    first = following
                    ring = ring_of(block, first)
            vain = _wait(int32(0) if last > 0 else vain + looks - 1)

    return jit(device=True)(keep_actors)

"""Parts of the resident kernel, which a warp runs together; see ``resident``.

Convergence: a warp's lanes may load a word one after the other, while the host or another kernel
changes it. What they branch on is therefore the first lane's value, which ``shfl_sync`` broadcasts.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from gridlane.actors.device.cluster_rings import accesses_of, nearest_of
from gridlane.actors.layouts import wire
from gridlane.actors.layouts.blocks import ROUTES
from gridlane.actors.layouts.ring import free_of, place_of, sequence_of
from gridlane.cuda import ballot_sync, clz, ffs, int32, int64, jit, shfl_sync, syncwarp, uint32
from gridlane.frontends.python.system import load_words, store_words

# The types of their fields are those of a kernel's variables.
Place: Any = namedtuple(  # pyright: ignore[reportUntypedNamedTuple]
    "Place",
    "inbox orders status control answers out routes sources latencies number drift shift out_shift "
    "rings region",
)
"""The fields of its row that an actor needs while it runs. A kernel would read the row each time
from the host's memory."""

Routes: Any = namedtuple(  # pyright: ignore[reportUntypedNamedTuple]
    "Routes", "key number kind at shift slot tail seen"
)
"""The inboxes of other actors: arrays in shared memory, with an entry for each route. The key of
its name and its number both find an actor, which accepts messages of one kind. ``tail`` is the
number of messages so far, ``seen`` the number of taken ones, as last seen."""

Sources: Any = namedtuple(  # pyright: ignore[reportUntypedNamedTuple]
    "Sources", "at shift head after"
)
"""The actor's own inboxes on the device, in the same form; 0 is no address. Their messages follow
so many of the host's."""

Way: Any = namedtuple(  # pyright: ignore[reportUntypedNamedTuple]
    "Way", "key kind number at slot shift tail free to lap"
)
"""The route that was found last, or -1, and its key: the address of its slots, their size, log2 of
their number, the messages so far, and the known free slots. The lane's chunk of the next message
goes to ``to``, with the sequence word ``lap``."""

ALL = 0xFFFFFFFF


@jit(device=True)
def put_chunk(to: Any, body: Any, index: Any, sequence: Any) -> Any:
    """Store a chunk with the words of a message from an index on."""
    # An unsigned index does not count from the end.
    a, b, c = body[uint32(index)], body[uint32(index + 1)], body[uint32(index + 2)]
    store_words(to, a, b, c, sequence)


def putter_of(most: int) -> Any:
    """A device function that writes a message, header and payload, of ``most`` words at most to an
    address: (target, lane, sequence, body, start, words)."""
    long = most > 3 * 32

    def put(target: Any, lane: Any, sequence: Any, body: Any, start: Any, words: Any) -> Any:
        chunk = uint32(lane)
        if long:
            while 3 * chunk < words:
                put_chunk(target + wire.CHUNK * chunk, body, start + 3 * chunk, sequence)
                chunk = uint32(chunk + 32)
        elif 3 * chunk < words:
            put_chunk(target + wire.CHUNK * chunk, body, start + 3 * chunk, sequence)

    return jit(device=True)(put)


@jit(device=True)
def order_of(place: Any) -> Any:
    """The host's present order."""
    order, _, _, _ = load_words(place.orders)
    return shfl_sync(ALL, order, 0)


@jit(device=True)
def room(place: Any, out_tail: Any, out_head: Any) -> Any:
    """Wait until the host has taken enough of the kernel's messages; returns how many it has
    taken."""
    while out_tail - out_head >= int64(1) << place.out_shift:
        _, _, low, high = load_words(place.orders)
        out_head = shfl_sync(ALL, int64(low) | int64(high) << 32, 0)
    return out_head


def poster_of(put: Any) -> Any:
    """A device function that puts a message into the ring to the host."""

    def post(
        place: Any, lane: Any, out_slot: Any, out_tail: Any, body: Any, start: Any, words: Any
    ) -> Any:
        target = place_of(place.out, out_tail, place.out_shift, out_slot)
        put(target, lane, sequence_of(out_tail, place.out_shift), body, start, words)

    return jit(device=True)(post)


# ---- the tables of routes


@jit(device=True)
def _version(table: Any) -> Any:
    low, high, _, _ = load_words(table)
    return int64(low) | int64(high) << 32


def learner_of(clustered: bool) -> Any:
    """A device function that reads the complete tables, and the positions of the inboxes; it
    returns the number of sources."""
    load, _ = accesses_of(clustered)
    nearest = nearest_of(clustered)

    def learn(place: Any, lane: Any, routes: Any, sources: Any) -> Any:
        while True:
            before, beside = _version(place.routes), _version(place.sources)
            if lane < ROUTES:
                entry = place.routes + wire.TABLE_HEAD + wire.TABLE_ENTRY * lane
                a, b, c, d = load_words(entry)
                _, slot, _, flags = load_words(entry + wire.ENTRY_END)
                routes.key[lane] = int64(a) | int64(b) << 32 if flags & wire.IN_USE else int64(0)
                routes.at[lane] = nearest(place, int64(c) | int64(d) << 32)
                routes.shift[lane] = flags >> wire.SHIFT
                routes.slot[lane] = slot
                entry = place.sources + wire.TABLE_HEAD + wire.TABLE_ENTRY * lane
                a, b, c, d = load_words(entry)
                sources.after[lane] = int64(a) | int64(b) << 32
                _, _, _, flags = load_words(entry + wire.ENTRY_END)
                sources.at[lane] = int64(0)
                if flags & wire.IN_USE:
                    sources.at[lane] = nearest(place, int64(c) | int64(d) << 32)
                sources.shift[lane] = flags >> wire.SHIFT
            syncwarp()
            same = before == _version(place.routes) and beside == _version(place.sources)
            if same and before & 1 == 0 and beside & 1 == 0:
                break
        there = 0
        if lane < ROUTES:
            if routes.key[lane] != 0:
                _, _, c, d = load(routes.at[lane])
                routes.tail[lane] = int64(c) | int64(d) << 32
                a, b, _, _ = load(routes.at[lane] + wire.HEAD_AT)
                routes.seen[lane] = int64(a) | int64(b) << 32
                _, _, c, d = load(routes.at[lane] + wire.TOKEN_AT)
                routes.number[lane] = int64(c) | int64(d) << 32
                a, b, _, _ = load_words(place.routes + wire.TABLE_KINDS + wire.CHUNK * lane)
                routes.kind[lane] = int64(a) | int64(b) << 32
            if sources.at[lane] != 0:
                a, b, _, _ = load(sources.at[lane] + wire.HEAD_AT)
                sources.head[lane] = int64(a) | int64(b) << 32
                there = 1
        present = ballot_sync(ALL, there != 0)
        syncwarp()
        return 32 - int32(clz(present))

    return jit(device=True)(learn)


@jit(device=True)
def route_of(lane: Any, routes: Any, key: Any, kind: Any) -> Any:
    """The entry of a key or number that accepts messages of a kind, or -1."""
    same = False
    if lane < ROUTES:
        used = routes.key[lane] != 0 and routes.kind[lane] == kind
        same = used and (routes.key[lane] == key or routes.number[lane] == key)
    return int32(ffs(ballot_sync(ALL, same))) - 1


@jit(device=True)
def no_way() -> Any:
    """No route is known."""
    zero = int64(0)
    return Way(zero, zero, int32(-1), zero, int32(0), int32(0), zero, int32(0), zero, uint32(0))


@jit(device=True)
def _next_of(lane: Any, address: Any, slot: Any, shift: Any, tail: Any) -> Any:
    """The address of the lane's chunk of a message, and its sequence word."""
    to = place_of(address + wire.CHUNK * lane, tail, shift, slot)
    return to, sequence_of(tail, shift)


@jit(device=True)
def way_to(lane: Any, routes: Any, key: Any, kind: Any) -> Any:
    """The route to the actor of a key or number for messages of a kind, if there is one."""
    number = route_of(lane, routes, key, kind)
    some = max(number, 0)
    shift, tail = int32(routes.shift[some]), routes.tail[some]
    free = int32(free_of(routes.seen[some], tail, shift))
    free = free if number >= 0 else int32(0)
    address, slot = routes.at[some] + wire.INBOX_HEAD, int32(routes.slot[some])
    to, lap = _next_of(lane, address, slot, shift, tail)
    return Way(key, kind, number, address, slot, shift, tail, free, to, lap)


def room_seer_of(clustered: bool) -> Any:
    """A device function: the number of free slots of the inbox at the end of a way."""
    load, _ = accesses_of(clustered)

    def look_for_room(way: Any) -> Any:
        a, b, _, _ = load(way.at - wire.INBOX_HEAD + wire.HEAD_AT)
        seen = shfl_sync(ALL, int64(a) | int64(b) << 32, 0)
        return int32(free_of(seen, way.tail, way.shift))

    return jit(device=True)(look_for_room)


@jit(device=True)
def way_on(lane: Any, way: Any, count: Any) -> Any:
    """The way after so many further messages."""
    tail = way.tail + count
    to, lap = _next_of(lane, way.at, way.slot, way.shift, tail)
    return way._replace(tail=tail, free=int32(way.free - count), to=to, lap=lap)


@jit(device=True)
def is_open(place: Any, number: Any) -> Any:
    """Whether a route is still in the table."""
    entry = place.routes + wire.TABLE_HEAD + wire.TABLE_ENTRY * number
    _, _, _, flags = load_words(entry + wire.ENTRY_END)
    return shfl_sync(ALL, flags, 0) & wire.IN_USE != 0

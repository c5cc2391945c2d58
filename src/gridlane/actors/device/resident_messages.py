"""How a resident kernel sends its handler's messages; a warp runs these parts together."""

from __future__ import annotations

from typing import Any

from gridlane.actors.device import wire
from gridlane.actors.device.cluster_rings import accesses_of
from gridlane.actors.device.layout import OUTPUT_BYTES, PUBLISH, REPLY
from gridlane.actors.device.resident_parts import (
    ALL,
    answerer_of,
    is_open,
    order_of,
    poster_of,
    putter_of,
    room,
    room_seer_of,
    way_on,
    way_to,
    way_with,
)
from gridlane.cuda import ballot_sync, ffs, int32, int64, jit, syncwarp, uint32
from gridlane.frontends.python.stubs import nanoseconds, store_words

_NUMBERS, _GENERATIONS = (1 << wire.NUMBER_BITS) - 1, (1 << wire.GENERATION_BITS) - 1


def refuser_of(message_words: int, out_slot: int) -> Any:
    """A device function that sends an unhandled message to the host."""
    words = wire.HEADER_WORDS + message_words
    post = poster_of(putter_of(words))

    def refuse(place: Any, lane: Any, out_tail: Any, header: Any, reason: Any) -> Any:
        if lane == 0:
            flags = wire.DEAD << wire.KIND_SHIFT | reason << wire.REASON_SHIFT
            header[wire.SIZES] |= uint32(flags << 16)
        syncwarp()
        post(place, lane, out_slot, out_tail, header, 0, words)
        syncwarp()

    return jit(device=True)(refuse)


@jit(device=True)
def _letter_word(
    place: Any, lane: Any, position: Any, header: Any, kind: Any, key: Any, one: Any
) -> Any:
    """A word of the header of an emitted message for the host, without the event; each lane has
    one. The call's number and the trace are those of the handled message."""
    asked = header[uint32(min(lane, wire.HEADER_WORDS - 1))]
    field = lane >> 1
    whole, mine = one.type, field == wire.TYPE
    if field == wire.SOURCE:
        whole, mine = key, True
    if field == wire.REPLY_TO:
        whole, mine = int64(0), True
        if one.kind != REPLY:
            whole = int64(place.number)
        elif kind == REPLY:
            mine = False
    if field == wire.PHYSICAL:
        whole, mine = position.physical, True
    if field == wire.NODE or field == wire.SPAN:
        whole, mine = int64(place.number), True
    if field == wire.DEADLINE or field == wire.TOPIC:
        whole, mine = int64(0), True
    word = uint32(whole >> 32) if lane & 1 != 0 else uint32(whole)
    if lane == wire.SIZES:
        flags = kind << wire.KIND_SHIFT
        if one.kind == REPLY:
            flags |= wire.IS_REPLY
        word, mine = uint32(int32(one.payload_bytes) | flags << 16), True
    if lane == wire.COUNTS:
        word, mine = (asked & 0xFFFF) + 1, True
    return word if mine else asked


@jit(device=True)
def _asked(lane: Any, header: Any) -> Any:
    """The fields that ``_letter_chunk`` copies from the handled message."""
    pair = wire.CORRELATION if lane == 1 else wire.TRACE if lane == 6 else wire.SIZES >> 1
    return header.view(int64)[uint32(pair)]


@jit(device=True)
def _letter_chunk(
    lane: Any,
    number: Any,
    span: Any,
    position: Any,
    asked: Any,
    is_reply: Any,
    kind: Any,
    size: Any,
) -> Any:
    """A chunk of the header of an emitted message for another actor; each of eight lanes has one.
    The words with the event, in the fourth, are added later."""
    x, y = uint32(asked), uint32(asked >> 32)
    low, high = uint32(number), uint32(number >> 32)
    sizes = uint32(size) | uint32(wire.IS_REPLY << 16 if is_reply else 0)
    a, b, c = uint32(0), uint32(0), uint32(0)
    if lane == 0:
        a, b, c = uint32(kind), uint32(kind >> 32), low
    if lane == 1:
        a, b, c = high, x, y
    if lane == 2:
        a, b, c = (
            uint32(0 if is_reply else low),
            uint32(0 if is_reply else high),
            uint32(position.physical),
        )
    if lane == 3:
        a = uint32(position.physical >> 32)
    if lane == 4:
        a, b = low, high
    if lane == 6:
        a, b, c = x, y, uint32(span)
    if lane == 7:
        a, b, c = uint32(span >> 32), sizes, (y & 0xFFFF) + 1
    return a, b, c


def _waiter_of(clustered: bool) -> Any:
    """A device function that waits until an inbox has room. It returns the way, with the number -1
    where the host must deliver, and the number of heartbeats. Orders may arrive meanwhile, and the
    route may end."""
    look_for_room = room_seer_of(clustered)

    def wait_for_room(place: Any, position: Any, way: Any, beats: Any) -> Any:
        number, free = way.number, look_for_room(way)
        while free <= 0 and number >= 0:
            beats += 1
            low, high = uint32(position.head), uint32(position.head >> 32)
            store_words(place.status, position.order, beats, low, high)
            if order_of(place) & 3 == wire.STOP or not is_open(place, number):
                number = -1
            else:
                free = look_for_room(way)
        return way_with(way, number, free), beats

    return jit(device=True)(wait_for_room)


def _sender_of(payload_at: int, tier: int, out_words: int, timed: bool, clustered: bool) -> Any:
    """A device function that stores messages of one type and size, a run of the outputs, into the
    inbox of another actor, which has room; it returns the way after that. ``timed``: whether they
    carry their time of sending, by the device's clock."""
    _, store = accesses_of(clustered)
    chunks, last = wire.HEADER_CHUNKS, max((tier // 4 - 1) // 3, 0)
    long = chunks + last >= 32

    def put(lane: Any, to: Any, lap: Any, size: Any, emitted: Any, start: Any, abc: Any) -> Any:
        """One message, whose payload begins at a word: each of eight lanes has a chunk of its
        header, the others send one of the payload."""
        word = uint32(start + 3 * min(max(lane - chunks, 0), last))
        d, e, f = emitted[word], emitted[uint32(word + 1)], emitted[uint32(word + 2)]
        a, b, c = abc
        a, b, c = a if lane < chunks else d, b if lane < chunks else e, c if lane < chunks else f
        if 12 * (lane - chunks) < size:
            store(to, a, b, c, lap)
        if long:
            chunk = lane + 32 - chunks
            while 12 * chunk < size:
                word = uint32(start + 3 * chunk)
                d, e, f = emitted[word], emitted[uint32(word + 1)], emitted[uint32(word + 2)]
                store(to + wire.CHUNK * (chunk + chunks - lane), d, e, f, lap)
                chunk += 32

    _put = jit(device=True)(put)

    def send(
        place: Any,
        lane: Any,
        routes: Any,
        position: Any,
        asked: Any,
        one: Any,
        emitted: Any,
        first: Any,
        run: Any,
        way: Any,
    ) -> Any:
        is_reply, kind, size = one
        number = int64(place.number)
        span = int64(nanoseconds()) if timed else number
        a, b, c = _letter_chunk(lane, number, span, position, asked, is_reply, kind, size)
        event, start = position.logical + 1 + int64(first), uint32(first * out_words + payload_at)
        b = uint32(event) if lane == 3 else b
        c = uint32(event >> 32) if lane == 3 else c
        _put(lane, way.to, way.lap, size, emitted, start, (a, b, c))
        # The first message is peeled: the compiler would unroll a loop of one iteration, at a
        # higher cost.
        n, lap, base = int32(1), way.lap, way.at + wire.CHUNK * lane
        mask = uint32((uint32(1) << uint32(way.shift)) - 1)
        at_slot = uint32(uint32(way.tail) & mask)
        while n < run:
            event += 1
            start = uint32(start + out_words)
            at_slot = uint32((at_slot + 1) & mask)
            lap = uint32(lap + 1 if at_slot == 0 else lap)
            b = uint32(event) if lane == 3 else b
            c = uint32(event >> 32) if lane == 3 else c
            to = base + int64(at_slot) * int64(uint32(way.slot))
            _put(lane, to, lap, size, emitted, start, (a, b, c))
            n = int32(n + 1)
        way = way_on(lane, way, int32(run))
        if lane == 0:
            routes.tail[way.number] = way.tail
            low, high = uint32(way.tail), uint32(way.tail >> 32)
            slots = uint32(1) << uint32(way.shift)
            store(way.at - wire.INBOX_HEAD, slots, uint32(way.slot), low, high)
        return way

    return jit(device=True)(send)


def deliverer_of(tier: int, out_slot: int, answer_slot: int, timed: bool, clustered: bool) -> Any:
    """A device function that sends what a handler has emitted.

    Args:
        tier: bytes of the largest message.
        out_slot, answer_slot: bytes of a slot of the ring to the host, and of an answer's place.
        timed: as of ``_sender_of``.
        clustered: whether other actors' inboxes may be in the cluster's shared memory.
    """
    letter_at, payload_at = OUTPUT_BYTES // 4, OUTPUT_BYTES // 4 + wire.HEADER_WORDS
    out_words = payload_at + tier // 4
    put, put_answer = putter_of(wire.HEADER_WORDS + tier // 4), answerer_of(tier // 4)
    sends = payload_at, tier, out_words, timed, clustered
    post, send, wait_for_room = poster_of(put), _sender_of(*sends), _waiter_of(clustered)

    def run_of(lane: Any, outputs: Any, n: Any, sent: Any, most: Any) -> Any:
        """The number of outputs from one on that have the same receiver, type and size."""
        one, other = outputs[uint32(n)], outputs[uint32(min(n + lane, sent - 1))]
        same = n + lane < sent and lane < most and other.kind == one.kind and other.key == one.key
        same = same and other.type == one.type and other.payload_bytes == one.payload_bytes
        differs = ~ballot_sync(ALL, same)
        return ffs(differs) - 1 if differs != 0 else 32

    _run_of = jit(device=True)(run_of)

    def to_host(
        place: Any,
        lane: Any,
        position: Any,
        header: Any,
        one: Any,
        emitted: Any,
        n: Any,
        out_tail: Any,
    ) -> Any:
        """Send an output to the host, which has room."""
        kind, start = int32(one.kind), n * out_words + letter_at
        name = header.view(int64)[wire.SOURCE] if kind == REPLY else one.key
        word = _letter_word(place, lane, position, header, kind, name, one)
        if lane >> 1 == wire.LOGICAL:
            event = position.logical + 1 + n
            word = uint32(event >> 32) if lane & 1 != 0 else uint32(event)
        if lane < wire.HEADER_WORDS:
            emitted[uint32(start + lane)] = word
        syncwarp()
        words = wire.HEADER_WORDS + (int32(one.payload_bytes) + 3) // 4
        post(place, lane, out_slot, out_tail, emitted, start, words)

    _to_host = jit(device=True)(to_host)

    def deliver(
        place: Any,
        lane: Any,
        routes: Any,
        position: Any,
        header: Any,
        outputs: Any,
        emitted: Any,
        sent: Any,
        way: Any,
    ) -> Any:
        """Send what the handler has emitted, with events after the clock of ``position``.
        Returns heartbeats, messages to the host, how many of them it took, and the last route."""
        beats, out_tail, out_head = position.beats, position.out_tail, position.out_head
        asked, reply_to = _asked(lane, header), header.view(int64)[wire.REPLY_TO]
        n, has_place = int32(0), True
        while n < sent:
            one = outputs[uint32(n)]
            kind, run, size = int32(one.kind), int32(1), int32(one.payload_bytes)
            key, numbered, is_done = one.key, one.type, False
            if kind == REPLY:
                key, is_done = reply_to, reply_to == 0
                if has_place and reply_to < 0 and reply_to & wire.DIRECT != 0:
                    # The caller may be reading: later replies go by the host.
                    has_place, is_done = False, True
                    put_answer(
                        place.answers + (reply_to & _NUMBERS) * answer_slot,
                        lane,
                        uint32(((reply_to >> wire.NUMBER_BITS) & _GENERATIONS) + 1),
                        numbered,
                        position.physical,
                        position.logical + 1 + n,
                        place.number,
                        size,
                        emitted,
                        int32(n * out_words + payload_at),
                        int32(size + 3) >> 2,
                    )
            if not is_done:
                number = way.number
                if way.key != key or way.kind != numbered or way.free <= 0 or kind == PUBLISH:
                    number = int32(-1)
                    if kind != PUBLISH:
                        if way.key != key or way.kind != numbered:
                            way = way_to(lane, routes, key, numbered)
                        if way.number >= 0 and way.free <= 0:
                            way, beats = wait_for_room(place, position, way, beats)
                        number = way.number
                if number >= 0:
                    if n + 1 < sent:
                        run = int32(_run_of(lane, outputs, n, sent, way.free))
                    letter = (kind == REPLY, numbered, size)
                    way = send(place, lane, routes, position, asked, letter, emitted, n, run, way)
                else:
                    out_head = room(place, out_tail, out_head)
                    _to_host(place, lane, position, header, one, emitted, n, out_tail)
                    out_tail += 1
            n = int32(n + run)
        syncwarp()
        return beats, out_tail, out_head, way

    return jit(device=True)(deliver)

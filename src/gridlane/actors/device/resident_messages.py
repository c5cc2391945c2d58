"""How a resident kernel sends its handler's messages; a warp runs these parts together."""

from __future__ import annotations

from typing import Any, NamedTuple

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
)
from gridlane.cuda import ballot_sync, ffs, int32, int64, jit, syncwarp, uint32
from gridlane.frontends.python.stubs import nanoseconds, store_words

_NUMBERS, _GENERATIONS = (1 << wire.NUMBER_BITS) - 1, (1 << wire.GENERATION_BITS) - 1


class Outputs(NamedTuple):
    """The form of what a handler emits.

    Attributes:
        tier: bytes of the largest message.
        timed: whether messages to actors carry their time of sending, by the device's clock.
        clustered: whether other actors' inboxes may be in the cluster's shared memory.
    """

    tier: int
    timed: bool
    clustered: bool

    letter_at = OUTPUT_BYTES // 4
    """The word of an output at which the message's header begins."""
    payload_at = letter_at + wire.HEADER_WORDS

    @property
    def words(self) -> int:
        """Words of an output."""
        return self.payload_at + self.tier // 4


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
        return way._replace(number=number, free=free), beats

    return jit(device=True)(wait_for_room)


def _putter_of(tier: int, clustered: bool) -> Any:
    """A device function that stores one message into a slot, whose payload begins at a word: each
    of eight lanes has a chunk of its header, the others send one of the payload."""
    _, store = accesses_of(clustered)
    chunks, last = wire.HEADER_CHUNKS, max((tier // 4 - 1) // 3, 0)
    long = chunks + last >= 32

    def put(lane: Any, to: Any, lap: Any, size: Any, emitted: Any, start: Any, abc: Any) -> Any:
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

    return jit(device=True)(put)


@jit(device=True)
def _with_event(lane: Any, event: Any, abc: Any) -> Any:
    """A chunk of a header with the event of its message, which the fourth lane has."""
    a, b, c = abc
    return a, uint32(event) if lane == 3 else b, uint32(event >> 32) if lane == 3 else c


def _sender_of(form: Outputs) -> Any:
    """A device function that stores messages of one type and size, a run of the outputs, into the
    inbox of another actor, which has room; it returns the way after that."""
    _, store = accesses_of(form.clustered)
    put, timed = _putter_of(form.tier, form.clustered), form.timed
    out_words, payload_at = form.words, form.payload_at

    def send(block: Any, position: Any, asked: Any, one: Any, first: Any, run: Any, way: Any):
        lane, emitted, number = block.lane, block.emitted, int64(block.place.number)
        is_reply, kind, size = one
        span = int64(nanoseconds()) if timed else number
        abc = _letter_chunk(lane, number, span, position, asked, is_reply, kind, size)
        event, start = position.logical + 1 + int64(first), uint32(first * out_words + payload_at)
        abc = _with_event(lane, event, abc)
        put(lane, way.to, way.lap, size, emitted, start, abc)
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
            abc = _with_event(lane, event, abc)
            to = base + int64(at_slot) * int64(uint32(way.slot))
            put(lane, to, lap, size, emitted, start, abc)
            n = int32(n + 1)
        way = way_on(lane, way, int32(run))
        if lane == 0:
            block.routes.tail[way.number] = way.tail
            low, high = uint32(way.tail), uint32(way.tail >> 32)
            slots = uint32(1) << uint32(way.shift)
            store(way.at - wire.INBOX_HEAD, slots, uint32(way.slot), low, high)
        return way

    return jit(device=True)(send)


@jit(device=True)
def _run_of(lane: Any, outputs: Any, n: Any, sent: Any, most: Any) -> Any:
    """The number of outputs from one on that have the same receiver, type and size."""
    one, other = outputs[uint32(n)], outputs[uint32(min(n + lane, sent - 1))]
    same = n + lane < sent and lane < most and other.kind == one.kind and other.key == one.key
    same = same and other.type == one.type and other.payload_bytes == one.payload_bytes
    differs = ~ballot_sync(ALL, same)
    return ffs(differs) - 1 if differs != 0 else 32


def _host_sender_of(form: Outputs, out_slot: int) -> Any:
    """A device function that sends an output to the host, which has room."""
    post = poster_of(putter_of(wire.HEADER_WORDS + form.tier // 4))
    out_words, letter_at = form.words, form.letter_at

    def to_host(block: Any, position: Any, header: Any, one: Any, n: Any, out_tail: Any) -> None:
        place, lane, emitted = block.place, block.lane, block.emitted
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

    return jit(device=True)(to_host)


def _replier_of(form: Outputs, answer_slot: int) -> Any:
    """A device function that writes a reply to the place of a caller who waits."""
    put_answer, out_words, payload_at = answerer_of(form.tier // 4), form.words, form.payload_at

    def reply(block: Any, position: Any, one: Any, n: Any, reply_to: Any) -> None:
        place, size = block.place, int32(one.payload_bytes)
        put_answer(
            place.answers + (reply_to & _NUMBERS) * answer_slot,
            block.lane,
            uint32(((reply_to >> wire.NUMBER_BITS) & _GENERATIONS) + 1),
            one.type,
            position.physical,
            position.logical + 1 + n,
            place.number,
            size,
            block.emitted,
            int32(n * out_words + payload_at),
            int32(size + 3) >> 2,
        )

    return jit(device=True)(reply)


def _finder_of(clustered: bool) -> Any:
    """A device function: the way to the receiver of messages of a type, with room for one. Returns
    the number of the route, -1 where the host must deliver; the way; and the heartbeats."""
    wait_for_room = _waiter_of(clustered)

    def find(block: Any, position: Any, one: Any, key: Any, way: Any, beats: Any) -> Any:
        kind, number = one.type, way.number
        published = int32(one.kind) == PUBLISH
        if way.key != key or way.kind != kind or way.free <= 0 or published:
            number = int32(-1)
            if not published:
                if way.key != key or way.kind != kind:
                    way = way_to(block.lane, block.routes, key, kind)
                if way.number >= 0 and way.free <= 0:
                    way, beats = wait_for_room(block.place, position, way, beats)
                number = way.number
        return number, way, beats

    return jit(device=True)(find)


def deliverer_of(tier: int, out_slot: int, answer_slot: int, timed: bool, clustered: bool) -> Any:
    """A device function that sends what a handler has emitted, with events after the clock of a
    position. It returns heartbeats, messages to the host, how many of them it took, and the last
    route.

    Args:
        out_slot, answer_slot: bytes of a slot of the ring to the host, and of an answer's place.
        tier, timed, clustered: as of ``Outputs``.
    """
    form = Outputs(tier, timed, clustered)
    to_host, reply = _host_sender_of(form, out_slot), _replier_of(form, answer_slot)
    send, find = _sender_of(form), _finder_of(clustered)

    def deliver(block: Any, position: Any, header: Any, sent: Any, way: Any) -> Any:
        place, lane, outputs = block.place, block.lane, block.outputs
        beats, out_tail, out_head = position.beats, position.out_tail, position.out_head
        asked, reply_to = _asked(lane, header), header.view(int64)[wire.REPLY_TO]
        n, has_place = int32(0), True
        while n < sent:
            one = outputs[uint32(n)]
            kind, run, key, is_done = int32(one.kind), int32(1), one.key, False
            if kind == REPLY:
                key, is_done = reply_to, reply_to == 0
                if has_place and reply_to < 0 and reply_to & wire.DIRECT != 0:
                    # The caller may be reading: later replies go by the host.
                    has_place, is_done = False, True
                    reply(block, position, one, n, reply_to)
            if not is_done:
                number, way, beats = find(block, position, one, key, way, beats)
                if number >= 0:
                    if n + 1 < sent:
                        run = int32(_run_of(lane, outputs, n, sent, way.free))
                    letter = (kind == REPLY, one.type, int32(one.payload_bytes))
                    way = send(block, position, asked, letter, n, run, way)
                else:
                    out_head = room(place, out_tail, out_head)
                    to_host(block, position, header, one, n, out_tail)
                    out_tail += 1
            n = int32(n + run)
        syncwarp()
        return beats, out_tail, out_head, way

    return jit(device=True)(deliver)

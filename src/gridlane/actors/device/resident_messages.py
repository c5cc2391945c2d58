"""How a resident kernel sends its handler's messages; a warp runs these parts together."""

from __future__ import annotations

from typing import Any

from gridlane.actors.device.cluster_rings import accesses_of
from gridlane.actors.device.layout import OUTPUT_BYTES
from gridlane.actors.device.resident_form import Form
from gridlane.actors.device.resident_parts import (
    ALL,
    is_open,
    order_of,
    poster_of,
    put_chunk,
    putter_of,
    room,
    room_seer_of,
    way_on,
    way_to,
)
from gridlane.actors.layouts import wire
from gridlane.actors.layouts.blocks import IS_REPLY
from gridlane.actors.layouts.step import PUBLISH, REPLY, UNHANDLED
from gridlane.cuda import ballot_sync, ffs, int32, int64, jit, syncwarp, uint32
from gridlane.frontends.python.system import nanoseconds, store_words

_NUMBERS, _GENERATIONS = (1 << wire.NUMBER_BITS) - 1, (1 << wire.GENERATION_BITS) - 1


def _words_of(form: Form) -> tuple[int, int, int]:
    """The words of an output at which its header on the wire begins, and its payload; all."""
    payload = OUTPUT_BYTES // 4 + wire.HEADER_WORDS
    return OUTPUT_BYTES // 4, payload, payload + form.tier // 4


def refuser_of(form: Form) -> Any:
    """A device function that sends an unhandled message to the host."""
    words, out_slot = wire.HEADER_WORDS - (-form.message.size // 4), form.out_slot
    post = poster_of(putter_of(words))

    def refuse(place: Any, lane: Any, out_tail: Any, header: Any, reason: Any) -> Any:
        if lane == 0:
            flags = UNHANDLED << wire.KIND_SHIFT | reason << wire.REASON_SHIFT
            header[wire.SIZES] |= uint32(flags << 16)
        syncwarp()
        post(place, lane, out_slot, out_tail, header, 0, words)
        syncwarp()

    return jit(device=True)(refuse)


@jit(device=True)
def _letter_word(
    place: Any, lane: Any, clock: Any, header: Any, kind: Any, key: Any, one: Any
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
        whole, mine = clock.physical, True
    if field == wire.NODE or field == wire.SPAN:
        whole, mine = int64(place.number), True
    if field == wire.DEADLINE or field == wire.TOPIC:
        whole, mine = int64(0), True
    word = uint32(whole >> 32) if lane & 1 != 0 else uint32(whole)
    if lane == wire.SIZES:
        flags = kind << wire.KIND_SHIFT
        if one.kind == REPLY:
            flags |= IS_REPLY
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
def _letter_chunk(lane: Any, number: Any, span: Any, clock: Any, asked: Any, one: Any) -> Any:
    """A chunk of the header of an emitted message for another actor; each of eight lanes has one.
    The words with the event, in the fourth, are added later."""
    is_reply, kind, size = one
    x, y = uint32(asked), uint32(asked >> 32)
    low, high = uint32(number), uint32(number >> 32)
    sizes = uint32(size) | uint32(IS_REPLY << 16 if is_reply else 0)
    a, b, c = uint32(0), uint32(0), uint32(0)
    if lane == 0:
        a, b, c = uint32(kind), uint32(kind >> 32), low
    if lane == 1:
        a, b, c = high, x, y
    if lane == 2:
        a, b, c = (
            uint32(0 if is_reply else low),
            uint32(0 if is_reply else high),
            uint32(clock.physical),
        )
    if lane == 3:
        a = uint32(clock.physical >> 32)
    if lane == 4:
        a, b = low, high
    if lane == 6:
        a, b, c = x, y, uint32(span)
    if lane == 7:
        a, b, c = uint32(span >> 32), sizes, (y & 0xFFFF) + 1
    return a, b, c


def _waiter_of(clustered: bool) -> Any:
    """A device function that waits until the inbox at the end of the way has room. It returns where
    the kernel stands: the way has the number -1 where the host must deliver. Orders may arrive
    meanwhile, and the route may end."""
    look_for_room = room_seer_of(clustered)

    def wait_for_room(place: Any, clock: Any) -> Any:
        way, beats = clock.way, clock.beats
        number, free = way.number, look_for_room(way)
        while free <= 0 and number >= 0:
            beats += 1
            low, high = uint32(clock.head), uint32(clock.head >> 32)
            store_words(place.status, clock.orders.order, beats, low, high)
            if order_of(place) & 3 == wire.STOP or not is_open(place, number):
                number = -1
            else:
                free = look_for_room(way)
        return clock._replace(way=way._replace(number=number, free=free), beats=beats)

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


def _sender_of(form: Form) -> Any:
    """A device function that stores messages of one type and size, a run of the outputs, into the
    inbox of another actor, which has room; it returns the way after that."""
    _, store = accesses_of(form.clustered)
    put, timed = _putter_of(form.tier, form.clustered), form.timed
    _, payload_at, out_words = _words_of(form)

    def send(block: Any, clock: Any, asked: Any, one: Any, first: Any, run: Any, way: Any) -> Any:
        lane, emitted, number = block.lane, block.emitted, int64(block.place.number)
        _, _, size = one
        span = int64(nanoseconds()) if timed else number
        abc = _letter_chunk(lane, number, span, clock, asked, one)
        event, start = clock.logical + 1 + int64(first), uint32(first * out_words + payload_at)
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


def _host_sender_of(form: Form) -> Any:
    """A device function that sends an output to the host, which has room."""
    post = poster_of(putter_of(wire.HEADER_WORDS + form.tier // 4))
    (letter_at, _, out_words), out_slot = _words_of(form), form.out_slot

    def to_host(block: Any, clock: Any, header: Any, one: Any, n: Any, out_tail: Any) -> None:
        place, lane, emitted = block.place, block.lane, block.emitted
        kind, start = int32(one.kind), n * out_words + letter_at
        name = header.view(int64)[wire.SOURCE] if kind == REPLY else one.key
        word = _letter_word(place, lane, clock, header, kind, name, one)
        if lane >> 1 == wire.LOGICAL:
            event = clock.logical + 1 + n
            word = uint32(event >> 32) if lane & 1 != 0 else uint32(event)
        if lane < wire.HEADER_WORDS:
            emitted[uint32(start + lane)] = word
        syncwarp()
        words = wire.HEADER_WORDS + (int32(one.payload_bytes) + 3) // 4
        post(place, lane, out_slot, out_tail, emitted, start, words)

    return jit(device=True)(to_host)


def _replier_of(form: Form) -> Any:
    """A device function that writes a reply to the place of the caller who waits."""
    _, payload_at, out_words = _words_of(form)
    slot, long = form.answer_bytes, form.tier // 4 > 3 * (32 - wire.ANSWER_CHUNKS)

    def reply(block: Any, clock: Any, one: Any, n: Any, reply_to: Any) -> None:
        lane, body, node, size = block.lane, block.emitted, block.place.number, one.payload_bytes
        target = block.place.answers + (reply_to & _NUMBERS) * slot
        sequence = uint32(((reply_to >> wire.NUMBER_BITS) & _GENERATIONS) + 1)
        logical, start = clock.logical + 1 + n, int32(n * out_words + payload_at)
        count = int32(wire.ANSWER_CHUNKS + ((int32(int32(size) + 3) >> 2) + 2) // 3)
        index = uint32(start + max(3 * (lane - wire.ANSWER_CHUNKS), 0))
        a, b, c = uint32(0), uint32(0), uint32(0)
        if lane < count:
            a, b, c = body[index], body[uint32(index + 1)], body[uint32(index + 2)]
        if lane == 0:
            a, b, c = uint32(one.type), uint32(one.type >> 32), uint32(clock.physical)
        if lane == 1:
            a, b, c = uint32(clock.physical >> 32), uint32(logical), uint32(logical >> 32)
        if lane == 2:
            a, b, c = uint32(node), uint32(node >> 32), uint32(size)
        if lane < count:
            store_words(target + wire.CHUNK * lane, a, b, c, sequence)
        if long:
            chunk = lane + 32
            while chunk < count:
                index = start + 3 * (chunk - wire.ANSWER_CHUNKS)
                put_chunk(target + wire.CHUNK * chunk, body, index, sequence)
                chunk += 32

    return jit(device=True)(reply)


def _finder_of(clustered: bool) -> Any:
    """A device function that finds the way to the receiver of messages of a type, with room for
    one: returns the number of the route, -1 where the host must deliver, and where the kernel
    stands."""
    wait_for_room = _waiter_of(clustered)

    def find(block: Any, now: Any, one: Any, key: Any) -> Any:
        way, kind, number = now.way, one.type, now.way.number
        published = int32(one.kind) == PUBLISH
        if way.key != key or way.kind != kind or way.free <= 0 or published:
            number = int32(-1)
            if not published:
                if way.key != key or way.kind != kind:
                    now = now._replace(way=way_to(block.lane, block.routes, key, kind))
                if now.way.number >= 0 and now.way.free <= 0:
                    now = wait_for_room(block.place, now)
                number = now.way.number
        return number, now

    return jit(device=True)(find)


def deliverer_of(form: Form) -> Any:
    """A device function that sends what a handler has emitted, with events after the clock, which
    is then that of the last one."""
    to_host, reply = _host_sender_of(form), _replier_of(form)
    send, find = _sender_of(form), _finder_of(form.clustered)

    def deliver(block: Any, now: Any, header: Any, sent: Any) -> Any:
        lane, outputs, clock = block.lane, block.outputs, now.clock
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
                    reply(block, clock, one, n, reply_to)
            if not is_done:
                number, now = find(block, now, one, key)
                if number >= 0:
                    if n + 1 < sent:
                        run = int32(_run_of(lane, outputs, n, sent, now.way.free))
                    letter = (kind == REPLY, one.type, int32(one.payload_bytes))
                    now = now._replace(way=send(block, clock, asked, letter, n, run, now.way))
                else:
                    out_head = room(block.place, now.out_tail, now.out_head)
                    to_host(block, clock, header, one, n, now.out_tail)
                    now = now._replace(out_tail=now.out_tail + 1, out_head=out_head)
            n = int32(n + run)
        syncwarp()
        return now._replace(clock=clock._replace(logical=clock.logical + sent))

    return jit(device=True)(deliver)

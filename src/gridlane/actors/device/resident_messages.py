"""What a kernel that does not end does with the messages of its handler; a warp runs these parts
together."""

from __future__ import annotations

from typing import Any

from gridlane.actors.device import wire
from gridlane.actors.device.layout import OUTPUT_BYTES, PUBLISH, REPLY
from gridlane.actors.device.resident_parts import (
    ALL,
    Way,
    answerer_of,
    free_of,
    is_open,
    poster_of,
    putter_of,
    room,
    route_of,
    sender_of,
)
from gridlane.cuda import ballot_sync, ffs, int32, int64, jit, syncwarp, uint32
from gridlane.frontends.python.stubs import load_words, store_words

_NUMBERS, _GENERATIONS = (1 << wire.NUMBER_BITS) - 1, (1 << wire.GENERATION_BITS) - 1


def refuser_of(message_words: int, out_slot: int) -> Any:
    """A device function that gives a message to the host that is not handled."""
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
def _letter_word(place: Any, lane: Any, at: Any, header: Any, kind: Any, key: Any, one: Any) -> Any:
    """A word of the header of what the handler has sent, but for the event: each lane has one; for
    another actor where ``kind`` is 0. The call's number and the trace stay those of the message
    that was handled."""
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
        whole, mine = at.physical, True
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
def _way_of(lane: Any, routes: Any, one: Any, key: Any, way: Any) -> Any:
    """The route of a message, or none (-1) where the host delivers it."""
    if int32(one.kind) == PUBLISH:
        return Way(int64(0), int64(0), int32(-1))
    if way.key == key and way.kind == one.type:
        return way
    return Way(key, one.type, route_of(lane, routes, key, one.type))


@jit(device=True)
def _wait_for_room(place: Any, routes: Any, at: Any, number: Any, beats: Any) -> Any:
    """Wait until an inbox has room: for how many, or -1 where the host is to deliver; and the signs
    of life so far. Orders may come meanwhile, and the route may go."""
    free = free_of(routes, number)
    while free <= 0 and number >= 0:
        wanted, _, _, _ = load_words(place.orders)
        beats += 1
        low, high = uint32(at.head), uint32(at.head >> 32)
        store_words(place.status, at.order, beats, low, high)
        if wanted & 3 == wire.STOP or not is_open(place, number):
            number = -1
        else:
            free = free_of(routes, number)
    return number, free, beats


def deliverer_of(tier: int, out_slot: int, answer_slot: int) -> Any:
    """A device function that sends what a handler has emitted.

    Args:
        tier: bytes of the largest message.
        out_slot, answer_slot: bytes of a slot of the ring to the host, and of an answer's place.
    """
    letter_at, payload_at = OUTPUT_BYTES // 4, OUTPUT_BYTES // 4 + wire.HEADER_WORDS
    out_words = payload_at + tier // 4
    put, put_answer = putter_of(wire.HEADER_WORDS + tier // 4), answerer_of(tier // 4)
    post, send = poster_of(put), sender_of(put)

    def run_of(lane: Any, outputs: Any, n: Any, sent: Any, most: Any) -> Any:
        """How many outputs from one on are for the same actor, of one type and size."""
        if n + 1 == sent:
            return 1
        one, other = outputs[n], outputs[min(n + lane, sent - 1)]
        same = n + lane < sent and lane < most and other.kind == one.kind and other.key == one.key
        same = same and other.type == one.type and other.payload_bytes == one.payload_bytes
        differs = ~ballot_sync(ALL, same)
        return ffs(differs) - 1 if differs != 0 else 32

    _run_of = jit(device=True)(run_of)

    def deliver(
        place: Any,
        lane: Any,
        routes: Any,
        at: Any,
        header: Any,
        outputs: Any,
        emitted: Any,
        sent: Any,
        way: Any,
    ) -> Any:
        """Send what the handler has emitted, whose events follow the clock of ``at``: signs of
        life, messages to the host, how many it took, the route that was found last."""
        reply_to = header.view(int64)[wire.REPLY_TO]
        beats, out_tail, out_head = at.beats, at.out_tail, at.out_head
        n = 0
        while n < sent:
            one = outputs[n]
            kind, run = int32(one.kind), 1
            words = wire.HEADER_WORDS + (int32(one.payload_bytes) + 3) // 4
            if kind == REPLY and reply_to < 0 and reply_to & wire.DIRECT != 0:
                size = int32(one.payload_bytes)
                put_answer(
                    place.answers + (reply_to & _NUMBERS) * answer_slot,
                    *(lane, uint32(((reply_to >> wire.NUMBER_BITS) & _GENERATIONS) + 1)),
                    *(one.type, at.physical, at.logical + 1 + n, place.number, size),
                    *(emitted, n * out_words + payload_at, (size + 3) // 4),
                )
            elif kind != REPLY or reply_to != 0:
                key = reply_to if kind == REPLY else one.key
                way = _way_of(lane, routes, one, key, way)
                number = way.number
                if number >= 0:
                    number, free, beats = _wait_for_room(place, routes, at, number, beats)
                    run = _run_of(lane, outputs, n, sent, free)
                to_host, name = 0, int64(place.number)
                if number < 0:
                    run, to_host = 1, kind
                    name = header.view(int64)[wire.SOURCE] if kind == REPLY else one.key
                    out_head = room(place, out_tail, out_head)
                start = n * out_words + letter_at
                word = _letter_word(place, lane, at, header, to_host, name, one)
                for m in range(run):
                    if lane >> 1 == wire.LOGICAL:
                        event = at.logical + 1 + n + m
                        word = uint32(event >> 32) if lane & 1 != 0 else uint32(event)
                    if lane < wire.HEADER_WORDS:
                        emitted[uint32(start + m * out_words + lane)] = word
                syncwarp()
                if number < 0:
                    post(place, lane, out_slot, out_tail, emitted, start, words)
                    out_tail += 1
                else:
                    send(lane, routes, number, emitted, start, words, out_words, run)
            n += run
            syncwarp()
        return beats, out_tail, out_head, way

    return jit(device=True)(deliver)

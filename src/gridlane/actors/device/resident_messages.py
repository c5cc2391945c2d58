"""How a kernel that does not end takes messages in, and what it does with those of its handler; a
warp runs these parts together."""

from __future__ import annotations

from typing import Any

from gridlane.actors.device import wire
from gridlane.actors.device.layout import PUBLISH, REPLY
from gridlane.actors.device.resident_parts import (
    ALL,
    has_room,
    is_open,
    post,
    put_answer,
    room,
    route_of,
    send,
)
from gridlane.cuda import all_sync, ballot_sync, int32, int64, jit, syncwarp, uint32
from gridlane.frontends.python.stubs import load_words, store_words

_NUMBERS, _GENERATIONS = (1 << wire.NUMBER_BITS) - 1, (1 << wire.GENERATION_BITS) - 1


# ---- from an inbox


@jit(device=True)
def load_chunk(slot: Any, ring: Any, ticket: Any, shift: Any, chunk: Any) -> Any:
    """A chunk of a ring's slot, and whether it is there."""
    at = ring + (ticket & ((int64(1) << shift) - 1)) * slot + wire.CHUNK * chunk
    a, b, c, d = load_words(at)
    return a, b, c, d == uint32((ticket >> shift) + 1)


@jit(device=True)
def look(lane: Any, sizes: Any, ring: Any, ticket: Any, shift: Any) -> Any:
    """The first chunks of a message, and whether all of them are there."""
    a, b, c, there = load_chunk(sizes.slot, ring, ticket, shift, min(lane, sizes.first - 1))
    return a, b, c, all_sync(ALL, there)


@jit(device=True)
def next_source(lane: Any, sizes: Any, sources: Any, count: Any, last: Any, head: Any) -> Any:
    """The source after the last one that has a message, or -1."""
    ready = False
    if lane < count and sources.at[lane] != 0 and head >= sources.after[lane]:
        ring = sources.at[lane] + wire.INBOX_HEAD
        _, _, _, ready = load_chunk(sizes.slot, ring, sources.head[lane], sources.shift[lane], 0)
    found = ballot_sync(ALL, ready)
    number = -1
    if found != 0:
        number = last + 1 if last + 1 < count else 0
        while found >> number & 1 == 0:
            number = number + 1 if number + 1 < count else 0
    return number


@jit(device=True)
def keep_rest(lane: Any, sizes: Any, ring: Any, ticket: Any, shift: Any, header: Any) -> Any:
    """Put the chunks into shared memory after those that a warp has at once."""
    chunk = sizes.first + lane
    while chunk < sizes.chunks:
        a, b, c, there = load_chunk(sizes.slot, ring, ticket, shift, chunk)
        if there:
            header[3 * chunk] = a
            header[3 * chunk + 1] = b
            header[3 * chunk + 2] = c
            chunk += 32


# ---- to others


@jit(device=True)
def refuse(
    place: Any, lane: Any, sizes: Any, out_tail: Any, letter: Any, header: Any, reason: Any
) -> Any:
    """Give a message to the host that is not handled."""
    if lane < wire.HEADER_WORDS:
        letter[lane] = header[lane]
    syncwarp()
    if lane == 0:
        flags = wire.DEAD << wire.KIND_SHIFT | reason << wire.REASON_SHIFT
        letter[wire.SIZES] |= uint32(flags << 16)
    syncwarp()
    words = sizes.message_words
    post(place, lane, sizes.out_slot, out_tail, letter, header, wire.HEADER_WORDS, words)
    syncwarp()


@jit(device=True)
def _write_letter(
    place: Any, at: Any, letter: Any, header: Any, kind: Any, key: Any, one: Any
) -> Any:
    """The header of what the handler has sent; for another actor where ``kind`` is 0."""
    whole, asked = letter.view(int64), header.view(int64)
    whole[wire.TYPE] = one.type
    whole[wire.SOURCE] = key
    whole[wire.CORRELATION] = asked[wire.CORRELATION]
    whole[wire.REPLY_TO] = place.number if one.kind != REPLY else int64(0)
    if kind == REPLY:
        whole[wire.REPLY_TO] = asked[wire.REPLY_TO]
    whole[wire.PHYSICAL] = at.physical
    whole[wire.LOGICAL] = at.logical
    whole[wire.NODE] = place.number
    whole[wire.DEADLINE] = 0
    whole[wire.TOPIC] = 0
    whole[wire.TRACE] = asked[wire.TRACE]
    whole[wire.SPAN] = place.number
    flags = kind << wire.KIND_SHIFT
    if one.kind == REPLY:
        flags |= wire.IS_REPLY
    letter[wire.SIZES] = uint32(int32(one.payload_bytes) | flags << 16)
    letter[wire.COUNTS] = uint32((header[wire.COUNTS] & 0xFFFF) + 1)


@jit(device=True)
def _way(place: Any, lane: Any, routes: Any, at: Any, one: Any, key: Any) -> Any:
    """The route of a message, once it has room there, or -1 where the host delivers it; and the
    signs of life so far."""
    number, beats = -1, at.beats
    if int32(one.kind) != PUBLISH:
        number = route_of(lane, routes, key, one.type)
    while number >= 0 and not has_room(routes, number):
        # It waits for another actor: orders may come, and routes may go.
        wanted, _, _, _ = load_words(place.orders)
        beats += 1
        low, high = uint32(at.head), uint32(at.head >> 32)
        store_words(place.status, at.order, beats, low, high)
        if wanted & 3 == wire.STOP or not is_open(place, number):
            number = -1
    return number, beats


@jit(device=True)
def deliver(
    place: Any,
    lane: Any,
    sizes: Any,
    routes: Any,
    at: Any,
    header: Any,
    letter: Any,
    one: Any,
    emitted: Any,
    start: Any,
) -> Any:
    """Send what the handler has emitted: signs of life, messages to the host, how many it took."""
    fields = header.view(int64)
    beats, out_tail, out_head = at.beats, at.out_tail, at.out_head
    kind, size = int32(one.kind), int32(one.payload_bytes)
    reply_to, words = fields[wire.REPLY_TO], (size + 3) // 4
    if kind == REPLY and reply_to < 0 and reply_to & wire.DIRECT != 0:
        sequence = ((reply_to >> wire.NUMBER_BITS) & _GENERATIONS) + 1
        put_answer(
            place.answers + (reply_to & _NUMBERS) * sizes.answer,
            *(lane, sequence, one.type, at.physical, at.logical, place.number),
            *(size, emitted, start, words),
        )
    elif kind != REPLY or reply_to != 0:
        key = reply_to if kind == REPLY else one.key
        number, beats = _way(place, lane, routes, at, one, key)
        if number < 0:
            out_head = room(place, out_tail, out_head)
        if lane == 0:
            to_host = kind if number < 0 else 0
            name = place.number
            if number < 0:
                name = fields[wire.SOURCE] if kind == REPLY else one.key
            _write_letter(place, at, letter, header, to_host, name, one)
        syncwarp()
        if number < 0:
            post(place, lane, sizes.out_slot, out_tail, letter, emitted, start, words)
            out_tail += 1
        else:
            send(lane, routes, number, letter, emitted, start, words)
    return beats, out_tail, out_head

"""Reads of a ring by a warp, whose lanes read a chunk each, into shared memory."""

from __future__ import annotations

from typing import Any

from gridlane.actors.device.receiving import SIGNALS, Shape, all_told
from gridlane.actors.device.resident_parts import ALL
from gridlane.actors.layouts import wire
from gridlane.actors.layouts.ring import place_of, sequence_of
from gridlane.cuda import ballot_sync, ffs, int32, jit, local, syncwarp, uint32
from gridlane.frontends.python.system import rest


def _keeper_of(shape: Shape) -> Any:
    """A device function that stores the messages of one volley behind ``count`` others; it returns
    how many are complete."""
    chunks, words, depth, lanes = shape.chunks, shape.words, shape.depth, shape.lanes
    together = shape.together

    def keep(
        lane: Any, box: Any, position: Any, count: Any, missing: Any, most: Any, abc: Any
    ) -> Any:
        part, chunk = lane // lanes, lane & (lanes - 1)
        whole = int32(together)
        if missing != 0:
            whole = int32((ffs(missing) - 1) // lanes)
        whole = int32(min(whole, most - count))
        if part < whole and chunk < chunks:
            to = (position[0] + ((position[1] + count + part) & (depth - 1))) * words + 3 * chunk
            box.words[to], box.words[to + 1], box.words[to + 2] = abc
        return whole

    return jit(device=True)(keep)


def _single_of(shape: Shape, load: Any) -> Any:
    """A device function: as a volley of one read, but poll again, up to ``looks`` times, while
    there is no message and no request of the other warps. Such a poll takes little more than the
    latency of the memory."""
    chunks, lanes, slot, keep = shape.chunks, shape.lanes, shape.slot, _keeper_of(shape)
    first = (1 << lanes) - 1
    """The lanes that read the first message."""

    def single(lane: Any, box: Any, ring: Any, position: Any, most: Any, looks: Any) -> Any:
        mine = ring.ticket + lane // lanes
        place = place_of(ring.slots, mine, ring.shift, slot)
        place += wire.CHUNK * min(lane & (lanes - 1), chunks - 1)
        sequence, wanted = sequence_of(mine, ring.shift), uint32(SIGNALS)
        while True:
            a, b, c, d = load(place)
            heard = all_told(lane, box)
            signals = ballot_sync(ALL, heard & 1 != 0)
            missing = ballot_sync(ALL, d != sequence)
            looks = int32(looks - 1)
            if looks <= 0 or missing & first == 0 or signals & wanted != 0:
                break
            rest(0)
        return keep(lane, box, position, int32(0), missing, most, (a, b, c)), heard

    return jit(device=True)(single)


def volley_of(shape: Shape, reads: int, load: Any) -> Any:
    """A device function with so many reads in flight: store messages from a ticket on into the
    places from ``position[0]`` on, starting with the number ``position[1]``. It returns how many
    are complete in a row, up to ``most``, and the words that the warps have published."""
    chunks, lanes, slot, keep = shape.chunks, shape.lanes, shape.slot, _keeper_of(shape)
    together = shape.together

    def volley(lane: Any, box: Any, ring: Any, position: Any, most: Any) -> Any:
        part, chunk = lane // lanes, lane & (lanes - 1)
        a, b = local.array(reads, uint32), local.array(reads, uint32)
        c, there = local.array(reads, uint32), local.array(reads, int32)
        for n in range(reads):
            mine = ring.ticket + n * together + part
            place = place_of(ring.slots, mine, ring.shift, slot)
            place += wire.CHUNK * min(chunk, chunks - 1)
            a[n], b[n], c[n], d = load(place)
            there[n] = int32(d == sequence_of(mine, ring.shift))
        heard = all_told(lane, box)
        count = int32(0)
        for n in range(reads):
            missing = ~ballot_sync(ALL, there[n] != 0)
            if count == n * together:
                count += keep(lane, box, position, count, missing, most, (a[n], b[n], c[n]))
                count = int32(count)
        return count, heard

    return jit(device=True)(volley)


def _rest_keeper_of(shape: Shape, load: Any) -> Any:
    """A device function that stores the chunks after the first volley; the sender is writing
    them."""
    chunks, words, slot = shape.chunks, shape.words, shape.slot

    def keep_rest(lane: Any, box: Any, ring: Any, first: Any) -> Any:
        base = place_of(ring.slots, ring.ticket, ring.shift, slot)
        chunk = 32 + lane
        while chunk < chunks:
            a, b, c, d = load(base + wire.CHUNK * chunk)
            if d == sequence_of(ring.ticket, ring.shift):
                to = first * words + 3 * chunk
                box.words[to], box.words[to + 1], box.words[to + 2] = a, b, c
                chunk += 32

    return jit(device=True)(keep_rest)


def reader_of(shape: Shape, load: Any) -> Any:
    """A device function that reads one message of a ring, whose chunks ``load`` loads: returns
    whether it is complete, and the words that the warps have published, which it reads while the
    ring's words are in flight."""
    long, depth = shape.chunks > 32, shape.depth
    single, keep_rest = _single_of(shape, load), _rest_keeper_of(shape, load)

    def one(lane: Any, box: Any, ring: Any, position: Any, most: Any, looks: Any) -> Any:
        count, heard = single(lane, box, ring, position, most, looks)
        if long and count != 0:
            syncwarp()
            first = position[0] + (position[1] & (depth - 1))
            keep_rest(lane, box, ring, first)
        return count, heard

    return jit(device=True)(one)

"""The polls of a resident kernel: for orders and messages, while it publishes where it stands. A
warp runs these parts together; see ``resident``."""

from __future__ import annotations

from typing import Any

from gridlane.actors.device import receiving
from gridlane.actors.device.reading_warps import actors_receiver_of, host_receiver_of, ring_of
from gridlane.actors.device.receiving import Shape
from gridlane.actors.device.resident_block import Batch, Orders, publish
from gridlane.actors.device.resident_form import Form
from gridlane.actors.device.resident_parts import ALL, learner_of, no_way
from gridlane.actors.layouts import wire
from gridlane.cuda import (
    ballot_sync,
    int32,
    int64,
    jit,
    shfl_sync,
    syncwarp,
    threadfence_system,
    uint32,
)
from gridlane.frontends.python.system import load_volatile, rest

MESSAGE, END, REFUSED = 1, 2, 3
"""Results of a poll: there are messages; the kernel is to end; there is one that is not handled."""
_BEAT = 4095
"""Polls between two heartbeats, - 1."""
_LOOKS = 4
"""Polls in a row of the words that the other warps publish."""
LATER = 64
OLD, MOST = 32 * LATER, 32
"""``news`` of a standing: status is published after 32 empty polls, each counted as ``LATER``, or
after ``MOST`` messages: an access to the host's memory is slow."""


def _looker_of(shape: Shape) -> Any:
    """A device function that polls the rings, where no warps of their own do. The messages share
    one place, so the source of the last message is polled last."""
    from_host, from_actors = host_receiver_of(shape), actors_receiver_of(shape)

    def actors(block: Any) -> Any:
        box = block.box
        many, first = (
            int32(receiving.told(box, receiving.SOURCES)),
            int32(receiving.told(box, receiving.FIRST)),
        )
        before, taken = receiving.told(box, receiving.CAME), receiving.told(box, receiving.TAKEN)
        head, free = receiving.told(box, receiving.HANDLED), int32(1 - (before - taken))
        turn = (many, first, before)
        ring = ring_of(block, first)
        count, _, _ = from_actors(block, turn, ring, free, head, 0, 1)
        return count

    _from_actors = jit(device=True)(actors)

    def look(block: Any, now: Any) -> None:
        box, head, last = block.box, now.head, now.last
        takes = now.orders.version >= 0 and now.orders.order & 3 == wire.RUN
        got = int32(0)
        if last < 0 and takes:
            got = _from_actors(block)
        if got == 0:
            arrived = receiving.told(box, receiving.ARRIVED)
            arrivals, _ = from_host(block, arrived, int32(1 - (arrived - head)), 0)
            got = int32(arrived - head) + arrivals
        if last >= 0 and takes and got == 0:
            _from_actors(block)

    return jit(device=True)(look)


@jit(device=True)
def _hear(lane: Any, box: Any, head: Any, taken: Any, both: Any) -> Any:
    """One poll of the words that the other warps publish: the lane's word, and the lanes whose word
    is new."""
    known = head if lane == 0 else taken
    known = both if lane == 2 else known
    known = int64(0) if lane > 2 else known
    heard = load_volatile(box.told, min(lane, receiving.UNUSED))
    return heard, ballot_sync(ALL, heard != known)


@jit(device=True)
def _first_of(block: Any, now: Any, heard: Any, new: Any, depth: Any) -> Any:
    """The messages that are there of one side, in a row: their source, -1 for the host; the place
    of the first; their number."""
    source, where = int32(-1), int32(int32(now.head) & (depth - 1))
    there = int32(shfl_sync(ALL, heard, 0) - now.head)
    if new & 2 != 0 and (new & 1 == 0 or now.last < 0):
        where = int32(int32(now.taken) & (depth - 1))
        source = block.came.origin[where]
        there = int32(shfl_sync(ALL, heard, 1) - now.taken)
    return Batch(source, where, there, int32(0), int64(0))


@jit(device=True)
def _load_state(block: Any, words: Any) -> Any:
    """Copy an actor's state into shared memory."""
    theirs, ours = block.state.view(uint32), block.held.view(uint32)
    n = block.lane
    while n < words:
        ours[n] = theirs[block.number * words + n]
        n += 32
    syncwarp()


@jit(device=True)
def store_state(block: Any, words: Any) -> Any:
    """Copy it back. Where its handler has failed, the first lane has ended, and the others copy."""
    theirs, ours = block.state.view(uint32), block.held.view(uint32)
    n = block.lane - 1
    while n >= 0 and n < words:
        theirs[block.number * words + n] = ours[n]
        n += 31


def _obeyer_of(form: Form) -> Any:
    """A device function that follows new orders, which a lane has heard in one word."""
    apart, kept, words = form.shape.apart, form.kept, form.state_words
    learn = learner_of(form.clustered)

    def obey(block: Any, now: Any, both: Any) -> Any:
        lane, orders = block.lane, now.orders
        version, order, loaded = int32(both >> 32), orders.order, orders.loaded
        moved = version != orders.version
        taken, way = now.taken, now.way
        if moved:
            if apart:
                receiving.pause(lane, block.box)
            count = learn(block.place, lane, block.routes, block.sources)
            receiving.go_on(lane, block.sources, block.box, block.came, count)
            taken, way = int64(0), no_way()
        if moved or int32(both) != order:
            if kept and loaded:
                store_state(block, words)
            threadfence_system()
            order = int32(both)
            loaded = order & 3 == wire.RUN
            if kept and loaded:
                _load_state(block, words)
        orders = Orders(both, version, order, loaded)
        return now._replace(orders=orders, taken=taken, way=way, news=int32(OLD))

    return jit(device=True)(obey)


def _listener_of(apart: bool) -> Any:
    """A device function: a few polls of the other warps' words, as ``_hear``."""

    def listen(block: Any, now: Any) -> Any:
        looks, heard, new = int32(0), int64(0), uint32(0)
        while new == 0 and looks < _LOOKS:
            if apart:
                rest(0)
            heard, new = _hear(block.lane, block.box, now.head, now.taken, now.orders.both)
            looks = int32(looks + 1)
        return heard, new

    return jit(device=True)(listen)


def poller_of(form: Form) -> Any:
    """A device function that polls until there are messages, or the kernel is to end. It returns
    the result, the messages, and where the kernel stands."""
    shape = form.shape
    apart, depth = shape.apart, shape.depth
    look, listen, obey = _looker_of(shape), _listener_of(apart), _obeyer_of(form)

    def poll(block: Any, now: Any) -> Any:
        outcome, batch = int32(0), Batch(int32(-1), int32(0), int32(1), int32(0), int64(0))
        while outcome == 0 or (outcome == END and now.news > 0):
            if now.news >= OLD:
                now = now._replace(news=int32(0))
                publish(block, now, -1)
                if outcome == END:
                    break
            if now.news > 0:
                now = now._replace(news=int32(now.news + LATER))
            if not apart:
                look(block, now)
            heard, new = listen(block, now)
            if new & 4 != 0:
                now = obey(block, now, shfl_sync(ALL, heard, 2))
            elif now.orders.loaded and new & 3 != 0:
                # Not by the order of the row alone: messages may be heard before the first orders.
                outcome = int32(MESSAGE)
                batch = _first_of(block, now, heard, new, depth)
            now = now._replace(beats=int32(now.beats + 1))
            if now.beats & _BEAT == 0:
                now = now._replace(news=int32(OLD))
            wish = now.orders.order & 3
            if (wish == wire.STOP or wish == wire.LEAVE) and now.orders.version >= 0:
                outcome = int32(END)
                now = now._replace(news=int32(OLD))
        return outcome, batch, now

    return jit(device=True)(poll)

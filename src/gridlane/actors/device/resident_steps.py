"""The iteration of a resident kernel: it polls for orders and messages, takes a message, handles
it, and settles the results. A warp runs these parts together; see ``resident``."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from gridlane.actors.device import receiving, wire
from gridlane.actors.device.cluster_rings import accesses_of
from gridlane.actors.device.layout import EMITTED
from gridlane.actors.device.receiving import Shape
from gridlane.actors.device.resident_parts import ALL, learner_of
from gridlane.actors.device.resident_times import note_handled, note_wait
from gridlane.cuda import (
    ballot_sync,
    ffs,
    int32,
    int64,
    jit,
    local,
    shfl_sync,
    syncwarp,
    threadfence_system,
    uint32,
)
from gridlane.frontends.python.volatile_stubs import load_volatile, store_volatile

DONE, WHAT = 4, 5
"""Words of the block's ``info``, besides those of a step: how many threads, or messages in a row,
have been handled; the result of a poll."""

Orders: Any = namedtuple(  # pyright: ignore[reportUntypedNamedTuple]
    "Orders", "both version order loaded"
)
"""The host's orders, as last read: the version of the tables and the order in one word, as a kernel
follows them, and whether the actor's state is in shared memory."""

Clock: Any = namedtuple("Clock", "since physical logical")  # pyright: ignore[reportUntypedNamedTuple]
"""The hybrid logical clock, and the offset of the host's time from the device's."""


# ---- what is new


def looker_of(shape: Shape) -> Any:
    """A device function that polls the rings, where no warps of their own do. The messages share
    one place, so the source of the last message is polled last."""
    from_host, from_actors = receiving.receivers_of(shape)

    def actors(lane: Any, box: Any, came: Any, sources: Any) -> Any:
        many, first = (
            int32(receiving.told(box, receiving.SOURCES)),
            int32(receiving.told(box, receiving.FIRST)),
        )
        before, taken = receiving.told(box, receiving.CAME), receiving.told(box, receiving.TAKEN)
        head, free = receiving.told(box, receiving.HANDLED), int32(1 - (before - taken))
        turn = (many, first, before)
        ring = receiving.ring_of(sources, came, first)
        count, _, _ = from_actors(lane, sources, box, came, turn, ring, free, head, 0, 1)
        return count

    _from_actors = jit(device=True)(actors)

    def look(
        lane: Any, place: Any, box: Any, came: Any, sources: Any, head: Any, last: Any, takes: Any
    ) -> Any:
        got = int32(0)
        if last < 0 and takes:
            got = _from_actors(lane, box, came, sources)
        if got == 0:
            arrived = receiving.told(box, receiving.ARRIVED)
            arrivals, _ = from_host(lane, place, box, arrived, int32(1 - (arrived - head)), 0)
            got = int32(arrived - head) + arrivals
        if last >= 0 and takes and got == 0:
            _from_actors(lane, box, came, sources)

    return jit(device=True)(look)


@jit(device=True)
def hear(lane: Any, box: Any, head: Any, taken: Any, both: Any) -> Any:
    """One poll of the words that the other warps publish: the lane's word, and the lanes whose word
    is new."""
    known = head if lane == 0 else taken
    known = both if lane == 2 else known
    known = int64(0) if lane > 2 else known
    heard = load_volatile(box.told, min(lane, receiving.UNUSED))
    return heard, ballot_sync(ALL, heard != known)


@jit(device=True)
def first_of(
    lane: Any, came: Any, heard: Any, new: Any, head: Any, taken: Any, last: Any, depth: Any
) -> Any:
    """The messages that are there of one side, in a row: their source, -1 for the host; the place
    of the first; their number."""
    source, where = int32(-1), int32(int32(head) & (depth - 1))
    there = int32(shfl_sync(ALL, heard, 0) - head)
    if new & 2 != 0 and (new & 1 == 0 or last < 0):
        where = int32(int32(taken) & (depth - 1))
        source = came.origin[where]
        there = int32(shfl_sync(ALL, heard, 1) - taken)
    return source, where, there


@jit(device=True)
def _load_state(lane: Any, state: Any, block: Any, held: Any, words: Any) -> Any:
    """Copy an actor's state into shared memory."""
    theirs, ours = state.view(uint32), held.view(uint32)
    n = lane
    while n < words:
        ours[n] = theirs[block * words + n]
        n += 32
    syncwarp()


@jit(device=True)
def store_state(lane: Any, state: Any, block: Any, held: Any, words: Any) -> Any:
    """Copy it back. Where its handler has failed, the first lane has ended, and the others copy."""
    theirs, ours = state.view(uint32), held.view(uint32)
    n = lane - 1
    while n >= 0 and n < words:
        theirs[block * words + n] = ours[n]
        n += 31


def obeyer_of(apart: bool, kept: bool, words: int, clustered: bool) -> Any:
    """A device function that follows new orders: returns the orders, and whether the tables have
    changed.

    Args:
        apart: whether warps of their own read the rings.
        kept, words: whether the state is in shared memory while the actor runs, and its size.
        clustered: whether the inboxes may be in the cluster's shared memory.
    """
    learn = learner_of(clustered)

    def obey(
        lane: Any,
        place: Any,
        box: Any,
        came: Any,
        routes: Any,
        sources: Any,
        orders: Any,
        both: Any,
        state: Any,
        block: Any,
        held: Any,
    ) -> Any:
        version, order, loaded = int32(both >> 32), orders.order, orders.loaded
        moved = version != orders.version
        if moved:
            if apart:
                receiving.pause(lane, box)
            count = learn(place, lane, routes, sources)
            receiving.go_on(lane, sources, box, came, count)
        if moved or int32(both) != order:
            if kept and loaded:
                store_state(lane, state, block, held, words)
            threadfence_system()
            order = int32(both)
            loaded = order & 3 == wire.RUN
            if kept and loaded:
                _load_state(lane, state, block, held, words)
        return Orders(both, version, order, loaded), moved

    return jit(device=True)(obey)


# ---- taking messages


@jit(device=True)
def _stamp(
    asked: Any, source: Any, now: Any, since: Any, drift: Any, physical: Any, logical: Any
) -> Any:
    """The clock after a message: (the reason why it is not handled, or 0; the host's time; the
    offset from the device's; the clock)."""
    seen, deadline = asked.physical, asked.deadline
    if seen < now and deadline == 0:  # nearly always so
        logical = logical + 1 if physical >= now else int64(0)
        return int32(0), now, since, max(physical, now), logical
    reason = int32(wire.DRIFTED if seen - now > drift else 0)
    if source < 0 and reason == 0 and seen > now:
        # The device's clock was set at the kernel's launch, and is late.
        since += seen - now
        now = seen
    if deadline != 0 and deadline < now:
        reason = int32(wire.EXPIRED)
    if reason == 0:
        top = max(max(physical, seen), now)
        events = logical if top == physical else int64(-1)
        theirs = asked.logical if top == seen else int64(-1)
        logical = max(events, theirs) + 1
        physical = top
    return reason, now, since, physical, logical


@jit(device=True)
def _in_a_row(
    lane: Any,
    messages: Any,
    origin: Any,
    first: Any,
    where: Any,
    depth: Any,
    there: Any,
    source: Any,
    now: Any,
) -> Any:
    """The number of present messages, from one on, that are of one source, and neither expire nor
    have a clock that is ahead; up to 32."""
    mine = int32((where + lane) & (depth - 1))
    plain = lane < there and messages[first + mine].physical < now
    plain = plain and messages[first + mine].deadline == 0
    if plain and source >= 0:
        plain = origin[mine] == source
    others = ~ballot_sync(ALL, plain)
    return int32(ffs(others) - 1 if others != 0 else 32)


def taker_of(shape: Shape, lazy: bool) -> Any:
    """A device function that takes messages. It returns how many in a row, the reason why the only
    one is not handled, or 0, the host's time, and the clock after the first."""
    depth, behind = shape.depth, shape.depth if shape.apart else 0

    def take(
        lane: Any,
        place: Any,
        box: Any,
        came: Any,
        messages: Any,
        source: Any,
        where: Any,
        there: Any,
        clock: Any,
    ) -> Any:
        since, physical, logical = clock.since, clock.physical, clock.logical
        now = since + load_volatile(box.told, receiving.CLOCK)
        first = behind if source >= 0 else 0
        several, reason = int32(0), int32(0)
        if lazy and there > 1:
            several = _in_a_row(
                lane, messages, came.origin, first, where, depth, there, source, now
            )
        if several > 0:
            # Nearly always so: of several messages, the clock after the first.
            logical = logical + 1 if physical >= now else int64(0)
            physical = max(physical, now)
        else:
            several = int32(1)
            reason, now, since, physical, logical = _stamp(
                messages[first + where], source, now, since, place.drift, physical, logical
            )
        return several, reason, now, Clock(since, physical, logical)

    return jit(device=True)(take)


# ---- handling


def runner_of(heeding: Any, context: Any, kept: bool, depth: int, timed: bool) -> Any:
    """A device function by which one thread handles several messages in a row, up to one that emits
    something: if its handler fails, no earlier output is unsent. It returns the number of handled
    messages, and above 8 bits the number of outputs; ``info`` has the number of handled ones where
    the handler fails. The counts of outputs are the thread's own, in registers. ``timed``: whether
    it counts the times of messages."""

    def run(
        times: Any,
        requests: Any,
        info: Any,
        outputs: Any,
        physical: Any,
        thread: Any,
        block: Any,
        state: Any,
        held: Any,
        messages: Any,
        first: Any,
        where: Any,
        several: Any,
        arrays: Any,
    ) -> Any:
        n, counts = int32(0), local.array(EMITTED + 1, int32)
        counts[EMITTED] = 0
        while n < several and counts[EMITTED] == 0:
            ctx = context(counts, outputs, 0, 0, physical, thread, block)
            one, begin = first + int32((where + n) & (depth - 1)), int64(0)
            if timed:
                begin = note_wait(times, messages[one])
            if kept:
                heeding(requests, ctx, held[0], messages[one].payload, arrays)
            else:
                heeding(requests, ctx, state[block], messages[one].payload, arrays)
            if timed:
                note_handled(times, begin)
            n = int32(n + 1)
            info[DONE] = n
        return int32(n | counts[EMITTED] << 8)

    return jit(device=True)(run)


def givers_of(clustered: bool) -> tuple[Any, Any]:
    """Device functions: release the slots of handled messages of another actor, for one lane; do
    so, or with the host's, publish it to the warps that read, and restart the counts."""
    _, store = accesses_of(clustered)

    def free_slots(sources: Any, source: Any, count: Any) -> Any:
        ticket = sources.head[source] + count
        sources.head[source] = ticket
        address = sources.at[source] + 16
        store(address, uint32(ticket), uint32(ticket >> 32), 0, 0)

    _free_slots = jit(device=True)(free_slots)

    def give_back(
        lane: Any, info: Any, box: Any, sources: Any, source: Any, head: Any, taken: Any, done: Any
    ) -> Any:
        if lane == 0:
            info[EMITTED] = 0
            info[DONE] = 0
            if source < 0:
                store_volatile(box.told, receiving.HANDLED, head)
            else:
                _free_slots(sources, source, done)
                store_volatile(box.told, receiving.TAKEN, taken)

    return _free_slots, jit(device=True)(give_back)

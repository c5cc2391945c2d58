"""The kernel of an actor that does not end: it waits for messages, and handles them one by one."""

from __future__ import annotations

from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from gridlane.actors.device import receiving, wire
from gridlane.actors.device.layout import EMITTED, OUTPUT_BYTES
from gridlane.actors.device.receiving import Box, Came, Shape
from gridlane.actors.device.resident_messages import deliverer_of, refuser_of
from gridlane.actors.device.resident_parts import (
    ALL,
    Place,
    Position,
    Routes,
    Sources,
    State,
    learn,
    no_way,
    room,
    tell,
)
from gridlane.core import argtypes
from gridlane.core.argtypes import RecordType
from gridlane.cuda import (
    atomic,
    ballot_sync,
    blockIdx,
    ffs,
    int32,
    int64,
    jit,
    shared,
    shfl_sync,
    syncthreads,
    syncwarp,
    threadfence_system,
    threadIdx,
    uint32,
)
from gridlane.frontends.python.stubs import nanoseconds, rest, store_words
from gridlane.frontends.python.volatile_stubs import load_volatile, store_volatile

DONE, WHAT = 4, 5
"""Words of the block's ``info``, besides those of a step: how many threads, or in a row messages,
have been handled; what a poll has found, or whether the handler has ended."""
MESSAGE, END, REFUSED = 1, 2, 3
_BEAT = 4095
"""Polls between two signs of life, less 1."""
KEPT = 1024
"""Bytes of the largest state that is in shared memory while its actor runs."""
_LATER = 64
_OLD, _MOST = 32 * _LATER, 32
"""What is new is told after 32 looks in vain, each counted as ``_LATER``, or after ``_MOST``
messages: the host's memory is far."""


class Form(NamedTuple):
    """What a resident kernel is made for.

    Attributes:
        message: the type of its messages.
        tier: bytes of the largest message that it may emit.
        emits: how many it may emit for one.
        threads: that handle a message together; 1, or a multiple of 32.
        lazy: whether the kernel tells of several messages at once. That needs a device on which the
            other lanes run on where the first one has failed.
        state: the type of its state, if it has one.
        far, near: as of ``receiving.Shape``.
    """

    message: RecordType
    tier: int
    emits: int
    threads: int
    lazy: bool
    state: RecordType | None = None
    far: int = 8
    near: int = 8

    @property
    def shape(self) -> Shape:
        """Of its messages in shared memory."""
        return receiving.shape_of(self.message.size, self.threads > 1, self.far, self.near)

    @property
    def chunks(self) -> int:
        """Of a message in the inbox."""
        return self.shape.chunks

    @property
    def out_chunks(self) -> int:
        """Of the largest message of its own."""
        return wire.chunks_of(max(self.tier, self.message.size))

    @property
    def answer_bytes(self) -> int:
        """Of an answer's place."""
        return wire.slot_of(wire.answer_chunks(self.tier))

    @property
    def block(self) -> int:
        """Threads of its block: those that handle messages, and two warps that read them."""
        return 96 if self.shape.apart else self.threads if self.threads > 1 else 32

    @property
    def shared(self) -> int:
        """Bytes of shared memory, and a little more."""
        arrivals = 4 * self.shape.words * self.shape.places
        return arrivals + self.emits * (self.tier + OUTPUT_BYTES + wire.HEADER.itemsize) + 4096


def output_record(tier: int) -> RecordType:
    """What a handler emits: as ``layout.output_dtype``, but with room for the message's header on
    the wire in front of the payload, so that both are sent as one."""
    names = ["kind", "message", "type", "key", "payload_bytes", "payload"]
    made = np.dtype(
        {
            "names": names,
            "formats": [np.uint32, np.uint32, np.int64, np.int64, np.uint32, (np.uint8, (tier,))],
            "offsets": [0, 4, 8, 16, 24, OUTPUT_BYTES + wire.HEADER.itemsize],
            "itemsize": OUTPUT_BYTES + wire.HEADER.itemsize + tier,
        },
        align=True,
    )
    found = argtypes.from_numpy(made)
    assert isinstance(found, RecordType)
    return found


@jit(device=True)
def stamp(
    asked: Any, source: Any, now: Any, since: Any, drift: Any, physical: Any, logical: Any
) -> Any:
    """The clock after a message: (why it is not handled, or 0; the host's time; what to add to the
    device's; the clock)."""
    seen, deadline = asked.physical, asked.deadline
    if seen < now and deadline == 0:  # nearly always so
        logical = logical + 1 if physical >= now else int64(0)
        return int32(0), now, since, max(physical, now), logical
    reason = int32(wire.DRIFTED if seen - now > drift else 0)
    if source < 0 and reason == 0 and seen > now:
        # The device's clock was set when the kernel was launched, and is late.
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
def in_a_row(
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
    """How many of the messages that are there, from one on, are of one source, and neither expire
    nor have a clock that is ahead; up to 32."""
    mine = int32((where + lane) & (depth - 1))
    plain = lane < there and messages[first + mine].physical < now
    plain = plain and messages[first + mine].deadline == 0
    if plain and source >= 0:
        plain = origin[mine] == source
    others = ~ballot_sync(ALL, plain)
    return int32(ffs(others) - 1 if others != 0 else 32)


@jit(device=True)
def free_slots(sources: Any, source: Any, count: Any) -> Any:
    """Give back the slots of messages of another actor that are handled; for one lane."""
    ticket = sources.head[source] + count
    sources.head[source] = ticket
    at = sources.at[source] + 16
    store_words(at, uint32(ticket), uint32(ticket >> 32), 0, 0)


@jit(device=True)
def load_state(lane: Any, state: Any, block: Any, held: Any, words: Any) -> Any:
    """Copy an actor's state into shared memory."""
    theirs, ours = state.view(uint32), held.view(uint32)
    n = lane
    while n < words:
        ours[n] = theirs[block * words + n]
        n += 32
    syncwarp()


@jit(device=True)
def store_state(lane: Any, state: Any, block: Any, held: Any, words: Any) -> Any:
    """Copy it back. The first lane has ended where its handler has failed: the others do it."""
    theirs, ours = state.view(uint32), held.view(uint32)
    n = lane - 1
    while n >= 0 and n < words:
        theirs[block * words + n] = ours[n]
        n += 31


@jit(device=True)
def follow(
    lane: Any, place: Any, box: Any, came: Any, routes: Any, sources: Any, apart: Any
) -> Any:
    """Read the tables, which have changed."""
    if apart:
        receiving.pause(lane, box)
    count = learn(place, lane, routes, sources)
    receiving.go_on(lane, sources, box, came, count)


def resident_of(handler: Any, context: Any, form: Form) -> FunctionType:
    """A kernel (rows, state, arrays): each block is an actor, with its row and its state."""
    tier, emits, threads, shape = form.tier, form.emits, form.threads, form.shape
    record, output = receiving.arrival_record(form.message, shape), output_record(tier)
    places, words, depth, apart = shape.places, shape.words, shape.depth, shape.apart
    behind = depth if apart else 0
    out_slot = wire.slot_of(form.out_chunks)
    together, wide = threads > 1, threads > 32
    lazy = form.lazy and not together
    # An actor's state is in shared memory while it runs, where its device ends no block at once.
    size = form.state.size if form.state is not None else 0
    kept = lazy and 0 < size <= KEPT and size % 4 == 0
    state_words, held_record = size // 4, form.state if kept else output
    from_host, from_actors = receiving.receivers_of(shape)
    keep_host, keep_actors = receiving.warps_of(shape)
    deliver = deliverer_of(tier, out_slot, form.answer_bytes)
    refuse = refuser_of(-(-form.message.size // 4), out_slot)

    def actor(rows: Any, state: Any, arrays: Any) -> None:
        thread, block = threadIdx.x, blockIdx.x
        lane = thread & 31
        row = rows[block]
        place = Place(
            *(row.inbox, row.orders, row.status, row.control, row.answers, row.out, row.routes),
            *(row.sources, row.number, row.drift, row.shift, row.out_shift),
        )
        arrivals = shared.array(places * words, uint32)
        box = Box(arrivals, shared.array(receiving.TOLD_WORDS, int64))
        came = Came(shared.array(32, int32), shared.array(32, int64))
        outputs = shared.array(emits, output)
        info = shared.array(16, int32)
        held = shared.array(1, held_record)
        time = shared.array(1, int64)
        routes = Routes(
            *(shared.array(32, int64), shared.array(32, int64), shared.array(32, int64)),
            *(shared.array(32, int64), shared.array(32, int32), shared.array(32, int32)),
            *(shared.array(32, int64), shared.array(32, int64)),
        )
        sources = Sources(
            *(shared.array(32, int64), shared.array(32, int32)),
            *(shared.array(32, int64), shared.array(32, int64)),
        )
        messages, emitted = arrivals.view(record), outputs.view(uint32)
        head = row.head
        if thread < receiving.TOLD_WORDS:
            info[thread] = 0
            box.told[thread] = int64(0)
            if thread == receiving.ARRIVED or thread == receiving.HANDLED:
                box.told[thread] = head
            elif thread == receiving.ORDERS:
                box.told[thread] = int64(-1)
        syncthreads()
        if apart and thread >= 64:
            keep_actors(lane, sources, box, came)
        elif apart and thread >= 32:
            keep_host(lane, place, box)
        else:
            out_tail, out_head = row.out_tail, int64(0)
            physical, logical = row.physical, row.logical
            received, answered = row.received, row.answered
            order, beats, now = row.order, int32(0), row.started
            since = row.started - int64(nanoseconds())
            version, orders, taken = int32(-1), int64(-1), int64(0)
            several = int32(1)
            way = no_way()
            source, last, where = int32(-1), int32(-1), int32(0)
            news, reason, loaded = int32(0), int32(0), False
            while True:
                found, done, there = int32(0), int32(1), int32(1)
                if not wide or thread < 32:
                    while found == 0 or (found == END and news > 0):
                        # What is new is told when there is time, or after many messages.
                        if news >= _OLD:
                            news = int32(0)
                            tell(
                                place,
                                lane,
                                State(
                                    *(order, beats, head, out_tail, version, -1),
                                    *(physical, logical, received, answered),
                                ),
                            )
                            if found == END:
                                break
                        if news > 0:
                            news = int32(news + _LATER)
                        if apart:
                            rest(0)
                        else:
                            # The messages have one place: who came last looks last.
                            takes = version >= 0 and order & 3 == wire.RUN
                            got = 0
                            if last < 0 and takes:
                                got = from_actors(lane, sources, box, came, 0)
                            if got == 0:
                                from_host(lane, place, box, 0)
                                got = int32(receiving.told(box, receiving.ARRIVED) - head)
                            if last >= 0 and takes and got == 0:
                                from_actors(lane, sources, box, came, 0)
                        # One look at what the others have told: a lane for each number.
                        known = head if lane == 0 else taken
                        known = orders if lane == 2 else known
                        known = int64(0) if lane > 2 else known
                        number = min(lane, receiving.UNUSED)
                        heard = load_volatile(box.told, number)
                        new = ballot_sync(ALL, heard != known)
                        if new & 4 != 0:
                            orders = shfl_sync(ALL, heard, 2)
                            tables = int32(orders >> 32)
                            if tables != version:
                                version = tables
                                follow(lane, place, box, came, routes, sources, apart)
                                taken = int64(0)
                                way = no_way()
                                order = int32(-1)
                            if int32(orders) != order:
                                if kept and loaded:
                                    store_state(lane, state, block, held, state_words)
                                threadfence_system()
                                order = int32(orders)
                                loaded = order & 3 == wire.RUN
                                if kept and loaded:
                                    load_state(lane, state, block, held, state_words)
                                news = int32(_OLD)
                        elif order & 3 == wire.RUN and new & 3 != 0:
                            found = int32(MESSAGE)
                            # What is there of one side, in a row.
                            source, where = int32(-1), int32(int32(head) & (depth - 1))
                            there = int32(shfl_sync(ALL, heard, 0) - head)
                            if new & 2 != 0 and (new & 1 == 0 or last < 0):
                                where = int32(int32(taken) & (depth - 1))
                                source = came.origin[where]
                                there = int32(shfl_sync(ALL, heard, 1) - taken)
                        beats = int32(beats + 1)
                        if beats & _BEAT == 0:
                            news = int32(_OLD)
                        ends = order & 3 == wire.STOP or order & 3 == wire.LEAVE
                        if ends and version >= 0:  # it has heard orders
                            found = int32(END)
                            news = int32(_OLD)
                    if found == MESSAGE:
                        now = since + load_volatile(box.told, receiving.CLOCK)
                        first = behind if source >= 0 else 0
                        several = int32(0)
                        if lazy and there > 1:
                            several = in_a_row(
                                *(lane, messages, came.origin, first, where, depth),
                                *(there, source, now),
                            )
                        if several > 0:
                            # Nearly always so: of several messages, the clock after the first.
                            reason = int32(0)
                            logical = logical + 1 if physical >= now else int64(0)
                            physical = max(physical, now)
                        else:
                            several = int32(1)
                            reason, now, since, physical, logical = stamp(
                                *(messages[first + where], source, now, since, place.drift),
                                *(physical, logical),
                            )
                        if reason != 0:
                            found = int32(REFUSED)
                        elif not lazy and source >= 0:  # from where it is, in case that it fails
                            tail = uint32(out_tail >> 32)
                            store_words(place.status + 16, uint32(out_tail), tail, version, source)
                        syncwarp()
                    if wide and thread == 0:
                        info[WHAT] = found
                        time[0] = physical
                if wide:
                    syncthreads()
                    found = info[WHAT]
                    physical = time[0]
                first = behind if source >= 0 else 0
                if found == END:
                    break
                if found == MESSAGE:
                    if together:
                        ctx = context(info, outputs, 0, 0, physical, thread, block)
                        handler(ctx, state[block], messages[0].payload, *arrays)
                        atomic.add(info, DONE, 1)
                    elif thread == 0:
                        # Several messages in a row, up to one that emits something: if its handler
                        # fails, there is nothing that had to be sent before.
                        n = int32(0)
                        while n < several and info[EMITTED] == 0:
                            ctx = context(info, outputs, 0, 0, physical, thread, block)
                            one = first + int32((where + n) & (depth - 1))
                            if kept:
                                handler(ctx, held[0], messages[one].payload, *arrays)
                            else:
                                handler(ctx, state[block], messages[one].payload, *arrays)
                            n = int32(n + 1)
                            info[DONE] = n
                        info[WHAT] = 1
                    if wide:
                        syncthreads()
                    else:
                        syncwarp()
                    done = int32(info[DONE] if not together else 1)
                    if (together and info[DONE] != threads) or (not together and info[WHAT] != 1):
                        if kept:
                            store_state(lane, state, block, held, state_words)
                        if lazy:
                            head += done if source < 0 else 0
                            received += done
                            if source >= 0 and lane == 1:
                                free_slots(sources, source, done)
                            tell(
                                place,
                                lane,
                                State(
                                    *(order, beats, head, out_tail, version, source),
                                    *(physical, logical, received, answered),
                                ),
                            )
                        break
                    if wide:
                        syncthreads()  # the counts begin anew after this
                if not wide or thread < 32:
                    sent = info[EMITTED]
                    one = first + int32((where + done - 1) & (depth - 1))
                    header = arrivals[one * words :]
                    logical += done - 1
                    if found == REFUSED:
                        sent = 0
                        out_head = room(place, out_tail, out_head)
                        refuse(place, lane, out_tail, header, reason)
                        out_tail += 1
                    if sent > 0:
                        if now > physical:
                            physical = now
                            logical = int64(-1)
                        at = Position(order, beats, head, out_tail, out_head, physical, logical)
                        beats, out_tail, out_head, way = deliver(
                            *(place, lane, routes, at, header, outputs, emitted),
                            *(sent, way),
                        )
                        logical += sent
                    last = source
                    if source < 0:
                        head += done
                    else:
                        taken += done
                    if lane == 0:
                        info[EMITTED] = 0
                        info[DONE] = 0
                        info[WHAT] = 0
                        if source < 0:
                            store_volatile(box.told, receiving.HANDLED, head)
                        else:
                            free_slots(sources, source, done)
                            store_volatile(box.told, receiving.TAKEN, taken)
                    if found == MESSAGE:
                        received += done
                        answered += sent
                    news = int32((news & (_LATER - 1)) + done)
                    if not lazy or news >= _MOST:
                        news = int32(_OLD)
                    syncwarp()
            if not wide or thread < 32:
                store_volatile(box.told, receiving.ENDED, int64(1))
        # How far it is lies there already; what the handler has written follows.
        threadfence_system()

    return actor

"""The resident kernel of an actor: it polls for messages, and handles them one by one."""

from __future__ import annotations

from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from gridlane.actors.device import receiving, resident_times, wire
from gridlane.actors.device import resident_steps as steps
from gridlane.actors.device.cancellation import heeding_of
from gridlane.actors.device.cluster_rings import come_near, go_away
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
    no_way,
    room,
    tell,
)
from gridlane.actors.device.resident_steps import (
    DONE,
    WHAT,
    Clock,
    Orders,
    first_of,
    hear,
    store_state,
)
from gridlane.actors.device.resident_times import Times, load_counts, note_handled, note_wait
from gridlane.core import numpy_types
from gridlane.core.argtypes import RecordType
from gridlane.cuda import (
    atomic,
    ballot_sync,
    blockIdx,
    int32,
    int64,
    shared,
    shfl_sync,
    syncthreads,
    syncwarp,
    threadfence_system,
    threadIdx,
    uint32,
)
from gridlane.frontends.python.stubs import nanoseconds, rest, store_words
from gridlane.frontends.python.volatile_stubs import store_volatile

MESSAGE, END, REFUSED = 1, 2, 3
_BEAT = 4095
"""Polls between two heartbeats, - 1."""
KEPT = 1024
"""Bytes of the largest state that is in shared memory while its actor runs."""
_LOOKS = 4
"""Polls in a row of the words that the other warps publish."""
_LATER = 64
_OLD, _MOST = 32 * _LATER, 32
"""Status is published after 32 empty polls, each counted as ``_LATER``, or after ``_MOST``
messages: an access to the host's memory is slow."""


class Form(NamedTuple):
    """The parameters of a resident kernel.

    Attributes:
        message: the type of its messages.
        tier: bytes of the largest message that it may emit.
        emits: how many it may emit for one.
        threads: that handle a message together; 1, or a multiple of 32.
        lazy: whether the kernel publishes the status of several messages at once. That requires a
            device whose other lanes continue after the first one has failed.
        state: the type of its state, if it has one.
        far, near: as of ``receiving.Shape``.
        timed: whether it counts waits and handling times of messages.
        clustered: whether it is a block of a cluster, with warps of its own that read.
    """

    message: RecordType
    tier: int
    emits: int
    threads: int
    lazy: bool
    state: RecordType | None = None
    far: int = 8
    near: int = 8
    timed: bool = False
    clustered: bool = False

    @property
    def shape(self) -> Shape:
        """The shape of its messages in shared memory."""
        return receiving.shape_of(
            self.message.size, self.threads > 1, self.far, self.near, self.clustered
        )

    @property
    def chunks(self) -> int:
        """Chunks of a message in the inbox."""
        return self.shape.chunks

    @property
    def out_chunks(self) -> int:
        """Chunks of its largest own message."""
        return wire.chunks_of(max(self.tier, self.message.size))

    @property
    def answer_bytes(self) -> int:
        """Chunks of an answer's place."""
        return wire.slot_of(wire.answer_chunks(self.tier))

    @property
    def block(self) -> int:
        """Threads of its block: those that handle messages, and two warps that read them."""
        return 96 if self.shape.apart else self.threads if self.threads > 1 else 32

    @property
    def shared(self) -> int:
        """An upper bound of the bytes of shared memory."""
        arrivals = 4 * self.shape.words * self.shape.places
        counts = 8 * resident_times.WORDS if self.timed else 0
        outputs = self.emits * (self.tier + OUTPUT_BYTES + wire.HEADER.itemsize)
        return arrivals + counts + outputs + 4096


def output_record(tier: int) -> RecordType:
    """An emitted message: as ``layout.output_dtype``, but with room for the message's header on the
    wire in front of the payload, so that one store sends both."""
    names = ["kind", "message", "type", "key", "payload_bytes", "payload"]
    dtype = np.dtype(
        {
            "names": names,
            "formats": [np.uint32, np.uint32, np.int64, np.int64, np.uint32, (np.uint8, (tier,))],
            "offsets": [0, 4, 8, 16, 24, OUTPUT_BYTES + wire.HEADER.itemsize],
            "itemsize": OUTPUT_BYTES + wire.HEADER.itemsize + tier,
        },
        align=True,
    )
    record = numpy_types.from_numpy(dtype)
    assert isinstance(record, RecordType)
    return record


def resident_of(handler: Any, context: Any, form: Form) -> FunctionType:
    """A kernel (rows, state, arrays): each block is an actor, with its row and its state."""
    tier, emits, threads, shape = form.tier, form.emits, form.threads, form.shape
    record, output = receiving.arrival_record(form.message, shape), output_record(tier)
    places, words, depth, apart = shape.places, shape.words, shape.depth, shape.apart
    behind = depth if apart else 0
    out_slot = wire.slot_of(form.out_chunks)
    together, wide = threads > 1, threads > 32
    lazy = form.lazy and not together
    # An actor's state is in shared memory while it runs, where a failed thread does not end its
    # whole block: the other threads then copy the state back.
    size = form.state.size if form.state is not None else 0
    kept = lazy and 0 < size <= KEPT and size % 4 == 0
    state_words, held_record = size // 4, form.state if kept else output
    keep_host, keep_actors = receiving.warps_of(shape)
    clustered = form.clustered
    look, obey = steps.looker_of(shape), steps.obeyer_of(apart, kept, state_words, clustered)
    free_slots, give_back = steps.givers_of(clustered)
    heeding, timed, block_threads = heeding_of(handler), form.timed, form.block
    take = steps.taker_of(shape, lazy)
    run = steps.runner_of(heeding, context, kept, depth, timed)
    deliver = deliverer_of(tier, out_slot, form.answer_bytes, timed, clustered)
    refuse = refuser_of(-(-form.message.size // 4), out_slot)

    def actor(rows: Any, state: Any, arrays: Any) -> None:
        thread, block = threadIdx.x, blockIdx.x
        lane = thread & 31
        row = rows[block]
        place = Place(
            row.inbox,
            row.orders,
            row.status,
            row.control,
            row.answers,
            row.out,
            row.routes,
            row.sources,
            row.latencies,
            row.number,
            row.drift,
            row.shift,
            row.out_shift,
            row.rings,
            row.region,
        )
        # Arrays begin at ``none``, which the compiler does not see to be 0. Otherwise it would
        # compute each address again at its use, from a register that takes tens of cycles to read.
        none = row.none
        arrivals = shared.array(places * words, uint32)[none:]
        box = Box(arrivals, shared.array(receiving.TOLD_WORDS, int64)[none:])
        came = Came(shared.array(32, int32)[none:], shared.array(32, int64)[none:])
        outputs = shared.array(emits, output)[none:]
        info = shared.array(16, int32)[none:]
        held = shared.array(1, held_record)[none:]
        time = shared.array(1, int64)[none:]
        counts = shared.array(resident_times.WORDS, int64)[none:] if timed else time
        routes = Routes(
            shared.array(32, int64)[none:],
            shared.array(32, int64)[none:],
            shared.array(32, int64)[none:],
            shared.array(32, int64)[none:],
            shared.array(32, int32)[none:],
            shared.array(32, int32)[none:],
            shared.array(32, int64)[none:],
            shared.array(32, int64)[none:],
        )
        sources = Sources(
            shared.array(32, int64)[none:],
            shared.array(32, int32)[none:],
            shared.array(32, int64)[none:],
            shared.array(32, int64)[none:],
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
        if timed:
            load_counts(thread, block_threads, counts, place.latencies)
        if clustered:
            come_near(thread, block, row.rings, row.region)
        syncthreads()
        if clustered and row.launch == 0:
            pass  # it has ended: the others may write to its memory
        elif apart and thread >= 64:
            keep_actors(lane, sources, box, came)
        elif apart and thread >= 32:
            keep_host(lane, place, box)
        else:
            out_tail, out_head = row.out_tail, int64(0)
            clock = Clock(row.started - int64(nanoseconds()), row.physical, row.logical)
            received, answered = row.received, row.answered
            orders, beats, now = (
                Orders(int64(-1), int32(-1), row.order, False),
                int32(0),
                row.started,
            )
            taken, way = int64(0), no_way()
            source, last, where, there = int32(-1), int32(-1), int32(0), int32(1)
            several, reason, news = int32(1), int32(0), int32(0)
            while True:
                outcome, done, did = int32(0), int32(1), int32(0)
                if not wide or thread < 32:
                    while outcome == 0 or (outcome == END and news > 0):
                        # Status is published when there is time, or after many messages.
                        if news >= _OLD:
                            news = int32(0)
                            tell(
                                place,
                                lane,
                                State(
                                    orders.order,
                                    beats,
                                    head,
                                    out_tail,
                                    orders.version,
                                    -1,
                                    clock.physical,
                                    clock.logical,
                                    received,
                                    answered,
                                ),
                            )
                            if outcome == END:
                                break
                        if news > 0:
                            news = int32(news + _LATER)
                        if not apart:
                            takes = orders.version >= 0 and orders.order & 3 == wire.RUN
                            look(lane, place, box, came, sources, head, last, takes)
                        looks, heard, new = int32(0), int64(0), uint32(0)
                        while new == 0 and looks < _LOOKS:
                            if apart:
                                rest(0)
                            heard, new = hear(lane, box, head, taken, orders.both)
                            looks = int32(looks + 1)
                        if new & 4 != 0:
                            orders, moved = obey(
                                lane,
                                place,
                                box,
                                came,
                                routes,
                                sources,
                                orders,
                                shfl_sync(ALL, heard, 2),
                                state,
                                block,
                                held,
                            )
                            news = int32(_OLD)
                            if moved:
                                taken, way = int64(0), no_way()
                        elif orders.order & 3 == wire.RUN and new & 3 != 0:
                            outcome = int32(MESSAGE)
                            source, where, there = first_of(
                                lane, came, heard, new, head, taken, last, depth
                            )
                        beats = int32(beats + 1)
                        if beats & _BEAT == 0:
                            news = int32(_OLD)
                        wish = orders.order & 3
                        if (wish == wire.STOP or wish == wire.LEAVE) and orders.version >= 0:
                            outcome = int32(END)
                            news = int32(_OLD)
                    if outcome == MESSAGE:
                        several, reason, now, clock = take(
                            lane, place, box, came, messages, source, where, there, clock
                        )
                        if reason != 0:
                            outcome = int32(REFUSED)
                        elif not lazy and source >= 0:  # from where it is, in case that it fails
                            tail = uint32(out_tail >> 32)
                            low = uint32(out_tail)
                            store_words(place.status + 16, low, tail, orders.version, source)
                        if together:
                            syncwarp()
                    if wide and thread == 0:
                        info[WHAT] = outcome
                        time[0] = clock.physical
                if wide:
                    syncthreads()
                    outcome = info[WHAT]
                    clock = Clock(clock.since, time[0], clock.logical)
                first = behind if source >= 0 else 0
                if outcome == END:
                    break
                if outcome == MESSAGE:
                    times = Times(counts, place.latencies, clock.since, source)
                    begin = int64(0)
                    if together:
                        if timed and thread == 0:
                            begin = note_wait(times, messages[0])
                        ctx = context(info, outputs, 0, 0, clock.physical, thread, block)
                        requests = place.orders + wire.REQUESTS
                        heeding(requests, ctx, state[block], messages[0].payload, arrays)
                        atomic.add(info, DONE, 1)
                    elif thread == 0:
                        did = run(
                            times,
                            place.orders + wire.REQUESTS,
                            info,
                            outputs,
                            clock.physical,
                            thread,
                            block,
                            state,
                            held,
                            messages,
                            first,
                            where,
                            several,
                            arrays,
                        )
                    if wide:
                        syncthreads()
                    else:
                        syncwarp()
                    # A lane whose handler has failed has ended, and publishes nothing.
                    if together:
                        failed = info[DONE] != threads
                    else:
                        failed = ballot_sync(ALL, did != 0) == 0
                        did = shfl_sync(ALL, did, 0)
                        done = int32(did & 0xFF)
                    if failed:
                        done = int32(info[DONE] if not together else 1)
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
                                    orders.order,
                                    beats,
                                    head,
                                    out_tail,
                                    orders.version,
                                    source,
                                    clock.physical,
                                    clock.logical,
                                    received,
                                    answered,
                                ),
                            )
                        break
                    if timed and together and thread == 0:
                        note_handled(times, begin)
                    if wide:
                        syncthreads()  # the counts restart after this
                if not wide or thread < 32:
                    sent = int32(info[EMITTED] if together else did >> 8)
                    one = first + int32((where + done - 1) & (depth - 1))
                    header = arrivals[one * words :]
                    physical, logical = clock.physical, clock.logical + (done - 1)
                    if outcome == REFUSED:
                        sent = 0
                        out_head = room(place, out_tail, out_head)
                        refuse(place, lane, out_tail, header, reason)
                        out_tail += 1
                    if sent > 0:
                        if now > physical:
                            physical = now
                            logical = int64(-1)
                        position = Position(
                            orders.order, beats, head, out_tail, out_head, physical, logical
                        )
                        beats, out_tail, out_head, way = deliver(
                            place,
                            lane,
                            routes,
                            position,
                            header,
                            outputs,
                            emitted,
                            sent,
                            way,
                        )
                        logical += sent
                    clock = Clock(clock.since, physical, logical)
                    last = source
                    if source < 0:
                        head += done
                    else:
                        taken += done
                    give_back(lane, info, box, sources, source, head, taken, done)
                    if outcome == MESSAGE:
                        received += done
                        answered += sent
                    news = int32((news & (_LATER - 1)) + done)
                    if not lazy or news >= _MOST:
                        news = int32(_OLD)
                    syncwarp()
            if not wide or thread < 32:
                store_volatile(box.told, receiving.ENDED, int64(1))
            if clustered:
                threadfence_system()
                syncwarp()
                if lane == 1:  # the first lane has ended if its handler has failed
                    failed = 1 if outcome == MESSAGE else 0
                    store_words(place.status + wire.ENDED_AT, row.launch, failed, 0, 0)
        if clustered:
            go_away(thread, block, row.rings, row.region)
        # The positions are stored there already; the handler's writes follow.
        threadfence_system()

    return actor

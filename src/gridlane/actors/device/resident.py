"""The kernel of an actor that does not end: it waits for messages, and handles them one by one."""

from __future__ import annotations

from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from gridlane.actors.device import wire
from gridlane.actors.device.layout import EMITTED, OUTPUT_BYTES
from gridlane.actors.device.resident_messages import (
    deliver,
    keep_rest,
    look,
    next_source,
    refuse,
)
from gridlane.actors.device.resident_parts import (
    ALL,
    Place,
    Position,
    Routes,
    Sizes,
    Sources,
    State,
    learn,
    room,
    tell,
)
from gridlane.core import argtypes
from gridlane.core.argtypes import RecordType
from gridlane.cuda import (
    all_sync,
    atomic,
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
from gridlane.frontends.python.stubs import load_words, nanoseconds, store_words

DONE, WHAT = 4, 5
"""Words of the block's ``info``, besides those of a step: threads whose handler has ended, what a
poll has found."""
MESSAGE, END, REFUSED = 1, 2, 3
_LAST = 31
"""The lane that reads the host's orders."""
_BEAT = 1023
"""Polls between two signs of life, less 1."""
_LATER = 64
_OLD, _MOST = 2 * _LATER, 32
"""What is new is told after two looks in vain, each counted as ``_LATER``, or after ``_MOST``
messages."""
_NEAR = 16
"""Polls of the device's memory for one of the host's."""


class Form(NamedTuple):
    """What a resident kernel is made for.

    Attributes:
        message: the type of its messages.
        tier: bytes of the largest message that it may emit.
        emits: how many it may emit for one.
        threads: that handle a message together; 1, or a multiple of 32.
        lazy: whether the kernel tells of several messages at once. That needs a device on which the
            other lanes run on where the first one has failed.
    """

    message: RecordType
    tier: int
    emits: int
    threads: int
    lazy: bool

    @property
    def chunks(self) -> int:
        """Of a message in the inbox."""
        return wire.chunks_of(self.message.size)

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
        """Threads of its block."""
        return max(self.threads, 32)


def output_record(tier: int) -> RecordType:
    """What a handler emits, as ``layout.output_dtype``, aligned."""
    names = ["kind", "message", "type", "key", "payload_bytes", "payload"]
    made = np.dtype(
        {
            "names": names,
            "formats": [np.uint32, np.uint32, np.int64, np.int64, np.uint32, (np.uint8, (tier,))],
            "offsets": [0, 4, 8, 16, 24, OUTPUT_BYTES],
            "itemsize": OUTPUT_BYTES + tier,
        },
        align=True,
    )
    found = argtypes.from_numpy(made)
    assert isinstance(found, RecordType)
    return found


def resident_of(handler: Any, context: Any, form: Form) -> FunctionType:
    """A kernel (rows, state, arrays): each block is an actor, with its row and its state."""
    chunks, tier, emits, threads = form.chunks, form.tier, form.emits, form.threads
    first = min(chunks, _LAST)
    record, output = form.message, output_record(tier)
    slot, out_slot = wire.slot_of(chunks), wire.slot_of(form.out_chunks)
    words, out_words, answer = -(-record.size // 4), (OUTPUT_BYTES + tier) // 4, form.answer_bytes
    message_room = max(96, 3 * chunks)
    together, wide = threads > 1, threads > 32
    lazy = form.lazy and not together

    def actor(rows: Any, state: Any, arrays: Any) -> None:
        thread, block = threadIdx.x, blockIdx.x
        lane = thread & 31
        row = rows[block]
        place = Place(
            *(row.inbox, row.orders, row.status, row.control, row.answers, row.out, row.routes),
            *(row.sources, row.number, row.drift, row.shift, row.out_shift),
        )
        # The message: its header, its payload, and what the lanes without a chunk have.
        header = shared.array(message_room, uint32)
        payload = header[wire.HEADER_WORDS :]
        outputs = shared.array(emits, output)
        emitted = outputs.view(uint32)
        info = shared.array(16, int32)
        letter = shared.array(wire.HEADER_WORDS, uint32)
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
        sizes = Sizes(slot, first, chunks, words, out_slot, answer, out_words)
        fields, message = header.view(int64), payload.view(record)
        head, out_tail, out_head = row.head, row.out_tail, int64(0)
        physical, logical = row.physical, row.logical
        received, answered = row.received, row.answered
        order, beats, now = row.order, int32(0), row.started
        since = row.started - int64(nanoseconds())
        version, count, source, last = int32(-1), 0, -1, -1
        patience, news, reason = 0, 0, 0
        while True:
            found = 0
            if not wide or thread < 32:
                a, b, c, reason = uint32(0), uint32(0), uint32(0), 0
                while found == 0 or (found == END and news > 0):
                    # What is new is told when there is time, or after many messages.
                    if news >= _OLD:
                        news = 0
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
                        news += _LATER
                    source = -1
                    if count > 0 and order & 3 == wire.RUN:
                        source = 0
                        if count > 1:
                            source = next_source(lane, sizes, sources, count, last, head)
                        elif sources.at[0] == 0 or head < sources.after[0]:
                            source = -1
                        if source >= 0:
                            ring = sources.at[source] + wire.INBOX_HEAD
                            ticket, shift = sources.head[source], sources.shift[source]
                            a, b, c, there = look(lane, sizes, ring, ticket, shift)
                            if there:
                                found = MESSAGE
                            else:
                                source = -1
                    patience -= 1
                    if patience < 0:
                        # The host's memory is far: it is looked at less often while other actors
                        # send, and orders come with its messages.
                        at = place.orders
                        if lane < first:
                            mask = (int64(1) << place.shift) - 1
                            at = place.inbox + (head & mask) * slot + wire.CHUNK * lane
                        e, f, g, h = load_words(at)
                        now = shfl_sync(ALL, since + int64(nanoseconds()), 0)
                        there = all_sync(
                            ALL, lane >= first or h == uint32((head >> place.shift) + 1)
                        )
                        asked = int32(shfl_sync(ALL, e, _LAST))
                        tables = int32(shfl_sync(ALL, f, _LAST))
                        beats += 1
                        if tables != version:
                            version = tables
                            count = learn(place, lane, routes, sources)
                            order = -1
                        if asked != order:
                            threadfence_system()
                            order = asked
                            news = _OLD
                        elif beats & _BEAT == 0:
                            news = _OLD
                        if order & 3 == wire.STOP or order & 3 == wire.LEAVE:
                            found = END
                            news = _OLD
                        elif order & 3 == wire.PARK:
                            found = 0
                        elif there:
                            # In any case: other actors could send without an end. A message of
                            # theirs that is there stays in its ring.
                            found, source = MESSAGE, -1
                            a, b, c = e, f, g
                        if count > 0 and order & 3 == wire.RUN:
                            patience = _NEAR
                if found == MESSAGE:
                    header[3 * lane] = a
                    header[3 * lane + 1] = b
                    header[3 * lane + 2] = c
                    if chunks > first:
                        syncwarp()  # lane 31 has had no chunk of its own
                        if source < 0:
                            keep_rest(lane, sizes, place.inbox, head, place.shift, header)
                        else:
                            ring = sources.at[source] + wire.INBOX_HEAD
                            ticket, shift = sources.head[source], sources.shift[source]
                            keep_rest(lane, sizes, ring, ticket, shift, header)
                    info[EMITTED] = 0
                    info[DONE] = 0
                    syncwarp()
                    # The clock after the message, or why it is dead.
                    seen, deadline = fields[wire.PHYSICAL], fields[wire.DEADLINE]
                    reason = wire.DRIFTED if seen - now > place.drift else 0
                    if source < 0 and reason == 0 and seen > now:
                        # The device's clock was set when the kernel was launched, and is late.
                        since += seen - now
                        now = seen
                    if deadline != 0 and deadline < now:
                        reason = wire.EXPIRED
                    if reason != 0:
                        found = REFUSED
                    else:
                        top = max(max(physical, seen), now)
                        events = logical if top == physical else int64(-1)
                        theirs = fields[wire.LOGICAL] if top == seen else int64(-1)
                        logical = max(events, theirs) + 1
                        physical = top
                    if not lazy and source >= 0:  # from where it is, in case that it fails
                        tail = uint32(out_tail >> 32)
                        store_words(place.status + 16, uint32(out_tail), tail, version, source)
                if wide and thread == 0:
                    info[WHAT] = found
                    time[0] = physical
            if wide:
                syncthreads()
                found = info[WHAT]
                physical = time[0]
            if found == END:
                break
            if found == MESSAGE:
                if together:
                    ctx = context(info, outputs, 0, 0, physical, thread, block)
                    handler(ctx, state[block], message[0], *arrays)
                    atomic.add(info, DONE, 1)
                elif thread == 0:
                    ctx = context(info, outputs, 0, 0, physical, thread, block)
                    handler(ctx, state[block], message[0], *arrays)
                    info[DONE] = 1
                if wide:
                    syncthreads()
                else:
                    syncwarp()
                if info[DONE] != threads:
                    if lazy:
                        tell(
                            place,
                            lane,
                            State(
                                *(order, beats, head, out_tail, version, source),
                                *(physical, logical, received, answered),
                            ),
                        )
                    break
            if not wide or thread < 32:
                sent = info[EMITTED]
                if found == REFUSED:
                    sent = 0
                    out_head = room(place, out_tail, out_head)
                    refuse(place, lane, sizes, out_tail, letter, header, reason)
                    out_tail += 1
                for n in range(sent):
                    one = outputs[n]
                    if now > physical:
                        physical = now
                        logical = int64(0)
                    else:
                        logical += 1
                    at = Position(order, beats, head, out_tail, out_head, physical, logical)
                    beats, out_tail, out_head = deliver(
                        *(place, lane, sizes, routes, at, header, letter, one),
                        *(emitted, n * out_words + OUTPUT_BYTES // 4),
                    )
                    syncwarp()
                if source < 0:
                    head += 1
                else:
                    ticket = sources.head[source] + 1
                    last = source
                    syncwarp()
                    if lane == 0:
                        sources.head[source] = ticket
                        at = sources.at[source] + 16
                        store_words(at, uint32(ticket), uint32(ticket >> 32), 0, 0)
                if found == MESSAGE:
                    received += 1
                    answered += sent
                news = (news & (_LATER - 1)) + 1
                if not lazy or news >= _MOST:
                    news = _OLD
                syncwarp()
        # How far it is lies there already; what the handler has written follows.
        threadfence_system()

    return actor

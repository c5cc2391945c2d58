"""The kernel of an actor that does not end: it waits for messages, and handles them one by one."""

from __future__ import annotations

from collections import namedtuple
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from gridlane.actors.device import wire
from gridlane.actors.device.layout import EMITTED, OUTPUT_BYTES, REPLY
from gridlane.core import argtypes
from gridlane.core.argtypes import RecordType
from gridlane.cuda import (
    all_sync,
    atomic,
    blockIdx,
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
from gridlane.frontends.python.stubs import load_words, nanoseconds, store_words

DONE, WHAT, REASON = 4, 5, 6
"""Words of the block's ``info``, besides those of a step: threads whose handler has ended, what a
poll has found, why a message is dead."""
MESSAGE, END, REFUSED = 1, 2, 3
_ALL = 0xFFFFFFFF
_LAST = 31
"""The lane that reads the host's orders."""
_BEAT = 1023
"""Polls between two signs of life, less 1."""


Place = namedtuple(  # pyright: ignore[reportUntypedNamedTuple]  # any types
    "Place",
    "inbox orders status control answers out number drift shift out_shift",
)
"""What of its row an actor needs while it runs: a kernel would read the row anew each time, from the
host's memory."""


class Form(NamedTuple):
    """What a resident kernel is made for.

    Attributes:
        message: the type of its messages.
        tier: bytes of the largest message that it may emit.
        emits: how many it may emit for one.
        threads: that handle a message together; 1, or a multiple of 32.
    """

    message: RecordType
    tier: int
    emits: int
    threads: int

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
    answer, out_words = form.answer_bytes, (OUTPUT_BYTES + tier) // 4
    payload_words = max(3 * (chunks - wire.HEADER_CHUNKS), -(-record.size // 4) + 3)
    together, wide = threads > 1, threads > 32
    message_words = -(-record.size // 4)

    @jit(device=True)
    def settle(row, fields, clock, now, info):  # pyright: ignore
        """Merge the clock of the message, or find why it is dead."""
        seen, own = fields[wire.PHYSICAL], clock[0]
        deadline = fields[wire.DEADLINE]
        what, reason = MESSAGE, 0
        if deadline != 0 and deadline < now:
            what, reason = REFUSED, wire.EXPIRED
        elif seen > now and seen - now > row.drift:
            what, reason = REFUSED, wire.DRIFTED
        elif now > own and now > seen:
            clock[0] = now
            clock[1] = 0
        elif own == seen:
            clock[1] = max(clock[1], fields[wire.LOGICAL]) + 1
        elif own > seen:
            clock[1] += 1
        else:
            clock[0] = seen
            clock[1] = fields[wire.LOGICAL] + 1
        info[WHAT] = what
        info[REASON] = reason

    @jit(device=True)
    def put(target, lane, sequence, head, head_words, body, start, body_words):  # pyright: ignore
        """Write a message of two parts to a place, by a warp."""
        count = (head_words + body_words + 2) // 3
        chunk = lane
        while chunk < count:
            at = 3 * chunk - head_words
            if at < 0:
                a, b, c = head[3 * chunk], head[3 * chunk + 1], head[3 * chunk + 2]
            else:
                a, b, c = body[start + at], body[start + at + 1], body[start + at + 2]
            store_words(target + wire.CHUNK * chunk, a, b, c, sequence)
            chunk += 32

    @jit(device=True)
    def room(row, out_tail, out_head):  # pyright: ignore
        """Wait until the host has taken enough of the kernel's messages; how many it has."""
        while out_tail - out_head >= int64(1) << row.out_shift:
            _, _, low, high = load_words(row.orders)
            out_head = int64(low) | int64(high) << 32
        return out_head

    @jit(device=True)
    def post(row, lane, out_tail, letter, body, start, body_words):  # pyright: ignore
        """Put a message into the ring to the host."""
        mask = (int64(1) << row.out_shift) - 1
        target = row.out + (out_tail & mask) * out_slot
        sequence = (out_tail >> row.out_shift) + 1
        put(target, lane, sequence, letter, wire.HEADER_WORDS, body, start, body_words)

    @jit(device=True)
    def address_letter(row, letter, header, kind, flags, size):  # pyright: ignore
        """What all messages of the kernel's have, but the clock and the key."""
        whole, asked = letter.view(int64), header.view(int64)
        whole[wire.CORRELATION] = asked[wire.CORRELATION]
        whole[wire.REPLY_TO] = asked[wire.REPLY_TO] if kind == REPLY else row.number
        whole[wire.NODE] = row.number
        whole[wire.DEADLINE] = 0
        whole[wire.TOPIC] = 0
        whole[wire.TRACE] = asked[wire.TRACE]
        whole[wire.SPAN] = row.number
        flags = flags | kind << wire.KIND_SHIFT
        letter[wire.SIZES] = uint32(size | flags << 16)
        letter[wire.COUNTS] = uint32((header[wire.COUNTS] & 0xFFFF) + 1)

    @jit(device=True)
    def tick(clock, now):  # pyright: ignore
        if now > clock[0]:
            clock[0] = now
            clock[1] = 0
        else:
            clock[1] += 1

    @jit(device=True)
    def tell(row, lane, places, words, order, beats, head, out_tail, clock, counts):  # pyright: ignore
        """Tell the host how far the kernel is."""
        if lane == 0:
            words[0] = uint32(order)
            words[1] = uint32(beats)
            places[1] = head
            places[2] = out_tail
            places[3] = 0
            places[4] = clock[0]
            places[5] = clock[1]
            places[6] = counts[0]
            places[7] = counts[1]
            places[8] = head - 1
            places[9] = 0
        syncwarp()
        if lane < 5:
            target = row.status + wire.CHUNK * lane
            if lane == 3:
                target = row.control + 16
            elif lane == 4:
                target = row.control + 48
            at = 4 * lane
            store_words(target, words[at], words[at + 1], words[at + 2], words[at + 3])
        syncwarp()

    def actor(rows: Any, state: Any, arrays: Any) -> None:
        thread, block = threadIdx.x, blockIdx.x
        lane = thread & 31
        first_row = rows[block]
        row = Place(
            *(first_row.inbox, first_row.orders, first_row.status, first_row.control),
            *(first_row.answers, first_row.out, first_row.number, first_row.drift),
            *(first_row.shift, first_row.out_shift),
        )
        header = shared.array(wire.HEADER_WORDS, uint32)
        payload = shared.array(payload_words, uint32)
        outputs = shared.array(emits, output)
        emitted = outputs.view(uint32)
        info = shared.array(16, int32)
        letter = shared.array(wire.HEADER_WORDS, uint32)
        answered = shared.array(12, uint32)
        told = shared.array(20, uint32)
        clock = shared.array(2, int64)
        counts = shared.array(2, int64)
        fields, places = header.view(int64), told.view(int64)
        message = payload.view(record)
        head, out_tail, out_head = first_row.head, first_row.out_tail, int64(0)
        order, polls, now = first_row.order, int32(0), first_row.started
        mask = (int64(1) << row.shift) - 1
        since = first_row.started - int64(nanoseconds())
        if thread == 0:
            clock[0] = first_row.physical
            clock[1] = first_row.logical
            counts[0] = first_row.received
            counts[1] = first_row.answered
        if wide:
            syncthreads()
        else:
            syncwarp()
        while True:
            if thread < 32:
                found = 0
                while found == 0:
                    at = row.inbox + (head & mask) * slot + wire.CHUNK * lane
                    if lane >= first:
                        at = row.orders
                    a, b, c, d = load_words(at)
                    now = since + int64(nanoseconds())  # while the load is under way
                    there = all_sync(
                        _ALL, lane >= first or d == uint32((head >> row.shift) + 1)
                    )
                    wanted = int32(shfl_sync(_ALL, a, _LAST))
                    polls += 1
                    if wanted != order:
                        order = wanted
                        threadfence_system()
                        tell(row, lane, places, told, order, polls, head, out_tail, clock, counts)
                    elif polls & _BEAT == 0:
                        tell(row, lane, places, told, order, polls, head, out_tail, clock, counts)
                    if order & 3 == wire.STOP:
                        found = END
                    elif there and order & 3 == wire.RUN:
                        found = MESSAGE
                if found == MESSAGE:
                    if lane < wire.HEADER_CHUNKS:
                        header[3 * lane] = a
                        header[3 * lane + 1] = b
                        header[3 * lane + 2] = c
                    elif lane < first:
                        word = 3 * (lane - wire.HEADER_CHUNKS)
                        payload[word] = a
                        payload[word + 1] = b
                        payload[word + 2] = c
                    chunk = first + lane
                    while chunk < chunks:
                        a, b, c, d = load_words(
                            row.inbox + (head & mask) * slot + wire.CHUNK * chunk
                        )
                        if d == uint32((head >> row.shift) + 1):
                            word = 3 * (chunk - wire.HEADER_CHUNKS)
                            payload[word] = a
                            payload[word + 1] = b
                            payload[word + 2] = c
                            chunk += 32
                    syncwarp()
                    if lane == 0:
                        info[EMITTED] = 0
                        info[DONE] = 0
                        settle(row, fields, clock, now, info)
                        low = uint32(head)
                        store_words(row.control + 48, low, uint32(head >> 32), 1, 0)
                elif lane == 0:
                    info[WHAT] = END
            if wide:
                syncthreads()
            else:
                syncwarp()
            if info[WHAT] == END:
                break
            if info[WHAT] == MESSAGE:
                if together:
                    ctx = context(info, outputs, 0, 0, clock[0], thread, block)
                    handler(ctx, state[block], message[0], *arrays)
                    atomic.add(info, DONE, 1)
                elif thread == 0:
                    ctx = context(info, outputs, 0, 0, clock[0], thread, block)
                    handler(ctx, state[block], message[0], *arrays)
                    info[DONE] = 1
                if wide:
                    syncthreads()
                else:
                    syncwarp()
                if info[DONE] != threads:
                    break
            if thread < 32:
                sent = info[EMITTED]
                if info[WHAT] == REFUSED:
                    sent = 0
                    out_head = room(row, out_tail, out_head)
                    if lane == 0:
                        flags = wire.DEAD << wire.KIND_SHIFT | info[REASON] << wire.REASON_SHIFT
                        for n in range(wire.HEADER_WORDS):
                            letter[n] = header[n]
                        letter[wire.SIZES] |= uint32(flags << 16)
                    syncwarp()
                    post(row, lane, out_tail, letter, payload, 0, message_words)
                    out_tail += 1
                    syncwarp()
                for n in range(sent):
                    one = outputs[n]
                    kind, size = int32(one.kind), int32(one.payload_bytes)
                    reply_to = fields[wire.REPLY_TO]
                    direct = kind == REPLY and reply_to < 0 and reply_to & wire.DIRECT != 0
                    start = n * out_words + OUTPUT_BYTES // 4
                    words = (size + 3) // 4
                    if direct:
                        if lane == 0:
                            tick(clock, now)
                            answer_fields = answered.view(int64)
                            answer_fields[0] = one.type
                            answer_fields[1] = clock[0]
                            answer_fields[2] = clock[1]
                            answer_fields[3] = row.number
                            answered[8] = uint32(size)
                        syncwarp()
                        number = reply_to & ((1 << wire.NUMBER_BITS) - 1)
                        sequence = (reply_to >> wire.NUMBER_BITS) & (
                            (1 << wire.GENERATION_BITS) - 1
                        )
                        put(
                            row.answers + number * answer,
                            *(lane, sequence + 1, answered, wire.ANSWER_WORDS),
                            *(emitted, start, words),
                        )
                    elif kind != REPLY or reply_to != 0:
                        out_head = room(row, out_tail, out_head)
                        if lane == 0:
                            tick(clock, now)
                            flags = wire.IS_REPLY if kind == REPLY else 0
                            address_letter(row, letter, header, kind, flags, size)
                            whole = letter.view(int64)
                            whole[wire.TYPE] = one.type
                            whole[wire.SOURCE] = fields[wire.SOURCE] if kind == REPLY else one.key
                            whole[wire.PHYSICAL] = clock[0]
                            whole[wire.LOGICAL] = clock[1]
                        syncwarp()
                        post(row, lane, out_tail, letter, emitted, start, words)
                        out_tail += 1
                    syncwarp()
                head += 1
                if lane == 0:
                    if info[WHAT] == MESSAGE:
                        counts[0] += 1
                        counts[1] += sent
                syncwarp()
                tell(row, lane, places, told, order, polls, head, out_tail, clock, counts)
        # How far it is lies there already; what the handler has written follows.
        threadfence_system()

    return actor

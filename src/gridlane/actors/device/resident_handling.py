"""How a resident kernel takes messages, and its handler handles them; see ``resident``."""

from __future__ import annotations

from typing import Any

from gridlane.actors.device import receiving
from gridlane.actors.device.cancellation import heeding_of
from gridlane.actors.device.resident_block import DONE, Batch, Clock
from gridlane.actors.device.resident_form import Form
from gridlane.actors.device.resident_parts import ALL
from gridlane.actors.device.resident_times import Times, note_handled, note_wait
from gridlane.actors.errors import Reason
from gridlane.actors.layouts import wire
from gridlane.actors.layouts.step import EMITTED
from gridlane.cuda import (
    atomic,
    ballot_sync,
    ffs,
    int32,
    int64,
    jit,
    local,
    shfl_sync,
    syncthreads,
    syncwarp,
    uint32,
)
from gridlane.frontends.python.system import load_volatile, store_words

_DRIFTED, _EXPIRED = int(Reason.DRIFTED), int(Reason.EXPIRED)


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
    reason = int32(_DRIFTED if seen - now > drift else 0)
    if source < 0 and reason == 0 and seen > now:
        # The device's clock was set at the kernel's launch, and is late.
        since += seen - now
        now = seen
    if deadline != 0 and deadline < now:
        reason = int32(_EXPIRED)
    if reason == 0:
        top = max(max(physical, seen), now)
        events = logical if top == physical else int64(-1)
        theirs = asked.logical if top == seen else int64(-1)
        logical = max(events, theirs) + 1
        physical = top
    return reason, now, since, physical, logical


@jit(device=True)
def _in_a_row(
    block: Any, first: Any, where: Any, depth: Any, there: Any, source: Any, now: Any
) -> Any:
    """The number of present messages, from one on, that are of one source, and neither expire nor
    have a clock that is ahead; up to 32."""
    lane, messages = block.lane, block.messages
    mine = int32((where + lane) & (depth - 1))
    plain = lane < there and messages[first + mine].physical < now
    plain = plain and messages[first + mine].deadline == 0
    if plain and source >= 0:
        plain = block.came.origin[mine] == source
    others = ~ballot_sync(ALL, plain)
    return int32(ffs(others) - 1 if others != 0 else 32)


def accepter_of(form: Form) -> Any:
    """A device function by which a warp takes messages that are there. It returns the batch, and
    where the kernel stands, with the clock after the first message."""
    depth, behind, late = form.shape.depth, form.behind, form.publishes_late
    together = form.together

    def take(block: Any, clock: Any, batch: Any) -> Any:
        source, where, there, _, _ = batch
        since, physical, logical = clock.since, clock.physical, clock.logical
        time = since + load_volatile(block.box.told, receiving.CLOCK)
        first, messages = behind if source >= 0 else 0, block.messages
        several, reason = int32(0), int32(0)
        if late and there > 1:
            several = _in_a_row(block, first, where, depth, there, source, time)
        if several > 0:
            # Nearly always so: of several messages, the clock after the first.
            logical = logical + 1 if physical >= time else int64(0)
            physical = max(physical, time)
        else:
            several = int32(1)
            reason, time, since, physical, logical = _stamp(
                messages[first + where], source, time, since, block.place.drift, physical, logical
            )
        return Batch(source, where, several, reason, time), Clock(since, physical, logical)

    _take = jit(device=True)(take)

    def accept(block: Any, now: Any, batch: Any) -> Any:
        batch, clock = _take(block, now.clock, batch)
        if batch.reason == 0 and not late and batch.source >= 0:
            # From where the message is, in case that it fails.
            tail, low = uint32(now.out_tail >> 32), uint32(now.out_tail)
            store_words(
                block.place.status + wire.SENT_AT, low, tail, now.orders.version, batch.source
            )
        if together:
            syncwarp()
        return batch, now._replace(clock=clock)

    return jit(device=True)(accept)


def _runner_of(heeding: Any, context: Any, form: Form) -> Any:
    """A device function by which one thread handles several messages in a row, up to one that emits
    something: if its handler fails, no earlier output is unsent. It returns the number of handled
    messages, and above 8 bits the number of outputs; ``info`` has the number of handled ones where
    the handler fails. The counts of outputs are the thread's own, in registers."""
    kept, depth, timed = form.kept, form.shape.depth, form.timed

    def run(block: Any, times: Any, physical: Any, first: Any, batch: Any, arrays: Any) -> Any:
        n, counts = int32(0), local.array(EMITTED + 1, int32)
        number, messages = block.number, block.messages
        requests = block.place.orders + wire.REQUESTS
        counts[EMITTED] = 0
        while n < batch.count and counts[EMITTED] == 0:
            ctx = context(counts, block.outputs, 0, 0, physical, block.thread, number)
            one, begin = first + int32((batch.where + n) & (depth - 1)), int64(0)
            if timed:
                begin = note_wait(times, messages[one])
            if kept:
                heeding(requests, ctx, block.held[0], messages[one].payload, arrays)
            else:
                heeding(requests, ctx, block.state[number], messages[one].payload, arrays)
            if timed:
                note_handled(times, begin)
            n = int32(n + 1)
            block.info[DONE] = n
        return int32(n | counts[EMITTED] << 8)

    return jit(device=True)(run)


def _handler_of_many(heeding: Any, context: Any, form: Form) -> Any:
    """A device function by which all threads handle a message; see ``handler_of``."""
    threads, wide, timed = form.threads, form.wide, form.timed

    def handle(block: Any, clock: Any, batch: Any, arrays: Any) -> Any:
        thread, message, begin = block.thread, block.messages[0], int64(0)
        times = Times(block.counts, block.place.latencies, clock.since, batch.source)
        if timed and thread == 0:
            begin = note_wait(times, message)
        ctx = context(block.info, block.outputs, 0, 0, clock.physical, thread, block.number)
        requests = block.place.orders + wire.REQUESTS
        heeding(requests, ctx, block.state[block.number], message.payload, arrays)
        atomic.add(block.info, DONE, 1)
        if wide:
            syncthreads()
        else:
            syncwarp()
        failed = block.info[DONE] != threads
        if not failed:
            if timed and thread == 0:
                note_handled(times, begin)
            if wide:
                syncthreads()  # the counts restart after this
        return failed, int32(1), int32(block.info[EMITTED])

    return jit(device=True)(handle)


def handler_of(handler: Any, context: Any, form: Form) -> Any:
    """A device function that handles messages in a row: returns whether the handler has failed, how
    many messages are handled, with the failed one where one thread handles them, and how many
    outputs there are. A lane whose handler has failed has ended, and publishes nothing."""
    heeding = heeding_of(handler)
    if form.together:
        return _handler_of_many(heeding, context, form)
    run, behind = _runner_of(heeding, context, form), form.behind

    def handle(block: Any, clock: Any, batch: Any, arrays: Any) -> Any:
        did, first = int32(0), behind if batch.source >= 0 else 0
        if block.thread == 0:
            times = Times(block.counts, block.place.latencies, clock.since, batch.source)
            did = run(block, times, clock.physical, first, batch, arrays)
        syncwarp()
        failed = ballot_sync(ALL, did != 0) == 0
        did = shfl_sync(ALL, did, 0)
        done = int32(did & 0xFF)
        if failed:
            done = int32(block.info[DONE])
        return failed, done, int32(did >> 8)

    return jit(device=True)(handle)

"""The memory of a resident kernel's block, and where the kernel stands in its rings."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from gridlane.actors.device import receiving, resident_times
from gridlane.actors.device.cluster_rings import come_near
from gridlane.actors.device.receiving import Box, Came
from gridlane.actors.device.resident_form import Form, output_record
from gridlane.actors.device.resident_parts import Place, Routes, Sources, no_way
from gridlane.actors.device.resident_times import load_counts
from gridlane.actors.layouts import wire
from gridlane.cuda import blockIdx, int32, int64, jit, shared, syncthreads, threadIdx, uint32
from gridlane.frontends.python.system import nanoseconds, store_words

# The types of their fields are those of a kernel's variables.
Block: Any = namedtuple(  # pyright: ignore[reportUntypedNamedTuple]
    "Block",
    "thread lane number place box came routes sources messages outputs emitted info held time "
    "counts state",
)
"""The thread and its lane; the block's number and place; its shared memory: messages, routes and
sources, outputs and their words, ``info``, the state of an actor that runs, the clock for other
warps, counts of times; the states of all actors."""

Standing: Any = namedtuple(  # pyright: ignore[reportUntypedNamedTuple]
    "Standing",
    "orders clock way beats head taken out_tail out_head received answered last news",
)
"""Where a kernel stands: the host's orders, the clock, the last route, heartbeats; handled messages
of the host and of other actors, messages to the host and how many of them it took; counts of
messages; the source of the last one; what is not published yet, see ``resident_polling``."""

Orders: Any = namedtuple(  # pyright: ignore[reportUntypedNamedTuple]
    "Orders", "both version order loaded"
)
"""The host's orders, as last read: the version of the tables and the order in one word, as a kernel
follows them, and whether it handles messages: its state is in shared memory, if it is kept there,
and it has the tables."""

Clock: Any = namedtuple("Clock", "since physical logical")  # pyright: ignore[reportUntypedNamedTuple]
"""The hybrid logical clock, and the offset of the host's time from the device's."""

Batch: Any = namedtuple(  # pyright: ignore[reportUntypedNamedTuple]
    "Batch", "source where count reason time"
)
"""Messages in a row: their source, -1 for the host; the place of the first; their number; the
reason why the only one is not handled, or 0; the host's time when they were taken."""

DONE, WHAT = 4, 5
"""Words of the block's ``info``, besides those of a step: how many threads, or messages in a row,
have been handled; the result of a poll."""


@jit(device=True)
def _place_of(row: Any) -> Any:
    return Place(
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


@jit(device=True)
def _tables_of(none: Any) -> Any:
    """Room for the routes and the sources."""
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
    return routes, sources


def block_of(form: Form) -> Any:
    """A device function: the block of a row."""
    shape, emits, timed = form.shape, form.emits, form.timed
    record, output = receiving.arrival_record(form.message, shape), output_record(form.tier)
    held_record = form.state if form.kept else output
    words = shape.places * shape.words

    def block(row: Any, state: Any) -> Any:
        place = _place_of(row)
        # Arrays begin at ``none``, which the compiler does not see to be 0. Otherwise it would
        # compute each address again at its use, from a register that takes tens of cycles to read.
        none = row.none
        arrivals = shared.array(words, uint32)[none:]
        box = Box(arrivals, shared.array(receiving.TOLD_WORDS, int64)[none:])
        came = Came(shared.array(32, int32)[none:], shared.array(32, int64)[none:])
        outputs = shared.array(emits, output)[none:]
        info = shared.array(16, int32)[none:]
        held = shared.array(1, held_record)[none:]
        time = shared.array(1, int64)[none:]
        counts = shared.array(resident_times.WORDS, int64)[none:] if timed else time
        routes, sources = _tables_of(none)
        return Block(
            threadIdx.x,
            threadIdx.x & 31,
            blockIdx.x,
            place,
            box,
            came,
            routes,
            sources,
            arrivals.view(record),
            outputs,
            outputs.view(uint32),
            info,
            held,
            time,
            counts,
            state,
        )

    return jit(device=True)(block)


def beginner_of(form: Form) -> Any:
    """A device function that sets a block's words at the kernel's start; for all threads."""
    timed, clustered, threads = form.timed, form.clustered, form.block

    def begin(block: Any, row: Any) -> None:
        thread, head = block.thread, row.head
        if thread < receiving.TOLD_WORDS:
            block.info[thread] = 0
            block.box.told[thread] = int64(0)
            if thread == receiving.ARRIVED or thread == receiving.HANDLED:
                block.box.told[thread] = head
            elif thread == receiving.ORDERS:
                block.box.told[thread] = int64(-1)
        if timed:
            load_counts(thread, threads, block.counts, block.place.latencies)
        if clustered:
            come_near(thread, block.number, row.rings, row.region)
        syncthreads()

    return jit(device=True)(begin)


@jit(device=True)
def standing_of(row: Any) -> Any:
    """Where a kernel stands at its start."""
    return Standing(
        Orders(int64(-1), int32(-1), row.order, False),
        Clock(row.started - int64(nanoseconds()), row.physical, row.logical),
        no_way(),
        int32(0),
        row.head,
        int64(0),
        row.out_tail,
        int64(0),
        row.received,
        row.answered,
        int32(-1),
        int32(0),
    )


@jit(device=True)
def publish(block: Any, now: Any, source: Any) -> Any:
    """Publish where a kernel stands to the host, and the source of the message that it handles, or
    -1: a chunk by each of four lanes. The first lane has ended if its handler has failed."""
    lane, place = block.lane, block.place
    target = place.status + wire.CHUNK * (lane - 1)
    one, two = int64(now.orders.order) | int64(now.beats) << 32, now.head
    if lane == 2:
        one, two = now.out_tail, int64(uint32(now.orders.version)) | int64(source) << 32
    elif lane == 3:
        one, two = now.clock.physical, now.clock.logical
    elif lane == 4:
        target = place.control + wire.COUNTS_AT
        one, two = now.received, now.answered
    if lane > 0 and lane < 5:
        store_words(target, uint32(one), uint32(one >> 32), uint32(two), uint32(two >> 32))

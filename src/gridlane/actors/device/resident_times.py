"""Waits and handling times of messages to a resident kernel, by its own clock, in the buckets of
engine/telemetry.h.

The counts are in the block's shared memory, as ``gl_latencies`` has them. New counts are written to
the host's memory without a wait. Only kernels of a runtime with telemetry have this.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from gridlane.actors.layouts.blocks import BUCKETS, Histogram
from gridlane.cuda import clz, int32, int64, jit, uint32
from gridlane.frontends.python.system import load_words, nanoseconds, store_words

Times: Any = namedtuple(  # pyright: ignore[reportUntypedNamedTuple]
    "Times", "counts at since source"
)
"""The counts in shared memory, the address of the host's, the offset of the host's time from the
device's, and the source of the handled messages."""

_EACH = Histogram.size // 8
_BUCKETS = Histogram["buckets"].offset // 8
WAIT, HANDLING = 0, _EACH
WORDS = 2 * _EACH
"""Words of 64 bits of both histograms: a total, the largest time, and the buckets."""


@jit(device=True)
def bucket_of(time: Any) -> Any:
    """The bucket of a time, as of ``gl_bucket``."""
    exponent = int32(63 - clz(time))
    number = (exponent - 1) * 4 + (int32(time >> max(exponent - 2, 0)) & 3)
    return int32(time) if time < 4 else min(number, BUCKETS - 1)


@jit(device=True)
def load_counts(thread: Any, threads: Any, counts: Any, address: Any) -> Any:
    """Continue the counts that the host has; for all threads."""
    n = int32(thread)
    while n < WORDS // 2:
        a, b, c, d = load_words(address + 16 * n)
        counts[2 * n] = int64(a) | int64(b) << 32
        counts[2 * n + 1] = int64(c) | int64(d) << 32
        n += threads


@jit(device=True)
def _tell(counts: Any, address: Any, first: Any) -> Any:
    one, two = counts[first], counts[first + 1]
    store_words(address + 8 * first, uint32(one), uint32(one >> 32), uint32(two), uint32(two >> 32))


@jit(device=True)
def _note(times: Any, histogram: Any, time: Any) -> Any:
    counts = times.counts
    counts[histogram] += time
    counts[histogram + 1] = max(counts[histogram + 1], time)
    _tell(counts, times.at, int32(histogram))
    place = int32(histogram + _BUCKETS + bucket_of(time))
    counts[place] += 1
    _tell(counts, times.at, int32(place & ~1))


@jit(device=True)
def note_wait(times: Any, message: Any) -> Any:
    """Count the wait of a message whose handler begins now; returns the present time. Another
    kernel has stored its time of sending, by the same clock, in the message's span."""
    begin = int64(nanoseconds())
    since = message.span if times.source >= 0 else message.physical - times.since
    _note(times, WAIT, max(begin - since, int64(0)))
    return begin


@jit(device=True)
def note_handled(times: Any, begin: Any) -> Any:
    """Count the handling time of a message."""
    _note(times, HANDLING, int64(nanoseconds()) - begin)

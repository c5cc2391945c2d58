"""The layout of the memory in which a grid queues launches of its own (dynamic parallelism):
frontends/ptx/forms/launches.py fills it, modules/launches.py reads it.

The memory begins with words that all threads share; records of one size follow.
"""

from __future__ import annotations

from enum import IntEnum

COUNT, ORDER, ERROR, CAPACITY, STRIDE, HANDLES = range(6)
"""Words: records that are reserved; records that are launched; the last error; the most records;
bytes of a record; streams and events that were made."""
HEADER = 64
"""Bytes of these words."""

STATE, KIND, TARGET, GRID, BLOCK, SHARED, VALUE, STREAM, SIZE = 0, 1, 2, 4, 7, 10, 11, 12, 14
"""Words of a record: its place in the order of the launches, 0 if it is none yet; its kind; the
address of the kernel or of the memory written, two words; the grid, of a copy the source's address;
the block; bytes of shared memory; the byte of a fill; the stream, two words; the bytes of a copy or
fill, two words."""
RECORD = 64
"""Bytes of these words; a kernel's parameters follow."""


class Kind(IntEnum):
    """The kind of a record's work."""

    KERNEL = 0
    COPY = 1
    FILL = 2


TAIL_STREAM, FREE_STREAM = 3, 4
"""``cudaStreamTailLaunch`` and ``cudaStreamFireAndForget`` of driver_types.h."""
INVALID_VALUE, INVALID_CONFIGURATION, TOO_MANY = 1, 9, 69
"""cudaErrorInvalidValue, cudaErrorInvalidConfiguration, cudaErrorLaunchPendingCountExceeded."""

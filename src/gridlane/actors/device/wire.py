"""Messages on the wire between the host and a resident kernel. engine/wire.h has the same
constants.

A message is a short header (``HEADER``) and its payload, cut into pieces of 12 bytes. Each piece
and a sequence word are a chunk of 16 bytes. Memory order: one access reads or writes a chunk, so a
reader sees a complete chunk or none, and neither side needs a fence.
"""

from __future__ import annotations

import numpy as np

CHUNK, PIECE = 16, 12
"""Bytes of a chunk, and of its piece."""

HEADER = np.dtype(
    [
        *((name, np.int64) for name in ("type", "source", "correlation", "reply_to")),
        *((name, np.int64) for name in ("physical", "logical", "node", "deadline", "topic")),
        ("trace", np.int64),
        ("span", np.int64),
        ("bytes", np.uint16),
        ("flags", np.uint16),
        ("hops", np.uint16),
        ("attempt", np.uint16),
    ],
    align=True,
)
"""The header of a message on the wire. A kernel's own messages have their kind and reason in the
flags."""

HEADER_WORDS = HEADER.itemsize // 4
HEADER_CHUNKS = HEADER.itemsize // PIECE

(TYPE, SOURCE, CORRELATION, REPLY_TO, PHYSICAL, LOGICAL, NODE, DEADLINE, TOPIC, TRACE, SPAN) = (
    range(11)
)
"""The header's fields of 8 bytes, by their indices."""
SIZES, COUNTS = 22, 23
"""The words with ``bytes`` and ``flags``, with ``hops`` and ``attempt``."""

ANSWER_WORDS, ANSWER_CHUNKS = 9, 3
"""The prefix of an answer's payload: its type and clock, and the bytes of the payload."""

DIRECT = 1 << 60
"""The bit of ``reply_to`` of a caller who waits at a place of the actor."""
NUMBER_BITS, GENERATION_BITS = 20, 29
"""The bits of ``reply_to`` for the number of the place, and for its generation above that."""

DEAD = 4
"""The kind of a message that the kernel does not handle, besides those of ``layout``."""
KIND_SHIFT, REASON_SHIFT = 8, 12
"""Of the flags of a kernel's own messages."""
IS_REPLY = 1
EXPIRED, DRIFTED = 5, 11
"""Reasons."""

LEAVE, RUN, PARK, STOP = 0, 1, 2, 3
"""Orders: leave for a while, handle messages, handle none, end. An order is 4 times its number,
plus one of these."""

ROW = np.dtype(
    [
        *((name, np.int64) for name in ("inbox", "orders", "status", "control", "answers", "out")),
        *((name, np.int64) for name in ("routes", "sources")),
        *((name, np.int64) for name in ("number", "drift", "started", "head", "out_tail")),
        *((name, np.int64) for name in ("physical", "logical", "received", "answered")),
        *((name, np.int64) for name in ("rings", "region", "launch")),
        *((name, np.int32) for name in ("shift", "out_shift", "order", "none")),
        ("latencies", np.int64),
    ],
    align=True,
)
"""The fields of an actor that a kernel reads at its start: addresses, sizes, and positions.

``started`` is the host's time; ``shift`` and ``out_shift`` are log2 of the rings' capacities;
``none`` is 0. In a cluster ``rings`` and ``region`` are those of ``cluster_rings``, and ``launch``
is its number, or 0 for an actor that has ended.
"""

ORDERS_BYTES, REQUESTS = 64, 16
"""The host's words: the order, the version of the tables, and how many of the kernel's messages it
has taken; then the number of requests to give up a message, + 1."""
STATUS_BYTES = 64
"""The kernel's status: chunks with (order that it follows, heartbeats, messages taken), (messages
sent, version of the tables that it uses, source of the current message), (physical, logical)."""
ENDED_AT = 48
"""The chunk of the status in which an actor of a cluster publishes its end: the number of the
launch, and whether its handler has failed."""

TABLE_HEAD, TABLE_ENTRY, TABLE_KINDS = 32, 32, 864
"""Bytes of a table's header and of an entry: ``blocks.RoutingTable``; the types of the messages of
the entries follow, a chunk each. ``routes`` lists other actors' inboxes on the device, ``sources``
the actor's own, one for each sender."""
IN_USE = 1
"""The flag of an entry that is in use."""
SHIFT = 8
"""Its other flags, above this, are log2 of the capacity."""
INBOX_HEAD = 64
"""Bytes before the slots of an inbox on the device: ``blocks.InboxHeader``. The sender writes its
first chunk, with the number of messages so far, and the receiver its second, with the number of
taken ones. Its token is the receiver's number. The key of an entry of ``sources`` is the number of
the host's messages that precede its own."""


def chunks_of(payload: int) -> int:
    """Chunks of a message."""
    return HEADER_CHUNKS + -(-payload // PIECE)


def slot_of(chunks: int) -> int:
    """Bytes of a slot of so many chunks."""
    return -(-chunks * CHUNK // 64) * 64


def answer_chunks(payload: int) -> int:
    """Chunks of an answer."""
    return ANSWER_CHUNKS + -(-payload // PIECE)

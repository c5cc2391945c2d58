"""Messages on the way between the host and a kernel that runs: engine/wire.h has the same numbers.

A message is its header in short (``HEADER``) and its payload, cut into pieces of 12 bytes. Each
piece and a sequence word are a chunk of 16 bytes, which is written and read by one access, so that
neither side needs a fence: a reader has a chunk whole or not yet.
"""

from __future__ import annotations

import numpy as np

CHUNK, PIECE = 16, 12
"""Bytes of a chunk, and of what it carries."""

HEADER = np.dtype(
    [
        *((name, np.int64) for name in ("type", "source", "correlation", "reply_to")),
        *((name, np.int64) for name in ("physical", "logical", "node", "deadline", "topic")),
        *(("trace", np.int64), ("span", np.int64)),
        *(("bytes", np.uint16), ("flags", np.uint16), ("hops", np.uint16), ("attempt", np.uint16)),
    ],
    align=True,
)
"""The header of a message on the wire; a kernel's own messages have their kind and reason in the
flags."""

HEADER_WORDS = HEADER.itemsize // 4
HEADER_CHUNKS = HEADER.itemsize // PIECE

(TYPE, SOURCE, CORRELATION, REPLY_TO, PHYSICAL, LOGICAL, NODE, DEADLINE, TOPIC, TRACE, SPAN) = (
    range(11)
)
"""The header's fields of 8 bytes, by their places."""
SIZES, COUNTS = 22, 23
"""The words with ``bytes`` and ``flags``, with ``hops`` and ``attempt``."""

ANSWER_WORDS, ANSWER_CHUNKS = 9, 3
"""Before the payload of an answer: its type and clock, and the bytes of the payload."""

DIRECT = 1 << 60
"""The bit of ``reply_to`` of a caller who waits at an answer's place of the actor."""
NUMBER_BITS, GENERATION_BITS = 20, 29
"""Of ``reply_to``: the number of the place, and its generation above that."""

DEAD = 4
"""The kind of a message that the kernel does not handle, besides those of ``layout``."""
KIND_SHIFT, REASON_SHIFT = 8, 12
"""Of the flags of a kernel's own messages."""
IS_REPLY = 1
EXPIRED, DRIFTED = 5, 11
"""Reasons."""

LEAVE, RUN, PARK, STOP = 0, 1, 2, 3
"""Orders: end for a while, handle messages, handle none, end. An order is 4 times its number, and
this."""

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
"""What a kernel reads of an actor when it starts: addresses, sizes, and where it goes on.

``started`` is the host's time; ``shift`` and ``out_shift`` are log2 of the rings' capacities;
``none`` is 0. In a cluster ``rings`` and ``region`` are those of ``nearby``, and ``launch`` is its
number, or 0 for an actor that has ended.
"""

ORDERS_BYTES, REQUESTS = 64, 16
"""What the host tells: the order, the version of the tables, and how many of the kernel's messages
it has taken. Behind that, how often it has asked the handler to give up its message, and 1 more."""
STATUS_BYTES = 64
"""What the kernel tells: chunks with (order that it follows, beats, messages taken), (messages
sent, version of the tables that it uses, source of the message that it handles), (physical,
logical)."""
ENDED_AT = 48
"""The chunk of the status with which an actor of a cluster tells that it has ended: the number of
the launch, and whether its handler has failed."""

TABLE_HEAD, TABLE_ENTRY, TABLE_KINDS = 32, 32, 864
"""Bytes of a table's header and of an entry: ``blocks.RoutingTable``; the types of the messages of
the entries follow, a chunk each. ``routes`` leads to other actors' inboxes on the device,
``sources`` has the actor's own, one for each sender."""
IN_USE = 1
"""The flag of an entry that is in use."""
SHIFT = 8
"""Its other flags, above this, are log2 of the capacity."""
INBOX_HEAD = 64
"""Bytes before the slots of an inbox on the device: ``blocks.InboxHeader``. The sender writes its
first chunk, with how many messages there have been, and the receiver its second, with how many are
taken. Its token is the receiver's number. The key of an entry of ``sources`` is the number of the
host's messages after which its own come."""


def chunks_of(payload: int) -> int:
    """Chunks of a message."""
    return HEADER_CHUNKS + -(-payload // PIECE)


def slot_of(chunks: int) -> int:
    """Bytes of a slot of so many chunks."""
    return -(-chunks * CHUNK // 64) * 64


def answer_chunks(payload: int) -> int:
    """Chunks of an answer."""
    return ANSWER_CHUNKS + -(-payload // PIECE)

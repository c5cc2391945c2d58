"""Messages on the wire between the host and a resident kernel, and the words beside them.

A message is a short header (``WireHeader``) and its payload, cut into pieces of 12 bytes. Each
piece and a sequence word are a chunk of 16 bytes (``ring.py``). Memory order: one access of the
device reads or writes a chunk, so a reader sees a complete chunk or none, and neither side needs a
fence.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.actors.layouts.blocks import (
    Clock,
    ControlBlock,
    InboxHeader,
    RouteEntry,
    RoutingTable,
)
from gridlane.actors.layouts.python import flat_dtype
from gridlane.actors.layouts.schema import Array, Layout, lay_out
from gridlane.core.argtypes import uint16, uint32, uint64

Chunk: Layout = lay_out(
    "Chunk",
    ("piece", Array(uint32, (3,)), "12 bytes of the message"),
    ("sequence", uint32, "the message's lap, + 1"),
    meaning="A piece of a message, which devices read and write by one access.",
)
WireHeader: Layout = lay_out(
    "WireHeader",
    ("type", uint64, "type_id of the payload's layout"),
    ("source", uint64, "number of the sender; of a kernel's own message, that of the receiver"),
    ("correlation", uint64, "number of the call, which its reply repeats"),
    ("reply_to", uint64, "number of the actor or host that the reply goes to"),
    ("clock", Clock, "the sender's clock"),
    ("deadline", uint64, "nanoseconds since 1970 after which it expires; 0 for never"),
    ("topic", uint64, "hash of the topic that it was published to; 0 for none"),
    ("trace", uint64, "number of the trace that it is part of; 0 for none"),
    ("span", uint64, "number of the step in that trace; 0 for none"),
    ("bytes", uint16, "bytes of the payload"),
    ("flags", uint16, "bits of the message; kind and reason of a kernel's own"),
    ("hops", uint16, "actors that passed it on"),
    ("attempt", uint16, "deliveries that were tried before this one"),
    meaning="What stands before the payload of a message on the wire.",
)
WireAnswer: Layout = lay_out(
    "WireAnswer",
    ("type", uint64, "type_id of the payload's layout"),
    ("clock", Clock, "the actor's clock"),
    ("bytes", uint32, "bytes of the payload, which follow"),
    meaning="What stands before the payload of an answer.",
)
Orders: Layout = lay_out(
    "Orders",
    ("order", uint32, "4 times the number of the order, plus its kind"),
    ("version", uint32, "of the tables of routes"),
    ("out_head", uint64, "how many of the kernel's messages the host has taken"),
    ("requests", uint32, "requests to give up a message, + 1"),
    meaning="The host's words to a resident kernel.",
)
Status: Layout = lay_out(
    "Status",
    ("order", uint32, "the order that it follows"),
    ("beats", uint32, "heartbeats"),
    ("head", uint64, "messages taken"),
    ("out_tail", uint64, "messages sent"),
    ("version", uint32, "of the tables that it uses"),
    ("source", uint32, "of the current message"),
    ("physical", uint64, "of its clock"),
    ("logical", uint64, "of its clock"),
    meaning="A resident kernel's words to the host, a chunk in each of its accesses.",
)

CHUNK, PIECE = Chunk.size, Chunk["sequence"].offset
"""Bytes of a chunk, and of its piece."""

HEADER = flat_dtype(WireHeader)
"""The header of a message on the wire. A kernel's own messages have their kind and reason in the
flags."""

HEADER_WORDS = HEADER.itemsize // 4
HEADER_CHUNKS = HEADER.itemsize // PIECE

_FIELDS: Any = HEADER.fields
TYPE, SOURCE, CORRELATION, REPLY_TO, PHYSICAL, LOGICAL, NODE, DEADLINE, TOPIC, TRACE, SPAN = (
    _FIELDS[name][1] // 8 for name in (HEADER.names or ())[:11]
)
"""The header's fields of 8 bytes, by their indices."""
SIZES, COUNTS = (WireHeader[name].offset // 4 for name in ("bytes", "hops"))
"""The words with ``bytes`` and ``flags``, with ``hops`` and ``attempt``."""

ANSWER_WORDS, ANSWER_CHUNKS = WireAnswer["bytes"].end // 4, WireAnswer["bytes"].end // PIECE
"""The prefix of an answer's payload: its type and clock, and the bytes of the payload."""

DIRECT = 1 << 60
"""The bit of ``reply_to`` of a caller who waits at a place of the actor."""
PLACES = 64
"""Callers who wait for an actor's answers at once; further ones wait for the engine's thread."""
NUMBER_BITS, GENERATION_BITS = 20, 29
"""The bits of ``reply_to`` for the number of the place, and for its generation above that."""

KIND_SHIFT, REASON_SHIFT = 8, 12
"""Of the flags of a kernel's own messages."""

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

ORDERS_BYTES, STATUS_BYTES = 64, 64
"""The lines of ``Orders`` and of ``Status``."""
REQUESTS = Orders["requests"].offset
ENDED_AT = Status.size
"""The chunk behind the status in which an actor of a cluster publishes its end: the number of the
launch, and whether its handler has failed."""

TABLE_HEAD, TABLE_ENTRY, TABLE_KINDS = (
    RoutingTable["entries"].offset,
    RouteEntry.size,
    RoutingTable.size,
)
"""Bytes of a table's header and of an entry: ``blocks.RoutingTable``; the types of the messages of
the entries follow, a chunk each. ``routes`` lists other actors' inboxes on the device, ``sources``
the actor's own, one for each sender."""
IN_USE = 1
"""The flag of an entry that is in use."""
SHIFT = 8
"""Its other flags, above this, are log2 of the capacity."""
INBOX_HEAD = InboxHeader.size
"""Bytes before the slots of an inbox on the device: ``blocks.InboxHeader``. The sender writes its
first chunk, with the number of messages so far, and the receiver its second, with the number of
taken ones. Its token is the receiver's number. The key of an entry of ``sources`` is the number of
the host's messages that precede its own."""
HEAD_AT, TOKEN_AT = InboxHeader["head"].offset, InboxHeader["dead"].offset
"""The chunks of that header behind the sender's: the receiver's, and the one that ends with the
token."""
ENTRY_END, SENT_AT = RouteEntry["capacity"].offset, Status["out_tail"].offset
"""The second chunks of an entry and of the status."""
COUNTS_AT = ControlBlock["received"].offset
"""The chunk of the control block with the numbers of messages received and answered."""


def chunks_of(payload: int) -> int:
    """Chunks of a message."""
    return HEADER_CHUNKS + -(-payload // PIECE)


def slot_of(chunks: int) -> int:
    """Bytes of a slot of so many chunks."""
    return -(-chunks * CHUNK // 64) * 64


def answer_chunks(payload: int) -> int:
    """Chunks of an answer."""
    return ANSWER_CHUNKS + -(-payload // PIECE)

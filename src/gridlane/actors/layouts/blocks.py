"""The protocol's own structures, field by field with units.

Their sizes are fixed. Each byte has a name: no padding is implicit.
"""

from __future__ import annotations

from gridlane.actors.layouts.schema import Array, Layout, lay_out
from gridlane.core.argtypes import uint16, uint32, uint64

ROUTES = 26
"""The entries of a routing table: the neighbours of a cell in three dimensions."""

MAGIC, VERSION = 0x474C4D53, 1
"""The number that begins every header ("SMLG" in memory), and the version of the protocol."""
IS_REPLY, IS_PUBLISHED = 1, 2
"""Flags of a header."""
POSTED, IS_FULL, NO_MEMORY, HOST_GONE = 0, -1, -2, -3
"""The results of a post, besides a reason; the last one is of other processes."""
EVENT_POST, EVENT_HANDLE, EVENT_ANSWER, EVENT_DEAD = 1, 2, 3, 4
"""Kinds of traced events."""

Clock: Layout = lay_out(
    "Clock",
    ("physical", uint64, "nanoseconds since 1970, the largest time that was seen"),
    ("logical", uint64, "number of events at that time"),
    ("node", uint64, "number of the node whose clock it is"),
    meaning="A hybrid logical clock: its order is an order of causes.",
)
"""A hybrid logical clock, 24 bytes; the meaning of each field is its ``meaning``."""

ControlBlock: Layout = lay_out(
    "ControlBlock",
    ("state", uint32, "number of the state of the actor's lifecycle; the actor writes it"),
    ("command", uint32, "number of the state that the host asks for; the host writes it"),
    ("heartbeat", uint64, "polls of the inbox so far; it stands still where an actor hangs"),
    ("received", uint64, "messages taken from the inbox"),
    ("answered", uint64, "messages that the actor sent as replies"),
    ("failed", uint64, "messages whose handler raised an error or trapped"),
    ("dead", uint64, "messages that went to dead letters"),
    ("last_message", uint64, "sequence number of the message that was taken last"),
    ("busy", uint32, "1 while a handler runs, else 0"),
    ("error", uint32, "number of the last error, 0 for none"),
    ("inbox_high", uint32, "most messages that the inbox held at once"),
    ("outbox_high", uint32, "most messages that the outbox held at once"),
    ("clock", Clock, "the actor's clock"),
    ("actor", uint64, "number of the actor"),
    ("epoch", uint32, "restarts of the actor so far"),
    ("block", uint32, "index of the actor's first block in its grid"),
    ("idle", uint64, "polls in a row that found the inbox empty"),
    ("reserved", uint64, "0"),
    meaning="What the host and a running actor tell each other.",
)
"""The words that the host and a running actor publish to each other, 128 bytes."""

MessageHeader: Layout = lay_out(
    "MessageHeader",
    ("magic", uint32, "number that begins every header"),
    ("version", uint16, "version of the protocol"),
    ("flags", uint16, "bits of the message"),
    ("type", uint64, "type_id of the payload's layout"),
    ("source", uint64, "number of the actor or host that sent it"),
    ("destination", uint64, "number of the actor that it is for"),
    ("correlation", uint64, "number of the call, which its reply repeats; 0 for none"),
    ("reply_to", uint64, "number of the actor or host that the reply goes to; 0 for none"),
    ("payload_bytes", uint32, "bytes of the payload behind the header"),
    ("tier", uint32, "bytes of the slot: 256, 1024, 4096 or 16384"),
    ("sequence", uint64, "number of the message from its source to its destination"),
    ("clock", Clock, "the sender's clock when it sent"),
    ("deadline", uint64, "nanoseconds since 1970 after which it expires; 0 for never"),
    ("topic", uint64, "hash of the topic that it was published to; 0 for none"),
    ("hops", uint32, "actors that passed it on"),
    ("priority", uint32, "0 for usual; a larger number is more urgent"),
    ("attempt", uint32, "deliveries that were tried before this one"),
    ("reason", uint32, "number of the reason why it is a dead letter; 0 while it is none"),
    ("trace", uint64, "number of the trace that it is part of; 0 for none"),
    ("span", uint64, "number of the step in that trace; 0 for none"),
    ("reserved", Array(uint32, (30,)), "0"),
    meaning="What stands before the payload of every message.",
)
"""The header of every message, in front of its payload, 256 bytes."""

InboxHeader: Layout = lay_out(
    "InboxHeader",
    ("capacity", uint32, "slots, a power of two"),
    ("slot_bytes", uint32, "bytes of a slot"),
    ("tail", uint64, "messages that producers have put in so far"),
    ("head", uint64, "messages that the consumer has taken so far"),
    ("high_water", uint64, "most messages that were in it at once"),
    ("dead", uint64, "messages that it refused and that went to dead letters"),
    ("token", uint64, "number that a producer of another process must know"),
    ("version", uint32, "version of the protocol"),
    ("flags", uint32, "bits of the inbox"),
    ("reserved", uint64, "0"),
    meaning="What stands before the slots of an inbox.",
)
"""The header of an inbox, in front of its slots, 64 bytes."""

RouteEntry: Layout = lay_out(
    "RouteEntry",
    ("key", uint64, "number of the actor, or the hash of the topic or direction, that it is for"),
    ("inbox", uint64, "device address of the InboxHeader"),
    ("capacity", uint32, "slots of that inbox"),
    ("slot_bytes", uint32, "bytes of a slot of that inbox"),
    ("version", uint32, "version of the table that it was written with"),
    ("flags", uint32, "bits of the route"),
    meaning="Where messages for one key go.",
)
"""The target of messages for one key, 32 bytes."""

RoutingTable: Layout = lay_out(
    "RoutingTable",
    ("version", uint64, "changes so far; odd while one is under way"),
    ("count", uint32, "entries in use"),
    ("capacity", uint32, "entries that there is room for"),
    ("node", uint64, "number of the node that wrote it"),
    ("reserved", uint64, "0"),
    ("entries", Array(RouteEntry, (ROUTES,)), "the routes"),
    meaning="The routes that an actor reads while it runs.",
)
"""The routes that an actor reads while it runs, 32 + 26 x 32 bytes."""

HaloHeader: Layout = lay_out(
    "HaloHeader",
    ("source", uint32, "index of the block that sent the halo"),
    ("direction", uint32, "index of the neighbour, in the order of the routing table's entries"),
    ("step", uint64, "time step that the values are of"),
    ("bytes", uint32, "bytes of values behind the header"),
    ("epoch", uint32, "restarts of the sender so far"),
    ("reserved", uint64, "0"),
    meaning="What stands before the values of a halo.",
)
"""The header of a halo, in front of its values, 32 bytes."""

BUCKETS = 160
"""The buckets of a histogram: four for each power of two, up to 2^41 ns."""

Histogram: Layout = lay_out(
    "Histogram",
    ("total", uint64, "nanoseconds of all together"),
    ("largest", uint64, "nanoseconds of the longest"),
    ("buckets", Array(uint64, (BUCKETS,)), "how many there are of each length"),
    meaning="Times by their lengths, in buckets that are a quarter of a power of two wide.",
)
"""A histogram of times, 1296 bytes."""

Latencies: Layout = lay_out(
    "Latencies",
    ("wait", Histogram, "from the post of a message to the step that handles it"),
    ("handling", Histogram, "of a message: a step's time divided over its messages"),
    ("calls", Histogram, "from a call of the host to its answer"),
    meaning="The latencies of an actor.",
)
"""The latencies of an actor, 3888 bytes."""

BLOCKS: tuple[Layout, ...] = (
    Clock,
    ControlBlock,
    MessageHeader,
    InboxHeader,
    RouteEntry,
    RoutingTable,
    HaloHeader,
    Histogram,
    Latencies,
)
"""All structures."""

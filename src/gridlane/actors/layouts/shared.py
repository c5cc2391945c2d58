"""The structures of inboxes in memory that other processes map, behind the InboxHeaders."""

from __future__ import annotations

from gridlane.actors.layouts.blocks import Clock
from gridlane.actors.layouts.schema import Array, Layout, lay_out
from gridlane.core.argtypes import uint32, uint64

SHARED_MAGIC = 0x3153524F54434147
"""The magic number of a shared inbox: "GACTORS1" in memory."""
LETTERS, SEATS = 64, 1024
"""Slots of the ring of dead letters; most seats of an inbox."""

SharedInbox: Layout = lay_out(
    "SharedInbox",
    ("magic", uint64, "number that begins every shared inbox"),
    ("version", uint32, "version of the protocol"),
    ("host", uint32, "number of the process that has the actor"),
    ("host_start", uint64, "when that process started, in ticks of its boot"),
    ("space", uint64, "number of the namespace that numbers of processes are of"),
    ("type", uint64, "type_id of the messages"),
    ("reply_type", uint64, "type_id of the replies; 0 for none"),
    ("payload_bytes", uint32, "bytes of a message"),
    ("reply_bytes", uint32, "bytes of a reply; 0 for none"),
    ("seats", uint32, "seats of peers"),
    ("unused", uint32, "0"),
    ("bell", uint32, "rings of peers while the reader was asleep"),
    ("asleep", uint32, "1 while the reader sleeps"),
    ("closed", uint32, "1 from when the inbox takes no more messages"),
    ("unused_too", uint32, "0"),
    ("lease", uint64, "nanoseconds for which a peer may hold a slot that others wait for"),
    ("reserved", Array(uint64, (5,)), "0"),
    meaning="What stands behind the headers of a shared inbox's two rings.",
)
"""The record behind the headers of a shared inbox's two rings, 128 bytes."""

Seat: Layout = lay_out(
    "Seat",
    ("owner", uint64, "number of the peer's process << 32, and when it started; 0 for nobody"),
    ("reply", uint64, "kind of the reply << 56, and the number of the call"),
    ("bell", uint32, "replies that came while the peer was asleep"),
    ("asleep", uint32, "1 while the peer sleeps"),
    ("reason", uint32, "number of the reason why there is no reply; 0 for a reply"),
    ("bytes", uint32, "bytes of the reply"),
    ("clock", Clock, "the actor's clock when it replied"),
    ("reserved", uint64, "0"),
    meaning="What a peer has in a shared inbox.",
)
"""A peer's record in a shared inbox, 64 bytes."""

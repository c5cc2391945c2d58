"""What a step reads and writes, besides the messages of an inbox."""

from __future__ import annotations

from gridlane.actors.layouts.schema import Layout, lay_out
from gridlane.core.argtypes import uint32, uint64

FIRST, COUNT, HANDLED, EMITTED = range(4)
"""The words of ``info``: the index of the first message, the number of messages, of handled ones,
and of outputs."""
INFO_WORDS = 16

REPLY, SEND, PUBLISH, UNHANDLED = 1, 2, 3, 4
"""Kinds of outputs; the last one is of messages that a resident kernel does not handle."""

Output: Layout = lay_out(
    "Output",
    ("kind", uint32, "number of the kind"),
    ("message", uint32, "index of the handled message in the step"),
    ("type", uint64, "type_id of the payload's layout"),
    ("key", uint64, "number or hash of the receiver"),
    ("payload_bytes", uint32, "bytes of the payload behind it"),
    ("reserved", uint32, "0"),
    meaning="An emitted message in the outputs of its actor; the payload follows.",
)
"""What stands before the payload of an emitted message, 32 bytes."""

"""The words beside the wire lie in chunks as kernels read and write them."""

from __future__ import annotations

import pytest

from gridlane.actors.layouts import wire
from gridlane.actors.layouts.blocks import ControlBlock, InboxHeader, RouteEntry, RoutingTable
from gridlane.actors.layouts.step import Output

CHUNKS = [
    (InboxHeader, 0, "capacity slot_bytes tail"),
    (InboxHeader, wire.HEAD_AT, "head high_water"),
    (InboxHeader, wire.TOKEN_AT, "dead token"),
    (RouteEntry, 0, "key inbox"),
    (RouteEntry, wire.ENTRY_END, "capacity slot_bytes version flags"),
    (RoutingTable, 0, "version count capacity"),
    (ControlBlock, wire.COUNTS_AT, "received answered"),
    (wire.Orders, 0, "order version out_head"),
    (wire.Orders, wire.REQUESTS, "requests"),
    (wire.Status, 0, "order beats head"),
    (wire.Status, wire.SENT_AT, "out_tail version source"),
    (wire.Status, 32, "physical logical"),
]


@pytest.mark.parametrize("layout, start, names", CHUNKS, ids=str)
def test_chunks_have_these_words(layout, start, names):
    assert start % wire.CHUNK == 0
    end = start + wire.CHUNK
    inside = [each.name for each in layout.fields if start <= each.offset < end]
    assert inside == names.split() and all(layout[name].end <= end for name in inside)


def test_headers_on_the_wire():
    """Byte by byte, as the kernels of a release read them."""
    places = {name: wire.HEADER.fields[name][1] for name in wire.HEADER.names}
    words = "type source correlation reply_to physical logical node deadline topic trace span"
    assert places == {name: 8 * n for n, name in enumerate(words.split())} | {
        "bytes": 88, "flags": 90, "hops": 92, "attempt": 94
    }  # fmt: skip
    assert (wire.TYPE, wire.REPLY_TO, wire.PHYSICAL, wire.SPAN) == (0, 3, 4, 10)
    assert (wire.SIZES, wire.COUNTS, wire.HEADER_CHUNKS) == (22, 23, 8)
    assert (wire.ANSWER_WORDS, wire.ANSWER_CHUNKS, wire.ENDED_AT) == (9, 3, 48)
    assert [each.offset for each in Output.fields] == [0, 4, 8, 16, 24, 28]
    assert (Output.size, wire.TABLE_KINDS, wire.INBOX_HEAD) == (32, 864, 64)

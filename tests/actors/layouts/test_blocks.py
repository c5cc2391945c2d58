"""The protocol's own structures: every offset is written down here once more."""

from __future__ import annotations

import pytest

from gridlane.actors.layouts import blocks
from gridlane.actors.layouts.blocks import BLOCKS
from gridlane.actors.layouts.schema import align_of

SIZES = {
    "Clock": 24,
    "ControlBlock": 128,
    "MessageHeader": 256,
    "InboxHeader": 64,
    "RouteEntry": 32,
    "RoutingTable": 32 + 26 * 32,
    "HaloHeader": 32,
    "Histogram": 1296,
    "Latencies": 3888,
}
OFFSETS = {
    "Clock": "physical 0 logical 8 node 16",
    "ControlBlock": """
        state 0 command 4 heartbeat 8 received 16 answered 24 failed 32 dead 40 last_message 48
        busy 56 error 60 inbox_high 64 outbox_high 68 clock 72 actor 96 epoch 104 block 108
        idle 112 reserved 120
    """,
    "MessageHeader": """
        magic 0 version 4 flags 6 type 8 source 16 destination 24 correlation 32 reply_to 40
        payload_bytes 48 tier 52 sequence 56 clock 64 deadline 88 topic 96 hops 104 priority 108
        attempt 112 reason 116 trace 120 span 128 reserved 136
    """,
    "InboxHeader": """
        capacity 0 slot_bytes 4 tail 8 head 16 high_water 24 dead 32 token 40 version 48 flags 52
        reserved 56
    """,
    "RouteEntry": "key 0 inbox 8 capacity 16 slot_bytes 20 version 24 flags 28",
    "RoutingTable": "version 0 count 8 capacity 12 node 16 reserved 24 entries 32",
    "HaloHeader": "source 0 direction 4 step 8 bytes 16 epoch 20 reserved 24",
    "Histogram": "total 0 largest 8 buckets 16",
    "Latencies": "wait 0 handling 1296 calls 2592",
}


def test_all_are_listed() -> None:
    assert [each.name for each in BLOCKS] == list(SIZES) == list(OFFSETS)
    assert all(getattr(blocks, each.name) is each for each in BLOCKS)


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_sizes_and_offsets(block) -> None:
    words = OFFSETS[block.name].split()
    assert block.size == SIZES[block.name]
    assert [(each.name, each.offset) for each in block.fields] == [
        (name, int(offset)) for name, offset in zip(words[::2], words[1::2])
    ]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_no_padding_is_implicit(block) -> None:
    ends = [each.end for each in block.fields]
    assert [each.offset for each in block.fields] == [0, *ends[:-1]]
    assert ends[-1] == block.size


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_each_field_has_a_meaning(block) -> None:
    assert block.meaning and all(each.meaning for each in block.fields)


def test_what_holds_64_bits_is_aligned() -> None:
    """Devices read and write these words at once."""
    assert all(each.offset % align_of(each.type) == 0 for b in BLOCKS for each in b.fields)
    assert all(block.align == 8 and block.size % 8 == 0 for block in BLOCKS)

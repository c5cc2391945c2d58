"""Messages of every form: at the limits of tiers, with padding, records, arrays and NaN."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridlane import actors
from gridlane.actors.values.topics import matches
from gridlane.core.errors import TypingError
from gridlane.cuda import float32, float64, int8, int16, int32, int64, uint8

DEVICES = ["cpu", "interp"]


def of_size(size):
    """A class of messages of so many bytes, and an actor that replies with them."""

    block = actors.message(type("Block", (), {"__annotations__": {"data": uint8[size]}}))

    def mirror(ctx, state, message):
        ctx.reply(message)

    mirror.__annotations__["message"] = block
    return block, actors.kernel(mirror, replies=block)


SIZES = [1, 255, 256, 257, 1024, 1025, 4096, 4097, 16383, 16384]


@pytest.mark.parametrize(
    ("device", "size"), [*(("cpu", size) for size in SIZES), ("interp", 1), ("interp", 257)]
)
def test_sizes_at_the_limits_of_tiers(device, size):
    block, mirror = of_size(size)
    data = np.arange(size, dtype=np.uint8)[::-1].copy()
    with actors.Runtime(device=device) as runtime:
        ref = runtime.launch(mirror, capacity=2)
        ref.activate()
        assert (ref.call(block(data), timeout=60).data == data).all()
        ref.send(block(data + 1))
        assert (ref.receive(60).data == data + 1).all()


def test_a_message_beyond_the_last_tier():
    with pytest.raises(TypingError, match="16385 bytes"):
        of_size(16385)


@actors.message
class Point:
    x: float64
    tag: int8
    y: float32


@actors.message
class Line:
    kind: int8
    ends: actors.array(Point, 2)
    weights: int16[3]
    middle: Point
    last: uint8


@actors.state
class Seen:
    line: Line
    count: int32


@actors.kernel(state=Seen, replies=Line)
def turned(ctx, state, line: Line):
    state.line = line
    state.count += 1
    ctx.reply(line)


@pytest.mark.parametrize("device", DEVICES)
def test_nested_records_and_padding(device):
    ends = [Point(1.5, -3, 2.25), Point(math.inf, 4, -0.0)]
    record = np.zeros(2, Point.__gridlane_type__.numpy)
    for n, each in enumerate(ends):
        record[n] = (each.x, each.tag, each.y)
    line = Line(7, record, [1, -2, 3], Point(math.nan, 1, 2.0), 255)
    with actors.Runtime(device=device) as runtime:
        ref = runtime.launch(turned)
        ref.activate()
        found = ref.call(line, timeout=60)
        assert found == line
        assert math.isnan(found.middle.x) and found.last == 255
        assert found.weights.tolist() == [1, -2, 3]
        assert [each["tag"] for each in found.ends] == [-3, 4]
        assert ref.read_state().line.kind == 7


@actors.message
class Bits:
    double: float64
    single: float32


@actors.kernel(replies=Bits)
def bits(ctx, state, message: Bits):
    ctx.reply(Bits(message.double, message.single))


@pytest.mark.parametrize("device", DEVICES)
def test_numbers_that_are_none_keep_their_bits(device):
    """A quiet NaN's payload and sign are what was sent."""
    doubles = [0x7FF8000000000001, 0xFFF8DEADBEEF0001, 0x7FF0000000000000, 0x8000000000000000]
    singles = [0x7FC00001, 0xFFC12345, 0xFF800000, 0x80000000]
    with actors.Runtime(device=device) as runtime:
        ref = runtime.launch(bits)
        ref.activate()
        for double, single in zip(doubles, singles, strict=True):
            data = struct.pack("<QI4x", double, single)
            sent = Bits.__gridlane_shape__.unpack(data)
            found = bytes(ref.call(sent, timeout=60))
            assert struct.unpack("<QI", found[:12]) == (double, single)


@actors.message
class Small:
    a: int8
    b: int64


@actors.kernel(replies=Small)
def small(ctx, state, message: Small):
    ctx.reply(Small(message.a, message.b))


@pytest.mark.parametrize("device", DEVICES)
def test_nothing_of_an_older_message_is_seen(device):
    """Slots are used again: a smaller message has its own bytes alone."""

    with actors.Runtime(device=device) as runtime:
        ref = runtime.launch(small, capacity=1, outbox=1)
        ref.activate()
        for n in range(6):
            found = ref.call(Small(-n, n << 40), timeout=60)
            assert (found.a, found.b) == (-n, n << 40)
            assert bytes(found)[1:8] == bytes(7)


# --- topics: against a matcher that tries every split


def _matches(pattern, words):
    if not pattern:
        return not words
    head, *rest = pattern
    if head == "#":
        return any(_matches(rest, words[n:]) for n in range(len(words) + 1))
    return bool(words) and head in ("*", words[0]) and _matches(rest, words[1:])


WORDS = st.sampled_from(["a", "b", "ab"])


@given(
    st.lists(st.one_of(WORDS, st.just("*"), st.just("#")), min_size=1, max_size=6),
    st.lists(WORDS, min_size=1, max_size=6),
)
def test_patterns_in_all_positions(pattern, words):
    assert matches(".".join(pattern), ".".join(words)) is _matches(pattern, words)


@given(st.text(alphabet="a.*#/ \n-", max_size=6))
def test_what_is_no_pattern_is_refused(text):
    try:
        matches(text, "a.b")
    except ValueError:
        parts = text.split(".")
        assert not all(each in ("*", "#") or (set(each) <= set("a-") and each) for each in parts)

"""The engine's numbers are Python's, and it refuses what would crash."""

from __future__ import annotations

import pytest

from gridlane.actors import _engine
from gridlane.actors.device import layout
from gridlane.actors.errors import Reason
from gridlane.actors.layouts.blocks import MessageHeader


def test_every_reason_has_words():
    assert [int(each) for each in Reason] == list(range(1, _engine.REASONS))
    assert all(each.meaning for each in Reason)


def test_outputs_begin_where_c_reads_them():
    made = layout.output_dtype(256)
    places = {name: made.fields[name][1] for name in made.names}
    assert places == {
        "kind": 0,
        "message": 4,
        "type": 8,
        "key": 16,
        "payload_bytes": 24,
        "payload": 32,
    }
    assert made.itemsize == 32 + 256


@pytest.fixture
def engine():
    made = _engine.Engine(1, 100, 1, 10**9, 16, 0)
    yield made
    made.close()


def make(engine, **changes):
    options = {
        "id": 1,
        "type": 2,
        "tier": 256,
        "capacity": 4,
        "outbox": 4,
        "reply_tier": 256,
        "batch": 2,
        "outputs": 4,
        "output_bytes": 288,
        "full": 0,
        "by_host": 1,
    } | changes
    return engine.actor(*options.values())


@pytest.mark.parametrize(
    "changes",
    [
        {"capacity": 3},
        {"capacity": 0},
        {"outbox": 5},
        {"tier": 100},
        {"reply_tier": 7},
        {"output_bytes": 33},
        {"batch": 0},
    ],
)
def test_wrong_sizes(engine, changes):
    with pytest.raises(ValueError, match="powers of two"):
        make(engine, **changes)


def test_actors_of_another_engine(engine):
    other = _engine.Engine(0, 100, 1, 10**9, 16, 0)
    stranger = make(other)
    for use in (
        lambda: engine.set_route(5, stranger),
        lambda: engine.set_topics([(5, [stranger])]),
        lambda: engine.post(stranger, b"1234", 0.0, 0, 0, 0, 0, 0, 0, 0),
        lambda: _engine.Caller(engine, stranger, bytes, bytes, bytes, 0),
        lambda: engine.post(object(), b"1234", 0.0, 0, 0, 0, 0, 0, 0, 0),
    ):
        with pytest.raises(TypeError, match="an actor of this engine"):
            use()
    other.close()


def test_a_closed_engine_refuses(engine):
    actor = make(engine)
    gone = _engine.Engine(1, 100, 1, 10**9, 16, 0)
    there = make(gone)
    gone.abandon()
    for use in (gone.dead, gone.facts, lambda: gone.take(0.0), there.begin, there.schedule):
        with pytest.raises(RuntimeError, match="another process's"):
            use()
    assert actor.phase == 0


def test_messages_that_are_not_whole(engine):
    for data in (b"", b"x" * 255, b"\xff" * 256, bytes(257)):
        with pytest.raises(ValueError, match="a message"):
            engine.bury(1, data, 1)
    engine.bury(1, bytes(256), 1)
    assert engine.dead() == (1, bytes(0) + engine_header())
    assert engine.dead() is None


def engine_header():
    """What the engine keeps of a header of zeros: its magic, version and reason."""
    data = bytearray(256)
    data[0:4] = (0x474C4D53).to_bytes(4, "little")
    data[4] = 1
    data[MessageHeader["reason"].offset] = 1
    return bytes(data)

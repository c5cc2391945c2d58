"""The same actors on every device: the same answers."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from tests.actors.samples import (
    Ball,
    Book,
    Fill,
    Number,
    Order,
    Total,
    book,
    player,
    relay,
    together,
    total,
)
from tests.waiting import until

from gridlane import actors


def test_calls(runtime):
    ref = runtime.launch(book)
    ref.activate()
    orders = [Order(1.0, 5), Order(3.0, 6), Order(2.0, 7)]
    found = [ref.call(each, timeout=60) for each in orders]
    assert found == [Fill(1.0, 4), Fill(3.0, 5), Fill(3.0, 6)]
    assert ref.read_state() == Book(3.0, 3)
    until(lambda: ref.metrics()["received"] == 3)  # counted after it is answered


def test_sends_keep_their_order(runtime):
    ref = runtime.launch(total, capacity=64)
    ref.activate()
    for n in range(40):
        ref.send(Number(n))
    assert [ref.receive(60).value for _ in range(40)] == np.cumsum(range(40)).tolist()
    assert ref.try_receive() is None


def test_many_messages_through_a_small_inbox(runtime):
    ref = runtime.launch(total, capacity=4, batch=3)
    ref.activate()
    numbers = np.zeros(101, Number.__gridlane_type__.numpy)
    numbers["value"] = np.arange(101)
    assert ref.post_many(numbers) == 101
    ref.terminate()
    assert ref.metrics()["received"] == 101


def test_actor_to_actor(runtime):
    one, two = runtime.launch(player), runtime.launch(player)
    one.activate()
    two.activate()
    one.send(Ball(21, two.id, one.id), replies=False)
    while one.read_state().seen + two.read_state().seen < 22:
        pass
    assert (one.read_state().seen, two.read_state().seen) == (11, 11)


def test_request_and_reply_between_actors(runtime):
    there, here = runtime.launch(total), runtime.launch(relay)
    there.activate()
    here.activate()
    here.send(Number(5), replies=False)
    while here.read_state().seen < 2:
        pass
    assert here.read_state().value == 1005
    assert runtime.dead_letters() == []


def test_a_block_handles_a_message(runtime):
    ref = runtime.launch(together)
    ref.activate()
    assert [ref.call(Number(n), timeout=60).value for n in (1, 3)] == [496, 3 * 496]


@actors.kernel(state=Total, replies=Number)
def weighted(ctx, state, number: Number, weights, counts):
    counts[number.value] += 1
    ctx.reply(Number(weights[number.value] * 10))


def test_arrays_of_a_launch(runtime):
    weights, counts = np.arange(5, dtype=np.int32), np.zeros(5, np.int32)
    ref = runtime.launch(weighted, args=(weights, counts))
    ref.activate()
    assert [ref.call(Number(n), timeout=60).value for n in (4, 0, 4)] == [40, 0, 40]
    assert ref.arrays[1].copy_to_host().tolist() == [1, 0, 0, 0, 2]
    assert counts.tolist() == [0] * 5  # the launch has a copy


def test_a_failure_names_the_message_and_ends_the_actor(runtime):
    ref = runtime.launch(total)
    ref.activate()
    assert ref.call(Number(4), timeout=60).value == 4
    ref.suspend()
    ref.send(Number(1))
    ref.send(Number(-1))
    ref.send(Number(2))
    ref.resume()
    while ref.state is not actors.State.TERMINATED:
        pass
    assert isinstance(ref.failure, ValueError)
    assert "negative" in str(ref.failure)
    letters = runtime.dead_letters()
    assert [(each.message(Number).value, each.reason.name) for each in letters] == [
        (-1, "FAILED"),
        (2, "STOPPED"),
    ]
    assert ref.receive(60).value == 5


def test_a_restart_from_the_first_state(runtime):
    ref = runtime.launch(total, state=Total(100, 0), restart="fresh")
    ref.activate()
    assert ref.call(Number(4), timeout=60).value == 104
    with pytest.raises(ValueError, match="negative"):
        ref.call(Number(-1), timeout=60)
    assert ref.call(Number(5), timeout=60).value == 105
    assert ref.state is actors.State.ACTIVE
    assert ref.metrics()["restarts"] == 1


def test_messages_that_wait_for_a_restart(runtime):
    """They are handled with the first state, although they are there before the kernel is."""
    ref = runtime.launch(total, state=Total(100, 0), restart="fresh")
    ref.activate()
    for n in range(20):
        ref.send(Number(-1), replies=False)
        assert ref.call(Number(5 + n), timeout=60).value == 105 + n
    assert ref.metrics()["restarts"] == 20


def test_asynchronous_calls(runtime):
    ref = runtime.launch(total, capacity=64)
    ref.activate()

    async def ask():
        return await asyncio.gather(*[ref.acall(Number(1), timeout=60) for _ in range(20)])

    assert sorted(each.value for each in asyncio.run(ask())) == list(range(1, 21))

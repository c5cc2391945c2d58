"""Full inboxes of actors that send to themselves and to each other, and what they still emit."""

from __future__ import annotations

import gc

import pytest
from tests.actors.samples import Number, Total, looping
from tests.waiting import until

from gridlane import actors
from gridlane.actors import Reason, State


@actors.kernel(state=Total)
def countdown(ctx, state, number: Number):
    state.seen += 1
    if number.value > 0:
        ctx.send("countdown", Number(number.value - 1))


@pytest.mark.parametrize("capacity", [1, 2, 8])
@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_an_actor_sends_to_itself_with_a_full_inbox(device, capacity):
    """Its own messages' slots are given back, so that nothing is lost."""
    with actors.Runtime(device=device) as runtime:
        ref = runtime.launch(countdown, capacity=capacity)
        for _ in range(capacity):
            ref.send(Number(3), replies=False)
        ref.activate()
        until(lambda: ref.metrics()["received"] == 4 * capacity)
        assert ref.read_state().seen == 4 * capacity
        assert runtime.dead_letters() == []


@actors.kernel(state=Total)
def doubling(ctx, state, number: Number):
    state.seen += 1
    if number.value > 0:
        ctx.send("doubling", Number(number.value - 1))
        ctx.send("doubling", Number(number.value - 1))


def test_more_messages_to_itself_than_its_inbox_holds(on_cpu):
    """What has no room is a dead letter that says so, and the actor goes on."""
    ref = on_cpu.launch(doubling, capacity=4)
    ref.send(Number(5), replies=False)
    ref.activate()
    until(lambda: ref.metrics()["received"] and not ref.metrics()["waiting"])
    letters = on_cpu.dead_letters()
    assert letters and {each.reason for each in letters} == {Reason.CYCLE}
    lost = sum(2 ** (each.message(Number).value + 1) - 1 for each in letters)
    assert ref.metrics()["received"] + lost == 2**6 - 1
    assert ref.metrics()["dead"] == len(letters)


@actors.kernel(state=Total)
def ping(ctx, state, number: Number):
    state.seen += 1
    if number.value > 0:
        ctx.send("pong", Number(number.value - 1))


@actors.kernel(state=Total)
def pong(ctx, state, number: Number):
    state.seen += 1
    if number.value > 0:
        ctx.send("pang", Number(number.value - 1))


@actors.kernel(state=Total)
def pang(ctx, state, number: Number):
    state.seen += 1
    if number.value > 0:
        ctx.send("ping", Number(number.value - 1))


@pytest.mark.parametrize("capacity", [1, 4])
def test_three_actors_wait_for_each_other(on_cpu, capacity):
    refs = [on_cpu.launch(each, capacity=capacity) for each in (ping, pong, pang)]
    for ref in refs:
        for _ in range(capacity):
            ref.send(Number(50), replies=False)
    for ref in refs:
        ref.activate()
    letters = []

    def done():
        letters.extend(on_cpu.dead_letters())
        handled = sum(ref.metrics()["received"] for ref in refs)
        lost = sum(each.message(Number).value + 1 for each in letters)
        return handled + lost == 3 * capacity * 51

    until(done)
    assert {each.reason for each in letters} <= {Reason.CYCLE}
    for ref in refs:
        ref.terminate(timeout=60)
        assert ref.state is State.TERMINATED


@actors.kernel(state=Total)
def forward(ctx, state, number: Number):
    state.seen += 1
    ctx.send("sink", number)


@actors.kernel(state=Total)
def sink(ctx, state, number: Number):
    state.seen += 1
    state.value += number.value


def test_what_an_actor_has_emitted_is_not_lost_when_it_ends(on_cpu):
    """A handled message is no dead letter; what it emitted is delivered or a dead letter."""
    there = on_cpu.launch(sink, capacity=2)
    here = on_cpu.launch(forward, batch=4)
    for n in range(10):
        here.send(Number(n))
    here.activate()
    until(lambda: here._instance.there.blocked)
    here.terminate(graceful=False)
    handled = here.read_state().seen
    letters = on_cpu.dead_letters()
    full = [each for each in letters if each.reason is Reason.FULL]
    stopped = [each for each in letters if each.reason is Reason.STOPPED]
    assert {each.actor for each in full} == {there.id}
    assert {each.actor for each in stopped} == {here.id}
    assert len(full) + there.metrics()["waiting"] == handled
    assert [each.message(Number).value for each in stopped] == list(range(handled, 10))
    assert here.metrics()["received"] == handled


def test_actors_that_ended_while_they_waited_are_freed(on_cpu):
    """The list of a full inbox does not refer to them."""
    there = on_cpu.launch(sink, capacity=1)
    there.send(Number(1), replies=False)
    for n in range(150):
        ref = on_cpu.launch(forward, name=f"forward-{n}")
        ref.activate()
        ref.send(Number(1), replies=False)
        until(lambda ref=ref: ref.read_state().seen == 1)
        ref.terminate(graceful=False)
    del ref
    gc.collect()
    assert len(on_cpu._home.directory._retired) < 150
    there.activate()
    until(lambda: there.metrics()["received"] == 1)
    assert len(on_cpu.dead_letters()) == 150


def test_actors_in_the_run_queue_are_not_freed():
    """A worker that is busy meets them after they have ended."""
    with actors.Runtime(device="cpu", workers=1, watchdog=None) as runtime:
        busy = runtime.launch(looping)
        busy.activate()
        busy.send(Number(1_000_000), replies=False)
        until(lambda: busy._instance.there.since)
        for n in range(100):
            ref = runtime.launch(sink, name=f"sink-{n}")
            ref.activate()
            ref.send(Number(1), replies=False)
            ref.terminate(graceful=False)
        del ref
        gc.collect()
        retired = runtime._home.directory._retired
        assert len(retired) == 100 and all(each.there.listed for each in retired)
        busy.terminate(graceful=False)
        until(lambda: not any(each.there.listed for each in retired))
        other = runtime.launch(sink)
        other.terminate()
        until(lambda: runtime._home.directory._reclaim() or not runtime._home.directory._retired)
        assert len(runtime.dead_letters()) == 101


@actors.kernel(state=Total)
def publisher(ctx, state, number: Number):
    ctx.publish("numbers", number)


def test_subscribers_change_while_a_publisher_waits(on_cpu):
    """Each subscriber that stays has the message once."""
    on_cpu.topic("numbers", Number)
    refs = [on_cpu.launch(sink, name=f"sink-{n}", capacity=1 if n == 2 else 64) for n in range(4)]
    for ref in refs:
        on_cpu.subscribe(ref, "numbers")
    refs[2].send(Number(0), replies=False)
    source = on_cpu.launch(publisher)
    source.activate()
    source.send(Number(1), replies=False)
    until(lambda: refs[1].metrics()["waiting"] == 1)
    on_cpu.unsubscribe(refs[0], "numbers")
    for ref in refs:
        ref.activate()
    source.terminate()
    for ref in refs:
        ref.terminate()
    assert [ref.read_state().seen for ref in refs] == [1, 1, 2, 1]


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("options", [{"capacity": 1}, {"batch": 1}, {"capacity": 1, "outbox": 1}])
def test_the_smallest_queues(device, options):
    with actors.Runtime(device=device) as runtime:
        there = runtime.launch(sink, **{**options, "capacity": 1})
        here = runtime.launch(forward, **options)
        here.activate()
        there.activate()
        for n in range(20):
            here.send(Number(n), replies=False)
        here.terminate()
        there.terminate()
        assert there.read_state().value == sum(range(20))
        assert runtime.dead_letters() == []

"""Numbers at their limits, and names: each is what the caller means, or an error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.actors.samples import Number, Order, Total, relay, total
from tests.actors.waiting import until_later
from tests.waiting import until

from gridlane import actors, cuda
from gridlane.actors import ActorError, MessageDead, QueueFull, Reason, _engine
from gridlane.actors.local import directory, topics
from gridlane.actors.values import keys

WRONG = [-1, -0.001, math.nan, -math.inf]


@pytest.fixture
def idle(on_cpu):
    """An active actor."""
    ref = on_cpu.launch(total, capacity=2)
    ref.activate()
    return ref


@pytest.mark.parametrize("seconds", WRONG)
def test_no_numbers_of_seconds(on_cpu, idle, seconds):
    """A negative limit does not wait for ever, and NaN does not either."""
    for use in (
        lambda: idle.call(Number(1), timeout=seconds),
        lambda: idle.call(Number(1), spin=seconds),
        lambda: idle.send(Number(1), timeout=seconds),
        lambda: idle.post_many([Number(1)], timeout=seconds),
        lambda: idle.receive(seconds),
        lambda: idle.terminate(timeout=seconds),
        lambda: on_cpu.expire_dead_letters(seconds),
    ):
        with pytest.raises(ValueError, match="is no number of seconds"):
            use()
    assert idle.state is actors.State.ACTIVE


def test_no_time_at_all(idle):
    idle.suspend()
    assert idle.try_receive() is None
    for use in (lambda: idle.call(Number(1), timeout=0), lambda: idle.receive(0)):
        with pytest.raises(TimeoutError):
            use()
    assert idle.send(Number(2), timeout=0) is True
    with pytest.raises(QueueFull):
        idle.send(Number(2), timeout=0)
    assert idle.post_many([Number(2)], timeout=0) == 0


def test_no_limit(idle):
    assert idle.call(Number(1), timeout=math.inf, spin=0).value == 1
    assert idle.call(Number(1), timeout=1e300, spin=1e-3).value == 2
    idle.send(Number(1), timeout=math.inf)
    assert idle.receive(math.inf).value == 3


@pytest.mark.parametrize("expires", [0, -1, -1e300, -math.inf])
def test_deadlines_in_the_past(on_cpu, expires):
    ref = on_cpu.launch(total)
    ref.send(Number(1), expires=expires)
    until_later()
    ref.activate()
    ref.terminate()
    assert [each.reason for each in on_cpu.dead_letters()] == [Reason.EXPIRED]


@pytest.mark.parametrize("expires", [1e300, math.inf, 1e9])
def test_deadlines_far_away(on_cpu, expires):
    ref = on_cpu.launch(total)
    ref.send(Number(1), expires=expires)
    ref.activate()
    assert ref.receive(60).value == 1
    with pytest.raises(ValueError, match="expires=nan"):
        ref.send(Number(1), expires=math.nan)


@pytest.mark.parametrize(
    "options",
    [
        {"workers": -1},
        {"workers": 0},
        {"workers": 10**6},
        {"dead_letters": -1},
        {"spin": -1},
        {"idle": math.nan},
        {"watchdog": -1},
        {"drift": math.inf},
    ],
)
def test_settings_of_a_runtime(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"{name}="):
        actors.Runtime(device="cpu", **options)


def test_outputs_that_no_memory_holds(on_cpu):
    with pytest.raises(ValueError, match="outputs: choose a smaller batch"):
        on_cpu.launch(total, capacity=4096, batch=4096, emits=1 << 20)
    with pytest.raises(ValueError, match="is no name"):
        on_cpu.launch(total, name="")


def test_names_of_one_key(on_cpu, monkeypatch):
    """They would have each other's messages."""
    for module in (keys, directory, topics):
        monkeypatch.setattr(module, "key_of", lambda name: len(name) | 1 << 63)
    on_cpu.launch(total, name="one")
    with pytest.raises(ActorError, match="'two' and 'one' have the same key"):
        on_cpu.launch(total, name="two")
    on_cpu.topic("a.b", Number)
    with pytest.raises(ActorError, match=r"'c\.d' and 'a\.b' have the same key"):
        on_cpu.topic("c.d", Number)
    on_cpu["one"].terminate()
    on_cpu.launch(total, name="two")


# --- dead letters and who they are for


def test_a_letter_of_another_class_is_not_replayed(on_cpu):
    """Its bytes would be read as the receiver's class."""
    there = on_cpu.launch(total)
    source = on_cpu.launch(sends_orders)
    source.activate()
    there.activate()
    source.send(Number(there.id), replies=False)
    source.terminate()
    (letter,) = on_cpu.dead_letters()
    assert (letter.reason, letter.actor) == (Reason.WRONG_TYPE, there.id)
    with pytest.raises(ActorError, match="dead again: the receiver handles messages of another"):
        on_cpu.replay(letter)
    assert there.read_state().seen == 0
    assert [each.reason for each in on_cpu.dead_letters()] == [Reason.WRONG_TYPE]


@actors.kernel
def sends_orders(ctx, state, number: Number):
    ctx.send_to(number.value, Order(1, 2))


def test_replies_that_nobody_waited_for_are_not_replayed(on_cpu, idle):
    """``total`` would handle its own reply."""
    idle.suspend()
    with pytest.raises(TimeoutError):
        idle.call(Number(7), timeout=0)
    idle.resume()
    idle.send(Number(1), replies=False)
    until(lambda: idle.metrics()["received"] == 2)
    (letter,) = on_cpu.dead_letters()
    assert letter.reason is Reason.LATE
    with pytest.raises(ActorError, match="the letter has no receiver"):
        on_cpu.replay(letter)
    assert idle.read_state().seen == 2


def test_a_letter_to_a_name_is_replayed_when_somebody_has_it(on_cpu):
    there = on_cpu.launch(total)
    here = on_cpu.launch(relay)
    here.activate()
    there.terminate()
    here.send(Number(5), replies=False)
    until(lambda: here.metrics()["received"] == 1)
    (letter,) = on_cpu.dead_letters()
    assert letter.reason is Reason.NO_ACTOR
    there = on_cpu.launch(total)
    there.activate()
    on_cpu.replay(letter)
    until(lambda: here.metrics()["received"] == 2)
    assert there.read_state().value == 1005
    assert here.read_state().value == 1005  # the reply went to the one that had asked


def test_a_replayed_letter_is_replayed_again(on_cpu):
    """Each time it is one attempt more, and its reply goes where the first would have gone."""
    ref = on_cpu.launch(total)
    ref.send(Number(5), expires=0)
    until_later()
    ref.activate()
    until(lambda: on_cpu.metrics()["dead"])
    ref.deactivate()
    for attempt in range(3):
        (letter,) = on_cpu.dead_letters()
        assert int(letter.header["attempt"]) == attempt
        with pytest.raises(ActorError, match="dead again: the actor takes no messages"):
            on_cpu.replay(letter)
    ref.activate()
    (letter,) = on_cpu.dead_letters()
    on_cpu.replay(letter)
    assert ref.receive(60).value == 5


def test_letters_expire_in_their_place(on_cpu, idle, monkeypatch):
    """They are not counted twice, and those that stay keep their order."""
    idle.suspend()
    for n in range(2):
        idle.send(Number(n), replies=False)
    for n in range(4):
        idle.send(Number(n), on_full="dead")
        if n == 1:
            until_later()
            between = _engine.now()
            until_later()
    assert on_cpu.expire_dead_letters(60) == 0
    with monkeypatch.context() as patch:
        patch.setattr("gridlane.actors.local.runtime_methods.now", lambda: between + 15 * 10**6)
        assert on_cpu.expire_dead_letters(0.015) == 2
    facts = on_cpu.metrics()
    assert (facts["dead"], facts["dead_total"], facts["dead_lost"]) == (2, 4, 0)
    assert idle.metrics()["dead"] == 4
    idle.send(Number(9), on_full="dead")
    assert [each.message(Number).value for each in on_cpu.dead_letters()] == [2, 3, 9]
    assert on_cpu.expire_dead_letters(0) == 0


def test_a_subscriber_that_takes_nothing_does_not_keep_others_from_a_message(on_cpu):
    on_cpu.topic("numbers", Number)
    refs = [on_cpu.launch(silent, name=f"silent-{n}") for n in range(3)]
    for ref in refs:
        ref.activate()
        on_cpu.subscribe(ref, "#")
    refs[1].deactivate()
    assert on_cpu.publish("numbers", Number(1)) == 3
    for ref in refs:
        ref.terminate()
    assert [ref.read_state().seen for ref in refs] == [1, 0, 1]
    (letter,) = on_cpu.dead_letters()
    assert (letter.reason, letter.actor) == (Reason.INACTIVE, refs[1].id)
    assert int(letter.header["topic"]) and int(letter.header["flags"]) == 2


@actors.kernel(state=Total, replies=Number)
def silent(ctx, state, number: Number):
    state.seen += 1
    if number.value > 100:
        ctx.reply(number)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_a_call_whose_handler_does_not_reply_ends(device):
    with actors.Runtime(device=device) as runtime:
        ref = runtime.launch(silent)
        ref.activate()
        with pytest.raises(MessageDead, match="its handler has not replied") as caught:
            ref.call(Number(1))
        assert caught.value.reason is Reason.UNANSWERED
        assert ref.call(Number(101)).value == 101
        assert runtime.dead_letters() == []


def test_nobody_waits_for_a_reply_of_an_actor_that_has_ended(on_cpu, idle):
    idle.send(Number(4))
    idle.terminate()
    assert idle.receive().value == 4
    with pytest.raises(ActorError, match="total has ended, and there is no reply"):
        idle.receive()


@actors.kernel(replies=Number)
@cuda.jit(device=True, debug=True, opt=False)
def looks_up(ctx, state, number: Number, table):
    ctx.reply(Number(table[number.value]))


def test_indices_are_checked_where_the_handler_asks_for_it(on_cpu):
    ref = on_cpu.launch(looks_up, args=(np.arange(10, 20),), restart="fresh")
    ref.activate()
    assert ref.call(Number(9), timeout=60).value == 19
    for beyond in (10, -11, 10**12):
        with pytest.raises(IndexError, match="index is out of bounds") as caught:
            ref.call(Number(beyond), timeout=60)
        assert "table[number.value]" in str(caught.value)
    assert ref.call(Number(-1), timeout=60).value == 19

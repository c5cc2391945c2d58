"""Full inboxes, dead letters, expiry, replay, and topics."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from tests.actors.samples import Number, Total, ordered, total
from tests.actors.waiting import until_later
from tests.waiting import until

from gridlane import actors
from gridlane.actors import QueueFull, Reason, _engine
from gridlane.actors.local import home
from gridlane.actors.values.topics import matches


@pytest.fixture
def full(on_cpu):
    """An actor whose inbox of two is full."""
    ref = on_cpu.launch(total, capacity=2)
    ref.send(Number(1))
    ref.send(Number(2))
    return ref


def test_the_caller_chooses_what_happens_at_a_full_inbox(on_cpu, full):
    with pytest.raises(QueueFull, match="the inbox of total is full"):
        full.send(Number(3), on_full="raise")
    assert full.send(Number(4), on_full="dead") is False
    begin = time.monotonic()
    with pytest.raises(QueueFull):
        full.send(Number(5), timeout=0.05)
    assert time.monotonic() - begin >= 0.05
    letters = on_cpu.dead_letters()
    assert [(each.message(Number).value, each.reason) for each in letters] == [(4, Reason.FULL)]
    full.activate()
    assert [full.receive(60).value for _ in range(2)] == [1, 3]
    assert full.metrics()["inbox_high"] == 2


def test_a_sender_waits_for_room(full):
    done = threading.Event()

    def send():
        full.send(Number(3))
        done.set()

    thread = threading.Thread(target=send)
    thread.start()
    assert not done.wait(0.05)
    full.activate()
    thread.join(60)
    assert [full.receive(60).value for _ in range(3)] == [1, 3, 6]


def test_expired_messages_are_dead(on_cpu):
    ref = on_cpu.launch(total)
    ref.send(Number(1), expires=0.01)
    ref.send(Number(2), expires=60)
    until_later(0.01)
    ref.activate()
    assert ref.receive(60).value == 2
    letters = on_cpu.dead_letters()
    assert [(each.message(Number).value, each.reason) for each in letters] == [(1, Reason.EXPIRED)]


def test_dead_letters_are_replayed(on_cpu):
    ref = on_cpu.launch(total)
    ref.send(Number(5), expires=0)
    until_later()
    ref.activate()
    letters = []
    until(lambda: letters.extend(on_cpu.dead_letters()) or letters)
    on_cpu.replay(letters[0])
    until(lambda: ref.read_state().value == 5)
    ref.terminate()
    with pytest.raises(actors.ActorError, match="dead again: no actor"):
        on_cpu.replay(letters[0])
    (again,) = on_cpu.dead_letters()
    assert again.reason is Reason.NO_ACTOR
    assert again.payload == letters[0].payload


def test_old_dead_letters_expire(on_cpu, full, monkeypatch):
    full.send(Number(4), on_full="dead")
    assert on_cpu.expire_dead_letters(60) == 0
    later = _engine.now() + 61 * 10**9
    monkeypatch.setattr("gridlane.actors.local.runtime_methods.now", lambda: later)
    assert on_cpu.expire_dead_letters(60) == 1
    assert on_cpu.dead_letters() == []


def test_more_dead_letters_than_are_kept_are_counted():
    with actors.Runtime(device="cpu", dead_letters=3) as runtime:
        ref = runtime.launch(total, capacity=1)
        ref.send(Number(0))
        for n in range(5):
            ref.send(Number(n), on_full="dead")
        facts = runtime.metrics()
        assert (facts["dead"], facts["dead_lost"], facts["dead_total"]) == (3, 2, 5)
        assert [each.message(Number).value for each in runtime.dead_letters()] == [2, 3, 4]


def test_letters_that_come_while_others_are_taken_are_for_the_next_call(on_cpu, full, monkeypatch):
    """While an actor makes them as fast as they are read, the call ends."""
    read, most = home.read_dead, 10

    def another(*taken):
        nonlocal most
        most -= 1
        assert most, "the call goes on for ever"
        full.send(Number(5), on_full="dead")
        return read(*taken)

    full.send(Number(4), on_full="dead")
    full.send(Number(4), on_full="dead")
    monkeypatch.setattr(home, "read_dead", another)
    for _ in range(3):
        assert len(on_cpu.dead_letters()) == 2


def test_a_reply_for_a_full_outbox_is_dead(on_cpu):
    ref = on_cpu.launch(total, outbox=2)
    ref.activate()
    for n in range(3):
        ref.send(Number(n))
    while ref.metrics()["received"] < 3:
        pass
    assert [ref.receive(60).value for _ in range(2)] == [0, 1]
    letters = on_cpu.dead_letters()
    assert [(each.message(Number).value, each.reason) for each in letters] == [(3, Reason.UNREAD)]


@actors.kernel(state=Total)
def forwarder(ctx, state, number: Number):
    ctx.send("slow", number)


@actors.kernel(state=Total)
def slow(ctx, state, number: Number):
    state.seen += 1
    state.value = state.value * 3 + number.value


def test_an_actor_waits_for_room_in_anothers_inbox(on_cpu):
    """Nothing is lost, and the order is kept."""
    there = on_cpu.launch(slow, capacity=2)
    here = on_cpu.launch(forwarder, capacity=1024)
    here.activate()
    for n in range(300):
        here.send(Number(n % 7))
    until(lambda: there.metrics()["waiting"] == 2)
    there.activate()
    while there.read_state().seen < 300:
        pass
    expected = 0
    for n in range(300):
        expected = (expected * 3 + n % 7 + 2**63) % 2**64 - 2**63
    assert there.read_state().value == expected
    assert on_cpu.dead_letters() == []


def test_an_actors_messages_for_a_full_inbox_can_be_dead(on_cpu):
    there = on_cpu.launch(slow, capacity=2)
    here = on_cpu.launch(forwarder, on_full="dead")
    here.activate()
    for n in range(5):
        here.send(Number(n))
    while here.metrics()["received"] < 5:
        pass
    letters = on_cpu.dead_letters()
    assert [each.message(Number).value for each in letters] == [2, 3, 4]
    assert {each.actor for each in letters} == {there.id}


def test_senders_to_an_actor_that_ends_go_on(on_cpu):
    there = on_cpu.launch(slow, capacity=2)
    here = on_cpu.launch(forwarder)
    here.activate()
    for n in range(10):
        here.send(Number(n))
    until(lambda: there.metrics()["waiting"] == 2)
    there.terminate(graceful=False)
    while here.metrics()["received"] < 10:
        pass
    letters = on_cpu.dead_letters()
    assert sorted(each.message(Number).value for each in letters) == list(range(10))


def test_eight_producers(on_cpu):
    """No message is lost or twice, and each producer's are in order."""
    ref = on_cpu.launch(ordered, capacity=64)
    ref.activate()
    each = 2000

    def produce(producer):
        for start in range(0, each, 100):
            numbers = np.zeros(100, Number.__gridlane_type__.numpy)
            numbers["value"] = producer * each + np.arange(start, start + 100)
            ref.post_many(numbers)

    threads = [threading.Thread(target=produce, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ref.terminate()
    state = ref.read_state()
    assert state.wrong == 0
    assert state.last.tolist() == [each * (n + 1) - 1 for n in range(8)]


# ---- topics


@pytest.mark.parametrize(
    ("pattern", "topic", "expected"),
    [
        ("a.b", "a.b", True),
        ("a.b", "a.b.c", False),
        ("a.*", "a.b", True),
        ("a.*", "a", False),
        ("a.*", "a.b.c", False),
        ("#", "a", True),
        ("a.#", "a", True),
        ("a.#", "a.b.c", True),
        ("#.c", "a.b.c", True),
        ("#.c", "c", True),
        ("a.#.c", "a.c", True),
        ("a.#.c", "a.b.b.c", True),
        ("a.#.c", "a.b", False),
        ("*.*", "a.b", True),
        ("*", "ab", True),
        ("a*", "ab", None),
        ("", "a", None),
    ],
)
def test_patterns(pattern, topic, expected):
    if expected is None:
        with pytest.raises(ValueError, match="is no pattern"):
            matches(pattern, topic)
    else:
        assert matches(pattern, topic) is expected


@actors.kernel
def splitter(ctx, state, number: Number):
    if number.value & 1:
        ctx.publish("numbers.odd", number)
    else:
        ctx.publish("numbers.even", number)


def test_publish_and_subscribe(on_cpu):
    on_cpu.topic("numbers.odd", Number)
    on_cpu.topic("numbers.even", Number)
    odd, every, none = (on_cpu.launch(slow, name=name) for name in ("odd", "every", "none"))
    on_cpu.subscribe(odd, "numbers.odd")
    on_cpu.subscribe(every, "numbers.*")
    on_cpu.subscribe(every, "#")  # one message each, all the same
    for ref in (odd, every, none):
        ref.activate()
    source = on_cpu.launch(splitter)
    source.activate()
    for n in range(10):
        source.send(Number(n), replies=False)
    source.terminate()
    for ref in (odd, every, none):
        ref.terminate()
    assert [ref.read_state().seen for ref in (odd, every, none)] == [5, 10, 0]
    assert on_cpu.dead_letters() == []


def test_subscriptions_change_while_actors_run(on_cpu):
    on_cpu.topic("numbers.odd", Number)
    ref = on_cpu.launch(slow)
    ref.activate()
    assert on_cpu.publish("numbers.odd", Number(1)) == 0
    on_cpu.subscribe(ref, "numbers.#")
    assert on_cpu.publish("numbers.odd", Number(1)) == 1
    on_cpu.unsubscribe(ref, "numbers.#")
    assert on_cpu.publish("numbers.odd", Number(1)) == 0


def test_topics_have_one_class(on_cpu):
    on_cpu.topic("numbers.odd", Number)
    ref = on_cpu.launch(actors.kernel(_of_totals))
    with pytest.raises(TypeError, match=r"the topic numbers\.odd has messages of Number"):
        on_cpu.subscribe(ref, "#")
    with pytest.raises(ValueError, match="is no topic"):
        on_cpu.topic("numbers..odd", Number)


@actors.message
class Other:
    value: "float64"  # noqa: F821


def _of_totals(ctx, state, other: Other):
    pass

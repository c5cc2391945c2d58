"""Other processes post to an actor, and call it."""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.actors.outside.processes import fork, status_of
from tests.actors.samples import Fill, Number, Order, Total, ordered, total
from tests.waiting import until

from gridlane import actors
from gridlane.actors import ActorError, MessageDead, QueueFull, Reason
from gridlane.core.errors import TypingError


def test_sends_and_calls(ref):
    with ref.share("numbers") as share, actors.connect("numbers", replies=Number) as there:
        assert there.call(Number(3), timeout=60) == Number(3)
        assert there.send(Number(4))
        assert there.call(Number(5), timeout=60, spin=0) == Number(12)
        assert there.alive
        until(lambda: share.metrics()["received"] == 3)  # it is counted after it is answered
        assert share.metrics() == {
            "received": 3,
            "refused": 0,
            "abandoned": 0,
            "garbled": 0,
            "seats": 1,
        }
    until(lambda: ref.metrics()["received"] == 3)


def test_many_in_their_order(runtime):
    """More than the shared inbox and the actor's have room for."""
    ref = runtime.launch(ordered, capacity=8)
    ref.activate()
    with ref.share("many", capacity=4), actors.connect("many", message=Number) as there:
        numbers = np.zeros(2000, Number.__gridlane_type__.numpy)
        numbers["value"] = np.arange(2000)
        assert there.post_many(numbers[:1000]) == 1000
        assert there.post_many([Number(int(n)) for n in numbers["value"][1000:]]) == 1000
        until(lambda: ref.metrics()["received"] == 2000)
    assert ref.read_state().wrong == 0
    assert ref.read_state().last[0] == 1999


def test_four_processes_at_once(runtime):
    """No message is lost or twice, and each process's are in order."""
    ref = runtime.launch(ordered, capacity=64)
    ref.activate()
    with ref.share("four", capacity=16):

        def produce(producer):
            with actors.connect("four", message=Number) as there:
                numbers = np.zeros(2000, Number.__gridlane_type__.numpy)
                numbers["value"] = producer * 2000 + np.arange(2000)
                assert there.post_many(numbers) == 2000

        children = [fork(lambda n=n: produce(n)) for n in range(4)]
        assert [status_of(each) for each in children] == [0] * 4
        until(lambda: ref.metrics()["received"] == 8000)
    state = ref.read_state()
    assert state.wrong == 0
    assert state.last.tolist()[:4] == [2000 * (n + 1) - 1 for n in range(4)]


def test_calls_of_several_processes_and_threads(ref):
    with ref.share("calls", capacity=4, peers=16):

        def ask():
            with actors.connect("calls", replies=Number) as there:
                from concurrent.futures import ThreadPoolExecutor

                def one(_):
                    return there.call(Number(1), timeout=60).value

                with ThreadPoolExecutor(3) as pool:
                    found = list(pool.map(one, range(30)))
                assert len(set(found)) == 30

        children = [fork(ask) for _ in range(3)]
        assert [status_of(each) for each in children] == [0] * 3
        assert ref.read_state() == Total(90, 90)


def test_a_full_inbox(runtime):
    """The sender chooses; nothing goes in silence."""
    ref = runtime.launch(total, capacity=1)  # it is not active
    with ref.share("full", capacity=2), actors.connect("full", replies=Number) as there:
        for n in range(4):  # in the actor's inbox, at the reader, and in the shared one
            there.send(Number(n))
        with pytest.raises(QueueFull, match="the shared inbox full is full"):
            there.send(Number(4), on_full="raise")
        with pytest.raises(QueueFull):
            there.send(Number(5), timeout=0.02)
        with pytest.raises(TimeoutError, match="has had no room"):
            there.call(Number(6), timeout=0.02)
        assert there.post_many([Number(7)], timeout=0.02) == 0
        assert there.send(Number(8), on_full="dead") is False
        ref.activate()
        letters = []
        until(lambda: letters.extend(runtime.dead_letters()) or letters)
        assert [(each.message(Number).value, each.reason) for each in letters] == [(8, Reason.FULL)]
        assert there.call(Number(10), timeout=60).value == 0 + 1 + 2 + 3 + 10


def test_expired_and_late_messages(runtime, ref):
    ref.suspend()
    with ref.share("late"), actors.connect("late", replies=Number) as there:
        there.send(Number(1), expires=0.005)
        with pytest.raises(TimeoutError, match="has not replied in time"):
            there.call(Number(2), timeout=0.05)
        ref.resume()
        assert there.call(Number(4), timeout=60).value == 6
    letters = {each.reason: each for each in runtime.dead_letters()}
    assert set(letters) == {Reason.EXPIRED, Reason.LATE}
    assert letters[Reason.LATE].message(Number).value == 2


def test_handlers_that_fail(runtime):
    ref = runtime.launch(total, restart="fresh")
    ref.activate()
    with ref.share("fails"), actors.connect("fails", replies=Number) as there:
        with pytest.raises(MessageDead) as caught:
            there.call(Number(-1), timeout=60)
        assert caught.value.reason is Reason.FAILED
        assert there.call(Number(2), timeout=60).value == 2


@actors.kernel(state=Total, replies=Number)
def replies_to_odd(ctx, state, number: Number):
    if number.value & 1:
        ctx.reply(number)


def test_handlers_that_do_not_reply(runtime):
    ref = runtime.launch(replies_to_odd)
    ref.activate()
    with ref.share("odd"), actors.connect("odd", replies=Number) as there:
        assert there.call(Number(3), timeout=60) == Number(3)
        with pytest.raises(MessageDead) as caught:
            there.call(Number(4), timeout=60)
        assert caught.value.reason is Reason.UNANSWERED
        assert there.call(Number(5), timeout=60) == Number(5)
    assert runtime.dead_letters() == []


def test_other_classes(ref):
    with ref.share("classes"):
        with actors.connect("classes", replies=Number) as there:
            with pytest.raises(TypeError, match="messages of another class than Order"):
                there.send(Order(1.0, 1))
            with pytest.raises(ActorError, match="an array says nothing of a class"):
                there.post_many(np.zeros(1, Number.__gridlane_type__.numpy))
        with actors.connect("classes", message=Number) as there:
            with pytest.raises(ActorError, match=r"connect\('classes', replies=Class\)"):
                there.call(Number(1))
            with pytest.raises(TypeError, match="another class than records of"):
                there.post_many(np.zeros(1, Order.__gridlane_type__.numpy))
        with pytest.raises(TypingError, match="does not reply with Fill"):
            actors.connect("classes", replies=Fill)
        with pytest.raises(TypingError, match="does not handle Order"):
            actors.connect("classes", message=Order)


def test_actors_without_replies(runtime):
    ref = runtime.launch(ordered)
    ref.activate()
    with ref.share("silent"), actors.connect("silent") as there:
        with pytest.raises(ActorError, match="has no replies: send it messages"):
            there.call(Number(1))


def test_tokens(ref):
    with ref.share("token") as share:
        with actors.connect("token", share.token) as there:
            there.send(Number(1))
        with pytest.raises(ActorError, match="the token is not that of the shared inbox 'token'"):
            actors.connect("token", share.token ^ 1)
        earlier = share.token
    with ref.share("token") as share:
        assert share.token != earlier
        with pytest.raises(ActorError, match="of an earlier "):
            actors.connect("token", earlier)


def test_names(ref):
    with ref.share("a.b-c_1"):
        with pytest.raises(ActorError, match=f"already, of the process {os.getpid()}"):
            ref.share("a.b-c_1")
    for name in ("", ".a", "a/b", "../a", "a b", "ä", "a" * 65, "a\0", None):
        with pytest.raises(ValueError, match="is no name of an inbox"):
            ref.share(name)
        with pytest.raises(ValueError, match="is no name of an inbox"):
            actors.connect(name)
    with pytest.raises(ActorError, match="there is no shared inbox 'nobody'"):
        actors.connect("nobody")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"capacity": 3}, "capacity=3 is not a power of two"),
        ({"peers": 0}, "peers=0 is not between 1 and 1024"),
        ({"peers": 1025}, "peers=1025"),
        ({"lease": 0}, "lease=0 is not above 0"),
        ({"lease": float("nan")}, "lease=nan"),
    ],
)
def test_numbers(ref, options, says):
    with pytest.raises(ValueError, match=says):
        ref.share("numbers", **options)


def test_seats(ref):
    with ref.share("seats", peers=2):
        one, two = actors.connect("seats"), actors.connect("seats")
        with pytest.raises(ActorError, match="has no seat left"):
            actors.connect("seats")
        one.close()
        with pytest.raises(ActorError, match="the connection is closed"):
            one.send(Number(1))
        actors.connect("seats").close()
        two.close()


def test_the_end_of_the_actor_is_the_end_of_its_inbox(runtime, folder, ref):
    ref.share("ends")
    there = actors.connect("ends", replies=Number)
    ref.terminate()
    assert not there.alive
    assert not (folder / "ends.inbox").exists()
    for use in (lambda: there.send(Number(1)), lambda: there.call(Number(1))):
        with pytest.raises(ActorError, match="is closed, or its process has ended"):
            use()
    with pytest.raises(ActorError, match="has ended"):
        ref.share("ends")


def test_a_call_that_waits_learns_of_the_end(runtime):
    ref = runtime.launch(total)
    ref.share("waits")

    def ask():
        with actors.connect("waits", replies=Number) as there:
            try:
                there.call(Number(1))
            except MessageDead as error:
                assert error.reason in (Reason.STOPPED, Reason.INACTIVE)
            except ActorError as error:
                assert "is closed" in str(error)
            else:
                raise AssertionError

    child = fork(ask)
    until(lambda: ref.metrics()["waiting"] == 1)
    ref.terminate(graceful=False)
    assert status_of(child) == 0


def test_what_is_in_a_shared_inbox_at_its_end_is_dead(runtime):
    ref = runtime.launch(total, capacity=1)
    share = ref.share("end", capacity=8)
    with actors.connect("end") as there:
        for n in range(6):
            there.send(Number(n))
            until(lambda: ref.metrics()["waiting"] == 1)
        share.close()
    letters = runtime.dead_letters()
    assert sorted(each.message(Number).value for each in letters) == [1, 2, 3, 4, 5]
    assert {each.reason for each in letters} == {Reason.STOPPED}


def test_a_child_does_not_own_what_its_parent_shares(folder, runtime, ref):
    share = ref.share("mine")
    there = actors.connect("mine", replies=Number)

    def child():
        share.close()
        runtime.close()
        with pytest.raises(ActorError, match="is the parent process's; connect again"):
            there.send(Number(1))
        there.close()
        with actors.connect("mine", replies=Number) as mine:
            assert mine.call(Number(5), timeout=60).value == 5

    assert status_of(fork(child)) == 0
    assert (folder / "mine.inbox").exists()
    assert there.call(Number(1), timeout=60).value == 6
    there.close()


@actors.kernel(state=Total, replies=Number)
def silent(ctx, state, number: Number):
    state.seen += 1
    if number.value > 100:
        ctx.reply(number)


def test_a_call_whose_handler_does_not_reply_ends(runtime):
    ref = runtime.launch(silent)
    ref.activate()
    with ref.share("silent"), actors.connect("silent", replies=Number) as there:
        with pytest.raises(MessageDead, match="its handler has not replied") as caught:
            there.call(Number(1), timeout=60)
        assert caught.value.reason is Reason.UNANSWERED
        assert there.call(Number(101), timeout=60) == Number(101)
    assert runtime.dead_letters() == []

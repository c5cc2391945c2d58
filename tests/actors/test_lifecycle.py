"""States, transitions and what they allow."""

from __future__ import annotations

import itertools
import threading

import pytest
from tests.actors.conftest import quick
from tests.actors.samples import Number, Total, looping, total
from tests.waiting import until

from gridlane import actors
from gridlane.actors import MessageDead, Reason, State, StateError
from gridlane.actors.values.states import PHASES, TRANSITIONS


def test_every_transition_from_every_state(on_cpu):
    """Those of the table are allowed, and the others name both states."""
    reach = {
        State.LAUNCHED: [],
        State.ACTIVE: ["activate"],
        State.DEACTIVATED: ["activate", "deactivate"],
        State.SUSPENDED: ["activate", "suspend"],
        State.TERMINATED: ["terminate"],
    }
    methods = [name for name in TRANSITIONS if name not in ("launch", "end")]
    for (state, way), method in itertools.product(reach.items(), methods):
        ref = on_cpu.launch(total)
        for step in way:
            getattr(ref, step)()
        assert ref.state is state
        allowed, after = TRANSITIONS[method]
        if state in allowed:
            getattr(ref, method)()
            ended = State.TERMINATED if after is State.TERMINATING else after
            assert ref.state is ended
        else:
            with pytest.raises(StateError, match=f"is {state}, and {method} would make it {after}"):
                getattr(ref, method)()
            assert ref.state is state


def test_phases_say_what_states_do():
    assert PHASES[State.SUSPENDED] == PHASES[State.LAUNCHED] == 1
    assert PHASES[State.TERMINATING] == 2


def test_launched_actors_take_messages_and_handle_none(on_cpu):
    ref = on_cpu.launch(total)
    ref.send(Number(3))
    other = on_cpu.launch(total, name="other")
    other.activate()
    assert other.call(Number(1), timeout=60).value == 1  # the workers are awake
    assert ref.metrics()["received"] == 0
    with pytest.raises(StateError, match="is launched, so that a call would wait"):
        ref.call(Number(1))
    ref.activate()
    assert ref.receive(60).value == 3


def test_suspended_actors_go_on(on_cpu):
    ref = on_cpu.launch(total)
    ref.activate()
    ref.suspend()
    ref.send(Number(3))
    assert ref.try_receive() is None
    with pytest.raises(TimeoutError, match="has not replied"):
        ref.call(Number(4), timeout=0.05)
    ref.resume()
    assert ref.receive(60).value == 3
    assert ref.call(Number(1), timeout=60).value == 8
    late = on_cpu.dead_letters()
    assert [each.reason for each in late] == [Reason.LATE]


def test_deactivated_actors_take_nothing(on_cpu):
    ref = on_cpu.launch(total)
    ref.activate()
    ref.deactivate()
    with pytest.raises(MessageDead, match="takes no messages; activate it") as caught:
        ref.send(Number(1))
    assert caught.value.reason is Reason.INACTIVE
    ref.activate()
    assert ref.call(Number(1), timeout=60).value == 1


def test_a_graceful_end_handles_all_messages(on_cpu):
    ref = on_cpu.launch(total, capacity=256)
    for n in range(200):
        ref.send(Number(n), replies=False)
    ref.terminate()
    assert ref.metrics()["received"] == 200
    assert on_cpu.dead_letters() == []
    with pytest.raises(MessageDead, match="takes no messages"):
        ref.send(Number(1))


def test_a_forced_end_leaves_dead_letters(on_cpu):
    ref = on_cpu.launch(total)
    for n in range(5):
        ref.send(Number(n))
    ref.terminate(graceful=False)
    letters = on_cpu.dead_letters()
    assert [each.message(Number).value for each in letters] == list(range(5))
    assert {each.reason for each in letters} == {Reason.STOPPED}
    assert all(each.actor == ref.id for each in letters)


def test_a_forced_end_stops_a_handler_that_loops(on_cpu):
    with actors.Runtime(device="cpu", watchdog=None) as runtime:
        ref = runtime.launch(looping)
        ref.activate()
        ref.send(Number(1_000_000))
        until(lambda: ref._instance.there.since)
        ref.terminate(graceful=False)
        assert ref.state is State.TERMINATED


def test_the_watchdog_stops_a_handler_that_loops(on_cpu):
    """It names the actor and the message; others go on meanwhile."""
    ref, other = on_cpu.launch(looping, restart="fresh"), on_cpu.launch(total)
    ref.activate()
    other.activate()
    ref.call(Number(1), timeout=60)
    told = r"looping was stopped after 0.3 s, by the watchdog, in its message 1"
    with quick(on_cpu, 0.3), pytest.raises(actors.ActorError, match=told):
        ref.call(Number(1_000_000), timeout=60)
    assert other.call(Number(2), timeout=60).value == 2
    assert ref.call(Number(3), timeout=60).value == 3
    assert [each.reason for each in on_cpu.dead_letters()] == [Reason.FAILED]


def test_states_are_read_and_written(on_cpu):
    ref = on_cpu.launch(total, state=Total(7, 1))
    ref.activate()
    assert ref.read_state() == Total(7, 1)
    ref.write_state(Total(1, 0))
    assert ref.call(Number(1), timeout=60).value == 2
    with pytest.raises(TypeError, match="the state of total is a Total"):
        ref.write_state(Number(1))


def test_a_closed_runtime_says_so():
    with actors.Runtime(device="cpu") as runtime:
        ref = runtime.launch(total)
        ref.activate()
    assert ref.state is State.TERMINATED
    for use in (
        lambda: ref.send(Number(1)),
        lambda: ref.call(Number(1)),
        lambda: runtime.launch(total),
        lambda: runtime.dead_letters(),
    ):
        with pytest.raises(actors.ActorError, match="the runtime is closed"):
            use()
    runtime.close()


def test_names(on_cpu):
    one, two = on_cpu.launch(total), on_cpu.launch(total)
    three = on_cpu.launch(total, name="sum")
    assert (one.name, two.name, three.name) == ("total", "total2", "sum")
    assert on_cpu["sum"] == three
    assert on_cpu.actors() == [one, two, three]
    with pytest.raises(actors.ActorError, match="'sum' already"):
        on_cpu.launch(total, name="sum")
    three.terminate()
    on_cpu.launch(total, name="sum")


def test_actors_come_and_go(on_cpu):
    """Their memory is freed, and only once no worker is about to run them."""

    def live():
        for _ in range(600):
            ref = on_cpu.launch(total)
            ref.activate()
            assert ref.call(Number(1), timeout=60).value == 1
            ref.terminate()

    threads = [threading.Thread(target=live) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert on_cpu.actors() == []


class Unlisted(dict):
    """Actors by their numbers, of which nobody asks for all."""

    def values(self):
        raise AssertionError("all actors are looked at")


def test_an_end_looks_at_no_other_actor(on_cpu, monkeypatch):
    first, second = on_cpu.launch(total), on_cpu.launch(total)
    on_cpu.connect(first, second)
    directory = on_cpu._home.directory
    with monkeypatch.context() as patch:
        patch.setattr(directory, "by_number", Unlisted(directory.by_number))
        second.terminate()
        on_cpu.connect(first, first)
        first.terminate()

"""Checkpoints of actors whose kernels do not end, on the CPU's stand-in for a GPU; restores on
other kinds of devices and back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.actors.conftest import NAMES
from tests.actors.samples import Number, Total, total
from tests.actors.test_checkpoint import Tokens, dead_tokens, snapshot_of, tokens_of
from tests.actors.waiting import until_ways_are_open
from tests.effort import examples
from tests.waiting import until

from gridlane import actors, cuda
from gridlane.actors import Reason, State
from gridlane.actors.resident import residence
from gridlane.actors.values.dead import DeadLetter
from gridlane.cuda import int64

WAIT = 60
HEADER = DeadLetter.HEADER.itemsize


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    """The CPU keeps kernels, where a runtime is persistent."""
    monkeypatch.setattr(residence, "ON_CPU", True)


def persistent(**options) -> actors.Runtime:
    return actors.Runtime("cpu", persistent=True, **{"watchdog": None} | options)


def values_of(messages: list[bytes]) -> list[int]:
    return [int.from_bytes(each[HEADER : HEADER + 8], "little") for each in messages]


KINDS = [("cpu", True), *((name, False) for name in NAMES)]
"""Devices to restore on, and whether kernels stay there."""


@actors.kernel(state=Total)
def source(ctx, state, number: Number):
    """Sends three numbers on to ``sink`` for each, one after the other; fails for negative ones."""
    state.seen += 1
    if number.value < 0:
        raise ValueError("negative")
    for n in range(3):
        ctx.send("sink", Number(3 * number.value + n))


@actors.kernel(state=Total)
def sink(ctx, state, number: Number):
    """Counts numbers that are not the one after the last."""
    if state.seen != number.value:
        state.value += 1
    state.seen += 1


@actors.state
class Purse:
    held: int64
    seen: int64
    place: int64


@actors.kernel(state=Purse)
def ring(ctx, state, tokens: Tokens):
    """Keeps half of its tokens, and sends the others to the next of three."""
    state.held += tokens.count
    state.seen += 1
    given = state.held // 2
    state.held -= given
    if state.place == 0:
        ctx.send("ring1", Tokens(given))
    elif state.place == 1:
        ctx.send("ring2", Tokens(given))
    else:
        ctx.send("ring0", Tokens(given))


# ---- restores


@pytest.mark.parametrize(("device", "stays"), KINDS)
def test_a_restore_gives_the_same_answers(tmp_path, device, stays):
    with persistent() as here:
        ref = here.launch(total, capacity=16, name="sum")
        ref.activate()
        assert ref.call(Number(7), timeout=WAIT).value == 7
        ref.suspend()
        for n in range(5):
            ref.send(Number(n))
        clock = ref._there.clock
        here.checkpoint(tmp_path / "a")
        ref.resume()
        expected = [ref.receive(WAIT).value for _ in range(5)]
    with actors.Runtime.restore(tmp_path / "a", device, actors=[total], persistent=stays) as there:
        again = there["sum"]
        assert (again.mode == "persistent") is stays
        assert (again.state, again.id, again.metrics()["received"]) == (State.SUSPENDED, ref.id, 1)
        assert again.read_state() == Total(7, 1)
        assert again._there.clock == clock
        again.resume()
        assert [again.receive(WAIT).value for _ in range(5)] == expected
        assert again.call(Number(1), timeout=WAIT).value == expected[-1] + 1
        until(lambda: again.metrics()["received"] == 7)


@pytest.mark.parametrize("device", NAMES)
def test_a_restore_to_kernels_that_stay(tmp_path, device):
    with actors.Runtime(device, persistent=False) as here:
        ref = here.launch(total, capacity=16)
        ref.activate()
        ref.call(Number(7), timeout=WAIT)
        ref.suspend()
        for n in range(5):
            ref.send(Number(n))
        here.checkpoint(tmp_path / "a")
    with actors.Runtime.restore(tmp_path / "a", actors=[total], persistent=True) as there:
        again = there["total"]
        assert (again.mode, again.read_state()) == ("persistent", Total(7, 1))
        again.resume()
        assert [again.receive(WAIT).value for _ in range(5)] == [7, 8, 10, 13, 17]
        until(lambda: again.metrics()["received"] == 6)  # told after the answers


def test_there_and_back_and_there(tmp_path):
    """Messages in the device's rings and the host's, through each kind of runtime, in their
    order."""
    path = tmp_path / "a"
    given = [source, sink]
    with persistent() as runtime:
        first, last = runtime.launch(source, capacity=16), runtime.launch(sink, capacity=16)
        last.activate()
        first.activate()
        until_ways_are_open(runtime)
        last.suspend()
        for n in range(4):
            first.send(Number(n), replies=False)
        until(lambda: first.metrics()["received"] == 4)
        first.suspend()
        for n in range(4, 8):
            first.send(Number(n), replies=False)
        runtime.checkpoint(path)
        saved = {each.name: each for each in snapshot_of(path).actors}
        assert values_of(saved["sink"].queues.inbox) == list(range(12))
        assert values_of(saved["source"].queues.inbox) == list(range(4, 8))
        assert last._there.position[1] == 0 and last._there.lengths[0] == 0  # by the device
    sent = 8
    for device, stays in [("cpu", False), ("cpu", True), ("interp", False), ("cpu", True)]:
        with actors.Runtime.restore(path, device, actors=given, persistent=stays) as runtime:
            first, last = runtime["source"], runtime["sink"]
            seen = last.read_state().seen
            last.resume()
            if first.state is State.SUSPENDED:
                first.resume()
            until(lambda: last.read_state().seen >= seen + 3)
            last.suspend()
            for n in range(sent, sent + 2):
                first.send(Number(n), replies=False)
            sent += 2
            runtime.checkpoint(path)
    with actors.Runtime.restore(path, actors=given, persistent=False) as runtime:
        runtime["sink"].resume()
        until(lambda: runtime["sink"].read_state().seen == 3 * sent)
        assert runtime["sink"].read_state() == Total(0, 3 * sent)
        assert runtime.dead_letters() == []


# ---- a sender that waits for room


@pytest.mark.parametrize("by", ["device", "host"])
@pytest.mark.parametrize(("device", "stays"), [("cpu", False), ("interp", False), ("cpu", True)])
def test_a_kernel_that_waits_for_room_is_held(tmp_path, by, device, stays):
    """What it is about to send is in the checkpoint, and comes in its order, here as well."""
    with persistent() as runtime:
        first = runtime.launch(source, capacity=16, outbox=1)
        last = runtime.launch(sink, capacity=2)
        if by == "device":
            last.activate()
            first.activate()
            until_ways_are_open(runtime)
            last.suspend()
        else:  # nothing has opened a way yet
            first.activate()
            runtime._home.directory.channels.shut(last._instance)
        for n in range(3):
            first.send(Number(n), replies=False)
        if by == "device":
            time.sleep(0.2)  # how far it has come is in the memory of kernels alone
        else:
            until(lambda: last.metrics()["waiting"] == 2 and first.metrics()["received"])
        runtime.checkpoint(tmp_path / "a")
        saved = {each.name: each for each in snapshot_of(tmp_path / "a").actors}
        count = int(np.frombuffer(saved["source"].now, np.int64)[1])
        there = values_of(saved["sink"].queues.inbox)
        outputs = [int.from_bytes(each[32:40], "little") for each in saved["source"].queues.outputs]
        assert there + outputs == list(range(3 * count))
        last.resume() if last.state is State.SUSPENDED else last.activate()
        until(lambda: last.read_state().seen == 9)
        assert last.read_state() == Total(0, 9)
        until(lambda: runtime._home.directory.channels.is_settled)
        for n in range(3, 6):
            first.send(Number(n), replies=False)
        until(lambda: last.read_state().seen == 18)
        assert last.read_state() == Total(0, 18)
        assert runtime.dead_letters() == []
    with actors.Runtime.restore(
        tmp_path / "a", device, actors=[source, sink], persistent=stays
    ) as again:
        last = again["sink"]
        last.resume() if last.state is State.SUSPENDED else last.activate()
        until(lambda: last.read_state().seen == 9)
        assert last.read_state() == Total(0, 9)
        until(lambda: again["source"].metrics()["emitted"] == 9)
        assert again.dead_letters() == []


@pytest.mark.parametrize("graceful", [True, False])
def test_an_end_keeps_the_order_of_what_was_held_back(tmp_path, graceful):
    """What a checkpoint has held back comes behind what is on the device, or is dead."""
    with persistent() as runtime:
        first = runtime.launch(source, capacity=16, outbox=64)
        last = runtime.launch(sink, capacity=2)
        last.activate()
        first.activate()
        until_ways_are_open(runtime)
        last.suspend()
        channels = runtime._home.directory.channels
        for n in range(3):
            first.send(Number(n), replies=False)
        until(lambda: sum(each.length for each in channels._all.values()) == 2)
        runtime.checkpoint(tmp_path / "a")
        until(lambda: first._instance.residence.unsent() == 7)
        end = threading.Thread(target=first.terminate, args=(graceful,))
        end.start()
        until(lambda: first.state is (State.TERMINATING if graceful else State.TERMINATED))
        last.resume()
        end.join()
        until(lambda: last.read_state().seen == (9 if graceful else 2))
        assert last.read_state().value == 0
        letters = runtime.dead_letters()
        assert [each.message(Number).value for each in letters] == (
            [] if graceful else list(range(2, 9))
        )
        assert {each.reason for each in letters} <= {Reason.FULL}


@actors.message
class Fork:
    value: int64
    other: int64


@actors.kernel
def forks(ctx, state, fork: Fork):
    """Sends three numbers to ``sink`` and one to another actor, by the host."""
    for n in range(3):
        ctx.send("sink", Number(3 * fork.value + n))
    ctx.send_to(fork.other, Number(fork.value))


@pytest.mark.parametrize("drains", [False, True])
def test_what_was_held_back_goes_where_there_is_room(tmp_path, monkeypatch, drains):
    """An end by force makes dead letters only of what is for an inbox that is still full."""
    with persistent() as runtime:
        first = runtime.launch(forks, capacity=16, outbox=64)
        last = runtime.launch(sink, capacity=2)
        other = runtime.launch(sink, name="other")
        for each in (last, first, other):
            each.activate()
        until_ways_are_open(runtime)
        last.suspend()
        channels = runtime._home.directory.channels
        for n in range(3):
            first.send(Fork(n, other.id), replies=False)
        until(lambda: sum(each.length for each in channels._all.values()) == 2)
        runtime.checkpoint(tmp_path / "a")
        until(lambda: first._instance.residence.unsent() == 10)
        with channels_stand(channels):
            if drains:
                monkeypatch.setattr("gridlane.actors.resident.channels.BRIEF", WAIT)
                last.resume()
            first.terminate(graceful=False)
        until(lambda: other.read_state() == Total(0, 3))
        letters = runtime.dead_letters()
        assert {each.reason for each in letters} <= {Reason.FULL}
        dead = [each.message(Number).value for each in letters]
        last.resume() if not drains else None
        until(lambda: last.read_state().seen + len(dead) == 9)
        assert dead == sorted(dead)
        assert (len(dead) < 7) if drains else (dead == list(range(2, 9)))


@contextmanager
def channels_stand(channels):
    """Let nothing but an end deliver what was held back."""
    settle, channels.settle = channels.settle, lambda: None
    try:
        yield
    finally:
        channels.settle = settle


@pytest.mark.parametrize(
    ("capacity", "count"), [pytest.param(4, 8, marks=pytest.mark.nightly), (2, 5)]
)
def test_no_token_is_lost_or_twice(tmp_path, capacity, count):
    path, whole = tmp_path / "a", sum(range(1000, 1000 + count))
    with persistent() as runtime:
        refs = [
            runtime.launch(ring, name=f"ring{n}", state=Purse(0, 0, n), capacity=capacity, outbox=4)
            for n in range(3)
        ]
        for each in refs:
            each.activate()
        for n in range(count):
            refs[n % 3].send(Tokens(1000 + n), replies=False)
        for _ in range(examples(6, 15)):
            runtime.checkpoint(path)
            saved = snapshot_of(path)
            dead = dead_tokens(saved)
            assert sum(map(tokens_of, saved.actors)) + sum(dead) == whole
            messages = [len(each.queues.waiting) for each in saved.actors]
            outputs = [len(each.queues.outputs) for each in saved.actors]
            assert sum(messages) + sum(outputs) + len(dead) == count
        seen = refs[0].read_state().seen
        until(lambda: refs[0].read_state().seen > seen + 10)
    for device, stays in (("cpu", False), ("interp", False), ("cpu", True)):
        with actors.Runtime.restore(path, device, actors=[ring], persistent=stays) as there:
            seen = there["ring0"].read_state().seen
            until(lambda: there["ring0"].read_state().seen > seen + 3)
            there.checkpoint(path)
            saved = snapshot_of(path)
            assert sum(map(tokens_of, saved.actors)) + sum(dead_tokens(saved)) == whole


def test_outputs_of_a_batch_go_on_in_a_kernel_that_stays(tmp_path):
    """A step whose outputs wait for room, and whose last message has failed."""

    with actors.Runtime("cpu", persistent=False) as here:
        here.launch(sink, capacity=1)
        ref = here.launch(source, restart="fresh")
        for n in (0, 1, -1, 2):
            ref.send(Number(n), replies=False)
        ref.activate()
        until(lambda: ref._there.blocked)
        here.checkpoint(tmp_path / "a")
    given = [sink, source]
    with actors.Runtime.restore(tmp_path / "a", actors=given, persistent=True) as again:
        again["sink"].activate()
        until(lambda: again["sink"].read_state().seen == 9)
        assert again["sink"].read_state() == Total(0, 9)
        assert "negative" in str(again["source"].failure)
        until(lambda: again["source"].read_state() == Total(0, 1))
        until(lambda: again["source"].metrics()["received"] == 3)
        dead = again.dead_letters()
        assert [(each.message(Number).value, each.reason) for each in dead] == [(-1, Reason.FAILED)]


# ---- who goes on meanwhile


def test_callers_and_senders_do_not_see_a_checkpoint(tmp_path):
    found: list[int] = []
    with persistent() as runtime:
        ref = runtime.launch(total, capacity=64)
        ref.activate()
        done = threading.Event()

        def call() -> None:
            while not done.is_set():
                found.append(ref.call(Number(1), timeout=WAIT).value)
                assert ref.send(Number(0), replies=False, on_full="raise")

        threads = [threading.Thread(target=call) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(15):
            runtime.checkpoint(tmp_path / "a")
            (saved,) = snapshot_of(tmp_path / "a").actors
            value, seen = np.frombuffer(saved.now, np.int64)
            assert seen == saved.counters[0]
            assert value <= seen
        done.set()
        for thread in threads:
            thread.join()
        assert sorted(found) == list(range(1, len(found) + 1))
        assert runtime.dead_letters() == []


def test_a_callers_message_is_a_dead_letter_there(tmp_path):
    with persistent() as runtime:
        ref = runtime.launch(total)
        ref.activate()
        ref.suspend()
        thread = threading.Thread(target=lambda: ref.call(Number(5), timeout=WAIT))
        thread.start()
        until(lambda: ref.metrics()["waiting"] == 1)
        runtime.checkpoint(tmp_path / "a")
        ref.resume()
        thread.join()
    for stays in (False, True):
        with actors.Runtime.restore(tmp_path / "a", actors=[total], persistent=stays) as there:
            there["total"].resume()
            assert there["total"].call(Number(1), timeout=WAIT).value == 6
            letters: list[DeadLetter] = []
            until(lambda: letters.extend(there.dead_letters()) or letters)
            assert [(each.message(Number).value, each.reason) for each in letters] == [
                (5, Reason.LATE)
            ]


@actors.kernel(state=Total, replies=Number)
def waiting(ctx, state, number: Number, gate):
    """Says that it is there, and does not end before the gate is open."""
    gate[1] = 1
    while gate[0] == 0:
        cuda.threadfence()
    state.seen += 1
    ctx.reply(number)


def test_a_handler_that_runs_on_is_named_and_the_others_go_on(tmp_path):
    with persistent() as runtime:
        gate = cuda.to_device(np.zeros(2, np.int32))
        ref, other = runtime.launch(waiting, args=(gate,)), runtime.launch(total)
        ref.activate()
        other.activate()
        ref.send(Number(1))
        until(lambda: gate.copy_to_host()[1] == 1)
        with pytest.raises(actors.ActorError, match="waiting is in a step that has not ended"):
            runtime.checkpoint(tmp_path / "a", timeout=0.3)
        assert not (tmp_path / "a").exists()
        assert other.call(Number(4), timeout=WAIT).value == 4
        gate.copy_to_device(np.ones(2, np.int32))
        assert ref.receive(WAIT).value == 1
        runtime.checkpoint(tmp_path / "a")
        assert ref.call(Number(2), timeout=WAIT).value == 2
    assert [each.name for each in snapshot_of(tmp_path / "a").actors] == ["waiting", "total"]


def test_two_runtimes(tmp_path):
    with persistent() as one, persistent() as two:
        refs = [each.launch(sink, capacity=64) for each in (one, two)]
        for ref in refs:
            ref.activate()

        def post(ref) -> None:
            for n in range(200):
                ref.send(Number(n), replies=False)

        threads = [threading.Thread(target=post, args=(ref,)) for ref in refs]
        for thread in threads:
            thread.start()
        for n in range(6):
            one.checkpoint(tmp_path / "one")
            (one, two)[n % 2].checkpoint(tmp_path / "two")
        two.checkpoint(tmp_path / "two")
        for thread in threads:
            thread.join()
    for name in ("one", "two"):
        path = tmp_path / name
        (saved,) = snapshot_of(path).actors
        first = saved.counters[0]
        assert values_of(saved.queues.waiting) == list(
            range(first, first + len(saved.queues.waiting))
        )
        with actors.Runtime.restore(path, actors=[sink], persistent=True) as again:
            last = first + len(saved.queues.waiting)
            until(lambda: again["sink"].metrics()["received"] == last)
            assert again["sink"].read_state().value == 0


def test_a_kernel_that_waits_for_the_host_does_not_hang(tmp_path):
    """Its receiver takes no more, and a checkpoint has made it send by the host."""
    with persistent(watchdog=0.3) as runtime:
        first = runtime.launch(source, capacity=16, outbox=1)
        last = runtime.launch(sink, capacity=2)
        last.activate()
        first.activate()
        until_ways_are_open(runtime)
        last.suspend()
        for n in range(3):
            first.send(Number(n), replies=False)
        time.sleep(0.1)  # how far it has come is in the memory of kernels alone
        runtime.checkpoint(tmp_path / "a")
        supervisor, polls = runtime._home.supervisor, []
        stop_hung = supervisor._stop_hung
        supervisor._stop_hung = lambda limit: (polls.append(limit), stop_hung(limit))
        until(lambda: len(polls) == 8)  # a tenth of a second lies between two: more than the limit
        assert first.state is State.ACTIVE
        last.resume()
        until(lambda: last.read_state().seen == 9)
        assert last.read_state() == Total(0, 9)


# ---- failures


def test_a_restart_from_the_checkpoint(tmp_path):
    with persistent() as runtime:
        ref = runtime.launch(total, restart="checkpoint")
        assert ref.mode == "persistent"
        ref.activate()
        with pytest.raises(ValueError, match="negative"):
            ref.call(Number(-1), timeout=WAIT)
        assert ref.read_state() == Total(0, 0)  # there is none yet
        ref.call(Number(5), timeout=WAIT)
        runtime.checkpoint(tmp_path / "a")
        ref.call(Number(6), timeout=WAIT)
        with pytest.raises(ValueError, match="negative"):
            ref.call(Number(-1), timeout=WAIT)
        assert ref.call(Number(1), timeout=WAIT).value == 6
    with actors.Runtime.restore(tmp_path / "a", actors=[total], persistent=True) as there:
        with pytest.raises(ValueError, match="negative"):
            there["total"].call(Number(-1), timeout=WAIT)
        assert there["total"].read_state() == Total(5, 1)
        assert there["total"].metrics()["restarts"] == 2


CHILD = """
import os, signal, sys, threading
from gridlane import actors
from gridlane.actors.resident import residence
from tests.actors.samples import Number, total

residence.ON_CPU = True
with actors.Runtime("cpu", persistent=True) as runtime:
    ref = runtime.launch(total, capacity=64)
    ref.activate()
    ref.call(Number(1))
    runtime.checkpoint(sys.argv[1])
    print("now", flush=True)
    for n in range(10_000):
        ref.send(Number(1), replies=False)
        runtime.checkpoint(sys.argv[1])
        print("now", flush=True)
"""


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_process_that_is_killed_meanwhile_leaves_a_whole_file(tmp_path, count):
    """Killed while it writes another one, after ``count`` of them."""
    root = Path(__file__).parents[2]
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path / "a")],
        cwd=root,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])},
    )
    assert child.stdout is not None
    with child.stdout:
        for _ in range(1 + count):
            assert child.stdout.readline() == b"now\n"
        child.send_signal(signal.SIGKILL)
        child.wait(60)
    with actors.Runtime.restore(tmp_path / "a", actors=[total], persistent=True) as runtime:
        ref = runtime["total"]
        posted = ref.call(Number(0), timeout=WAIT).value
        assert posted >= 1 + count
        assert ref.read_state() == Total(posted, posted + 1)

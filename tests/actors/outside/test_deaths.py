"""Processes that are killed while they post, wait, or have the actor."""

from __future__ import annotations

import os
import random
import signal

import pytest
from tests.actors.outside.processes import Memory, fork, status_of
from tests.actors.samples import Number, total
from tests.waiting import until

from gridlane import actors
from gridlane.actors import ActorError, Reason, _engine

CLAIMED, ABANDONED, RETURNED = 1, 3, 4


def kill(process):
    os.kill(process, signal.SIGKILL)
    assert status_of(process) == -signal.SIGKILL


def test_posters_that_are_killed_at_random_times(runtime, ref):
    """Each message that came is whole, the others go on, and seats are free again."""
    make = random.Random(3)
    with ref.share("kill", capacity=8, peers=6) as share:

        def post():
            with actors.connect("kill", replies=Number, message=Number) as there:
                while True:
                    there.post_many([Number(1)] * 20)
                    there.call(Number(1), timeout=60)

        with actors.connect("kill", replies=Number) as there:
            for _ in range(12):
                children = [fork(post) for _ in range(2)]
                enough = share.metrics()["received"] + make.randrange(400)
                until(lambda enough=enough: share.metrics()["received"] > enough)
                for each in children:
                    kill(each)
                there.call(Number(1), timeout=60)
            until(lambda: share.metrics()["seats"] == 1)
            there.call(Number(1), timeout=60)
        until(lambda: share.metrics()["received"] == ref.read_state().seen)
        metrics = share.metrics()
    letters = runtime.dead_letters()
    reasons = [each.reason for each in letters]
    assert reasons.count(Reason.ABANDONED) == metrics["abandoned"]
    assert set(reasons) <= {Reason.ABANDONED, Reason.LATE}
    state = ref.read_state()
    assert state.value == state.seen > 0


def test_a_poster_that_dies_with_a_slot(folder, runtime, ref):
    """What it has claimed is a dead letter, and those behind it come."""
    with ref.share("slot", capacity=4, peers=2, lease=3600) as share:
        memory = Memory(folder, "slot")
        with actors.connect("slot", replies=Number) as there:
            child = fork(lambda: (actors.connect("slot"), signal.pause()))
            until(lambda: memory.owner(1))
            memory.word(0, CLAIMED, 1, 0)
            memory.word(2, CLAIMED, 1, 0)  # beyond the head as well
            memory.tail(1)
            there.send(Number(5))
            assert ref.call(Number(0), timeout=60).value == 0  # 5 waits for the one before
            kill(child)
            until(lambda: ref.metrics()["received"] == 2)
            assert there.call(Number(6), timeout=60).value == 11
            until(lambda: not memory.owner(1))
        memory.close()
        assert share.metrics()["abandoned"] == 2
    letters = runtime.dead_letters()
    assert [(each.reason, each.payload) for each in letters] == [(Reason.ABANDONED, b"")] * 2


def test_a_poster_that_is_stopped_with_a_slot(folder, runtime, ref):
    """After the lease the others go on; the slot is its own until it gives it back."""
    with ref.share("lease", capacity=2, lease=0.02) as share:
        memory = Memory(folder, "lease")
        with actors.connect("lease", replies=Number) as there:
            memory.word(0, CLAIMED, 0, 0)
            memory.tail(1)
            for n in range(1, 6):
                assert there.call(Number(1), timeout=60).value == n
            assert memory.kind(0) == ABANDONED
            memory.word(0, RETURNED, 0, 0)
            for n in range(6, 12):
                assert there.call(Number(1), timeout=60).value == n
            assert memory.kind(0) not in (ABANDONED, RETURNED)
        memory.close()
        assert share.metrics()["abandoned"] == 1
    assert [each.reason for each in runtime.dead_letters()] == [Reason.ABANDONED]


def test_all_slots_with_posters_that_are_stopped(folder, runtime, ref):
    with ref.share("all", capacity=2, lease=0.02):
        memory = Memory(folder, "all")
        with actors.connect("all", replies=Number) as there:
            for slot in range(2):
                memory.word(slot, CLAIMED, 0, 0)
            memory.tail(2)
            until(lambda: memory.kind(0) == memory.kind(1) == ABANDONED)
            with pytest.raises(TimeoutError, match="has had no room"):
                there.call(Number(1), timeout=0.05)
            for slot in range(2):
                memory.word(slot, RETURNED, 0, 0)
            assert there.call(Number(1), timeout=60).value == 1
        memory.close()


def host(ready):
    def work():
        with actors.Runtime(device="cpu", workers=1) as runtime:
            ref = runtime.launch(total)
            ref.activate()
            ref.share("host")
            os.write(ready, b"x")
            signal.pause()

    return work


@pytest.fixture
def killed(folder):
    """A process that shares an inbox, and what kills it."""
    read, write = os.pipe()
    child = fork(host(write))
    os.close(write)
    assert os.read(read, 1) == b"x"
    os.close(read)
    yield lambda: kill(child)
    try:
        kill(child)
    except (ChildProcessError, ProcessLookupError):
        pass


def test_the_host_is_killed(folder, killed):
    """Who is connected learns of it, who connects learns of it, and nothing is left."""
    there = actors.connect("host", replies=Number)
    assert there.call(Number(2), timeout=60).value == 2
    assert there.alive
    killed()
    assert not there.alive
    for use in (lambda: there.send(Number(1)), lambda: there.call(Number(1))):
        with pytest.raises(ActorError, match="its process has ended: connect again"):
            use()
    there.close()
    assert (folder / "host.inbox").exists()
    with pytest.raises(ActorError, match="has ended or closed it; what it left is removed"):
        actors.connect("host")
    assert not (folder / "host.inbox").exists()
    with pytest.raises(ActorError, match="there is no shared inbox 'host'"):
        actors.connect("host")


def test_a_call_that_waits_while_the_host_is_killed(folder, killed):
    there, memory = actors.connect("host", replies=Number), Memory(folder, "host")

    def later():
        until(lambda: memory.call(0))
        os.kill(host_process, signal.SIGKILL)

    from gridlane.actors.processes.inboxes import Folder

    with Folder() as inboxes:
        host_process = inboxes.find("host").process
    os.kill(host_process, signal.SIGSTOP)
    child = fork(later)
    with pytest.raises(ActorError, match="its process has ended"):
        there.call(Number(1))
    assert status_of(child) == 0
    memory.close()


def test_the_next_runtime_removes_what_a_killed_host_left(folder, killed):
    killed()
    (folder / ".0123456789abcdef.inbox").write_text("{")  # what a host left that was just sharing
    with actors.Runtime(device="cpu", workers=1) as runtime:
        runtime.launch(total)
        assert [each.name for each in folder.iterdir()] == ["lock"]
        runtime["total"].share("host").close()


def test_processes_that_have_ended():
    assert _engine.start_of(os.getpid()) > 0
    child = fork(lambda: None)
    until(lambda: _engine.start_of(child) == 0)  # it is not waited for
    status_of(child)
    assert _engine.start_of(child) == 0
    assert _engine.start_of(0) == _engine.start_of(-1) == 0

"""What the code of a message's values does while a call packs them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.actors.samples import Number
from tests.actors.test_faults import echo
from tests.waiting import until

from gridlane.actors import ActorError, MessageDead, State


class Doing:
    """A number, or seconds; to ask for it does something."""

    def __init__(self, value: float, act: Callable[[], object]) -> None:
        self.value, self.act = value, act

    def __index__(self) -> int:
        self.act()
        return int(self.value)

    def __float__(self) -> float:
        self.act()
        return float(self.value)


@pytest.fixture
def ref(on_cpu):
    made = on_cpu.launch(echo, name="echo", capacity=4)
    made.activate()
    return made


def test_another_call_of_the_same_actor(ref):
    found = []
    call = Number(Doing(7, lambda: found.append(ref.call(Number(3)).value)))
    assert ref.call(call).value == 7
    assert ref.call(Number(8), timeout=Doing(60, lambda: ref.call(call))).value == 8
    assert found == [3, 3]


@pytest.mark.parametrize("graceful", [True, False])
def test_its_end(ref, graceful):
    with pytest.raises(MessageDead):
        ref.call(Number(Doing(7, lambda: ref.terminate(graceful=graceful))))
    assert ref.state is State.TERMINATED


def test_it_takes_messages_no_more(ref):
    with pytest.raises(MessageDead):
        ref.call(Number(Doing(7, ref.deactivate)))
    ref.activate()
    with pytest.raises(TimeoutError):
        ref.call(Number(Doing(7, ref.suspend)), timeout=0.001)


def _uses(ref) -> dict[str, Callable[[Callable[[], object]], Any]]:
    return {
        "call": lambda act: ref.call(Number(Doing(7, act))),
        "timeout": lambda act: ref.call(Number(1), timeout=Doing(60, act)),
        "spin": lambda act: ref.call(Number(1), spin=Doing(1e-5, act)),
        "send": lambda act: ref.send(Number(Doing(7, act))),
        "post_many": lambda act: ref.post_many([Number(1), Number(Doing(7, act))]),
    }


USES = ["call", "timeout", "spin", "send", "post_many"]


@pytest.mark.parametrize("use", USES)
def test_the_end_of_the_runtime(on_cpu, ref, use):
    with pytest.raises(ActorError, match="closed"):
        _uses(ref)[use](on_cpu.close)


def _in_child(use: Callable[[Callable[[], object]], Any], when: Callable[[], bool]) -> int:
    """The exit status of a child that forks within a use: 0 where that is an ActorError there."""
    child = []

    def fork() -> None:
        if when():
            child.append(os.fork())
            if not child[0]:
                signal.alarm(60)

    status = 1
    try:
        use(fork)
    except ActorError as error:
        status = 0 if "before a fork" in str(error) else 2
    except BaseException:
        status = 3
    finally:
        if not child[0]:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child[0], 0)[1])


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.parametrize("use", USES)
def test_a_fork(ref, use):
    once = iter([True])
    assert _in_child(_uses(ref)[use], lambda: next(once, False)) == 0
    assert ref.call(Number(9)).value == 9


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.parametrize("use", ["call", "receive", "send", "post_many"])
def test_a_fork_by_a_signal_while_a_thread_waits(ref, use):
    """The child does not wait on the locks and for the threads of its parent."""
    ref.suspend()
    wait = {
        "call": lambda: ref.call(Number(1), timeout=0.1),
        "receive": lambda: ref.receive(timeout=0.1),
        "send": lambda: ref.send(Number(1), timeout=0.1),
        "post_many": lambda: ref.post_many([Number(1)], timeout=0.1),
    }[use]
    if use in ("send", "post_many"):
        ref.post_many([Number(1)] * 4, timeout=0)

    def when_the_clock_rings(act: Callable[[], object]) -> None:
        rung = []
        signal.signal(signal.SIGALRM, lambda *_: (rung.append(True), act()))
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        try:
            wait()
        finally:
            until(lambda: rung)

    before, once = signal.getsignal(signal.SIGALRM), iter([True])
    try:
        assert _in_child(when_the_clock_rings, lambda: next(once, False)) == 0
    finally:
        signal.signal(signal.SIGALRM, before)
    ref.resume()
    assert ref.call(Number(9)).value == 9

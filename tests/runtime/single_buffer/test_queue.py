"""The queue of a device, with an engine whose driver waits for work that runs."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.single_buffer.engine import Stamp
from gridlane.runtime.drivers.single_buffer.queue import Queue

EVERY = SimpleNamespace(is_default=True)
"""The default stream."""


class WaitingEngine:
    """Its ``submit`` returns when the test lets it; what it was given is done then.

    Attributes:
        began, may_end: of the work that is submitted.
        error: what ``submit`` raises.
    """

    facts = SimpleNamespace(name="waiting", step=4, dispatch=(1, 1, 1), software=False)

    def __init__(self) -> None:
        self.began, self.may_end = threading.Event(), threading.Event()
        self.error: Exception | None = None

    def submit(self, commands, arena) -> None:
        self.began.set()
        assert self.may_end.wait(60)
        if self.error:
            raise self.error

    def fence(self) -> object:
        return object()

    def passed(self, fence: object) -> bool:
        return True

    def wait(self, fence: object, poll: object) -> None:
        return None


@pytest.fixture
def queue():
    made = Queue(WaitingEngine())
    made.append(Stamp(None))
    yield made
    made.engine.may_end.set()


def asked_until_done(queue: Queue, number: int) -> int:
    """How often the answer was no, behind the end of the work."""
    answers = 0
    while not queue.passed(number):
        answers += 1
        threading.Event().wait(0.001)
    return answers


def test_asking_does_not_wait_for_the_driver(queue: Queue) -> None:
    number = queue.newest(EVERY)
    assert not queue.passed(number)
    assert queue.engine.began.wait(60)
    assert not queue.passed(number)  # submit has not returned
    assert not queue.passed(queue.newest(EVERY))
    queue.engine.may_end.set()
    asked_until_done(queue, number)
    assert queue.passed(queue.newest(EVERY))


def test_asking_does_not_wait_for_another_thread(queue: Queue) -> None:
    number = queue.newest(EVERY)
    other = threading.Thread(target=queue.wait, args=(number,))
    other.start()
    assert queue.engine.began.wait(60)
    assert not queue.passed(number)
    queue.engine.may_end.set()
    other.join(60)
    assert queue.passed(number)


def test_what_the_driver_refuses_meanwhile_is_raised_to_who_asks(queue: Queue) -> None:
    queue.engine.error = RuntimeError("gone")
    queue.engine.may_end.set()
    with pytest.raises(DeviceError, match="waiting is lost"):
        asked_until_done(queue, queue.newest(EVERY))

"""The recorder of a device, with an engine whose driver waits for work that runs."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.single_buffer.engine import Stamp
from gridlane.runtime.drivers.single_buffer.recorder import WordRecorder

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

    def poll(self, fence: object, ns: int) -> bool:
        return True


@pytest.fixture
def recorder():
    made = WordRecorder(WaitingEngine(), lambda between: None)
    made.append(Stamp(None))
    yield made
    made.engine.may_end.set()


def asked_until_done(recorder: WordRecorder, number: int) -> int:
    """How often the answer was no, behind the end of the work."""
    answers = 0
    while not recorder.passed(number):
        answers += 1
        threading.Event().wait(0.001)
    return answers


def test_asking_does_not_wait_for_the_driver(recorder: WordRecorder) -> None:
    number = recorder.newest(EVERY)
    assert not recorder.passed(number)
    assert recorder.engine.began.wait(60)
    assert not recorder.passed(number)  # submit has not returned
    assert not recorder.passed(recorder.newest(EVERY))
    recorder.engine.may_end.set()
    asked_until_done(recorder, number)
    assert recorder.passed(recorder.newest(EVERY))


def test_asking_does_not_wait_for_another_thread(recorder: WordRecorder) -> None:
    number = recorder.newest(EVERY)
    other = threading.Thread(target=recorder.wait, args=(number,))
    other.start()
    assert recorder.engine.began.wait(60)
    assert not recorder.passed(number)
    recorder.engine.may_end.set()
    other.join(60)
    assert recorder.passed(number)


def test_what_the_driver_refuses_meanwhile_is_raised_to_who_asks(recorder: WordRecorder) -> None:
    recorder.engine.error = RuntimeError("gone")
    recorder.engine.may_end.set()
    with pytest.raises(DeviceError, match="waiting is lost"):
        asked_until_done(recorder, recorder.newest(EVERY))

"""Handlers that reach beyond an array, and failures while an actor's state changes."""

from __future__ import annotations

import asyncio
import sys
import threading

import numpy as np
import pytest
from tests.actors.conftest import NAMES
from tests.actors.samples import Number, Total
from tests.waiting import until, when_blocked

from gridlane import actors
from gridlane.actors import Reason
from gridlane.actors.resident import residence


@actors.kernel(state=Total, replies=Number)
def reaches(ctx, state, number: Number, data):
    state.seen += 1
    ctx.reply(Number(data[number.value]))


@pytest.mark.parametrize(
    "device",
    [
        "interp",
        pytest.param("cpu", marks=pytest.mark.skipif(sys.platform != "linux", reason="no faults")),
    ],
)
def test_a_handler_that_reaches_beyond_an_array(device):
    """``interp`` checks each access, and ``cpu`` handles the fault: its handler runs on a thread
    of the engine. The actor ends, and the process does not."""
    with actors.Runtime(device=device) as runtime:
        ref = runtime.launch(reaches, args=(np.arange(4),), restart="fresh")
        ref.activate()
        assert ref.call(Number(3), timeout=60).value == 3
        with pytest.raises(Exception, match=r"(?i)illegal|outside|bounds|address"):
            ref.call(Number(1 << 40), timeout=60)
        assert ref.call(Number(2), timeout=60).value == 2
        assert ref.read_state().seen == 1
        assert [each.reason for each in runtime.dead_letters()] == [Reason.FAILED]


def test_failures_and_changes_of_state_at_once(on_cpu):
    """An actor that fails does not run with its old state, whoever resumes it meanwhile."""
    ref = on_cpu.launch(fails_at_ten, restart="fresh", batch=1)
    ref.activate()
    stop = threading.Event()

    def toggle():
        while not stop.is_set():
            ref.suspend()
            ref.resume()

    thread = threading.Thread(target=toggle)
    thread.start()
    try:
        for _ in range(30):
            found = []
            for _ in range(11):
                try:
                    found.append(ref.call(Number(1), timeout=60).value)
                except ValueError:
                    found.append(None)
            assert found == [*range(1, 11), None]
    finally:
        stop.set()
        thread.join()


@actors.kernel(state=Total, replies=Number)
def fails_at_ten(ctx, state, number: Number):
    if state.value == 10:
        raise ValueError("ten")
    state.value += number.value
    ctx.reply(Number(state.value))


@actors.kernel(state=Total)
def fails_at_thirteen(ctx, state, number: Number):
    """Emits nothing: a kernel that does not end handles several messages in a row."""
    if number.value == 13:
        raise ValueError("thirteen")
    state.seen += 1
    state.value += number.value


@pytest.mark.parametrize("device", NAMES)
def test_of_many_messages_the_one_that_fails_is_dead(device):
    with actors.Runtime(device=device, watchdog=60) as runtime:
        ref = runtime.launch(fails_at_thirteen, capacity=64)
        ref.activate()
        ref.suspend()
        ref.post_many([Number(n) for n in range(40)])
        ref.resume()
        letters = []
        until(lambda: letters.extend(runtime.dead_letters()) or len(letters) >= 27)
        failed = [each.message(Number).value for each in letters if each.reason is Reason.FAILED]
        rest = [each.message(Number).value for each in letters if each.reason is not Reason.FAILED]
        assert (failed, sorted(rest)) == ([13], list(range(14, 40)))
        assert ref.metrics()["received"] in (13, 14)


@pytest.mark.parametrize("device", NAMES)
def test_each_of_many_messages_is_handled_once(device):
    with actors.Runtime(device=device, watchdog=60) as runtime:
        ref = runtime.launch(fails_at_thirteen, capacity=64, restart="fresh")
        ref.activate()
        for n in range(1, 6):
            ref.suspend()
            ref.post_many([Number(20 + n)] * 50)
            ref.resume()
            until(lambda n=n: ref.metrics()["received"] >= 50 * n)
        found = ref.read_state()
        assert (found.seen, found.value) == (250, 50 * (21 + 22 + 23 + 24 + 25))


@actors.kernel(state=Total, replies=Number)
def fails_in_ways(ctx, state, number: Number):
    if number.value == 1:
        raise ValueError("one")
    if number.value == 2:
        raise KeyError("two")
    if number.value == 3:
        raise ZeroDivisionError("three")
    ctx.reply(number)


@pytest.mark.parametrize("stays", [False, True])
def test_each_caller_has_its_own_failure(stays, monkeypatch):
    """Also where the next failure comes before the caller asks for the reason."""
    monkeypatch.setattr(residence, "ON_CPU", stays)
    wanted = {1: ValueError, 2: KeyError, 3: ZeroDivisionError}
    others = []
    with actors.Runtime(device="cpu", persistent=stays) as runtime:
        ref = runtime.launch(fails_in_ways, restart="fresh")
        ref.activate()

        def ask(kind):
            for _ in range(3 if stays else 60):
                try:
                    others.append(ref.call(Number(kind), timeout=60))
                except wanted[kind]:
                    continue
                except Exception as error:
                    others.append(error)

        async def ask_all():
            calls = [ref.acall(Number(n % 3 + 1), timeout=60) for n in range(9)]
            return await asyncio.gather(*calls, return_exceptions=True)

        threads = [threading.Thread(target=ask, args=(n % 3 + 1,)) for n in range(6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        found = asyncio.run(ask_all())
    assert others == []
    assert [isinstance(each, wanted[n % 3 + 1]) for n, each in enumerate(found)] == 9 * [True]


@pytest.fixture(params=["cpu", "interp"])
def late(request):
    """A runtime, an actor that has failed, and the call at which it has; the failure is followed up
    when the test releases what is yielded last."""
    with actors.Runtime(device=request.param) as runtime:
        ref, found, free = runtime.launch(fails_in_ways, restart="fresh"), [], threading.Event()
        ref.activate()
        begun, followed = threading.Event(), threading.Event()
        supervisor = runtime._home.supervisor
        follow = supervisor._follow

        def note(number):
            followed.set()
            follow(number)

        supervisor._follow = note

        def hold():
            with runtime._home.supervisor._lock:
                begun.set()
                free.wait(60)

        def call():
            try:
                ref.call(Number(1), timeout=60)
            except Exception as error:
                found.append(error)

        threads = [threading.Thread(target=each) for each in (hold, call)]
        other = runtime.launch(fails_in_ways)
        other.activate()
        threads[0].start()
        begun.wait()
        other.send(Number(1))  # whose failure is being followed up
        assert followed.wait(60)
        threads[1].start()
        until(lambda: ref.metrics()["failed"])
        yield ref, found, free
        for each in threads:
            each.join()
        assert len(found) == 1 and isinstance(found[0], ValueError), found


def test_an_actor_that_ends_after_its_last_message_has_failed(late):
    """It was ended before it could begin again, and did not count that."""
    ref, _, free = late
    when_blocked(free.set)
    ref.terminate(graceful=True)
    assert ref.metrics()["restarts"] == 1


def test_an_actor_that_is_ended_at_a_failure(late):
    """Its caller was told after five seconds, and not of the error."""
    ref, _, free = late
    ref.terminate(graceful=False)
    free.set()

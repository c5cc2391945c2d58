"""Asynchronous calls: cancelled, late, refused, and more than there are places."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

import pytest
from tests.actors.samples import Number, total
from tests.actors.test_faults import echo
from tests.waiting import until

from gridlane import actors
from gridlane.actors import MessageDead, QueueFull, Reason, State


@pytest.fixture
def made_with_many_letters():
    with actors.Runtime(device="cpu", dead_letters=1 << 16) as runtime:
        yield runtime


def test_cancelled_and_late_asynchronous_calls(on_cpu):
    """Limits that pass at the moment of the answer: each has its own answer or none."""
    ref = on_cpu.launch(echo, capacity=1024)
    ref.activate()

    async def one(n):
        try:
            found = await ref.acall(Number(n), timeout=n % 7 * 50e-6)
        except (TimeoutError, QueueFull):
            return None
        assert found.value == n
        return n

    async def many():
        for k in range(40):
            await asyncio.gather(*[one(50 * k + n) for n in range(50)])

    asyncio.run(many())
    until(lambda: not ref.metrics()["waiting"])
    letters = on_cpu.dead_letters()
    assert {each.reason for each in letters} <= {Reason.LATE}
    assert ref.call(Number(3), timeout=60).value == 3


def test_each_answer_is_taken_or_a_dead_letter(made_with_many_letters):
    """Limits that pass between the answer and the caller's last look, and just behind it."""
    runtime = made_with_many_letters
    ref = runtime.launch(echo, capacity=8192)  # none is refused where the worker is slow
    ref.activate()
    taken = []

    def ask(first):
        for n in range(first, first + 1000):
            with suppress(TimeoutError):
                taken.append(ref.call(Number(n), timeout=n % 8 * 5e-6, spin=n % 2 * 1e-5).value)

    async def one(n):
        with suppress(TimeoutError):
            taken.append((await ref.acall(Number(n), timeout=n % 7 * 3e-4)).value)

    async def many():
        await asyncio.gather(*[one(n) for n in range(4000, 4400)])

    threads = [threading.Thread(target=ask, args=(1000 * k,)) for k in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    asyncio.run(many())
    until(lambda: ref.metrics()["received"] == 4400)
    letters = runtime.dead_letters()
    assert {each.reason for each in letters} <= {Reason.LATE}
    assert {(each.actor, int(each.header["source"])) for each in letters} <= {(ref.id, ref.id)}
    values = taken + [each.message(Number).value for each in letters]
    assert sorted(values) == list(range(4400))


def test_an_answer_that_was_there_when_its_caller_was_cancelled(on_cpu):
    ref = on_cpu.launch(echo)
    ref.activate()

    async def ask():
        call = asyncio.ensure_future(ref.acall(Number(7)))
        await asyncio.sleep(0)
        until(lambda: not on_cpu._home._futures)  # the answer is on its way to the loop
        call.cancel()
        with suppress(asyncio.CancelledError):
            return (await call).value
        (letter,) = on_cpu.dead_letters()
        assert letter.reason is Reason.LATE
        return letter.message(Number).value

    assert asyncio.run(ask()) == 7


def test_each_waiting_caller_has_a_place_of_its_own(on_cpu):
    """4,096 wait, one more is refused, and all have their own answers."""
    ref = on_cpu.launch(echo, capacity=8192)
    ref.activate()
    ref.suspend()

    async def ask():
        calls = [asyncio.ensure_future(ref.acall(Number(n))) for n in range(4096)]
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="too many callers"):
            await ref.acall(Number(0))
        with pytest.raises(RuntimeError, match="too many callers"):
            ref.call(Number(0), timeout=1)
        for each in calls[::2]:
            each.cancel()
        await asyncio.sleep(0)
        ref.resume()
        return await asyncio.gather(*calls[1::2])

    assert [each.value for each in asyncio.run(ask())] == list(range(1, 4096, 2))
    assert ref.call(Number(5), timeout=60).value == 5


def test_an_event_loop_ends_before_the_answer(on_cpu):
    ref = on_cpu.launch(echo)
    ref.activate()
    ref.suspend()

    async def ask():
        asyncio.ensure_future(ref.acall(Number(1)))  # noqa: RUF006  # it is left alone on purpose
        await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(ask())
    loop.close()
    ref.resume()
    until(lambda: ref.metrics()["received"] == 1)

    async def again():
        return await ref.acall(Number(2), timeout=60)

    assert asyncio.run(again()).value == 2


@pytest.mark.parametrize("held", [False, True])
def test_the_end_of_the_runtime_is_no_cancellation(on_cpu, monkeypatch, held):
    """Callers are told the same before the engine has ended, while other actors end."""
    ref, other = on_cpu.launch(echo), on_cpu.launch(echo)
    ref.activate()
    ref.suspend()
    told = threading.Event()

    async def ask():
        call = asyncio.ensure_future(ref.acall(Number(1)))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(asyncio.to_thread(on_cpu.close))
        with pytest.raises(actors.ActorError, match="runtime is closed"):
            await call
        for use in (
            lambda: ref.send(Number(1)),
            lambda: ref.post_many([Number(1)]),
            lambda: ref.call(Number(1)),
            ref.receive,
        ):
            with pytest.raises(actors.ActorError, match="runtime is closed"):
                use()
        told.set()
        await closing

    if held:
        end = other._instance.end
        monkeypatch.setattr(other._instance, "end", lambda why: told.wait(60) and end(why))
    asyncio.run(ask())


def test_exceptions_of_asynchronous_calls(on_cpu):
    ref = on_cpu.launch(total, capacity=1)
    ref.activate()

    async def ask():
        with pytest.raises(ValueError, match="negative"):
            await ref.acall(Number(-1), timeout=60)

    asyncio.run(ask())
    until(lambda: ref.state is State.TERMINATED)
    other = on_cpu.launch(echo, capacity=1)
    other.activate()
    other.suspend()

    async def wait():
        first = asyncio.ensure_future(other.acall(Number(1)))
        await asyncio.sleep(0)
        with pytest.raises(QueueFull):
            await other.acall(Number(2))
        await asyncio.to_thread(other.terminate, graceful=False)
        with pytest.raises(MessageDead) as caught:
            await first
        assert caught.value.reason is Reason.STOPPED

    asyncio.run(wait())

"""Handlers of kernels that do not end, which do not end themselves: the watchdog stops them, and
what follows is as after a raise. The CPU stands in for a GPU."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from tests.actors.samples import Number, Total, looping, total
from tests.actors.waiting import until_ways_are_open
from tests.devices import DEVICES
from tests.waiting import until

from gridlane import actors, cuda
from gridlane.actors.device.using import using
from gridlane.actors.errors import Reason
from gridlane.actors.local import supervision
from gridlane.actors.resident import residence
from gridlane.core.errors import KernelError
from gridlane.cuda import jit
from gridlane.frontends.python.kernel_source import PythonSource

WAIT = 60
ENDLESS = Number(1_000_000)


@pytest.fixture(autouse=True)
def nothing_leaked_so_far(monkeypatch):
    """Other tests of the process may have left kernels that nothing stops. What a test leaves is
    kept as well: such a kernel may use it still."""
    before, found = residence.LEAKED, []
    monkeypatch.setattr(residence, "LEAKED", found)
    yield
    before += found


@pytest.fixture(params=["cpu", *({"cuda"} & {*DEVICES})])
def runtime(request, monkeypatch):
    """A runtime whose kernels stay, with a watchdog that does not wait for long."""
    monkeypatch.setattr(residence, "ON_CPU", True)
    with actors.Runtime(request.param, persistent=True, watchdog=0.3) as made:
        yield made


def test_a_handler_that_loops_is_stopped_and_starts_afresh(runtime):
    ref = runtime.launch(looping, name="loops", restart="fresh")
    ref.activate()
    assert ref.call(Number(4), timeout=WAIT).value == 4
    with pytest.raises(actors.ActorError, match=r"loops was stopped after 0\.3 s, by the watchdog"):
        ref.call(ENDLESS, timeout=WAIT)
    assert ref.call(Number(5), timeout=WAIT).value == 5
    assert ref.metrics()["restarts"] == 1
    assert ref.state is actors.State.ACTIVE
    (letter,) = runtime.dead_letters()
    assert (letter.reason, letter.message(Number)) == (Reason.FAILED, ENDLESS)


def test_the_error_has_the_line_of_the_loop(runtime):
    ref = runtime.launch(looping, restart="never")
    ref.activate()
    with pytest.raises(actors.ActorError, match="by the watchdog, in its message 0") as found:
        ref.call(ENDLESS, timeout=WAIT)
    cause = found.value.__cause__
    assert isinstance(cause, KernelError)
    assert "while number.value == 1_000_000" in str(cause)
    until(lambda: ref.state is actors.State.TERMINATED)
    assert str(ref.failure) == str(found.value)
    assert not residence.LEAKED


def double(out):
    out[cuda.threadIdx.x] *= 2


def test_code_is_loaded_afterwards(runtime):
    """Kernels that run on would keep the driver from it."""
    ref, other = runtime.launch(looping), runtime.launch(total)
    for each in (ref, other):
        each.activate()
    with pytest.raises(actors.ActorError, match="watchdog"):
        ref.call(ENDLESS, timeout=WAIT)
    with using(runtime.device):
        out = cuda.to_device(np.arange(4))
        cuda.jit(double)[1, 4](out)
        assert out.copy_to_host().tolist() == [0, 2, 4, 6]
    assert other.call(Number(2), timeout=WAIT).value == 2


def test_its_state_is_that_of_the_last_checkpoint(runtime, tmp_path):
    ref = runtime.launch(looping, restart="checkpoint")
    ref.activate()
    ref.call(Number(7), timeout=WAIT)
    runtime.checkpoint(tmp_path / "saved")
    ref.call(Number(9), timeout=WAIT)
    with pytest.raises(actors.ActorError, match="watchdog"):
        ref.call(ENDLESS, timeout=WAIT)
    assert ref.read_state() == Total(7, 0)


@jit(device=True)
def far_away(n, start):
    """Loops for ever in the inner one of two loops, behind a jump back."""
    count, odd = start, 0
    while True:
        count += 1
        if n == 1_000_000 and count & 1:
            continue
        for k in range(100):
            odd += k & count
        for k in range(start, 3000 * n):
            odd += k & 1
        if n < 1_000_000:
            return odd + n


@actors.kernel(state=Total, replies=Number)
def calling(ctx, state, number: Number):
    state.value = far_away(number.value, state.seen)
    state.seen += 1
    ctx.reply(Number(state.seen))


def test_loops_of_functions_that_it_calls(runtime):
    ref = runtime.launch(calling, restart="fresh")
    ref.activate()
    assert [ref.call(Number(n), timeout=WAIT).value for n in range(1, 4)] == [1, 2, 3]
    with pytest.raises(actors.ActorError, match="watchdog"):
        ref.call(ENDLESS, timeout=WAIT)
    assert ref.call(Number(1), timeout=WAIT).value == 1


@actors.kernel(state=Total, replies=Number, threads=64)
def many(ctx, state, number: Number):
    """One thread, or each, does not end."""
    if ctx.thread == 0 or number.value < 0:
        while abs(number.value) == 1_000_000:
            cuda.threadfence()
    cuda.syncthreads()
    if ctx.thread == 0:
        ctx.reply(number)


@pytest.mark.parametrize("sign", [1, -1])
def test_threads_that_handle_a_message_together(runtime, sign):
    ref = runtime.launch(many, restart="fresh")
    ref.activate()
    with pytest.raises(actors.ActorError, match="watchdog"):
        ref.call(Number(sign * 1_000_000), timeout=WAIT)
    assert ref.call(Number(3), timeout=WAIT).value == 3


@actors.kernel(state=Total)
def silent(ctx, state, number: Number):
    while number.value == 1_000_000:
        cuda.threadfence()
    state.value += number.value


@actors.kernel
def sender(ctx, state, number: Number):
    ctx.send("loops", number)


def test_a_message_of_another_actor(runtime):
    """It is the one that is dead, and those behind it are handled."""
    ref = runtime.launch(silent, name="loops", restart="fresh")
    source = runtime.launch(sender)
    for each in (ref, source):
        each.activate()
    for n in (3, 1_000_000, 5):
        source.send(Number(n), replies=False)
    until(lambda: ref.metrics()["restarts"] == 1 and ref.metrics()["received"] == 2, WAIT)
    assert ref.read_state() == Total(5, 0)
    letters = runtime.dead_letters()
    assert [(each.reason, each.message(Number)) for each in letters] == [(Reason.FAILED, ENDLESS)]


@actors.kernel(state=Total, replies=Number)
def long(ctx, state, number: Number):
    """Takes longer than a look, not longer than the watchdog's time."""
    for _ in range(20_000 + number.value):
        cuda.threadfence()
    state.value += 1
    ctx.reply(Number(state.value))


def test_a_request_is_for_one_message(runtime):
    """Handlers of later messages are not meant, nor are those that end in time."""
    ref = runtime.launch(long)
    ref.activate()
    there = ref._instance.there
    for n in range(10):
        assert there.give_up(0)  # between two messages: nobody heeds it
        assert ref.call(Number(n), timeout=WAIT).value == n + 1
    assert not there.give_up(1)  # there has been a sign of life since then


def test_an_end_stops_a_handler_that_loops(monkeypatch):
    monkeypatch.setattr(residence, "ON_CPU", True)
    monkeypatch.setattr(residence, "PATIENCE", WAIT)  # of the handler, once it is asked
    finish = residence.Residence.finish
    monkeypatch.setattr(residence.Residence, "finish", lambda self, timeout: finish(self, 0.2))
    with actors.Runtime("cpu", persistent=True, watchdog=None) as runtime:
        ref = runtime.launch(looping)
        ref.activate()
        ref.send(ENDLESS, replies=False)
        ref.send(Number(1), replies=False)
        thread = ref._instance.residence._kernel._thread
        ref.terminate(graceful=False)
        thread.join(WAIT)
        assert not thread.is_alive()
        assert not residence.LEAKED
        assert ref.failure is None or "was stopped before its end" in str(ref.failure)
        assert len(runtime.dead_letters()) == 2


@actors.kernel(replies=Number)
def gated(ctx, state, number: Number, gate):
    if number.value < 0:
        raise ValueError("negative")
    while gate[0] == 0:
        cuda.threadfence()
    ctx.reply(number)


def test_a_handler_that_nothing_stops_ends_its_actor(monkeypatch):
    """As where it is in no loop: here its loops do not look."""
    monkeypatch.setattr(residence, "HeedingSource", PythonSource)
    monkeypatch.setattr(residence, "ON_CPU", True)
    with actors.Runtime("cpu", persistent=True, watchdog=0.3) as runtime:
        gate = np.zeros(1, np.int64)
        ref = runtime.launch(gated, args=(gate,), restart="fresh")
        ref.activate()
        with pytest.raises(ValueError, match="negative"):
            ref.call(Number(-1), timeout=WAIT)
        for each in (residence, supervision):
            monkeypatch.setattr(each, "PATIENCE", 0.2)
        with pytest.raises(actors.ActorError, match="nothing stops a block of a GPU"):
            ref.call(Number(1), timeout=WAIT)
        until(lambda: ref.state is actors.State.TERMINATED, WAIT)
        # A caller of the first failure who asks only now has that one's error.
        first, second = (ref._instance.failure_of(number) for number in (1, 2))
        assert isinstance(first, ValueError)
        assert second is ref.failure
        assert "nothing stops a block of a GPU from outside" in str(ref.failure)
        ((kept, *_),) = residence.LEAKED
        ref.arrays[0].copy_to_device(np.ones(1, np.int64))
        kept._kernel._thread.join(WAIT)
        assert not kept._kernel._thread.is_alive()


@actors.kernel
def sends_and_stays(ctx, state, number: Number, gate):
    """Says that it is there, does not end before the gate is open, and sends a number then."""
    gate[1] = 1
    while gate[0] == 0:
        cuda.threadfence()
    ctx.send("taker", number)


@actors.kernel(state=Total)
def taker(ctx, state, number: Number):
    state.value += number.value
    state.seen += 1


def test_a_kernel_that_stays_keeps_the_ring_that_it_may_write_to(monkeypatch):
    monkeypatch.setattr(residence, "HeedingSource", PythonSource)
    monkeypatch.setattr(residence, "ON_CPU", True)
    for each in (residence, supervision):
        monkeypatch.setattr(each, "PATIENCE", 0.2)
    gate = cuda.to_device(np.zeros(2, np.int64))
    with actors.Runtime("cpu", persistent=True, watchdog=None) as runtime:
        last = runtime.launch(taker)
        first = runtime.launch(sends_and_stays, args=(gate,))
        last.activate()
        first.activate()
        until_ways_are_open(runtime)
        channels = runtime._home.directory.channels._all.values()
        (ring,) = [
            weakref.ref(each.memory)
            for each in channels
            if (each.sender, each.receiver) == (first._instance, last._instance)
        ]
        first.send(Number(3), replies=False)
        until(lambda: gate.copy_to_host()[1] == 1)
        first.terminate(graceful=False)
    del channels, first, last, runtime
    gc.collect()
    ((kept, *_),) = residence.LEAKED
    assert ring() is not None and ring().address
    gate.copy_to_device(np.ones(2, np.int64))
    kept._kernel._thread.join(WAIT)
    assert not kept._kernel._thread.is_alive()


def test_threads_that_run_on_where_one_has_failed_end_their_actor(monkeypatch):
    """They are in no loop. On the CPU a failure ends the whole block: here nobody sees that."""
    monkeypatch.setattr(residence, "ON_CPU", True)
    monkeypatch.setattr(supervision, "PATIENCE", 0.2)
    monkeypatch.setattr(residence.Residence, "wait", lambda self, timeout: False)
    with actors.Runtime("cpu", persistent=True, watchdog=0.3) as runtime:
        ref = runtime.launch(gated, args=(np.ones(1, np.int64),), restart="fresh")
        ref.activate()
        with pytest.raises(actors.ActorError, match="nothing stops a block of a GPU") as found:
            ref.call(Number(-1), timeout=WAIT)
        assert isinstance(found.value.__cause__, ValueError)
        until(lambda: ref.state is actors.State.TERMINATED, WAIT)


def test_a_handler_that_ends_after_all_goes_on(monkeypatch):
    """It was asked to give up, and has not heard that; nothing later is taken for that."""
    monkeypatch.setattr(residence, "HeedingSource", PythonSource)
    monkeypatch.setattr(residence, "ON_CPU", True)
    monkeypatch.setattr(supervision, "PATIENCE", 60)
    with actors.Runtime("cpu", persistent=True, watchdog=0.3) as runtime:
        gate = np.zeros(1, np.int64)
        ref = runtime.launch(gated, args=(gate,), restart="fresh")
        ref.activate()
        ref.send(Number(1))
        asked = runtime._home.supervisor._asked
        until(lambda: ref.id in asked, WAIT)
        ref.arrays[0].copy_to_device(np.ones(1, np.int64))
        assert ref.receive(timeout=WAIT) == Number(1)
        until(lambda: not asked, WAIT)
        assert not runtime._home.supervisor._hung
        with pytest.raises(ValueError, match="negative"):
            ref.call(Number(-1), timeout=WAIT)


def test_an_actor_that_is_lost_keeps_its_earlier_failures(runtime, monkeypatch):
    """As where another one's fault has brought the context down."""
    ref = runtime.launch(total, restart="fresh")
    ref.activate()
    with pytest.raises(ValueError, match="negative"):
        ref.call(Number(-1), timeout=WAIT)
    until(lambda: ref.metrics()["restarts"] == 1)
    monkeypatch.setattr(ref._instance.residence, "is_gone", lambda: True)
    until(lambda: ref.state is actors.State.TERMINATED, WAIT)
    first, second = (ref._instance.failure_of(number) for number in (1, 2))
    assert isinstance(first, ValueError)
    assert second is ref.failure
    assert "is lost with its state" in str(second)

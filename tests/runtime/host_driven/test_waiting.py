"""Waiting: polls, and a blocking wait behind them."""

from __future__ import annotations

import signal
import sys
import threading

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.host_driven import conftest
from tests.runtime.host_driven.programs import SLOW, kernel

from gridlane.runtime.queues import host_driven_context
from gridlane.runtime.queues.host_driven_context import HostDrivenContext

MINUTE_NS = 60_000_000_000


@pytest.fixture
def polled(monkeypatch):
    """A function that makes the waits of a device poll until the work is done."""
    monkeypatch.setattr(host_driven_context, "POLL_NS", MINUTE_NS)

    def make(device):
        monkeypatch.setattr(device.default_stream.context, "polls", True)
        return device

    return make


@pytest.fixture(params=[kind for kind in conftest.DEVICES if kind != "metal"])
def native(request, monkeypatch, tmp_path):
    """Those whose drivers are libraries; the stand-in for Metal is Python."""
    yield from conftest.given(request, request.param, monkeypatch, tmp_path)


def only_later(device, patch):
    """Have the first query of a wait answer no: polls follow."""
    poll = device.recorder.poll
    patch.setattr(device.recorder, "poll", lambda n, ns=0: ns > 0 and poll(n, ns))


def no_block(device, patch):
    """Fail where the device's driver is asked to block."""

    def refuse(*args):
        pytest.fail("the wait blocks")

    recorder, poll = device.recorder, device.recorder.poll
    patch.setattr(
        recorder, "poll", lambda n, ns=0: refuse() if ns > recorder.spin_ns else poll(n, ns)
    )


@pytest.mark.parametrize("software", [False, True])
@pytest.mark.parametrize("processors", [1, 2])
def test_who_polls(monkeypatch, software, processors):
    monkeypatch.setattr(host_driven_context, "available_processors", lambda: processors)
    assert HostDrivenContext(software).polls == (not software and processors > 1)


def test_software_devices_do_not_poll(device):
    """They compute on the processors that polling would take."""
    kind = device.describe().get("kind", "")
    software = "software" in f"{kind}" or getattr(device, "emulated", False)
    several = host_driven_context.available_processors() > 1
    assert device.default_stream.context.polls == (several and not software)


def test_polling_ends(monkeypatch):
    context, asked = HostDrivenContext(software=False), []
    monkeypatch.setattr(context, "polls", True)
    clock = iter(range(0, 10_000_000, 30_000))
    monkeypatch.setattr(host_driven_context, "monotonic_ns", lambda: next(clock))

    def is_done():
        asked.append(True)
        return len(asked) == done

    done = 3
    assert context.poll(is_done) and len(asked) == 3
    asked.clear()
    done = 1000
    assert not context.poll(is_done)
    assert len(asked) == 4  # at 0, 30, 60 and 90 us


def test_polling_asks_nothing_where_waits_block():
    assert not HostDrivenContext(software=True).poll(lambda: pytest.fail("asked"))


def test_polls_find_the_work_done(device, polled, step, monkeypatch):
    stream, other, event = device.new_stream(), device.new_stream(), device.new_event()
    buffer, again = (to_device(device, np.zeros(64, np.uint32)) for _ in range(2))
    device.synchronize()
    polled(device)
    x = 0
    with monkeypatch.context() as patch:
        no_block(device, patch)
        for _ in range(20):
            step(stream, buffer)
            stream.synchronize()
            step(stream, buffer)
            event.record(stream)
            step(other, again)
            event.synchronize()
            device.synchronize()
            x = (x * 3 + 64) * 3 + 64 & 0xFFFFFFFF
    assert (words(device, buffer) == x).all()


def test_a_wait_that_outlasts_its_polls(device, monkeypatch):
    """Some polls find the work running."""
    artifact = kernel(device, SLOW)
    bound, steps = device.load(artifact).bind((64, 1, 1)), 50_000
    buffer = to_device(device, np.zeros(64, np.uint32))
    monkeypatch.setattr(device.default_stream.context, "polls", True)
    monkeypatch.setattr(host_driven_context, "POLL_NS", 1000)
    device.default_stream.launch(bound, params(artifact, buffer, steps), 1, 1, 1, 0)
    device.synchronize()
    x = np.arange(64, dtype=np.uint32)
    for _ in range(steps):
        x = x * np.uint32(1664525) + np.uint32(1013904223)
    assert (words(device, buffer) == x).all()


@pytest.mark.parametrize("raised", [KeyboardInterrupt, TimeoutError])
def test_an_interrupt_while_a_wait_polls(device, polled, step, monkeypatch, raised):
    stream, buffer = device.new_stream(), to_device(device, np.zeros(64, np.uint32))
    device.synchronize()
    context = polled(device).default_stream.context
    poll, asked = context.poll, []

    def interrupted(is_done):
        def ask():
            asked.append(True)
            signal.raise_signal(signal.SIGUSR1)
            return is_done()

        return poll(ask)

    def handler(number, frame):
        raise raised

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(context, "poll", interrupted)
            only_later(device, patch)
            step(stream, buffer)
            with pytest.raises(raised):
                stream.synchronize()
        assert asked
    finally:
        signal.signal(signal.SIGUSR1, before)
    device.fill(buffer.address, 0, 256)
    step(stream, buffer)
    stream.synchronize()
    assert (words(device, buffer) == 64).all()


def test_other_threads_run_while_a_wait_polls(native, polled, monkeypatch):
    """Each poll releases the GIL, which Python by itself takes from nobody here."""
    device, may_run, ran = native, threading.Lock(), []
    may_run.acquire()

    def other():
        with may_run:
            ran.append(True)

    thread = threading.Thread(target=other)
    thread.start()
    buffer = to_device(device, np.zeros(64, np.uint32))
    device.synchronize()
    context = polled(device).default_stream.context
    poll = context.poll

    def until_it_ran(is_done):
        may_run.release()

        def ask():
            device.recorder.done = 0  # or it asks no more once it knows
            return is_done() and bool(ran)

        return poll(ask)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(context, "poll", until_it_ran)
            only_later(device, patch)
            device.default_stream.fill(buffer.address, 1, 256)
            device.synchronize()
    finally:
        sys.setswitchinterval(interval)
    thread.join(60)
    assert ran and not thread.is_alive()

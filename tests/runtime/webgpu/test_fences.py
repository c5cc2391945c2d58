"""Waits on WebGPU end with the work, and with what signal handlers raise."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.single_buffer.helpers import opened
from tests.runtime.single_buffer.texts import kernel

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.webgpu import fences

STEPS = 20_000_000
LONG = """
VAR x = heap[values + i];
for (VAR n = 0u; n < steps; n = n + 1u) { x = x * 1664525u + (x >> 7u); }
heap[values + i] = x;
"""


@pytest.fixture
def device(tmp_path, monkeypatch):
    made = opened("webgpu", monkeypatch, tmp_path)
    yield made
    made.close()


@pytest.fixture
def launch(device):
    artifact = kernel(device, "values: ptr, steps: u32", LONG)
    bound, stream = device.load(artifact).bind((64, 1, 1)), device.new_stream()

    def work(data, steps=STEPS):
        stream.launch(bound, params(artifact, data, steps), 1, 1, 1, 0)
        return stream

    return work


def calls(monkeypatch, change):
    """Let wgpu call ``change(status, ...)``, which returns the status that it passes on."""
    text = "void(WGPUQueueWorkDoneStatus, WGPUStringView, void *, void *)"
    made = fences._ffi().callback(
        text,
        lambda status, *rest: fences._told(change(status), *rest),
        onerror=fences._interrupted,
    )
    monkeypatch.setattr(fences, "_callback", lambda: made)
    return made


def test_a_wait_takes_as_long_as_the_work(device, launch):
    data, over = to_device(device, np.arange(64, dtype=np.uint32)), []
    for _ in range(3):  # the first run of a pipeline, and later ones
        start, end = device.new_event(), device.new_event()
        began = time.perf_counter()
        start.record(launch(data, 0))
        end.record(launch(data))
        over.append(end.query())
        end.synchronize()
        host_ms = 1e3 * (time.perf_counter() - began)
        assert end.query()
        assert start.elapsed_ms(end) <= host_ms
    assert not all(over)  # on a busy machine one may be over before the question
    x = np.arange(64, dtype=np.uint32)
    launch(to_device(device, x), 5)
    for _ in range(5):
        x = x * np.uint32(1664525) + (x >> np.uint32(7))
    few = to_device(device, np.arange(64, dtype=np.uint32))
    launch(few, 5)
    assert (words(device, few)[:64] == x).all()


def test_fences_leave_nothing_open(device, launch):
    data = to_device(device, np.zeros(64, np.uint32))
    for _ in range(50):
        launch(data, 1)
        device.synchronize()
    assert not fences._OPEN


def test_what_a_handler_raises_in_the_callback_leaves_the_wait(device, launch, monkeypatch):
    told = []

    def interrupt(status):
        told.append(status)
        if len(told) == 1:
            signal.raise_signal(signal.SIGUSR1)
        return status

    def handler(number, frame):
        raise TimeoutError

    callback = calls(monkeypatch, interrupt)
    data = to_device(device, np.zeros(64, np.uint32))
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        event = device.new_event(False)
        event.record(launch(data, 1))
        with pytest.raises(TimeoutError):
            event.synchronize()
    finally:
        signal.signal(signal.SIGUSR1, before)
    event.synchronize()
    assert len(told) >= 2 and callback
    assert not fences._OPEN


def test_work_that_fails_loses_the_device(device, launch, monkeypatch):
    lib = fences.bindings().backends.wgpu_native.lib
    callback = calls(monkeypatch, lambda status: lib.WGPUQueueWorkDoneStatus_Error)
    event = device.new_event(False)
    event.record(launch(to_device(device, np.zeros(64, np.uint32)), 1))
    with pytest.raises(DeviceError, match="the queue's work ends with status"):
        event.synchronize()
    with pytest.raises(DeviceError, match="is lost"):
        device.synchronize()
    assert callback

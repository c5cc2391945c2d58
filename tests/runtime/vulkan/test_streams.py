"""Barriers between streams, and time stamps. What streams do is in tests/runtime/host_driven."""

from __future__ import annotations

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.vulkan import recording
from tests.runtime.vulkan.shaders import kernel

from gridlane.core.errors import DeviceError

# x = x * 3 + n, which shows the order of launches.
STEP = "values: uint64_t, n: uint32_t", "if (i < n) at(values, i) = at(values, i) * 3 + n;"


@pytest.fixture
def step(device):
    """A function that launches x = 3 x + n on 64 words of a stream; nothing is submitted before a
    wait."""
    device.recorder.at_once = False
    artifact = kernel(*STEP)
    bound = device.load(artifact).bind((64, 1, 1))

    def launch(stream, buffer, n=64):
        stream.launch(bound, params(artifact, buffer, n), 1, 1, 1, 0)

    return launch


def test_streams_do_not_wait_for_each_other(device, step, monkeypatch):
    barriers = recording.count(device, monkeypatch, "barrier", "submit")
    streams = [device.new_stream() for _ in range(4)]
    buffers = [to_device(device, np.zeros(64, np.uint32)) for _ in range(4)]
    barriers.clear()
    for _ in range(5):
        for stream, buffer in zip(streams, buffers):
            step(stream, buffer)
    assert len(barriers) == 4  # four rounds depend on the one before
    step(device.default_stream, buffers[0])
    assert len(barriers) == 5
    step(streams[1], buffers[1])
    assert len(barriers) == 6
    step(streams[2], buffers[2])
    assert len(barriers) == 6
    device.synchronize()


def test_a_submission_ends_with_the_barrier_of_the_next_command(device, step, monkeypatch):
    """Where work of the default stream is last; else streams go on side by side."""
    barriers = recording.count(device, monkeypatch, "barrier", "submit")
    stream, other = device.new_stream(), device.new_stream()
    buffer, own, free = (to_device(device, np.zeros(64, np.uint32)) for _ in range(3))
    step(device.default_stream, buffer)
    device.synchronize()
    barriers.clear()
    for _ in range(3):
        step(device.default_stream, buffer)
        device.synchronize()
    assert len(barriers) == 3
    step(stream, buffer)
    stream.synchronize()
    assert len(barriers) == 4  # for the host
    step(other, free)
    other.synchronize()
    assert len(barriers) == 5  # beside the one before
    step(stream, buffer)
    stream.synchronize()
    assert len(barriers) == 7
    step(device.default_stream, own)
    device.synchronize()
    step(stream, buffer)
    step(other, free)
    assert len(barriers) == 9
    x = 0
    for _ in range(7):
        x = (x * 3 + 64) % 2**32
    assert (words(device, buffer) == x).all()


def test_an_event_makes_the_barrier(device, step, monkeypatch):
    barriers = recording.count(device, monkeypatch, "barrier", "submit")
    streams, event = [device.new_stream() for _ in range(4)], device.new_event()
    buffers = [to_device(device, np.zeros(64, np.uint32)) for _ in range(4)]
    device.synchronize()
    barriers.clear()
    step(streams[0], buffers[0])
    event.record(streams[0])
    step(streams[1], buffers[1])
    assert not barriers
    event.wait(streams[2])
    step(streams[2], buffers[2])
    assert len(barriers) == 1
    step(streams[3], buffers[3])
    event.wait(streams[3])
    step(streams[0], buffers[0])
    assert len(barriers) == 1  # what the event marks is behind it
    device.synchronize()


def test_an_event_of_the_default_stream_marks_all_work(device, step, monkeypatch):
    barriers = recording.count(device, monkeypatch, "barrier", "submit")
    stream, other, event = device.new_stream(), device.new_stream(), device.new_event(False)
    buffers = [to_device(device, np.zeros(64, np.uint32)) for _ in range(2)]
    device.synchronize()
    barriers.clear()
    step(stream, buffers[0])
    event.record(device.default_stream)
    event.wait(other)
    assert other.point == stream.point > 0 and not barriers
    step(other, buffers[1])
    assert len(barriers) == 1
    event.synchronize()
    assert stream.query()


def test_time_stamps_are_used_again(device, living):
    stream = device.new_stream()
    for _ in range(2000):
        device.new_event().record(stream)
        stream.synchronize()
    assert living["QueryPool"] == 1


def test_clocks_that_begin_again(device, monkeypatch):
    clock = device.recorder.clock
    clock.bits, clock._tick_ns = 36, 2.0
    stamps = {"a": 2**36 - 500_000, "b": 500_000}
    monkeypatch.setattr(clock, "ticks", stamps.get)
    assert clock.between_ms("a", "b") == 2.0 and clock.between_ms("b", "a") == -2.0


def test_a_device_without_time_stamps(device):
    device.recorder.clock.bits = 0
    with pytest.raises(DeviceError, match=r"NOT_SUPPORTED.*no time stamps"):
        device.new_event().record(device.default_stream)
    device.new_event(timing=False).record(device.default_stream)

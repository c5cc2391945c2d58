"""Streams, events, host functions and graphs."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import numpy as np
import pytest
from tests.runtime.arrays import octets, params, to_device, words
from tests.runtime.host_driven.programs import ADD_ONE, SLOW, kernel
from tests.runtime.together import launched_by_threads
from tests.waiting import until

from gridlane.core.errors import DeviceError


def gated(stream, seen=None):
    """Keep a stream from going on; returns what opens it."""
    gate = threading.Event()
    stream.submit(lambda: gate.wait(60))
    return gate


def test_work_of_a_stream_is_in_order(device, step):
    stream, x = device.new_stream(), 0
    buffer = to_device(device, np.zeros(64, np.uint32))
    for _ in range(20):
        step(stream, buffer)
        stream.fill(buffer.address, 1, 4)
        step(stream, buffer)
    stream.synchronize()
    found = words(device, buffer)
    for _ in range(40):
        x = (x * 3 + 64) % 2**32
    assert found[0] == (0x01010101 * 3 + 64) % 2**32 and (found[1:] == x).all()


def test_the_default_stream_comes_after_and_before_all(device, step):
    stream, other = device.new_stream(), device.new_stream()
    buffer = to_device(device, np.zeros(64, np.uint32))
    step(stream, buffer, 64)
    step(device.default_stream, buffer, 65)
    step(other, buffer, 66)
    other.synchronize()
    assert (words(device, buffer) == (64 * 3 + 65) * 3 + 66).all()


def test_events_order_streams(device, step):
    first, second, event = device.new_stream(), device.new_stream(), device.new_event(False)
    buffer = to_device(device, np.zeros(64, np.uint32))
    for n in range(30):
        step(first, buffer)
        event.record(first)
        event.wait(second)
        step(second, buffer)
        event.record(second)
        event.wait(first)
    x = 0
    for _ in range(60):
        x = (x * 3 + 64) % 2**32
    second.synchronize()
    assert (words(device, buffer) == x).all() and event.query()


def test_host_functions_are_in_order(device, step):
    stream, seen = device.new_stream(), []
    buffer = to_device(device, np.zeros(64, np.uint32))
    out = np.zeros(64, np.uint32)
    step(stream, buffer)
    stream.download(octets(out), buffer.address)
    gate = gated(stream)
    stream.submit(lambda: seen.append(int(out[5])))
    step(stream, buffer)
    stream.download(octets(out), buffer.address)
    stream.submit(lambda: seen.append(int(out[5])))
    assert not stream.query() and not device.default_stream.query()
    gate.set()
    stream.synchronize()
    assert seen == [64, 64 * 4] and stream.query()


def test_other_streams_go_on_meanwhile(device, step):
    stream, other = device.new_stream(), device.new_stream()
    buffers = [to_device(device, np.zeros(64, np.uint32)) for _ in range(2)]
    gate = gated(stream)
    step(stream, buffers[0])
    step(other, buffers[1])
    other.synchronize()
    mapped = np.zeros(64, np.uint32)
    other.read(octets(mapped), buffers[1].address)
    assert (mapped == 64).all() and not stream.query()
    gate.set()
    stream.synchronize()
    assert (words(device, buffers[0]) == 64).all()


def test_the_default_stream_is_deferred_with_others(device, step):
    stream, other = device.new_stream(), device.new_stream()
    buffer = to_device(device, np.zeros(64, np.uint32))
    gate = gated(stream)
    step(stream, buffer, 64)
    step(device.default_stream, buffer, 65)
    step(other, buffer, 66)
    assert not device.default_stream.query() and not other.query()
    gate.set()
    other.synchronize()
    device.synchronize()
    assert (words(device, buffer) == (64 * 3 + 65) * 3 + 66).all()


def test_events_of_streams_that_are_deferred(device, step):
    stream, other, event = device.new_stream(), device.new_stream(), device.new_event()
    buffer = to_device(device, np.zeros(64, np.uint32))
    gate = gated(stream)
    step(stream, buffer, 64)
    event.record(stream)
    event.wait(other)
    step(other, buffer, 65)
    assert not event.query() and not other.query()
    gate.set()
    event.synchronize()
    other.synchronize()
    assert event.query() and (words(device, buffer) == 64 * 3 + 65).all()


def test_a_host_function_may_not_use_the_device(device):
    stream = device.new_stream()
    buffer = device.allocate(16)
    for work in (
        stream.synchronize,
        device.synchronize,
        stream.query,
        lambda: device.allocate(8),
        lambda: stream.fill(buffer.address, 0, 16),
        lambda: device.new_event().record(stream),
    ):
        stream.submit(work)
        with pytest.raises(DeviceError, match="NOT_PERMITTED"):
            stream.synchronize()


def test_an_error_of_a_host_function_surfaces_once(device):
    stream, seen = device.new_stream(), []
    stream.submit(lambda: 1 / 0)
    stream.submit(lambda: seen.append(1))
    with pytest.raises(ZeroDivisionError):
        stream.synchronize()
    stream.synchronize()
    stream.submit(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        device.synchronize()
    device.synchronize()
    assert seen == [1]


def test_a_dropped_stream_ends_its_thread(device):
    stream = device.new_stream()
    stream.submit(lambda: None)
    stream.synchronize()
    thread, ref = stream.deferred.thread, weakref.ref(stream)
    del stream
    gc.collect()
    assert ref() is None
    thread.join(timeout=60)
    assert not thread.is_alive()


def test_a_dropped_stream_ends_its_thread_though_the_first_function_of_python_raises(device):
    """As the handler of a signal may."""

    def raises(frame, event, argument):
        if event == "call":
            raise KeyboardInterrupt

    stream = type(device.default_stream)(device)  # which is in no collection with callbacks
    stream.submit(lambda: None)
    stream.synchronize()
    queue, ref = stream.deferred, weakref.ref(stream)
    assert queue.thread is not None
    sys.setprofile(raises)
    del stream
    sys.setprofile(None)
    assert ref() is None
    until(lambda: queue.thread is None)


def test_what_work_uses_is_held_until_it_is_done(device):
    class Argument:
        pass

    stream, argument, artifact = device.new_stream(), Argument(), kernel(device, ADD_ONE)
    bound = device.load(artifact).bind((64, 1, 1))
    buffer, ref = device.allocate(4), weakref.ref(argument)
    gate = gated(stream)
    stream.launch(bound, params(artifact, buffer, 1), 1, 1, 1, 0, argument)
    del argument
    gc.collect()
    assert ref() is not None
    gate.set()
    stream.synchronize()
    assert ref() is None


def test_times(device):
    artifact = kernel(device, SLOW)
    bound = device.load(artifact).bind((64, 1, 1))
    buffer, stream = device.allocate(4 * 64 * 64), device.new_stream()
    events = [device.new_event() for _ in range(3)]
    stream.launch(bound, params(artifact, buffer, 1), 64, 1, 1, 0)  # compiles
    stream.synchronize()
    events[0].record(stream)
    stream.launch(bound, params(artifact, buffer, 100_000), 64, 1, 1, 0)
    events[1].record(stream)
    stream.launch(bound, params(artifact, buffer, 1), 64, 1, 1, 0)
    events[2].record(stream)
    events[2].synchronize()
    parts = events[0].elapsed_ms(events[1]), events[1].elapsed_ms(events[2])
    assert min(parts) > 0 and sum(parts) == pytest.approx(events[0].elapsed_ms(events[2]))
    assert events[1].elapsed_ms(events[0]) == -parts[0]


@pytest.mark.parametrize("case", ["unrecorded", "untimed", "unready"])
def test_event_misuse(device, case):
    stream = device.new_stream()
    start, end = device.new_event(), device.new_event(timing=case != "untimed")
    start.record(stream)
    gate = gated(stream)
    if case != "unrecorded":
        end.record(stream)
    name = {"unrecorded": "INVALID_HANDLE", "untimed": "timing=False", "unready": "NOT_READY"}
    if case == "untimed":
        gate.set()
    with pytest.raises(DeviceError, match=name[case]):
        start.elapsed_ms(end)
    gate.set()
    stream.synchronize()


def test_an_event_that_was_never_recorded(device):
    event = device.new_event()
    event.wait(device.new_stream())
    event.synchronize()
    assert event.query()


def test_queries_submit(device, step):
    stream, event = device.new_stream(), device.new_event()
    step(stream, to_device(device, np.zeros(64, np.uint32)))
    event.record(stream)
    until(lambda: event.query() and stream.query())


def test_streams_by_number(device):
    stream = device.new_stream()
    assert device.stream_at(stream.handle) is stream
    assert [device.stream_at(n) for n in (0, 1, 2)] == [device.default_stream] * 3
    with pytest.raises(DeviceError, match="INVALID_HANDLE"):
        device.stream_at(77)


# --- graphs ---


def test_a_graph(device, step):
    stream, seen = device.new_stream(), []
    buffer = to_device(device, np.zeros(64, np.uint32))
    other = device.allocate(256)
    stream.begin_capture()
    assert stream.capturing
    step(stream, buffer)
    stream.fill(buffer.address, 0, 4)
    stream.copy(other.address, buffer.address, 256)
    stream.submit(lambda: seen.append(1))
    graph = stream.end_capture()
    assert graph.size == 4 and not seen and not stream.capturing
    assert not words(device, buffer).any()
    ready = graph.instantiate()
    for times in (1, 2):
        ready.launch(stream)
        stream.synchronize()
        assert len(seen) == times
    assert words(device, other).tolist() == [0] + [256] * 63


def test_a_recorded_copy_to_the_host_comes_behind_all_work(device, step):
    stream, seen = device.new_stream(), []
    buffer, out = to_device(device, np.zeros(64, np.uint32)), np.zeros(64, np.uint32)
    stream.begin_capture()
    stream.submit(lambda: seen.append(int(out[0])))
    step(stream, buffer)
    stream.download(octets(out), buffer.address)
    stream.submit(lambda: seen.append(int(out[0])))
    ready = stream.end_capture().instantiate()
    ready.launch(stream)
    ready.launch(stream)
    stream.synchronize()
    assert seen == [0, 64, 64, 64 * 4]


def test_what_a_capture_refuses(device, step):
    stream, event = device.new_stream(), device.new_event()
    buffer = device.allocate(256)
    host = bytearray(4)
    stream.begin_capture()
    for work in (
        stream.synchronize,
        stream.drain,
        stream.query,
        lambda: stream.read(memoryview(host), buffer.address),
        lambda: stream.write(buffer.address, memoryview(host)),
        lambda: event.record(stream),
        device.default_stream.begin_capture,
    ):
        with pytest.raises(DeviceError, match="900"):
            work()
    with pytest.raises(DeviceError, match="ILLEGAL_STATE"):
        stream.begin_capture()
    assert stream.end_capture().size == 0
    with pytest.raises(DeviceError, match="ILLEGAL_STATE"):
        stream.end_capture()


def test_graphs_of_several_threads_come_one_behind_the_other(device):
    seen = launched_by_threads(device.new_stream(), pieces=20, threads=3, times=30)
    assert seen == [*range(20)] * 90

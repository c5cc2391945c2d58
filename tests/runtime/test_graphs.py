"""Graphs of devices that run on the host's threads: a recorded list of work."""

from __future__ import annotations

import gc
import weakref

import pytest
from tests.runtime.together import launched_by_threads

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.cpu import CpuDevice

DEVICE = CpuDevice()
Stream = DEVICE.new_stream


def test_work_is_recorded_and_launched_again_and_again():
    stream, other, seen = Stream(), Stream(), []
    stream.begin_capture()
    assert stream.capturing
    for n in range(3):
        stream.submit(lambda n=n: seen.append(n))
    graph = stream.end_capture()
    assert not stream.capturing and graph.size == 3
    stream.synchronize()
    assert seen == []
    work = graph.instantiate()
    for each in (stream, other, DEVICE.default_stream):
        seen.clear()
        work.launch(each)
        each.synchronize()
        assert seen == [0, 1, 2]


def test_copies_and_fills_are_recorded():
    stream, memory = Stream(), DEVICE.allocate(8)
    source, target = bytearray(b"12345678"), bytearray(8)
    stream.begin_capture()
    stream.upload(memory.address, memoryview(source))
    stream.fill(memory.address, ord("x"), 2)
    stream.download(memoryview(target), memory.address)
    work = stream.end_capture().instantiate()
    work.launch(stream)
    stream.synchronize()
    assert target == b"xx345678"
    source[:] = b"abcdefgh"  # each launch reads what is there then
    work.launch(stream)
    stream.synchronize()
    assert target == b"xxcdefgh"


def test_a_graph_keeps_what_its_work_uses():
    class Kept:
        def touch(self):
            pass

    kept, stream = Kept(), Stream()
    alive = weakref.ref(kept)
    stream.begin_capture()
    stream.submit(kept.touch)
    graph = stream.end_capture()
    del kept
    work = graph.instantiate()
    del graph
    gc.collect()
    assert alive() is not None
    del work
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    "use",
    [
        lambda stream: stream.synchronize(),
        lambda stream: stream.drain(),
        lambda stream: stream.query(),
        lambda stream: stream.read(memoryview(bytearray(1)), 0),
        lambda stream: stream.write(0, memoryview(b"1")),
        lambda stream: DEVICE.new_event().record(stream),
    ],
)
def test_what_cannot_be_recorded_is_refused(use):
    stream = Stream()
    stream.begin_capture()
    with pytest.raises(DeviceError, match=r"STREAM_CAPTURE_UNSUPPORTED \(900\)"):
        use(stream)
    assert stream.end_capture().size == 0


def test_waiting_for_an_event_is_refused():
    stream, event = Stream(), DEVICE.new_event()
    event.record(DEVICE.default_stream)
    stream.begin_capture()
    with pytest.raises(DeviceError, match=r"\(900\).*waiting for an event"):
        event.wait(stream)
    stream.end_capture()


def test_captures_begin_and_end_once():
    stream = Stream()
    with pytest.raises(DeviceError, match=r"ILLEGAL_STATE \(401\).*no capture"):
        stream.end_capture()
    stream.begin_capture()
    with pytest.raises(DeviceError, match=r"ILLEGAL_STATE \(401\).*captured already"):
        stream.begin_capture()
    stream.end_capture()
    with pytest.raises(DeviceError, match=r"\(900\).*default stream"):
        DEVICE.default_stream.begin_capture()
    with pytest.raises(DeviceError, match=r"\(401\)"):
        DEVICE.default_stream.end_capture()


def test_a_stream_of_another_device():
    stream = Stream()
    stream.begin_capture()
    work = stream.end_capture().instantiate()
    with pytest.raises(DeviceError, match=r"INVALID_HANDLE \(400\)"):
        work.launch(CpuDevice().new_stream())


def test_launches_by_several_threads_come_one_behind_the_other():
    seen = launched_by_threads(Stream(), pieces=40, threads=4, times=50)
    assert seen == [*range(40)] * 200


def test_a_graph_is_launched_into_a_capture():
    stream, seen = Stream(), []
    stream.begin_capture()
    stream.submit(lambda: seen.append(1))
    inner = stream.end_capture().instantiate()
    stream.begin_capture()
    inner.launch(stream)
    stream.submit(lambda: seen.append(2))
    inner.launch(stream)
    graph = stream.end_capture()
    assert graph.size == 3 and seen == []
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert seen == [1, 2, 1]

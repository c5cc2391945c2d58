"""Streams and events of the driver: where work goes, who waits for whom, what is kept alive."""

from __future__ import annotations

import gc
import struct
import weakref

import numpy as np
import pytest
from cuda.bindings import driver
from tests.fake_cuda.kernels import artifact

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.cuda import open_device
from gridlane.runtime.drivers.cuda import stream as stream_module

PARAMS = struct.pack("<Qq", 0, 1)


def octets(size=64, byte=0):
    return np.full(size, byte, np.uint8)


def handles(machine, *names):
    """The streams of calls with these names, by their last argument."""
    return [
        int(line[:-1].rpartition(", ")[2] or "0", 16)
        for line in machine.log
        if line.partition("(")[0] in names
    ]


def test_streams_are_made_as_asked_and_destroyed(machine, device):
    stream = device.new_stream(non_blocking=True, priority=-1)
    other = device.new_stream()
    assert "cuStreamCreateWithPriority(1, -1)" in machine.log
    assert "cuStreamCreateWithPriority(0, 0)" in machine.log
    assert stream.apart and not other.apart
    del stream, other
    gc.collect()
    assert machine.calls.count("cuStreamDestroy") == 2


@pytest.mark.parametrize("non_blocking", [False, True])
def test_work_goes_to_its_stream(machine, device, non_blocking):
    stream, memory, host = device.new_stream(non_blocking), device.allocate(64), octets()
    pinned = device.allocate_host(64, "pinned")
    machine.clear_log()
    stream.upload(memory.address, host.data)
    stream.download(host.data, memory.address)
    stream.copy(memory.address, memory.address + 32, 32)
    stream.fill(memory.address, 1, 64)
    stream.submit(lambda: None)
    names = "cuMemcpyHtoDAsync cuMemcpyDtoHAsync cuMemcpyAsync cuMemsetD8Async".split()
    assert handles(machine, *names) == [stream.handle] * 4
    assert f"cuLaunchHostFunc({stream.handle:#x})" in machine.log
    stream.synchronize()
    assert pinned.size == 64


def test_work_runs_in_order_and_late(machine, device):
    stream, memory, seen = device.new_stream(), device.allocate(8), []
    host = np.frombuffer(memory_of(device.allocate_host(8, "pinned")), np.uint8)
    machine.late()
    stream.fill(memory.address, 5, 8)
    stream.submit(lambda: seen.append("between"))
    stream.download(host.data, memory.address)
    assert not seen and not stream.query() and 5 not in host
    stream.synchronize()
    assert seen == ["between"] and stream.query() and host.tolist() == [5] * 8


@pytest.mark.parametrize("other", [False, True])
def test_a_copy_from_the_host_reads_what_host_functions_in_front_write(machine, device, other):
    """The driver reads memory that is not pinned at once."""
    stream, memory, host = device.new_stream(), device.allocate(64), octets(byte=1)
    machine.late()
    if other:
        before, event = device.new_stream(), device.new_event()
        before.submit(lambda: host.fill(7))
        event.record(before)
        event.wait(stream)
    else:
        stream.submit(lambda: host.fill(7))
    stream.write(memory.address, host.data)
    found = octets()
    stream.read(found.data, memory.address)
    assert found.tolist() == [7] * 64


def memory_of(buffer):
    from gridlane.runtime.drivers.cuda.memory import as_array

    array = as_array(buffer.address, buffer.size)
    array.owner = buffer
    return array


def test_reads_and_writes_are_done_on_return(machine, device):
    stream, memory, host = device.new_stream(), device.allocate(64), octets(byte=3)
    machine.late()
    stream.write(memory.address, host.data)
    host[:] = 0
    stream.read(host.data, memory.address)
    assert host.tolist() == [3] * 64


def test_a_stream_apart_waits_for_what_is_allocated_on_the_default_one(machine, device):
    stream = device.new_stream(non_blocking=True)
    machine.late()
    memory = device.allocate(64)
    stream.fill(memory.address, 1, 64)  # would be a fault before the allocation has run
    stream.synchronize()
    assert machine.calls.count("cuStreamWaitEvent") == 1
    stream.fill(memory.address, 2, 64)
    stream.synchronize()
    assert machine.calls.count("cuStreamWaitEvent") == 1  # nothing new was allocated


@pytest.mark.parametrize("foreign", [False, True])
def test_a_stream_apart_keeps_what_its_work_uses(machine, device, foreign):
    own = device.new_stream(non_blocking=True)
    if foreign:
        theirs = driver.cuStreamCreate(1)[1]
    memory = device.allocate(64)
    freed = weakref.ref(memory)
    machine.late()

    def stream():  # looked up by its number each time, as users do
        return device.stream_at(int(theirs)) if foreign else own

    stream().fill(memory.address, 1, 64, memory)
    del memory
    gc.collect()
    assert freed() is not None
    device.default_stream.synchronize()  # a free on the default stream would run now
    stream().synchronize()
    gc.collect()
    assert freed() is None
    if foreign:
        driver.cuStreamDestroy(theirs)


def test_host_memory_is_freed_behind_the_work_that_uses_it(machine, device):
    stream, memory = device.new_stream(), device.allocate(64)
    pinned = device.allocate_host(64, "pinned")
    machine.late()
    stream.upload(memory.address, memoryview(memory_of(pinned)).cast("B"), pinned)
    del pinned
    gc.collect()
    assert machine.calls[-2:] == ["cuCtxSynchronize", "cuMemFreeHost"]
    stream.synchronize()


def test_own_streams_are_found_by_their_number(device):
    stream = device.new_stream()
    assert device.stream_at(stream.handle) is stream
    assert device.stream_at(0) is device.stream_at(1) is device.default_stream
    with pytest.raises(DeviceError, match="INVALID_HANDLE"):
        device.stream_at(-1)
    with pytest.raises(DeviceError, match="INVALID_HANDLE"):
        device.stream_at(0xABCD00)


def test_a_foreign_stream_has_its_own_flags(machine, device):
    theirs = [driver.cuStreamCreate(flags)[1] for flags in (0, 1)]
    assert [device.stream_at(int(each)).apart for each in theirs] == [False, True]
    for each in theirs:
        driver.cuStreamDestroy(each)


def test_errors_of_host_functions_are_raised_once(device):
    for stream in (device.new_stream(), device.stream_at(2)):
        stream.submit(lambda: 1 / 0)
        stream.submit(lambda: [][0])
        with pytest.raises(ZeroDivisionError):
            device.stream_at(stream.handle).synchronize()
        stream.synchronize()


def test_a_callback_may_not_use_the_device(machine, device):
    stream = device.new_stream()
    stream.submit(device.synchronize)
    with pytest.raises(DeviceError, match=r"NOT_PERMITTED \(800\).*callback"):
        stream.synchronize()
    assert machine.calls.count("cuCtxSynchronize") == 0


def test_memory_that_dies_in_a_callback_is_given_back_later(machine, device):
    stream, kept = device.new_stream(), [device.allocate(64), device.allocate_host(8, "pinned")]

    def work():
        kept.clear()

    machine.late()
    stream.submit(work)
    stream.synchronize()
    assert machine.blocks("pool") == machine.blocks("host") == 1
    device.allocate(8)
    assert machine.blocks("host") == 0 and machine.calls.count("cuMemFreeAsync") == 2
    machine.late(False)
    assert device.memory.statistics().used == 0


def test_a_host_function_that_the_driver_refuses(machine, device):
    from gridlane.runtime.drivers.cuda import stream

    machine.fail("cuLaunchHostFunc", 2)
    with pytest.raises(DeviceError, match="OUT_OF_MEMORY"):
        device.default_stream.submit(lambda: None)
    assert not stream._callbacks


# --- events


def test_events_are_passed_in_the_order_of_their_stream(machine, device):
    stream, event = device.new_stream(), device.new_event()
    assert event.query()  # never recorded
    machine.late()
    stream.submit(lambda: None)
    event.record(stream)
    assert not event.query()
    event.synchronize()
    assert event.query() and event.handle


def test_a_stream_waits_for_an_event(machine, device):
    one, two, seen = device.new_stream(True), device.new_stream(True), []
    event = device.new_event(timing=False)
    machine.late()
    one.submit(lambda: seen.append(1))
    event.record(one)
    event.wait(two)
    two.submit(lambda: seen.append(2))
    two.synchronize()
    assert seen == [1, 2] and "cuEventCreate(2)" in machine.log


def test_another_device_s_stream(device):
    from gridlane.runtime.drivers.cpu import CpuDevice

    own, other, event = device.new_stream(), CpuDevice().new_stream(), device.new_event()
    own.begin_capture()
    own.fill(device.allocate_host(16, "pinned").address, 0, 0)
    work = own.end_capture().instantiate()
    for use in (event.record, event.wait, work.launch):
        with pytest.raises(DeviceError, match=r"INVALID_HANDLE.*another device"):
            use(other)


def test_elapsed_time_to_another_device_s_event(device):
    from gridlane.runtime.queues.host_event import HostEvent

    start = device.new_event()
    start.record(device.default_stream)
    with pytest.raises(DeviceError, match=r"INVALID_HANDLE.*another device"):
        start.elapsed_ms(HostEvent())


def test_elapsed_time_is_the_device_s(machine, device):
    stream, start, end = device.new_stream(), device.new_event(), device.new_event()
    start.record(stream)
    for _ in range(499):
        stream.submit(lambda: None)
    end.record(stream)
    assert start.elapsed_ms(end) == pytest.approx(0.5)  # each step of the fake takes 1 us


def test_times_that_cannot_be_told(machine, device):
    start, end, plain = device.new_event(), device.new_event(), device.new_event(timing=False)
    with pytest.raises(DeviceError, match="first event was not recorded"):
        start.elapsed_ms(end)
    start.record(device.default_stream)
    plain.record(device.default_stream)
    with pytest.raises(DeviceError, match="timing=False"):
        start.elapsed_ms(plain)
    machine.late()
    end.record(device.default_stream)
    with pytest.raises(DeviceError, match=r"NOT_READY \(600\)"):
        start.elapsed_ms(end)
    device.synchronize()
    assert start.elapsed_ms(end) > 0


def test_a_stream_of_one_device_waits_for_an_event_of_another(machine):
    machine.reset(2)
    first, second = open_device(0), open_device(1)
    event, stream, seen = first.new_event(), second.new_stream(), []
    machine.late()
    first.default_stream.submit(lambda: seen.append(1))
    event.record(first.default_stream)
    event.wait(stream)
    stream.submit(lambda: seen.append(2))
    stream.synchronize()
    assert seen == [1, 2]


def test_launches_keep_their_arguments_on_a_stream_apart(machine, device):
    class Kept:
        pass

    stream, kernel = device.new_stream(True), device.load(artifact()).bind((32, 1, 1))
    kept = Kept()
    alive = weakref.ref(kept)
    machine.late()
    stream.launch(kernel, PARAMS, 1, 1, 1, 0, kept)
    del kept
    assert alive() is not None
    stream.synchronize()
    assert alive() is None
    assert [launch.stream for launch in machine.launches] == [stream.handle]


@pytest.mark.parametrize("is_quick", [True, False])
def test_the_order_of_two_streams(machine, device, monkeypatch, is_quick):
    if not is_quick:
        monkeypatch.setattr(stream_module, "ordering", lambda: None)
    one, other, event = device.new_stream(True), device.new_stream(True), device.new_event(False)
    machine.clear_log()
    for _ in range(2):
        event.order(one, other)
    assert [each for each in machine.calls if "Event" in each] == [
        "cuEventRecord", "cuStreamWaitEvent",
    ] * 2  # fmt: skip
    assert event.query()
    for function in ("cuEventRecord", "cuStreamWaitEvent"):
        machine.fail(function, 400)
        with pytest.raises(DeviceError, match=rf"\(400\).*{function}"):
            event.order(one, other)
    event.order(one, other)


def test_the_order_of_a_stream_that_is_captured(machine, device):
    one, other, event = device.new_stream(True), device.new_stream(True), device.new_event(False)
    one.begin_capture()
    event.order(one, other)
    assert other.capturing and event.capture is one.capture
    event.order(other, one)
    one.end_capture()
    assert not one.capturing and not other.capturing

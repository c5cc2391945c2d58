"""Graphs of the driver: what is recorded and launched, what lives with it, what is refused."""

from __future__ import annotations

import gc
import struct
import weakref

import numpy as np
import pytest
from cuda.bindings import driver
from tests.fake_cuda.kernels import TOO_LARGE, artifact

from gridlane import cuda
from gridlane.core.errors import DeviceError

PARAMS = struct.pack("<Qq", 0, 1)


@pytest.fixture(params=[False, True], ids=["blocking", "apart"])
def stream(device, request):
    return device.new_stream(request.param)


def octets(size=8):
    return np.zeros(size, np.uint8)


def pinned(size=8, byte=0):
    array = cuda.pinned_array(size, np.uint8)
    array[:] = byte
    return array


def contents(device, memory):
    host = octets(memory.size)
    device.download(host.data, memory.address)
    return host.tolist()


def test_work_is_recorded_and_launched_again_and_again(machine, device, stream):
    memory, kernel = device.allocate(8), device.load(artifact()).bind((32, 1, 1))
    device.fill(memory.address, 0, 8)
    source, target, calls = pinned(byte=5), pinned(), []
    stream.begin_capture()
    assert stream.capturing
    stream.upload(memory.address, source.data, source)
    stream.fill(memory.address, 9, 2)
    stream.launch(kernel, PARAMS, 3, 2, 1, 16)
    stream.download(target.data, memory.address, target)
    stream.submit(lambda: calls.append(len(machine.launches)))
    graph = stream.end_capture()
    assert not stream.capturing and graph.size == 5
    assert not machine.launches and not calls and contents(device, memory) == [0] * 8
    work = graph.instantiate()
    for n in range(1, 3):
        work.launch(stream)
        stream.synchronize()
        assert target.tolist() == [9, 9, 5, 5, 5, 5, 5, 5]
        assert calls == list(range(1, n + 1))
        source[2:] = 5
    (first, second) = machine.launches
    assert first == second and first.params == PARAMS and first.grid == (3, 2, 1)
    work.launch(device.default_stream)
    assert machine.launches[-1].stream == 0


def test_a_graph_keeps_what_its_work_uses(machine, device, stream):
    class Kept:
        pass

    kept, kernel = Kept(), device.load(artifact()).bind((1, 1, 1))
    alive = weakref.ref(kept)
    stream.begin_capture()
    stream.launch(kernel, PARAMS, 1, 1, 1, 0, kept)
    stream.submit(lambda seen=kept: None)
    graph = stream.end_capture()
    work = graph.instantiate()
    del kept, kernel, graph
    gc.collect()
    assert alive() is not None and machine.alive("module") == 1 and machine.alive("graph") == 0
    machine.late()
    work.launch(stream)
    del work
    gc.collect()
    # A stream that stands apart holds the work; for others the end of the executable waits.
    assert len(machine.launches) == (0 if stream.apart else 1)
    stream.synchronize()
    gc.collect()
    assert len(machine.launches) == 1
    assert alive() is None and not machine.alive("module") and not machine.alive("executable")


def test_streams_join_by_events(machine, device):
    one, two = device.new_stream(True), device.new_stream(True)
    memory, kernel = device.allocate(8), device.load(artifact()).bind((1, 1, 1))
    fork, join = device.new_event(), device.new_event()
    one.begin_capture()
    fork.record(one)
    fork.wait(two)
    assert two.capturing
    two.launch(kernel, PARAMS, 1, 1, 1, 0)
    join.record(two)
    join.wait(one)
    one.fill(memory.address, 1, 8)
    graph = one.end_capture()
    assert not two.capturing and graph.size == 2
    with pytest.raises(DeviceError, match=r"CAPTURED_EVENT \(907\)"):
        fork.query()


def test_a_stream_that_was_not_joined(machine, device):
    one, two, fork = device.new_stream(True), device.new_stream(True), device.new_event()
    memory = device.allocate(8)
    one.begin_capture()
    fork.record(one)
    fork.wait(two)
    two.fill(memory.address, 1, 8)
    with pytest.raises(DeviceError, match=r"UNJOINED \(904\)"):
        one.end_capture()
    assert not two.capturing and not device.context.captures
    two.fill(memory.address, 1, 8)


REFUSED = {
    "waiting for the stream": lambda device, stream, memory: stream.synchronize(),
    "asking whether the work is done": lambda device, stream, memory: stream.query(),
    "waiting for the device": lambda device, stream, memory: device.synchronize(),
    "allocating memory": lambda device, stream, memory: device.allocate_host(8, "managed"),
    "pinning memory": lambda device, stream, memory: device.register_host(octets().ctypes.data, 8),
    "a copy of memory that is not pinned": lambda device, stream, memory: stream.upload(
        memory.address, octets().data
    ),
    "a copy from memory that is not pinned": lambda device, stream, memory: stream.write(
        memory.address, octets().data
    ),
    "a copy that the host waits for": lambda device, stream, memory: stream.read(
        octets().data, memory.address
    ),
    "cuMemcpyHtoD: a copy": lambda device, stream, memory: device.upload(
        memory.address, octets().data
    ),
    "cuMemcpyDtoH: a copy": lambda device, stream, memory: device.download(
        octets().data, memory.address
    ),
    "work of the default stream": lambda device, stream, memory: device.default_stream.fill(
        memory.address, 0, 8
    ),
    "captured already": lambda device, stream, memory: stream.begin_capture(),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_recorded_is_refused_and_leaves_no_trace(machine, device, stream, what):
    memory = device.allocate(8)
    stream.begin_capture()
    stream.fill(memory.address, 1, 8)
    with pytest.raises(DeviceError, match=what):
        REFUSED[what](device, stream, memory)
    stream.fill(memory.address, 2, 8)  # the capture goes on
    graph = stream.end_capture()
    assert graph.size == 2
    device.synchronize()


def test_the_default_streams_are_not_captured(device):
    for handle in (0, 1, 2):
        with pytest.raises(DeviceError, match=r"\(900\).*default stream"):
            device.stream_at(handle).begin_capture()
    with pytest.raises(DeviceError, match=r"ILLEGAL_STATE \(401\).*no capture"):
        device.default_stream.end_capture()
    assert not device.context.captures


def test_kernels_that_can_raise_are_refused(machine, device, stream):
    kernel = device.load(artifact("may_raise", errors=(TOO_LARGE,))).bind((1, 1, 1))
    stream.begin_capture()
    with pytest.raises(DeviceError, match=r"\(900\).*may_raise can raise"):
        stream.launch(kernel, PARAMS, 1, 1, 1, 0)
    assert stream.end_capture().size == 0


def test_the_first_launch_of_a_kernel_with_a_report_is_refused(machine, device, stream):
    stream.begin_capture()
    with pytest.raises(DeviceError, match=r"\(900\).*first launch of plain"):
        device.load(artifact(errors=(TOO_LARGE,)))
    plain = device.load(artifact()).bind((1, 1, 1))  # others may be loaded
    stream.launch(plain, PARAMS, 1, 1, 1, 0)
    assert stream.end_capture().size == 1


def test_what_dies_during_a_capture_is_given_back_behind_it(machine, device, stream):
    kept = [device.allocate(8), device.new_event(), device.allocate_host(8, "pinned")]
    stream.begin_capture()
    kept.clear()
    gc.collect()
    assert machine.blocks("pool") == machine.blocks("host") == machine.alive("event") == 1
    assert stream.end_capture().size == 0
    device.synchronize()
    assert not machine.blocks("pool") and not machine.blocks("host") and not machine.alive("event")


def test_memory_of_a_capture_lives_with_the_graph(machine, device, stream):
    """It is none of a pool, whose memory is allocated and freed in the default stream's order."""
    kernel, before = device.load(artifact()).bind((1, 1, 1)), device.memory.statistics().used
    stream.begin_capture()
    kept, dropped = device.allocate(8), device.allocate(8)
    assert machine.blocks("device") == 2 and not machine.blocks("pool")
    stream.fill(kept.address, 5, 8)
    stream.launch(kernel, PARAMS, 1, 1, 1, 0, kept)
    address = kept.address
    del kept, dropped
    gc.collect()
    assert machine.blocks("device") == 2
    graph = stream.end_capture()
    work = graph.instantiate()
    del graph
    device.synchronize()
    assert machine.blocks("device") == 1 and device.memory.statistics().used == before + 8
    for _ in range(2):
        work.launch(stream)
        stream.synchronize()
        host = octets()
        device.download(host.data, address)
        assert host.tolist() == [5] * 8
    del work
    gc.collect()
    stream.synchronize()
    device.synchronize()
    assert not machine.blocks("device") and device.memory.statistics().used == before
    memory = device.allocate(8)
    assert machine.blocks("pool") == 1 and memory.size == 8


def test_memory_while_another_library_captures(machine, device, stream):
    """In the mode that refuses cuMemAlloc to all threads, which is not changed for later calls."""
    theirs = driver.cuStreamCreate(1)[1]
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
    driver.cuStreamBeginCapture(theirs, mode)
    stream.begin_capture()
    memory = device.allocate(8)
    assert memory.size == 8 and machine.blocks("device") == 1
    assert driver.cuThreadExchangeStreamCaptureMode(mode)[1] == mode
    assert stream.end_capture().size == 0
    code, graph = driver.cuStreamEndCapture(theirs)
    assert not code and not driver.cuGraphDestroy(graph)[0]
    assert not driver.cuStreamDestroy(theirs)[0]
    del memory


def test_no_memory_in_a_capture(machine, device, stream):
    """What the pool keeps unused makes room."""
    size = 3 * device.memory_info()[0] // 4
    memory = device.allocate(size)
    del memory
    device.synchronize()
    assert device.pool.reserved == size
    stream.begin_capture()
    memory = device.allocate(size)
    assert not device.pool.reserved and memory.size == size
    with pytest.raises(DeviceError, match="OUT_OF_MEMORY"):
        device.allocate(size)
    assert stream.end_capture().size == 0


def test_a_graph_of_a_lost_context(machine, device, stream):
    memory = device.allocate(8)
    stream.begin_capture()
    stream.fill(memory.address, 1, 8)
    graph = stream.end_capture()
    work = graph.instantiate()
    stream.begin_capture()
    machine.fault(700)
    with pytest.raises(DeviceError, match=r"\(700\)"):
        stream.fill(memory.address, 1, 8)
    device.reset()
    assert not stream.capturing and not device.context.captures
    for use in (graph.instantiate, lambda: work.launch(device.default_stream)):
        with pytest.raises(DeviceError, match="went with the context"):
            use()


def test_a_fault_in_a_graph_names_its_kernel(machine, device, stream):
    kernel = device.load(artifact("inside")).bind((1, 1, 1))
    stream.begin_capture()
    stream.launch(kernel, PARAMS, 1, 1, 1, 0)
    work = stream.end_capture().instantiate()
    device.synchronize()
    machine.on_launch("inside", lambda ran: 719)
    machine.late()
    work.launch(stream)
    with pytest.raises(DeviceError, match=r"\(719\).*in kernel inside"):
        device.synchronize()
    device.reset()


# --- the users' names


def add_one(x):
    x[cuda.grid(1)] += 1


def test_a_program_with_a_graph(machine):
    kernel, x, stream = cuda.jit(add_one), cuda.device_array(4, np.float32), cuda.stream()
    run, arrays = kernel[1, 4, stream], [x, cuda.device_array(4, np.float32)]
    run(x)
    run(x)  # prepared: it reaches the driver without Python
    stream.synchronize()
    before = len(machine.launches)
    with cuda.capture(stream) as graph:
        with pytest.raises(DeviceError, match="capture has not ended"):
            graph.instantiate()
        for array in arrays:
            run(array)
    assert len(machine.launches) == before and len(graph) == 2
    work, freed = graph.instantiate(), [weakref.ref(array) for array in arrays]
    del graph
    x = array = None
    arrays.clear()
    gc.collect()
    assert all(ref() is not None for ref in freed)  # launches that were prepared keep nothing
    work.launch(stream)
    work.replay(stream)
    stream.synchronize()
    assert len(machine.launches) == before + 4
    x = cuda.device_array(4, np.float32)
    run(x)
    run(x)


def test_a_kernel_may_be_compiled_in_a_capture(machine):
    kernel, x, stream = cuda.jit(add_one), cuda.device_array(4, np.float32), cuda.stream()
    with cuda.capture(stream) as graph:
        kernel[1, 4, stream](x)
    assert len(graph) == 1


def test_an_error_ends_the_capture(machine):
    kernel, stream = cuda.jit(add_one), cuda.stream()
    with pytest.raises(DeviceError, match=r"a copy that the host waits(?s:.*)not host arrays"):
        with cuda.capture(stream):
            kernel[1, 4, stream](np.zeros(4, np.float32))
    with pytest.raises(ZeroDivisionError):
        with cuda.capture(stream):
            1 / 0
    stream.synchronize()
    kernel[1, 4, stream](np.zeros(4, np.float32))


def test_an_end_that_the_driver_refuses(machine):
    stream = cuda.stream()
    with pytest.raises(DeviceError, match=r"INVALIDATED \(901\)"):
        with cuda.capture(stream):
            driver.cuStreamSynchronize(driver.CUstream(stream.handle))
    stream.synchronize()
    assert not machine.alive("graph")

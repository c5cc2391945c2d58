"""Programs of users, on the device ``cuda``: what their kernels, arrays and streams ask of the
driver. A test stands for each kernel where its result matters."""

from __future__ import annotations

import ctypes
import gc
import struct
import threading

import numpy as np
import pytest
from tests.runtime.cuda.scaling import scale_on_host

from gridlane import cuda
from gridlane.core import trace
from gridlane.core.compact import LIMIT
from gridlane.core.errors import DeviceError
from gridlane.cuda.arrays.devicearray import DeviceNDArray


def test_a_launch_has_the_arguments_and_the_geometry(machine, scale, slow):
    x, out = cuda.to_device(np.arange(8, dtype=np.float32)), cuda.device_array(8, np.float32)
    run = scale[(2, 3), (4, 5, 1), 0, 64]
    for factor in (2.5, 3.5, 4.5):
        run(x, out, factor)
        packed = x.__gridlane_packed__ + out.__gridlane_packed__ + struct.pack("<d", factor)
        (ran,) = machine.launches[-1:]
        assert ran.params == packed and "scale_on_host" in ran.name
        assert (ran.grid, ran.block, ran.shared) == ((2, 3, 1), (4, 5, 1), 64)
    assert len(machine.launches) == 3 and len(slow) == 1
    assert out.copy_to_host().tolist() == [4.5 * n for n in range(8)]


def test_each_launch_is_traced(machine, scale, slow, monkeypatch, capfd):
    monkeypatch.setattr(trace, "enabled", lambda: True)
    x, out = cuda.to_device(np.ones(4, np.float32)), cuda.device_array(4, np.float32)
    for _ in range(3):
        scale[1, 32](x, out, 2.0)
    said = capfd.readouterr().err
    assert said.count("launch kernel=scale_on_host device=cuda grid=(1, 1, 1)") == 3, said
    assert len(machine.launches) == 3


def test_arrays_of_the_host_are_copied(machine, scale, slow):
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    scale[1, 32](x, out, 2.0)
    assert out.tolist() == [0, 2, 4, 6]
    gc.collect()
    assert machine.blocks("pool") == 0


@pytest.mark.parametrize("non_blocking", [False, True])
def test_launches_go_to_their_stream(machine, scale, slow, non_blocking):
    stream = cuda.stream()
    if non_blocking:
        theirs = cuda.current_context().device.native.new_stream(True)
        stream = cuda.external_stream(theirs.handle)
    x, out = cuda.to_device(np.ones(4, np.float32)), cuda.device_array(4, np.float32)
    machine.late()
    for _ in range(3):
        scale[1, 32, stream](x, out, 2.0)
    assert not machine.launches and not stream.query()
    stream.synchronize()
    assert [ran.stream for ran in machine.launches] == [stream.handle] * 3


def test_a_thread_without_a_context_launches_all_the_same(machine, scale, slow):
    x, out = cuda.to_device(np.ones(4, np.float32)), cuda.device_array(4, np.float32)
    run, errors = scale[1, 32], []
    run(x, out, 1.0)

    def work():
        try:
            run(x, out, 2.0)
            run(x, out, 3.0)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not errors and out.copy_to_host().tolist() == [3.0] * 4
    assert len(machine.launches) == 3


def test_a_refused_launch_says_why(machine, scale, slow):
    x, out = cuda.to_device(np.ones(4, np.float32)), cuda.device_array(4, np.float32)
    run = scale[7, 32]
    run(x, out, 1.0)
    for nth in (1, 2):  # the fast way, then the slow way that explains
        machine.fail("cuLaunchKernel", 701, nth)
    with pytest.raises(DeviceError, match=r"LAUNCH_OUT_OF_RESOURCES \(701\).*grid \(7, 1, 1\)"):
        run(x, out, 2.0)
    run(x, out, 3.0)
    assert out.copy_to_host().tolist() == [3.0] * 4


def test_after_close_everything_works_again(machine, scale, slow):
    x, out = cuda.to_device(np.ones(4, np.float32)), cuda.device_array(4, np.float32)
    run = scale[1, 32]
    run(x, out, 1.0)
    run(x, out, 1.0)
    machine.fault(700)
    with pytest.raises(DeviceError, match=r"\(700\).*in kernel .*scale_on_host"):
        cuda.synchronize()
    with pytest.raises(DeviceError, match=r"\(700\)"):
        run(x, out, 1.0)
    cuda.close()
    x, out = cuda.to_device(np.ones(4, np.float32)), cuda.device_array(4, np.float32)
    machine.clear_log()
    run(x, out, 5.0)
    assert "cuModuleLoadDataEx" in machine.calls  # the function of before is gone
    run(x, out, 6.0)
    assert out.copy_to_host().tolist() == [6.0] * 4


def test_close_waits_and_gives_back(machine, scale, slow):
    kept = [cuda.to_device(np.ones(100)), cuda.pinned_array(10), cuda.stream(), cuda.event()]
    scale[1, 1](np.ones(1, np.float32), np.ones(1, np.float32), 1.0)
    kept.clear()
    cuda.close()
    assert machine.blocks("pool") == machine.blocks("host") == machine.alive("event") == 0
    assert cuda.current_context().device.native.memory.statistics().reserved == 0


def test_compiled_code_is_found_again(machine, scale, slow):
    arrays = np.ones(1, np.float32), np.ones(1, np.float32)
    scale[1, 1](*arrays, 1.0)
    assert len(machine.launches) == 1
    machine.clear_log()
    cuda.jit(scale_on_host)[1, 1](*arrays, 1.0)
    calls = machine.calls
    assert calls.count("cuModuleLoadDataEx") == 1


def test_a_kernel_that_raises(machine, slow):
    @cuda.jit(debug=True, opt=False)
    def check(x):
        i = cuda.grid(1)
        if x[i] > 3:
            raise ValueError("too large")

    x = cuda.to_device(np.arange(8, dtype=np.int32))
    run = check[1, 8]
    run(x)
    (kernel,) = cuda.current_context().device.native.context.kernels
    number = next(n for n, site in enumerate(kernel.artifact.errors) if site.message == "too large")
    words, report = struct.pack("<2I6I", 1, number + 1, 4, 0, 0, 0, 0, 0), kernel.report.address
    machine.on_launch("*", lambda ran: ctypes.memmove(report, words, 32) and None)
    with pytest.raises(ValueError, match="too large"):
        run(x)
    assert len(slow) == 2  # each launch is waited for, so none is native


def test_pinned_memory_lives_until_its_copy_has_run(machine):
    stream, x = cuda.stream(), cuda.device_array(4, np.int64)
    host = cuda.pinned_array(4, np.int64)
    host[:] = [1, 2, 3, 4]
    machine.late()
    x.copy_to_device(host, stream=stream)
    del host
    gc.collect()
    back = cuda.pinned_array(4, np.int64)
    x.copy_to_host(back, stream=stream)
    stream.synchronize()
    assert back.tolist() == [1, 2, 3, 4]


def test_arrays_can_be_pinned_for_a_while(machine):
    host, x = np.arange(4), cuda.device_array(4, np.int64)
    stream = cuda.stream()
    machine.late()
    with cuda.pinned(host):
        assert machine.blocks("registered") == 1
        x.copy_to_device(host, stream=stream)
    assert machine.blocks("registered") == 0
    assert x.copy_to_host().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_memory_that_host_and_device_share_is_passed_as_it_is(machine, scale, make):
    x, out = make(4, np.float32), make(4, np.float32)
    x[:] = [1, 2, 3, 4]
    machine.clear_log()
    scale[1, 4](x, out, 2.0)
    assert not [call for call in machine.calls if call.startswith("cuMemcpy")]
    cuda.synchronize()
    assert out.tolist() == [2, 4, 6, 8]


def test_events_time_a_stream(machine):
    start, end, stream = cuda.event(), cuda.event(), cuda.stream()
    start.record(stream)
    end.record(stream)
    assert cuda.event_elapsed_time(start, end) == pytest.approx(1e-3)


def test_a_callback(machine):
    stream, seen = cuda.stream(), []
    stream.add_callback(lambda *args: seen.append(args), "mine")
    stream.synchronize()
    assert seen == [(stream, 0, "mine")]
    seen.clear()


def test_each_device_has_its_own(machine):
    machine.reset(2)
    assert len(cuda.gpus) == 2
    kernel = cuda.jit(scale_on_host)
    kernel[1, 1](np.ones(1, np.float32), np.ones(1, np.float32), 1.0)
    with cuda.gpus[1]:
        x = cuda.to_device(np.ones(4, np.float32))
        kernel[1, 1](x, x, 1.0)
    kernel[1, 1](np.ones(1, np.float32), np.ones(1, np.float32), 1.0)
    assert [ran.device for ran in machine.launches] == [0, 1, 0]


def test_arrays_of_other_devices_are_copied_where_they_are(machine):
    machine.reset(2)
    here = cuda.to_device(np.ones(4))
    with cuda.gpus[1]:
        there = cuda.to_device(np.full(4, 2.0))
        assert here.copy_to_host().tolist() == [1] * 4
        assert not cuda.current_context().can_access_peer(1)
        assert cuda.current_context().can_access_peer(0)
    here.copy_to_device(there)
    assert here.copy_to_host().tolist() == [2] * 4
    assert machine.calls.count("cuMemcpyPeerAsync") == 1


def test_the_facts_of_a_kernel(machine, scale):
    arrays = np.ones(1, np.float32), np.ones(1, np.float32)
    scale[1, 1](*arrays, 1.0)
    assert list(scale.get_regs_per_thread().values()) == [42]
    (kernel,) = scale.overloads.values()
    assert kernel.max_cooperative_grid_blocks(256) == 4 * 8


def test_code_of_compact_launches_meets_no_larger_array(machine, slow):
    """An array whose last element begins just where compact code ends is a compact launch; one
    beyond it has the same type, and must not be taken for one."""
    machine.on_launch("*", lambda ran: None)

    @cuda.jit
    def first(a):
        a[0] = 1

    memory = cuda.to_device(np.zeros(4, np.float32))
    edge, beyond = (
        DeviceNDArray((2,), (step,), np.float32, 0, memory.buffer, memory.address)
        for step in (LIMIT, 1 << 33)
    )
    launch = first[1, 1]
    launch(edge)
    launch(beyond)
    assert len(slow) == 2
    for array in (edge, beyond, edge):
        launch(array)
    assert len(slow) == 2
    assert len(machine.launches) == 5


class Grid(DeviceNDArray):
    """A program's own class of device arrays."""


def test_records_and_classes_of_the_users_are_launched_natively(machine, slow):
    machine.on_launch("*", lambda ran: None)

    @cuda.jit
    def first(r, a):
        a[0] = r.x

    kind = np.dtype([("x", "f4"), ("y", "i8")])
    records = [cuda.to_device(np.zeros((), kind)[()]) for _ in range(2)]
    memory = cuda.to_device(np.zeros(4, np.float32))
    array = Grid((4,), (4,), np.float32, 0, memory.buffer, memory.address)
    for record in records * 2:
        first[1, 1](record, array)
        ran = machine.launches[-1]
        assert ran.params == struct.pack("<QQqq", record.address, array.address, 4, 4)
    assert len(slow) == 1
    first[1, 1](records[0], memory)
    assert len(slow) == 2 and machine.launches[-1].params[8:] == memory.__gridlane_packed__

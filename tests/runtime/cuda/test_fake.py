"""The fake driver itself, by cuda-bindings: it must notice what a program does wrong."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest
from cuda.bindings import driver

PTX = b"""// by hand
.version 8.0
.target sm_75
.address_size 64
.visible .global .align 8 .u64 here;
.extern .shared .align 16 .b8 dynamic[];
.shared .align 4 .b8 fixed[128];
.visible .entry twice(
    .param .u64 .ptr .global .align 1 twice_0,
    .param .u8 twice_1,
    .param .align 8 .b8 twice_2[12],
    .param .f32 twice_3
)
{
    ret;
}
"""


def call(name, *args):
    code, *values = getattr(driver, name)(*args)
    assert not int(code), (name, code)
    return values[0] if len(values) == 1 else values


def code_of(name, *args):
    return int(getattr(driver, name)(*args)[0])


@pytest.fixture
def bare(machine):
    """A context that is current, by the bindings alone."""
    call("cuInit", 0)
    call("cuCtxSetCurrent", call("cuDevicePrimaryCtxRetain", 0))
    yield machine
    machine.late(False)
    call("cuDevicePrimaryCtxRelease", 0)


def test_nothing_works_before_a_context(machine):
    call("cuInit", 0)
    assert code_of("cuMemAlloc", 16) == 201
    assert machine.log == ["cuInit(0)", "cuMemAlloc(16)"]


def test_a_primary_context_lives_until_its_last_release(machine):
    call("cuInit", 0)
    first = call("cuDevicePrimaryCtxRetain", 0)
    assert int(call("cuDevicePrimaryCtxRetain", 0)) == int(first)
    call("cuDevicePrimaryCtxRelease", 0)
    call("cuCtxSetCurrent", first)
    call("cuDevicePrimaryCtxRelease", 0)
    assert code_of("cuCtxSynchronize") == 709
    assert code_of("cuDevicePrimaryCtxRelease", 0) == 201


def test_memory_is_checked(bare):
    memory, host = call("cuMemAlloc", 64), np.zeros(100, np.uint8)
    inside = driver.CUdeviceptr(int(memory) + 32)
    assert code_of("cuMemcpyHtoD", inside, host.ctypes.data, 33) == 1
    assert code_of("cuMemcpyHtoD", inside, host.ctypes.data, 32) == 0
    assert code_of("cuMemsetD8Async", memory, 1, 65, 0) == 1
    assert code_of("cuMemFree", inside) == 1
    assert bare.leaks() == {"context": 1, "device memory": 1}
    call("cuMemFree", memory)
    assert code_of("cuMemFree", memory) == 1
    assert code_of("cuMemcpyDtoH", host.ctypes.data, memory, 1) == 1


def test_memory_runs_out(machine):
    machine.reset(memory=1000)
    call("cuInit", 0)
    call("cuCtxSetCurrent", call("cuDevicePrimaryCtxRetain", 0))
    memory = call("cuMemAlloc", 600)
    assert code_of("cuMemAlloc", 600) == 2 and call("cuMemGetInfo") == [400, 1000]
    call("cuMemFree", memory)
    call("cuDevicePrimaryCtxRelease", 0)


def pooled(size, stream=0):
    properties = driver.CUmemPoolProps()
    properties.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    pool = call("cuMemPoolCreate", properties)
    return pool, call("cuMemAllocFromPoolAsync", size, pool, stream)


def test_freed_memory_is_not_used_later_in_the_order_of_calls(bare):
    pool, memory = pooled(64)
    bare.late()
    call("cuMemFreeAsync", memory, 0)
    assert code_of("cuMemsetD8Async", memory, 0, 64, 0) == 1
    bare.run()
    call("cuMemPoolDestroy", pool)


def test_nor_by_a_stream_that_does_not_wait_for_the_free(bare):
    _, memory = pooled(64)
    stream = call("cuStreamCreate", 1)  # does not wait for the default stream
    bare.late()
    call("cuMemsetD8Async", memory, 0, 64, stream)
    call("cuMemFreeAsync", memory, 0)
    call("cuStreamSynchronize", 0)
    assert code_of("cuStreamSynchronize", stream) == 700
    assert code_of("cuMemAlloc", 1) == 700  # the fault stays
    call("cuDevicePrimaryCtxReset", 0)


def test_streams_wait_for_events_and_for_the_default_stream(bare):
    seen = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(seen.append)
    address = driver.CUhostFn(ctypes.cast(function, ctypes.c_void_p).value)
    one, two, apart = (call("cuStreamCreate", flags) for flags in (0, 0, 1))
    event = call("cuEventCreate", 0)
    bare.late()
    call("cuLaunchHostFunc", apart, address, 1)
    call("cuEventRecord", event, apart)
    call("cuLaunchHostFunc", one, address, 2)
    call("cuLaunchHostFunc", 0, address, 3)
    call("cuStreamWaitEvent", two, event, 0)
    call("cuLaunchHostFunc", two, address, 4)
    assert code_of("cuEventQuery", event) == code_of("cuStreamQuery", two) == 600
    call("cuStreamSynchronize", two)
    assert sorted(seen) == [1, 2, 3, 4] and seen[-1] == 4 and seen.index(2) < seen.index(3)
    for stream in (one, two, apart):
        call("cuStreamDestroy", stream)
    assert code_of("cuStreamQuery", one) == 400
    call("cuEventDestroy", event)


def test_host_functions_may_not_call_the_driver(bare):
    codes = []
    work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    function = work(lambda _: codes.append(code_of("cuCtxSynchronize")))
    address = driver.CUhostFn(ctypes.cast(function, ctypes.c_void_p).value)
    call("cuLaunchHostFunc", 0, address, 0)
    assert codes == [800]


def test_page_locked_memory_is_read_when_the_copy_runs(bare):
    device, pinned = call("cuMemAlloc", 4), call("cuMemHostAlloc", 4, 0)
    host = np.frombuffer((ctypes.c_ubyte * 4).from_address(pinned), np.uint8)
    plain, back = np.full(4, 1, np.uint8), np.zeros(4, np.uint8)
    bare.late()
    call("cuMemcpyHtoDAsync", device, plain.ctypes.data, 4, 0)
    plain[:] = 9
    call("cuMemcpyDtoH", back.ctypes.data, device, 4)
    assert back.tolist() == [1] * 4  # taken before the call returned
    host[:] = 2
    call("cuMemcpyHtoDAsync", device, pinned, 4, 0)
    host[:] = 3
    call("cuMemcpyDtoH", back.ctypes.data, device, 4)
    assert back.tolist() == [3] * 4
    call("cuMemFree", device)
    call("cuMemFreeHost", pinned)


def test_ptx_is_read(bare):
    assert code_of("cuModuleLoadData", b"\x7fELF and so on\0") == 200
    module = call("cuModuleLoadData", PTX + b"\0")
    function = call("cuModuleGetFunction", module, b"twice")
    assert code_of("cuModuleGetFunction", module, b"twic") == 500
    assert call("cuModuleGetGlobal", module, b"here")[1] == 8
    assert code_of("cuModuleGetGlobal", module, b"there") == 500
    shared = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
    assert call("cuFuncGetAttribute", shared, function) == 128
    block = ctypes.create_string_buffer(bytes(range(32)), 32)

    def launch(size, threads=32):
        length = ctypes.c_size_t(size)
        words = (1, ctypes.addressof(block), 2, ctypes.addressof(length), 0)
        extra = (ctypes.c_void_p * 5)(*words)
        at = ctypes.addressof(extra)
        return code_of("cuLaunchKernel", function, 2, 1, 1, threads, 1, 1, 0, 0, 0, at)

    # u64, u8, 12 bytes aligned to 8 and a float: 8 + 1 (+7) + 12 + 4
    assert (launch(31), launch(33), launch(32, 1025), launch(32, 0)) == (1, 1, 1, 1)
    assert launch(32) == 0
    (ran,) = bare.launches
    assert (ran.name, ran.grid, ran.block) == ("twice", (2, 1, 1), (32, 1, 1))
    assert ran.params == bytes(range(32))
    call("cuModuleUnload", module)
    assert launch(32) == 400


def test_planned_failures(bare):
    bare.fail("cuMemAlloc", 2, nth=2)
    memory = call("cuMemAlloc", 8)
    assert code_of("cuMemAlloc", 8) == 2 and not bare.unfailed()
    call("cuMemFree", memory)


def test_a_capture_takes_the_work_and_refuses_the_rest(bare):
    memory, stream = call("cuMemAlloc", 8), call("cuStreamCreate", 1)
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    call("cuStreamBeginCapture", stream, mode)
    call("cuMemsetD8Async", memory, 7, 8, stream)
    graph = call("cuStreamEndCapture", stream)
    back = np.zeros(8, np.uint8)
    call("cuMemcpyDtoH", back.ctypes.data, memory, 8)
    assert 7 not in back
    ready = call("cuGraphInstantiate", graph, 0)
    call("cuGraphDestroy", graph)
    call("cuGraphLaunch", ready, stream)
    call("cuMemcpyDtoH", back.ctypes.data, memory, 8)
    assert back.tolist() == [7] * 8
    call("cuGraphExecDestroy", ready)
    call("cuStreamBeginCapture", stream, mode)
    assert code_of("cuCtxSynchronize") == 900
    assert code_of("cuMemsetD8Async", memory, 7, 8, stream) == 901
    assert code_of("cuStreamEndCapture", stream) == 901
    call("cuStreamDestroy", stream)
    call("cuMemFree", memory)


def test_an_older_driver_lacks_functions():
    program = (
        "import os; from tests.fake_cuda.library import Fake\n"
        "Fake(os.environ['GRIDLANE_FAKE_CUDA']).reset()\n"
        "from gridlane.launch.devices import get_device\n"
        "from gridlane.core.errors import DeviceError\n"
        "try: get_device('cuda').pool.trim()\n"
        "except DeviceError as error: print(error)\n"
    )
    environment = os.environ | {"FAKE_CUDA_WITHOUT": "cuMemPoolTrimTo"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER (36)" in done.stdout, done.stderr
    assert "cuMemPoolTrimTo" in done.stdout and "update the driver" in done.stdout

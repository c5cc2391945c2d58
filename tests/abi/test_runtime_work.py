"""Streams, events, host functions and launches of the runtime."""

import ctypes
import threading

import numpy as np
import pytest
from tests.abi.runtime import OK, called, error, good
from tests.abi.test_driver import TEXT

from gridlane.abi.state import registered
from gridlane.abi.struct import Struct
from gridlane.cuda import driver as cu
from gridlane.cuda import runtime as rt
from gridlane.frontends.ptx import parse_ptx

E = rt.cudaError_t
HD, DH = rt.cudaMemcpyKind.cudaMemcpyHostToDevice, rt.cudaMemcpyKind.cudaMemcpyDeviceToHost
GONE = E.cudaErrorInvalidResourceHandle

TWICE = """
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 factor = 3;
.visible .const .align 4 .b8 table[64];
.visible .entry scale(.param .u64 x, .param .u32 n) {
    .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p;
    ld.param.u64 %rd1, [x]; ld.param.u32 %r5, [n];
    mov.u32 %r1, %tid.x; mov.u32 %r6, %ctaid.x; mov.u32 %r8, %ntid.x;
    mad.lo.u32 %r1, %r6, %r8, %r1;
    setp.ge.u32 %p, %r1, %r5;
    @%p bra DONE;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    ld.global.u32 %r4, [factor];
    mul.lo.u32 %r3, %r2, %r4;
    st.global.u32 [%rd3], %r3;
DONE:
    ret;
}
"""


@pytest.fixture
def image():
    """A program's image: a kernel and two variables stand at the addresses 16, 32 and 48."""
    number = registered.add_image(lambda device: parse_ptx(TWICE))
    registered.add_kernel(16, number, "scale")
    registered.add_variable(32, 4, number, "factor")
    registered.add_variable(48, 16, number, "table")
    registered.add_kernel(64, number, "no such kernel")
    registered.add_variable(80, 4, number, "no such variable")
    yield number
    registered.remove_image(number)


TRAP = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry stop() { trap; }\n"


def test_a_callback_gets_the_error_of_the_work(cpu):
    """On devices that run kernels on threads of their own, the error is known later."""
    good(rt.cudaFree(None))
    stream, other = good(rt.cudaStreamCreate()), good(rt.cudaStreamCreate())
    seen = []
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    appended = threading.Event()  # before the kernel fails, which later calls return

    @kind
    def note(stream, status, data):
        assert appended.wait(60)
        seen.append((stream, status, data))

    place = ctypes.cast(note, ctypes.c_void_p).value
    module = good(cu.cuModuleLoadData(TRAP.encode() + b"\0"))
    stop = good(cu.cuModuleGetFunction(module, b"stop"))
    good(rt.cudaStreamAddCallback(stream, place, 1, 0))
    good(cu.cuLaunchKernel(stop, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0))
    good(rt.cudaStreamAddCallback(stream, place, 2, 0))
    good(rt.cudaStreamAddCallback(other, place, 3, 0))
    appended.set()
    assert error(rt.cudaStreamSynchronize(stream)) == E.cudaErrorLaunchFailure
    cu.cuCtxSynchronize()
    first, second = int(stream), E.cudaErrorLaunchFailure.value
    assert [each for each in seen if each[2] != 3] == [(first, 0, 1), (first, second, 2)]
    rt.cudaDeviceReset()


def dim3(x=1, y=1, z=1):
    made = Struct("dim3")
    made.x, made.y, made.z = x, y, z
    return made


def pointers(*values):
    """The addresses of parameters, and their array."""
    cells = [ctypes.c_uint64(int(each)) for each in values]
    array = (ctypes.c_uint64 * len(cells))(*map(ctypes.addressof, cells))
    return ctypes.addressof(array), (array, cells)


def launch(function, grid, block, args, shared=0, stream=0):
    return called("cudaLaunchKernel", function, grid, block, args, shared, stream)[0]


def on_device(values):
    address = good(rt.cudaMalloc(values.nbytes))
    good(rt.cudaMemcpy(address, values, values.nbytes, HD))
    return address


def on_host(address, like):
    made = np.zeros_like(like)
    good(rt.cudaMemcpy(made, address, made.nbytes, DH))
    return made


def test_a_node_tells_the_function_that_the_program_gave(device, image):
    x = on_device(np.arange(32, dtype=np.uint32))
    graph, params = good(rt.cudaGraphCreate(0)), rt.cudaKernelNodeParams()
    params.func = 16
    for made, sizes in ((params.gridDim, (1, 1, 1)), (params.blockDim, (32, 1, 1))):
        made.x, made.y, made.z = sizes
    params.kernelParams = (int(x), 32), (ctypes.c_uint64, ctypes.c_uint32)
    node = good(rt.cudaGraphAddKernelNode(graph, None, 0, params))
    found = good(rt.cudaGraphKernelNodeGetParams(node))
    assert int(found.func) == 16
    good(rt.cudaGraphKernelNodeSetParams(node, found))
    assert int(good(rt.cudaGraphKernelNodeGetParams(node)).func) == 16
    stream = good(rt.cudaStreamCreateWithFlags(rt.cudaStreamNonBlocking))
    good(rt.cudaStreamBeginCapture(stream, rt.cudaStreamCaptureMode.cudaStreamCaptureModeRelaxed))
    args, keep = pointers(x, 32)
    assert launch(16, dim3(), dim3(32), args, stream=int(stream)) == 0
    captured = good(rt.cudaStreamEndCapture(stream))
    (node,), _ = good(rt.cudaGraphGetNodes(captured, 1))
    assert int(good(rt.cudaGraphKernelNodeGetParams(node)).func) == 16
    good(rt.cudaGraphLaunch(good(rt.cudaGraphInstantiateWithFlags(captured, 0)), stream))
    good(rt.cudaStreamSynchronize(stream))
    assert (on_host(x, np.zeros(32, np.uint32)) == np.arange(32) * 3).all() and keep


def test_launch_by_the_address_of_a_host_function(device, image):
    values = np.arange(300, dtype=np.uint32)
    x = on_device(values)
    args, keep = pointers(x, 300)
    assert launch(16, dim3(3), dim3(128), args) == 0
    assert (on_host(x, values) == values * 3).all()
    stream = good(rt.cudaStreamCreate())
    assert launch(16, dim3(3), dim3(128), args, stream=int(stream)) == 0
    good(rt.cudaStreamSynchronize(stream))
    assert (on_host(x, values) == values * 9).all()
    del keep


def test_launch_by_a_handle_with_a_configuration(device):
    good(rt.cudaFree(0))
    module = good(cu.cuModuleLoadData(TWICE.encode() + b"\0"))
    scale = good(cu.cuModuleGetFunction(module, b"scale"))
    values = np.arange(10, dtype=np.uint32)
    x = on_device(values)
    args, keep = pointers(x, 10)
    config = Struct("cudaLaunchConfig_t")
    config.gridDim.x = config.gridDim.y = config.gridDim.z = 1
    config.blockDim.x, config.blockDim.y, config.blockDim.z = 32, 1, 1
    assert called("cudaLaunchKernelExC", config, int(scale), args)[0] == 0
    assert (on_host(x, values) == values * 3).all()
    assert called("cudaLaunchKernelExC", None, int(scale), args)[0] == E.cudaErrorInvalidValue
    del keep


def test_a_stream_of_another_context(device, image):
    """Launches do not take it, nor a function of the context that the stream is not of."""
    stream, x = good(rt.cudaStreamCreate()), on_device(np.arange(4, dtype=np.uint32))
    args, keep = pointers(x, 4)
    module = good(cu.cuModuleLoadData(TWICE.encode() + b"\0"))
    scale = good(cu.cuModuleGetFunction(module, b"scale"))
    other = good(cu.cuCtxCreate(None, 0, 0))
    for chosen in (stream, 0):
        made = cu.cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, chosen, args, 0)
        assert made[0] == (0 if chosen else cu.CUresult.CUDA_ERROR_INVALID_HANDLE)
    assert launch(16, dim3(), dim3(), args, stream=int(stream)) == GONE
    good(cu.cuStreamSynchronize(stream))
    good(cu.cuCtxDestroy(other))
    del keep


def test_launches_that_are_none(device, image):
    args, keep = pointers(on_device(np.zeros(4, np.uint32)), 4)
    limits = device.limits
    wrong = E.cudaErrorInvalidConfiguration
    shapes = [
        (dim3(0), dim3()),
        (dim3(), dim3(0)),
        (dim3(), dim3(1, 1, 0)),
        (dim3(), dim3(limits.max_threads + 1)),
        (dim3(), dim3(limits.max_threads, 2)),
        (dim3(), dim3(1, 1, limits.max_block[2] + 1)),
        (dim3(1, limits.max_grid[1] + 1), dim3()),
        (dim3(2**32 - 1, 1, 1), dim3()),
        (dim3(), dim3(2**32 - 1, 2**32 - 1, 2**32 - 1)),
    ]
    for grid, block in shapes:
        assert launch(16, grid, block, args) == wrong
        assert rt.cudaGetLastError() == (wrong,)
    assert launch(16, dim3(), dim3(), 0) == E.cudaErrorInvalidValue
    assert launch(16, dim3(), dim3(), args, shared=1 << 40) == E.cudaErrorInvalidValue
    assert launch(16, dim3(), dim3(), args, stream=0xDEAD0) == GONE
    for function in (0, 12345, 64):
        assert launch(function, dim3(), dim3(), args) == E.cudaErrorInvalidDeviceFunction
    assert rt.cudaGetLastError() == (E.cudaErrorInvalidDeviceFunction,)
    good(rt.cudaDeviceSynchronize())
    del keep


def test_variables_by_the_addresses_of_host_variables(device, image):
    host, back = np.arange(16, dtype=np.uint32), np.zeros(16, np.uint32)
    there, here = host.ctypes.data, back.ctypes.data
    assert called("cudaGetSymbolSize", 48) == (0, (64,))
    assert called("cudaMemcpyToSymbol", 48, there, 64, 0, HD) == (0, ())
    assert called("cudaMemcpyFromSymbol", here, 48, 32, 32, DH) == (0, ())
    assert (back[:8] == host[8:]).all()
    stream = int(good(rt.cudaStreamCreate()))
    five = np.array([5], np.uint32)
    assert called("cudaMemcpyToSymbolAsync", 32, five.ctypes.data, 4, 0, 4, stream) == (0, ())
    assert called("cudaMemcpyFromSymbolAsync", here, 32, 4, 0, 4, stream) == (0, ())
    good(rt.cudaStreamSynchronize(stream))
    assert back[0] == 5
    _, (address,) = called("cudaGetSymbolAddress", 32)
    assert (on_host(address, five) == five).all()
    x = on_device(host)
    args, keep = pointers(x, 16)
    assert launch(16, dim3(), dim3(16), args) == 0
    assert (on_host(x, host) == host * 5).all()
    bad = E.cudaErrorInvalidValue
    assert called("cudaMemcpyToSymbol", 48, there, 65, 0, HD)[0] == bad
    assert called("cudaMemcpyToSymbol", 48, there, 4, 1 << 63, HD)[0] == bad
    assert called("cudaMemcpyToSymbol", 48, there, 4, 0, DH)[0] == E.cudaErrorInvalidMemcpyDirection
    assert called("cudaMemcpyFromSymbol", here, 48, 4, 0, HD)[0] == 21
    for symbol in (0, 16, 80):
        assert called("cudaGetSymbolAddress", symbol)[0] == E.cudaErrorInvalidSymbol
    registered.remove_image(image)
    assert called("cudaGetSymbolAddress", 32)[0] == E.cudaErrorInvalidSymbol
    del keep


def test_each_context_has_its_own_variables(device, image):
    assert called("cudaGetSymbolAddress", 32)[0] == 0
    good(rt.cudaDeviceReset())
    _, (address,) = called("cudaGetSymbolAddress", 32)
    assert on_host(address, np.zeros(1, np.uint32)) == 3


def test_streams(device):
    least, greatest = good(rt.cudaDeviceGetStreamPriorityRange())
    assert greatest < least == 0
    assert good(rt.cudaGetDeviceProperties(0)).streamPrioritiesSupported == 1
    plain = good(rt.cudaStreamCreate())
    free = good(rt.cudaStreamCreateWithFlags(rt.cudaStreamNonBlocking))
    first = good(rt.cudaStreamCreateWithPriority(0, greatest - 9))
    assert [good(rt.cudaStreamGetFlags(each)) for each in (plain, free, first)] == [0, 1, 0]
    assert good(rt.cudaStreamGetPriority(first)) == greatest
    assert good(rt.cudaStreamGetDevice(free)) == 0
    numbers = {good(rt.cudaStreamGetId(each)) for each in (plain, free, first, 0)}
    assert len(numbers) == 4
    assert error(rt.cudaStreamCreateWithFlags(8)) == E.cudaErrorInvalidValue
    good(rt.cudaStreamQuery(plain))
    good(rt.cudaStreamDestroy(plain))
    for call in (rt.cudaStreamDestroy, rt.cudaStreamSynchronize, rt.cudaStreamQuery):
        assert error(call(plain)) == GONE
        assert error(call(0xDEAD0)) == GONE
    assert error(rt.cudaStreamGetFlags(plain)) == GONE
    assert error(rt.cudaStreamDestroy(0)) == GONE
    assert error(rt.cudaMemsetAsync(good(rt.cudaMalloc(4)), 0, 4, plain)) == GONE
    assert error(rt.cudaStreamSynchronize(good(rt.cudaEventCreate()))) == GONE


def test_a_stream_with_work_is_not_ready_and_that_is_no_last_error(device):
    stream, event = good(rt.cudaStreamCreate()), good(rt.cudaEventCreate())
    go_on = threading.Event()
    wait = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: go_on.wait(30) and None)
    good(rt.cudaLaunchHostFunc(stream, wait, 0))
    good(rt.cudaEventRecord(event, stream))
    try:
        assert rt.cudaStreamQuery(stream) == (E.cudaErrorNotReady,)
        assert rt.cudaEventQuery(event) == (E.cudaErrorNotReady,)
        assert rt.cudaGetLastError() == (OK,)
    finally:
        go_on.set()
    good(rt.cudaEventSynchronize(event))
    good(rt.cudaStreamSynchronize(stream))
    good(rt.cudaStreamQuery(stream))
    good(rt.cudaEventQuery(event))


def test_functions_of_the_host_in_all_the_ways_to_name_them(device):
    stream, seen = good(rt.cudaStreamCreate()), []
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: seen.append(data))
    cell = ctypes.c_void_p(ctypes.cast(call, ctypes.c_void_p).value)
    good(rt.cudaLaunchHostFunc(stream, call, 1))
    good(rt.cudaLaunchHostFunc(stream, cell.value, 2))
    good(rt.cudaLaunchHostFunc(stream, rt.cudaHostFn_t(_ptr=ctypes.addressof(cell)), 3))
    back = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(
        lambda *given: seen.append(given)
    )
    good(rt.cudaStreamAddCallback(stream, back, 4, 0))
    good(rt.cudaStreamSynchronize(stream))
    assert seen == [1, 2, 3, (int(stream), 0, 4)]
    assert error(rt.cudaLaunchHostFunc(stream, 0, 0)) == E.cudaErrorInvalidValue
    assert error(rt.cudaStreamAddCallback(stream, back, 0, 1)) == E.cudaErrorInvalidValue


def test_events(device):
    stream, other = good(rt.cudaStreamCreate()), good(rt.cudaStreamCreate())
    first, last = good(rt.cudaEventCreate()), good(rt.cudaEventCreateWithFlags(1))
    x = good(rt.cudaMalloc(64))
    good(rt.cudaEventRecord(first, stream))
    good(rt.cudaMemsetAsync(x, 1, 64, stream))
    good(rt.cudaEventRecordWithFlags(last, stream, 0))
    good(rt.cudaStreamWaitEvent(other, last, 0))
    good(rt.cudaStreamSynchronize(other))
    assert good(rt.cudaEventElapsedTime(first, last)) >= 0
    assert called("cudaEventElapsedTime_v2", int(first), int(last))[0] == 0
    untimed = good(rt.cudaEventCreateWithFlags(rt.cudaEventDisableTiming))
    assert error(rt.cudaEventElapsedTime(first, untimed)) == GONE
    assert error(rt.cudaEventCreateWithFlags(64)) == E.cudaErrorInvalidValue
    assert error(rt.cudaEventRecord(first, first)) == GONE
    assert error(rt.cudaStreamWaitEvent(other, last, 7)) == E.cudaErrorInvalidValue
    good(rt.cudaEventDestroy(first))
    for call in (rt.cudaEventDestroy, rt.cudaEventQuery, rt.cudaEventSynchronize):
        assert error(call(first)) == GONE
    assert error(rt.cudaEventRecord(0, 0)) == GONE
    assert error(rt.cudaEventElapsedTime(first, last)) == GONE


@pytest.mark.parametrize("api, prefix", [(rt, "cuda"), (cu, "cu")], ids=["runtime", "driver"])
def test_attributes_of_streams(device, api, prefix):
    one, two = good(rt.cudaStreamCreate()), good(rt.cudaStreamCreate())
    get, put, copy = (
        getattr(api, f"{prefix}Stream{name}")
        for name in ("GetAttribute", "SetAttribute", "CopyAttributes")
    )
    names = rt.cudaLaunchAttributeID
    bad, no = E.cudaErrorInvalidValue, E.cudaErrorNotSupported
    value = (rt.cudaLaunchAttributeValue if api is rt else cu.CUlaunchAttributeValue)()
    value.priority = -3
    good(put(one, names.cudaLaunchAttributePriority, value))
    assert good(rt.cudaStreamGetPriority(one)) == -3
    value.syncPolicy = 4
    good(put(one, names.cudaLaunchAttributeSynchronizationPolicy, value))
    value.syncPolicy = 77
    assert error(put(one, names.cudaLaunchAttributeSynchronizationPolicy, value)) == bad
    assert good(get(two, names.cudaLaunchAttributeSynchronizationPolicy)).syncPolicy == 1
    good(copy(two, one))
    assert good(get(two, names.cudaLaunchAttributeSynchronizationPolicy)).syncPolicy == 4
    assert good(get(two, names.cudaLaunchAttributePriority)).priority == -3
    window = good(get(one, names.cudaLaunchAttributeAccessPolicyWindow)).accessPolicyWindow
    assert window.num_bytes == 0
    value = type(value)()
    good(put(one, names.cudaLaunchAttributeAccessPolicyWindow, value))
    value.accessPolicyWindow.num_bytes = 64
    assert error(put(one, names.cudaLaunchAttributeAccessPolicyWindow, value)) == bad
    assert error(put(one, names.cudaLaunchAttributeClusterDimension, value)) == bad
    assert error(get(one, names.cudaLaunchAttributeMemSyncDomainMap)) == no
    assert error(put(one, names.cudaLaunchAttributePriority, None)) == bad
    good(rt.cudaStreamDestroy(two))
    assert error(copy(two, one)) == GONE


def test_memory_of_a_stream(device):
    stream = good(rt.cudaStreamCreate())
    x = rt.cudaMallocManaged(64, rt.cudaMemAttachHost)[1] or 0
    good(rt.cudaStreamAttachMemAsync(stream, x, 0, rt.cudaMemAttachSingle))
    assert error(rt.cudaStreamAttachMemAsync(stream, x, 0, 9)) == E.cudaErrorInvalidValue


def test_the_runtime_launches_what_the_driver_loaded(device):
    good(rt.cudaSetDevice(0))
    module = good(cu.cuModuleLoadData(TEXT))
    scale = good(cu.cuModuleGetFunction(module, b"scale"))
    values = np.arange(300, dtype=np.uint32)
    x, stream = on_device(values), good(rt.cudaStreamCreate())
    types = ctypes.c_void_p, ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint32
    args = (x, 3, 5, 300), types
    good(cu.cuLaunchKernel(scale, 3, 1, 1, 128, 1, 1, 0, stream, args, 0))
    good(rt.cudaStreamSynchronize(stream))
    assert (on_host(x, values) == values * 5 + 3).all()


def test_attributes_of_a_programs_own_kernels(device, image):
    found = good(rt.cudaFuncGetAttributes(16))
    assert found.maxThreadsPerBlock == device.limits.max_threads and found.constSizeBytes == 64
    kernel = good(rt.cudaGetKernel(16))
    assert good(rt.cudaFuncGetAttributes(int(kernel))).ptxVersion == 80
    good(rt.cudaKernelSetAttributeForDevice(kernel, 8, 128, 0))
    assert good(rt.cudaFuncGetAttributes(16)).maxDynamicSharedSizeBytes == 128
    assert called("cudaFuncGetName", 16) == (0, (b"scale",))
    assert called("cudaFuncGetParamInfo", 16, 1) == (0, (8, 4))
    assert called("cudaFuncGetParamCount", 16) == (0, (2,))
    assert good(rt.cudaOccupancyMaxActiveBlocksPerMultiprocessor(16, 64, 0)) >= 1
    for address in (64, 99):
        assert rt.cudaFuncGetAttributes(address)[0] == E.cudaErrorInvalidDeviceFunction
        assert rt.cudaGetKernel(address)[0] == E.cudaErrorInvalidDeviceFunction

"""The driver's interface in Python, on each device: documented results and errors."""

import ctypes
import importlib
import os

import numpy as np
import pytest
from tests.abi.kernels import COUNTED, HEAD, SCALE
from tests.waiting import until_blocked

from gridlane.cuda import driver

# With NVIDIA's own bindings the same calls come through libcuda; see test_library.py.
NVIDIA = os.environ.get("GRIDLANE_TEST_BINDINGS") == "nvidia"
cu = importlib.import_module("cuda.bindings.driver" if NVIDIA else "gridlane.cuda.driver")

OK, BAD = cu.CUresult.CUDA_SUCCESS, cu.CUresult.CUDA_ERROR_INVALID_VALUE

TEXT = f"{HEAD}{SCALE}{COUNTED}\0".encode()


def good(result):
    """What a call gives back, if it succeeded."""
    assert result[0] == OK, result
    return result[1] if len(result) == 2 else result[1:] or None


@pytest.fixture
def context(device):
    good(cu.cuInit(0))
    made = good(cu.cuCtxCreate(None, 0, 0))
    yield made
    cu.cuCtxDestroy(made)


def device_array(values):
    data = np.ascontiguousarray(values)
    address = good(cu.cuMemAlloc(data.nbytes))
    good(cu.cuMemcpyHtoD(address, data, data.nbytes))
    return address


def host_array(address, like):
    made = np.empty_like(like)
    good(cu.cuMemcpyDtoH(made, address, made.nbytes))
    return made


def test_nothing_works_before_the_beginning(device):
    assert cu.cuDeviceGet(0) == (cu.CUresult.CUDA_ERROR_NOT_INITIALIZED, None)
    assert cu.cuInit(7)[0] == BAD
    assert cu.cuDriverGetVersion() == (OK, 13000)
    good(cu.cuInit(0))
    assert cu.cuMemAlloc(16)[0] == cu.CUresult.CUDA_ERROR_INVALID_CONTEXT
    assert cu.cuDeviceGet(99)[0] == cu.CUresult.CUDA_ERROR_INVALID_DEVICE
    assert good(cu.cuCtxGetCurrent()) == cu.CUcontext(0)


def test_names_of_errors():
    assert good(cu.cuGetErrorName(700)) == b"CUDA_ERROR_ILLEGAL_ADDRESS"
    assert good(cu.cuGetErrorString(cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY))
    assert cu.cuGetErrorName(12345)[0] == BAD


def test_launch_with_pointers_to_parameters(context):
    values = np.arange(300, dtype=np.uint32)
    x = device_array(values)
    scale = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(TEXT)), b"scale"))
    types = ctypes.c_void_p, ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint32
    good(cu.cuLaunchKernel(scale, 3, 1, 1, 128, 1, 1, 0, 0, ((int(x), 3, 5, 300), types), 0))
    good(cu.cuCtxSynchronize())
    assert (host_array(x, values) == values * 5 + 3).all()


def test_launch_with_packed_parameters(context):
    values = np.arange(64, dtype=np.uint32)
    x = device_array(values)
    scale = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(TEXT)), b"scale"))
    block = np.zeros(1, np.dtype("u8, u1, u1, u1, u1, u4, u4"))
    block[0] = int(x), 9, 0, 0, 0, 2, 64
    size = np.array([block.nbytes], np.uint64)
    extra = np.array([1, block.ctypes.data, 2, size.ctypes.data, 0], np.uint64)
    good(cu.cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, 0, 0, extra.ctypes.data))
    assert (host_array(x, values) == values * 2 + 9).all()
    size[0] = 8
    assert cu.cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, 0, 0, extra.ctypes.data)[0] == BAD


def test_variables_of_a_module_are_shared_by_its_launches(context):
    module = good(cu.cuModuleLoadData(TEXT))
    out = device_array(np.zeros(1, np.uint32))
    counted = good(cu.cuModuleGetFunction(module, b"counted"))
    for expected in (8, 9):
        good(
            cu.cuLaunchKernel(counted, 1, 1, 1, 1, 1, 1, 0, 0, ((int(out),), (ctypes.c_void_p,)), 0)
        )
        assert host_array(out, np.zeros(1, np.uint32)) == expected
    address, size = good(cu.cuModuleGetGlobal(module, b"count"))
    assert size == 4 and host_array(address, np.zeros(1, np.uint32)) == 9
    assert cu.cuModuleGetGlobal(module, b"none")[0] == cu.CUresult.CUDA_ERROR_NOT_FOUND
    assert good(cu.cuModuleGetFunctionCount(module)) == 2
    good(cu.cuModuleUnload(module))
    assert cu.cuModuleUnload(module)[0] == cu.CUresult.CUDA_ERROR_INVALID_HANDLE


@pytest.mark.parametrize(
    "image, error",
    [
        (b"\x7fELF and machine code", "CUDA_ERROR_NO_BINARY_FOR_GPU"),
        (b".version 99.0\n", "CUDA_ERROR_INVALID_PTX"),
        (b"\xff\xfe\x00", "CUDA_ERROR_INVALID_IMAGE"),
    ],
)
def test_images_that_are_no_modules(cpu, image, error):
    good(cu.cuInit(0))
    good(cu.cuCtxCreate(None, 0, 0))
    assert cu.cuModuleLoadData(image)[0].name == error


def test_memory_errors(context):
    x = device_array(np.zeros(100, np.uint8))
    host = np.zeros(200, np.uint8)
    assert cu.cuMemcpyHtoD(x, host, 200)[0] == BAD  # over the end
    assert cu.cuMemcpyHtoD(1 << 59, host, 8)[0] == BAD
    assert cu.cuMemFree(int(x) + 4)[0] == BAD  # an interior address
    good(cu.cuMemFree(x))
    assert cu.cuMemFree(x)[0] == BAD
    assert cu.cuMemAlloc(0)[0] == BAD
    assert cu.cuMemAlloc(1 << 62)[0] == cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY
    good(cu.cuMemFree(0))


def test_interior_addresses(context):
    values = np.arange(100, dtype=np.uint8)
    x = device_array(values)
    part = host_array(int(x) + 40, np.zeros(10, np.uint8))
    assert (part == values[40:50]).all()


@pytest.mark.parametrize("bits, value", [(8, 0xAB), (16, 0xABCD), (32, 0x89ABCDEF)])
def test_fills(context, bits, value):
    dtype = np.dtype(f"u{bits // 8}")
    x = device_array(np.zeros((8, 32), dtype))
    set_row, set_rows = (getattr(cu, f"cuMemset{d}{bits}") for d in ("D", "D2D"))
    good(set_row(x, value, 16))
    good(set_rows(int(x) + 64 * dtype.itemsize, 32 * dtype.itemsize, value, 3, 5))
    expected = np.zeros((8, 32), dtype)
    expected.ravel()[:16] = value
    expected[2:7, :3] = value
    assert (host_array(x, expected) == expected).all()


def test_large_fill_of_a_pattern(context):
    x = good(cu.cuMemAlloc(12 << 20))
    good(cu.cuMemsetD32(x, 0x01020304, 3 << 20))
    assert (host_array(x, np.zeros(3 << 20, np.uint32)) == 0x01020304).all()


@pytest.mark.parametrize("planes", [1, 3])
def test_copies_of_rows(context, planes):
    source = np.arange(planes * 6 * 20, dtype=np.uint8).reshape(planes, 6, 20)
    x, pitch = good(cu.cuMemAllocPitch(16, 6 * planes, 4))
    assert pitch % 256 == 0
    box = cu.CUDA_MEMCPY3D()
    box.srcMemoryType, box.dstMemoryType = (
        cu.CUmemorytype.CU_MEMORYTYPE_HOST,
        cu.CUmemorytype.CU_MEMORYTYPE_DEVICE,
    )
    box.srcHost, box.srcPitch, box.srcHeight = source.ctypes.data, 20, 6
    box.srcXInBytes, box.srcY = 3, 1
    box.dstDevice, box.dstPitch, box.dstHeight = x, pitch, 6
    box.WidthInBytes, box.Height, box.Depth = 10, 5, planes
    good(cu.cuMemcpy3D(box))
    back = np.zeros((planes, 5, 10), np.uint8)
    for plane in range(planes):
        box = cu.CUDA_MEMCPY2D()
        box.srcMemoryType, box.dstMemoryType = 2, 1
        box.srcDevice, box.srcPitch, box.srcY = x, pitch, 6 * plane
        box.dstHost, box.dstPitch = back[plane].ctypes.data, 10
        box.WidthInBytes, box.Height = 10, 5
        good(cu.cuMemcpy2D(box))
    assert (back == source[:, 1:6, 3:13]).all()


def test_rows_up_to_the_last_byte_of_an_allocation(context):
    """The last row ends with its width, not with its pitch; one byte more is refused."""
    rows, x = np.arange(40, dtype=np.uint8).reshape(4, 10), good(cu.cuMemAlloc(3 * 16 + 10))
    box = cu.CUDA_MEMCPY2D()
    box.srcMemoryType, box.dstMemoryType = 1, 2
    box.srcHost, box.srcPitch = rows.ctypes.data, 10
    box.dstDevice, box.dstPitch = x, 16
    box.WidthInBytes, box.Height = 10, 4
    good(cu.cuMemcpy2D(box))
    back = np.zeros(3 * 16 + 10, np.uint8)
    good(cu.cuMemcpyDtoH(back, x, back.nbytes))
    assert all((back[16 * n : 16 * n + 10] == row).all() for n, row in enumerate(rows))
    box.dstXInBytes = 1
    assert cu.cuMemcpy2D(box)[0] == cu.CUresult.CUDA_ERROR_INVALID_VALUE


def test_streams_and_events(context):
    stream = good(cu.cuStreamCreate(cu.CUstream_flags.CU_STREAM_NON_BLOCKING))
    begin, end = good(cu.cuEventCreate(0)), good(cu.cuEventCreate(0))
    values = np.arange(1000, dtype=np.uint32)
    x = good(cu.cuMemAlloc(values.nbytes))
    good(cu.cuEventRecord(begin, stream))
    good(cu.cuMemcpyHtoDAsync(x, values, values.nbytes, stream))
    good(cu.cuEventRecord(end, stream))
    good(cu.cuStreamWaitEvent(0, end, 0))
    good(cu.cuEventSynchronize(end))
    assert good(cu.cuEventElapsedTime(begin, end)) >= 0
    good(cu.cuStreamSynchronize(stream))
    assert cu.cuStreamQuery(stream) == (OK,)
    assert (host_array(x, values) == values).all()
    assert good(cu.cuStreamGetFlags(stream)) == 1
    good(cu.cuStreamDestroy(stream))
    assert cu.cuStreamSynchronize(stream)[0] == cu.CUresult.CUDA_ERROR_INVALID_HANDLE
    good(cu.cuEventDestroy(begin))
    assert cu.cuEventQuery(begin)[0] == cu.CUresult.CUDA_ERROR_INVALID_HANDLE
    untimed = good(cu.cuEventCreate(2))
    good(cu.cuEventRecord(untimed, 0))
    assert cu.cuEventElapsedTime(untimed, end)[0] == cu.CUresult.CUDA_ERROR_INVALID_HANDLE


def test_host_functions_run_in_order(context):
    seen = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: seen.append(data))
    stream = good(cu.cuStreamCreate(0))
    for n in range(1, 4):
        good(cu.cuLaunchHostFunc(stream, ctypes.cast(function, ctypes.c_void_p).value, n))
    good(cu.cuStreamSynchronize(stream))
    assert seen == [1, 2, 3]


@pytest.mark.skipif(NVIDIA, reason="the driver polls where it waits, so it is not seen to block")
def test_a_copy_reads_what_a_host_function_in_front_of_it_writes(begun):
    values = np.ones(64, np.uint32)

    def write(_):
        until_blocked()  # in cuStreamSynchronize
        values[:] = 7

    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(write)
    x, stream = good(cu.cuMemAlloc(256)), good(cu.cuStreamCreate(1))
    good(cu.cuLaunchHostFunc(stream, ctypes.cast(function, ctypes.c_void_p).value, 0))
    good(cu.cuMemcpyHtoDAsync(x, values, 256, stream))
    good(cu.cuStreamSynchronize(stream))
    assert host_array(x, values).tolist() == [7] * 64


def test_a_callback_that_waits_leaves_the_context_as_it_was(begun):
    """CUDA forbids its calls in host functions; the refusal is the call's alone."""
    seen = []

    def wait(data):
        good(cu.cuCtxSetCurrent(begun))
        seen.append(int(cu.cuCtxSynchronize()[0]))

    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(wait)
    stream = good(cu.cuStreamCreate(0))
    good(cu.cuLaunchHostFunc(stream, ctypes.cast(function, ctypes.c_void_p).value, 0))
    good(cu.cuStreamSynchronize(stream))
    assert len(seen) == 1 and seen[0] in (0, 800)
    good(cu.cuMemFree(good(cu.cuMemAlloc(16))))


def test_contexts_are_a_stack_and_own_what_is_made_in_them(device):
    good(cu.cuInit(0))
    first, second = good(cu.cuCtxCreate(None, 0, 0)), good(cu.cuCtxCreate(None, 0, 0))
    assert good(cu.cuCtxGetCurrent()) == second
    x = good(cu.cuMemAlloc(64))
    stream = good(cu.cuStreamCreate(0))
    good(cu.cuCtxDestroy(second))
    assert good(cu.cuCtxGetCurrent()) == first
    assert cu.cuMemFree(x)[0] == BAD
    assert cu.cuStreamSynchronize(stream)[0] == cu.CUresult.CUDA_ERROR_INVALID_HANDLE
    assert good(cu.cuCtxPopCurrent()) == first
    assert cu.cuCtxPopCurrent()[0] == cu.CUresult.CUDA_ERROR_INVALID_CONTEXT
    good(cu.cuCtxSetCurrent(first))
    good(cu.cuCtxDestroy(first))
    assert cu.cuCtxSetCurrent(first)[0] == cu.CUresult.CUDA_ERROR_INVALID_CONTEXT


def test_primary_contexts_are_counted(device):
    good(cu.cuInit(0))
    assert good(cu.cuDevicePrimaryCtxGetState(0)) == (0, 0)
    first = good(cu.cuDevicePrimaryCtxRetain(0))
    assert good(cu.cuDevicePrimaryCtxRetain(0)) == first
    good(cu.cuDevicePrimaryCtxRelease(0))
    assert good(cu.cuDevicePrimaryCtxGetState(0)) == (0, 1)
    good(cu.cuDevicePrimaryCtxRelease(0))
    assert good(cu.cuDevicePrimaryCtxGetState(0)) == (0, 0)
    assert cu.cuDevicePrimaryCtxRelease(0)[0] == cu.CUresult.CUDA_ERROR_INVALID_CONTEXT


def test_every_attribute_has_a_value(device):
    good(cu.cuInit(0))
    kind = driver.CUdevice_attribute  # those of CUDA 13.0
    for each in kind:
        if each is not kind.CU_DEVICE_ATTRIBUTE_MAX:
            good(cu.cuDeviceGetAttribute(each, 0))
    assert good(cu.cuDeviceGetAttribute(kind.CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0)) == 32
    assert cu.cuDeviceGetAttribute(99999, 0)[0] == BAD


@pytest.mark.skipif(NVIDIA, reason="the words are gridlane's own")
def test_a_function_that_is_refused_says_so(context):
    assert cu.cuDestroyExternalMemory(0)[0] == cu.CUresult.CUDA_ERROR_NOT_SUPPORTED
    assert "graphics" in cu.cuDestroyExternalMemory.__doc__


@pytest.mark.skipif(NVIDIA, reason="the words are gridlane's own")
def test_wrong_arguments_are_errors_of_python(context):
    with pytest.raises(TypeError, match=r"cuMemAlloc takes \(bytesize\)"):
        cu.cuMemAlloc()
    with pytest.raises(TypeError):
        cu.cuMemcpyHtoD(0, object(), 8)
    with pytest.raises(OverflowError):
        cu.cuMemAlloc(-1)
    assert good(cu.cuMemAlloc(bytesize=16))

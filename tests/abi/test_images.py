"""Images that modules are loaded from: by address, by pointers to them, in files; and the logs."""

import ctypes
import mmap
import struct
import sys

import numpy as np
import pytest
from tests.abi.calling import cu, device_array, good, host_array, in_python, name
from tests.abi.fatbins import MACHINE, built, image, needs_nvcc, region, text

J = cu.CUjit_option
PAGE = mmap.PAGESIZE

SAXPY = """
template <typename T> __global__ void saxpy(T a, const T *x, T *y, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
template __global__ void saxpy(float, const float *, float *, size_t);
__constant__ unsigned primes[4] = {2, 3, 5, 7};
extern "C" __global__ void prime(unsigned *x) { *x = primes[*x]; }
"""


def answered(module, kernel=b"answer", start=0):
    """What a kernel stores."""
    function = good(cu.cuModuleGetFunction(module, kernel))
    out = device_array(np.full(1, start, np.uint32))
    good(cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, ((out,), (ctypes.c_void_p,)), 0))
    return int(host_array(out, np.zeros(1, np.uint32))[0])


def wrapper(version, data, others=0):
    """A ``__fatBinC_Wrapper_t``."""
    return struct.pack("<IIQQ", 0x466243B1, version, data, others)


def at(data):
    """The address of bytes."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value


def test_a_fatbin_by_its_address(primary):
    whole = region(image(text("90", 90), 90), image(text(value=80), 80), image(text("70", 70), 70))
    expected = 80 if good(cu.cuDeviceComputeCapability(0)) < (9, 0) else 90
    for load in (cu.cuModuleLoadData, cu.cuModuleLoadFatBinary):
        assert answered(good(load(whole))) == expected


@pytest.mark.parametrize("version", [1, 2])
def test_the_wrapper_of_a_fatbin(primary, version):
    whole = region(image(text()))
    held = wrapper(version, at(whole))
    assert answered(good(cu.cuModuleLoadFatBinary(held))) == 7


def test_a_wrapper_with_parts(primary):
    empty, part = region(), region(image(text()))
    parts = np.array([at(part), 0], np.uint64)
    held = wrapper(2, at(empty), parts.ctypes.data)
    assert answered(good(cu.cuModuleLoadData(held))) == 7
    held = wrapper(2, at(empty), 0)
    assert name(cu.cuModuleLoadData(held)) == "CUDA_ERROR_NO_BINARY_FOR_GPU"
    assert name(cu.cuModuleLoadData(wrapper(3, at(part)))) == "CUDA_ERROR_INVALID_IMAGE"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the process its memory")
def test_nothing_is_read_behind_the_memory(primary):
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, *4 * (ctypes.c_int,)
    libc.munmap.argtypes = ctypes.c_void_p, ctypes.c_size_t
    whole = region(image(text()))
    for data, error in (
        (whole, None),
        (whole[:-8], "CUDA_ERROR_INVALID_IMAGE"),
        (struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 1 << 30), "CUDA_ERROR_INVALID_IMAGE"),
        (wrapper(1, 0x1000), "CUDA_ERROR_INVALID_IMAGE"),
        (wrapper(2, at(whole), 0x1000), "CUDA_ERROR_INVALID_IMAGE"),
    ):
        start = libc.mmap(None, 3 * PAGE, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        end = start + 2 * PAGE
        assert not libc.munmap(end, PAGE)
        ctypes.memmove(end - len(data), data, len(data))
        result = cu.cuModuleLoadData(end - len(data))
        assert not libc.munmap(start, 2 * PAGE)
        assert name(result) == (error or "CUDA_SUCCESS")


def test_files(primary, tmp_path):
    path = tmp_path / "code"
    for data in (text(), text() + b"\0", region(image(text()))):
        path.write_bytes(data)
        assert answered(good(cu.cuModuleLoad(str(path).encode()))) == 7
    assert name(cu.cuModuleLoad(b"/no/such/file")) == "CUDA_ERROR_FILE_NOT_FOUND"
    assert name(cu.cuModuleLoad(b"")) == "CUDA_ERROR_INVALID_VALUE"


def test_an_address_of_nothing(primary):
    for load in (cu.cuModuleLoadData, cu.cuModuleLoadFatBinary):
        assert name(load(0)) == "CUDA_ERROR_INVALID_VALUE"
        assert name(load(16)) == "CUDA_ERROR_INVALID_IMAGE"


@needs_nvcc
@pytest.mark.parametrize("options", [(), ("-rdc=true",), ("-G",), ("--compress-mode=speed",)])
def test_what_nvcc_builds_computes(primary, device, options):
    if "-G" in options and device.name != "cpu":
        pytest.skip("code for debuggers is slow to compile for other devices")
    pytest.importorskip("zstandard", reason="zstandard is not installed")
    pytest.importorskip("lz4", reason="lz4 is not installed")
    module = good(cu.cuModuleLoadData(built(SAXPY, "-arch=sm_80", *options)))
    assert answered(module, b"prime", 2) == 5
    x, y = (np.linspace(first, 3, 1000, dtype=np.float32) for first in (-1, 5))
    dx, dy = device_array(x), device_array(y)
    saxpy = good(cu.cuModuleGetFunction(module, b"_Z5saxpyIfEvT_PKS0_PS0_m"))
    types = ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
    values = 2.5, dx, dy, 1000
    good(cu.cuLaunchKernel(saxpy, 8, 1, 1, 128, 1, 1, 0, 0, (values, types), 0))
    # One rounding less than numpy's two.
    np.testing.assert_allclose(host_array(dy, y), np.float32(2.5) * x + y, rtol=1e-6, atol=1e-6)
    address, size = good(cu.cuModuleGetGlobal(module, b"primes"))
    assert size == 16 and host_array(address, np.zeros(4, np.uint32)).tolist() == [2, 3, 5, 7]


def logs(room=400):
    """Options with logs: the arrays, and the buffers."""
    info, errors = bytearray(b"x" * room), bytearray(b"x" * room)
    numbers = np.array(
        [
            *(J.CU_JIT_INFO_LOG_BUFFER, J.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES),
            *(J.CU_JIT_ERROR_LOG_BUFFER, J.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES),
            *(J.CU_JIT_OPTIMIZATION_LEVEL, J.CU_JIT_LOG_VERBOSE),
        ],
        np.int32,
    )
    places = [np.frombuffer(each, np.uint8).ctypes.data for each in (info, errors)]
    values = np.array([places[0], room, places[1], room, 3, 1], np.uint64)
    return numbers, values, info, errors


@in_python
def test_logs_have_the_errors_of_images(primary):
    numbers, values, info, errors = logs()
    bad = b".version 8.0\n.target sm_80\n.nonsense\n\0"
    result = cu.cuModuleLoadDataEx(bad, 6, numbers, values)
    assert name(result) == "CUDA_ERROR_INVALID_PTX"
    told = bytes(errors).split(b"\0")[0].decode()
    assert ".nonsense" in told and "line 3" in told
    assert values[3] == len(told) and values[1] == 0 and info[0] == 0
    numbers, values, info, errors = logs(10)
    cu.cuModuleLoadDataEx(bad, 6, numbers, values)
    assert bytes(errors) == told.encode()[:9] + b"\0" and values[3] == 9
    numbers, values, info, errors = logs()
    machine = region(image(b"\x7fELF", 90, MACHINE))
    assert name(cu.cuModuleLoadDataEx(machine, 6, numbers, values)).endswith("NO_BINARY_FOR_GPU")
    assert b"sm_90" in errors and b"-gencode arch=compute_80,code=compute_80" in errors


@in_python
def test_logs_of_images_without_errors(primary):
    numbers, values, info, errors = logs()
    good(cu.cuModuleLoadDataEx(text(), 6, numbers, values))
    assert values[3] == 0 and errors[0] == 0
    numbers, values, info, errors = logs()
    newer = text().replace(b".version 8.0", b".version 19.0") + b"\0"
    good(cu.cuModuleLoadDataEx(newer, 6, numbers, values))
    assert b"19.0" in info.split(b"\0")[0]


@pytest.mark.parametrize(
    "option, value, error",
    [
        (99, 0, "INVALID_VALUE"),
        (J.CU_JIT_NUM_OPTIONS, 0, "INVALID_VALUE"),
        (J.CU_JIT_OPTIMIZATION_LEVEL, 5, "INVALID_VALUE"),
        (J.CU_JIT_TARGET, 81, "INVALID_VALUE"),
        (J.CU_JIT_CACHE_MODE, 3, "INVALID_VALUE"),
        (J.CU_JIT_GLOBAL_SYMBOL_COUNT, 1, "NOT_SUPPORTED"),
        (J.CU_JIT_GLOBAL_SYMBOL_COUNT, 0, None),
        (J.CU_JIT_TARGET, cu.CUjit_target.CU_TARGET_COMPUTE_90, None),
        (J.CU_JIT_MAX_REGISTERS, 32, None),
    ],
)
def test_options_are_checked(cpu, option, value, error):
    good(cu.cuInit(0))
    good(cu.cuCtxCreate(None, 0, 0))
    result = cu.cuModuleLoadDataEx(text() + b"\0", 1, [option], [value])
    assert name(result) == (f"CUDA_ERROR_{error}" if error else "CUDA_SUCCESS")


def test_options_without_their_values(cpu):
    good(cu.cuInit(0))
    good(cu.cuCtxCreate(None, 0, 0))
    assert name(cu.cuModuleLoadDataEx(text(), 1, [J.CU_JIT_LTO], 0)) == "CUDA_ERROR_INVALID_VALUE"

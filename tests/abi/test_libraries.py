"""Libraries and kernels of both interfaces, on each device."""

import ctypes
import gc
import weakref

import numpy as np
import pytest
from tests.abi.calling import cu, device_array, good, host_array, in_python, name
from tests.abi.fatbins import image, region
from tests.abi.kernels import HEAD, TEXT

from gridlane.abi.state import contexts
from gridlane.cuda import runtime as rt

NONE = (None, None, 0, None, None, 0)
A = cu.CUfunction_attribute


@pytest.fixture
def library(primary):
    made = good(cu.cuLibraryLoadData(TEXT, *NONE))
    yield made
    cu.cuLibraryUnload(made)


def launch(function, *values):
    out = device_array(np.zeros(1, np.uint32))
    good(cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, ((out,), (ctypes.c_void_p,)), 0))
    return int(host_array(out, np.zeros(1, np.uint32))[0])


def test_a_kernel_is_launched_as_a_function_is(library):
    values = np.arange(300, dtype=np.uint32)
    x = device_array(values)
    scale = good(cu.cuLibraryGetKernel(library, b"scale"))
    types = ctypes.c_void_p, ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint32
    good(cu.cuLaunchKernel(scale, 3, 1, 1, 128, 1, 1, 0, 0, ((x, 3, 5, 300), types), 0))
    assert (host_array(x, values) == values * 5 + 3).all()
    function = good(cu.cuKernelGetFunction(scale))
    assert isinstance(function, cu.CUfunction)
    good(cu.cuLaunchKernel(function, 3, 1, 1, 128, 1, 1, 0, 0, ((x, 0, 2, 300), types), 0))
    assert (host_array(x, values) == (values * 5 + 3) * 2).all()


def test_names_and_numbers(library):
    kernels = good(cu.cuLibraryEnumerateKernels(3, library))
    assert [good(cu.cuKernelGetName(each)) for each in kernels] == [b"scale", b"counted", b"shared"]
    assert len(good(cu.cuLibraryEnumerateKernels(2, library))) == 2
    assert good(cu.cuLibraryGetKernelCount(library)) == 3
    assert good(cu.cuLibraryGetKernel(library, b"counted")) == kernels[1]
    assert good(cu.cuKernelGetLibrary(kernels[1])) == library
    places = [good(cu.cuKernelGetParamInfo(kernels[0], n)) for n in range(4)]
    assert places == [(0, 8), (8, 1), (12, 4), (16, 4)]
    assert name(cu.cuKernelGetParamInfo(kernels[0], 4)) == "CUDA_ERROR_INVALID_VALUE"
    assert good(cu.cuKernelGetParamCount(kernels[0])) == 4
    assert name(cu.cuKernelGetParamCount(library)) == "CUDA_ERROR_INVALID_VALUE"
    assert name(cu.cuLibraryGetKernel(library, b"none")) == "CUDA_ERROR_NOT_FOUND"


def test_a_library_is_loaded_into_each_context(library, primary):
    kernel = good(cu.cuLibraryGetKernel(library, b"counted"))
    assert [launch(kernel) for _ in range(2)] == [8, 9]
    first = good(cu.cuKernelGetFunction(kernel))
    module = good(cu.cuLibraryGetModule(library))
    assert good(cu.cuFuncGetModule(first)) == module
    other = good(cu.cuCtxCreate(None, 0, 0))
    assert launch(kernel) == 8  # its variables are another context's
    second = good(cu.cuKernelGetFunction(kernel))
    assert second != first and good(cu.cuLibraryGetModule(library)) != module
    address, size = good(cu.cuLibraryGetGlobal(library, b"count"))
    assert size == 4 and host_array(address, np.zeros(1, np.uint32)) == 8
    good(cu.cuCtxDestroy(other))
    good(cu.cuCtxSetCurrent(primary))
    assert launch(kernel) == 10
    assert name(cu.cuFuncGetAttribute(0, second)) == "CUDA_ERROR_INVALID_HANDLE"


def test_a_library_needs_no_context(device):
    assert name(cu.cuLibraryLoadData(TEXT, *NONE)) == "CUDA_ERROR_NOT_INITIALIZED"
    good(cu.cuInit(0))
    library = good(cu.cuLibraryLoadData(TEXT, *NONE))
    kernel = good(cu.cuLibraryGetKernel(library, b"shared"))
    assert good(cu.cuKernelGetAttribute(A.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, 0)) >= 256
    assert good(cu.cuKernelGetParamInfo(kernel, 0)) == (0, 8)
    assert name(cu.cuKernelGetFunction(kernel)) == "CUDA_ERROR_INVALID_CONTEXT"
    assert name(cu.cuLibraryGetModule(library)) == "CUDA_ERROR_INVALID_CONTEXT"
    assert name(cu.cuKernelGetAttribute(0, kernel, 99)) == "CUDA_ERROR_INVALID_DEVICE"
    good(cu.cuLibraryUnload(library))


def test_the_end_of_a_library(library):
    kernel = good(cu.cuLibraryGetKernel(library, b"counted"))
    function, module = good(cu.cuKernelGetFunction(kernel)), good(cu.cuLibraryGetModule(library))
    good(cu.cuLibraryUnload(library))
    assert name(cu.cuLibraryUnload(library)) == "CUDA_ERROR_INVALID_VALUE"
    assert name(cu.cuLibraryGetKernelCount(library)) == "CUDA_ERROR_INVALID_HANDLE"
    assert name(cu.cuKernelGetFunction(kernel)) == "CUDA_ERROR_INVALID_HANDLE"
    assert name(cu.cuFuncLoad(function)) == "CUDA_ERROR_INVALID_HANDLE"
    assert name(cu.cuModuleGetFunctionCount(module)) == "CUDA_ERROR_INVALID_HANDLE"


def test_attributes_of_kernels_and_of_their_functions(library, device):
    most = A.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    kernel = good(cu.cuLibraryGetKernel(library, b"shared"))
    function = good(cu.cuKernelGetFunction(kernel))
    good(cu.cuKernelSetAttribute(most, 1024, kernel, 0))
    assert good(cu.cuFuncGetAttribute(most, function)) == 1024
    good(cu.cuFuncSetAttribute(function, most, 512))
    good(cu.cuKernelSetAttribute(most, 2048, kernel, 0))
    assert good(cu.cuFuncGetAttribute(most, function)) == 512  # the function's own comes first
    assert good(cu.cuKernelGetAttribute(most, kernel, 0)) == 2048
    good(cu.cuKernelSetCacheConfig(kernel, cu.CUfunc_cache.CU_FUNC_CACHE_PREFER_L1, 0))
    assert name(cu.cuKernelSetCacheConfig(kernel, 9, 0)) == "CUDA_ERROR_INVALID_VALUE"


def test_managed_variables(primary, device):
    text = HEAD.encode() + b".visible .global .attribute(.managed) .align 4 .u32 both = 5;\n\0"
    result = cu.cuLibraryLoadData(text, *NONE)
    if not device.host_visible:
        assert name(result) == "CUDA_ERROR_NOT_SUPPORTED"
        return
    address, size = good(cu.cuLibraryGetManaged(good(result), b"both"))
    assert size == 4 and ctypes.c_uint32.from_address(int(address)).value == 5
    assert name(cu.cuLibraryGetManaged(result[1], b"none")) == "CUDA_ERROR_NOT_FOUND"


def test_plain_variables_are_not_managed(library):
    assert name(cu.cuLibraryGetManaged(library, b"count")) == "CUDA_ERROR_NOT_FOUND"
    assert name(cu.cuLibraryGetGlobal(library, b"none")) == "CUDA_ERROR_NOT_FOUND"
    assert name(cu.cuLibraryGetUnifiedFunction(library, b"scale")) == "CUDA_ERROR_NOT_FOUND"


def test_what_a_library_is_loaded_from(primary, tmp_path):
    whole = region(image(TEXT))
    path = tmp_path / "library"
    path.write_bytes(whole)
    for result in (
        cu.cuLibraryLoadData(whole, *NONE),
        cu.cuLibraryLoadFromFile(str(path).encode(), *NONE),
    ):
        assert launch(good(cu.cuLibraryGetKernel(good(result), b"counted"))) == 8
    missing = cu.cuLibraryLoadFromFile(b"/no/such/file", *NONE)
    assert name(missing) == "CUDA_ERROR_FILE_NOT_FOUND"
    log = bytearray(100)
    options = [cu.CUjit_option.CU_JIT_ERROR_LOG_BUFFER]
    options += [cu.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    bad = HEAD.encode() + b".nonsense\n\0"
    result = cu.cuLibraryLoadData(bad, options, [log, 100], 2, None, None, 0)
    assert name(result) == "CUDA_ERROR_INVALID_PTX" and b".nonsense" in log


@in_python
@pytest.mark.parametrize("option, error", [(0, "NOT_SUPPORTED"), (1, None), (2, "INVALID_VALUE")])
def test_options_of_libraries(primary, option, error):
    options = [cu.CUlibraryOption(option)]
    result = cu.cuLibraryLoadData(TEXT, None, None, 0, options, [0], 1)
    assert name(result) == (f"CUDA_ERROR_{error}" if error else "CUDA_SUCCESS")


@in_python
def test_the_runtime_has_the_same_libraries(library):
    made = good(rt.cudaLibraryLoadData(TEXT, *NONE))
    assert good(rt.cudaLibraryGetKernelCount(made)) == 3
    kernels = good(rt.cudaLibraryEnumerateKernels(3, made))
    counted = good(rt.cudaLibraryGetKernel(made, b"counted"))
    assert counted == kernels[1] and good(rt.cudaGetKernel(counted)) == counted
    assert launch(int(counted)) == 8
    address, size = good(rt.cudaLibraryGetGlobal(made, b"count"))
    assert size == 4 and host_array(address, np.zeros(1, np.uint32)) == 8
    good(rt.cudaKernelSetAttributeForDevice(kernels[2], 8, 4096, 0))
    assert good(cu.cuKernelGetAttribute(8, int(kernels[2]), 0)) == 4096
    wrong = rt.cudaKernelSetAttributeForDevice(1234, 8, 0, 0)
    assert name(wrong) == "cudaErrorInvalidDeviceFunction"
    assert name(rt.cudaLibraryGetKernel(made, b"none")) == "cudaErrorSymbolNotFound"
    good(rt.cudaLibraryUnload(made))
    assert name(rt.cudaLibraryGetKernelCount(made)) == "cudaErrorInvalidResourceHandle"


@in_python
def test_contexts_that_ended_leave_nothing(library, primary):
    """A library that outlives them keeps neither them nor their modules."""
    kernel = good(cu.cuLibraryGetKernel(library, b"counted"))
    ended = []
    for _ in range(3):
        made = good(cu.cuCtxCreate(None, 0, 0))
        assert launch(kernel) == 8
        ended.append(weakref.ref(contexts.current()))
        assert cu.cuCtxDestroy(made) == (0,)
    gc.collect()
    assert [each() for each in ended[:2]] == [None, None]

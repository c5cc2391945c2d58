"""Null pointers where a function of C has to write: each row of the table."""

import ctypes

import numpy as np
import pytest
from tests.abi.runtime import good

from gridlane.abi import raw
from gridlane.abi.calls.registry import calls
from gridlane.abi.failure import Failure
from gridlane.abi.library import entry
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import ctype, functions, layout
from gridlane.cuda import driver as cu

UNHARMED = {"cuGetProcAddress", "cuGetProcAddress_v2"}
"""Functions that C has itself."""


def words_of(row, given):
    """The words of a call: addresses of zeros where it writes if "given", and for structures."""
    zeros = ctypes.create_string_buffer(1 << 13)
    at = ctypes.addressof(zeros)
    for each in row.parameters:
        by_value = ctype(each.type).kind == "struct"
        yield at if by_value or (given and "*" in each.type) else 0
    yield at  # of the result, where that is a structure
    del zeros


@pytest.mark.parametrize("api", ["driver", "runtime"])
def test_null_results(api):
    """What a function has to write needs a place: nothing is made, and nothing is silent."""
    good(cu.cuInit(0))
    good(cu.cuCtxCreate(None, 0, 0))
    tried = 0
    for row in functions(api).values():
        needed = set(row.given) - set(row.optional)
        if not needed or row.result or row.name in UNHARMED or row.name not in calls(api):
            continue
        number = entry.resolve(f"{api}:{row.name}")(*words_of(row, False))
        assert number not in (0, 999), (row.name, number)
        tried += 1
    assert tried > 100


def test_results_that_are_optional():
    good(cu.cuInit(0))
    good(cu.cuCtxCreate(None, 0, 0))
    made = int(good(cu.cuMemAlloc(256)))
    size = ctypes.c_size_t()
    call = entry.resolve("driver:cuMemGetAddressRange_v2")
    assert call(0, ctypes.addressof(size), made + 8) == 0 and size.value == 256
    assert call(0, 0, made) == 0
    good(cu.cuMemFree(made))
    own = int(good(cu.cuCtxGetCurrent()))
    assert entry.resolve("driver:cuCtxPopCurrent_v2")(0) == 0
    assert int(good(cu.cuCtxGetCurrent())) != own
    good(cu.cuCtxPushCurrent(own))


def test_addresses_of_the_host_that_no_memory_has():
    """A box of rows begins behind a null pointer; attributes of a launch are nowhere."""
    good(cu.cuInit(0))
    good(cu.cuCtxCreate(None, 0, 0))
    made = good(cu.cuMemAlloc(4096))
    box = cu.CUDA_MEMCPY3D()
    box.srcMemoryType = cu.CUmemorytype.CU_MEMORYTYPE_HOST
    box.dstMemoryType = cu.CUmemorytype.CU_MEMORYTYPE_DEVICE
    box.dstDevice, box.srcY, box.srcPitch = made, 2, 256
    box.WidthInBytes, box.Height, box.Depth = 16, 2, 1
    bad = cu.CUresult.CUDA_ERROR_INVALID_VALUE
    assert cu.cuMemcpy3D(box)[0] == bad
    box.WidthInBytes = 0
    assert cu.cuMemcpy3D(box)[0] == 0
    config = ctypes.create_string_buffer(layout("CUlaunchConfig").size)
    struct = Struct("CUlaunchConfig", ctypes.addressof(config))
    struct.gridDimX = struct.gridDimY = struct.gridDimZ = 1
    struct.blockDimX = struct.blockDimY = struct.blockDimZ = 1
    struct.numAttrs = 2
    count = ctypes.c_int()
    call = entry.resolve("driver:cuOccupancyMaxActiveClusters")
    text = b".version 8.0\n.target sm_80\n.visible .entry k() { ret; }\0"
    kernel = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(text)), b"k"))
    assert call(ctypes.addressof(count), int(kernel), ctypes.addressof(config)) == bad
    good(cu.cuMemFree(made))


@pytest.mark.parametrize("address", [1, 8, 0xFFF])
def test_memory_that_is_never_mapped(address):
    for read in (raw.text, lambda at: raw.words(at, 1), lambda at: raw.numbers(at, 1)):
        with pytest.raises(Failure, match="there is no memory at"):
            read(address)
    with pytest.raises(Failure, match="there is no memory at"):
        raw.view(address, 4)


def test_copies_over_the_end_of_a_modules_variables():
    good(cu.cuInit(0))
    good(cu.cuCtxCreate(None, 0, 0))
    text = b".version 8.0\n.target sm_80\n.visible .global .u32 g[2];\n"
    text += b".visible .entry k() { ret; }\0"
    place, size = good(cu.cuModuleGetGlobal(good(cu.cuModuleLoadData(text)), b"g"))
    assert size == 8
    data, bad = np.ones(1 << 16, np.uint8), cu.CUresult.CUDA_ERROR_INVALID_VALUE
    assert cu.cuMemcpyHtoD(place, data, data.nbytes)[0] == bad
    assert cu.cuMemcpyDtoH(data, place, data.nbytes)[0] == bad
    assert cu.cuMemcpy(int(place), data.ctypes.data, data.nbytes)[0] == bad
    assert cu.cuMemsetD8(place, 1, data.nbytes)[0] == bad
    good(cu.cuMemcpyHtoD(int(place) + 4, data, 4))


def test_pinned_memory_by_the_address_that_kernels_use(context):
    made = good(cu.cuMemHostAlloc(64, cu.CU_MEMHOSTALLOC_DEVICEMAP))
    result = cu.cuMemHostGetDevicePointer(made, 0)
    if result[0] != 0:
        return  # the device does not use it
    data = np.zeros(64, np.uint8)
    good(cu.cuMemsetD8(result[1], 7, 64))
    good(cu.cuMemcpyDtoH(data, result[1], 64))
    assert (data == 7).all()
    assert cu.cuMemsetD8(result[1], 7, 65)[0] == cu.CUresult.CUDA_ERROR_INVALID_VALUE
    good(cu.cuMemFreeHost(made))

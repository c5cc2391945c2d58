"""Functions, their attributes and occupancy, and launches with attributes, on each device."""

import ctypes

import numpy as np
import pytest
from tests.abi.calling import NVIDIA, cu, device_array, good, host_array, name
from tests.abi.kernels import HEAD, TEXT

from gridlane.abi.calls.registry import calls
from gridlane.abi.failure import Failure
from gridlane.abi.struct import Struct
from gridlane.cuda import runtime as rt

BAD, LARGE = "CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"
MOST = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
L = cu.CUlaunchAttributeID


@pytest.fixture
def module(primary):
    return good(cu.cuModuleLoadData(TEXT))


def function(module, kernel):
    return good(cu.cuModuleGetFunction(module, kernel))


def read(handle, attribute):
    number = getattr(cu.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{attribute}")
    return good(cu.cuFuncGetAttribute(number, handle))


def attribute(which):
    return good(
        cu.cuDeviceGetAttribute(getattr(cu.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{which}"), 0)
    )


def summed(handle, threads, dynamic, config=None):
    """What the kernel ``shared`` stores, or the error of its launch."""
    out = device_array(np.zeros(1, np.uint32))
    params = (out,), (ctypes.c_void_p,)
    if config is None:
        result = cu.cuLaunchKernel(handle, 1, 1, 1, threads, 1, 1, dynamic, 0, params, 0)
    else:
        result = cu.cuLaunchKernelEx(config, handle, params, 0)
    return name(result) if result[0] else int(host_array(out, np.zeros(1, np.uint32))[0])


# --- functions ---


def test_what_functions_are(module):
    scale = function(module, b"scale")
    assert good(cu.cuFuncGetName(scale)) == b"scale"
    assert good(cu.cuFuncGetModule(scale)) == module
    assert [good(cu.cuFuncGetParamInfo(scale, n)) for n in (0, 1, 2, 3)] == [
        (0, 8),
        (8, 1),
        (12, 4),
        (16, 4),
    ]
    assert name(cu.cuFuncGetParamInfo(scale, 4)) == BAD
    assert good(cu.cuFuncGetParamCount(scale)) == 4
    assert name(cu.cuFuncGetParamCount(module)) == BAD
    handles = good(cu.cuModuleEnumerateFunctions(3, module))
    assert [good(cu.cuFuncGetName(each)) for each in handles] == [b"scale", b"counted", b"shared"]
    assert name(cu.cuFuncGetName(1234)) == BAD
    lazy = cu.CUmoduleLoadingMode.CU_MODULE_LAZY_LOADING
    assert good(cu.cuModuleGetLoadingMode()) == lazy


def test_functions_are_compiled_when_they_are_needed(module):
    states = cu.CUfunctionLoadingState
    shared = function(module, b"shared")
    assert good(cu.cuFuncIsLoaded(shared)) == states.CU_FUNCTION_LOADING_STATE_UNLOADED
    good(cu.cuFuncLoad(shared))
    assert good(cu.cuFuncIsLoaded(shared)) == states.CU_FUNCTION_LOADING_STATE_LOADED
    assert summed(shared, 32, 128) == 496
    bad = good(cu.cuModuleLoadData(HEAD.encode() + b".visible .entry bad() { wrong; ret; }\0"))
    assert name(cu.cuFuncLoad(function(bad, b"bad"))) == "CUDA_ERROR_INVALID_PTX"


def test_attributes_of_the_code(module, device):
    shared, scale = function(module, b"shared"), function(module, b"scale")
    assert read(shared, "SHARED_SIZE_BYTES") >= 256 > read(scale, "SHARED_SIZE_BYTES")
    assert read(shared, "MAX_THREADS_PER_BLOCK") == 96
    assert read(scale, "MAX_THREADS_PER_BLOCK") == device.limits.max_threads
    assert read(shared, "CONST_SIZE_BYTES") == 24
    assert read(shared, "LOCAL_SIZE_BYTES") >= 40 > read(scale, "LOCAL_SIZE_BYTES")
    assert read(scale, "PTX_VERSION") == 80
    major, minor = good(cu.cuDeviceComputeCapability(0))
    assert read(scale, "BINARY_VERSION") == 10 * major + minor
    assert 0 < read(scale, "NUM_REGS") <= 255
    assert read(scale, "PREFERRED_SHARED_MEMORY_CARVEOUT") == -1
    assert read(scale, "REQUIRED_CLUSTER_WIDTH") == read(scale, "CLUSTER_SIZE_MUST_BE_SET") == 0
    for number in (16, 99):
        assert name(cu.cuFuncGetAttribute(number, scale)) == BAD
    assert name(cu.cuFuncGetAttribute(0, 1234)) == "CUDA_ERROR_INVALID_HANDLE"


@pytest.mark.parametrize(
    "attribute, value, error",
    [
        ("PREFERRED_SHARED_MEMORY_CARVEOUT", 50, None),
        ("PREFERRED_SHARED_MEMORY_CARVEOUT", 101, BAD),
        ("PREFERRED_SHARED_MEMORY_CARVEOUT", -2, BAD),
        ("NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1, None),
        ("CLUSTER_SCHEDULING_POLICY_PREFERENCE", 3, BAD),
        ("NUM_REGS", 8, BAD),
        ("MAX_THREADS_PER_BLOCK", 8, BAD),
        ("MAX_DYNAMIC_SHARED_SIZE_BYTES", -1, BAD),
    ],
)
def test_attributes_that_are_set(module, attribute, value, error):
    scale = function(module, b"scale")
    number = getattr(cu.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{attribute}")
    result = cu.cuFuncSetAttribute(scale, number, value)
    assert name(result) == (error or "CUDA_SUCCESS")
    if error is None:
        assert read(scale, attribute) == value


def test_dynamic_shared_memory_is_asked_for(module, device):
    shared = function(module, b"shared")
    static = read(shared, "SHARED_SIZE_BYTES")
    plain, most = attribute("MAX_SHARED_MEMORY_PER_BLOCK"), device.limits.max_dynamic_shared
    assert good(cu.cuFuncGetAttribute(MOST, shared)) == plain - static
    assert summed(shared, 64, plain - static) == 2016
    assert summed(shared, 64, plain - static + 1) == BAD
    good(cu.cuFuncSetAttribute(shared, MOST, most - static))
    assert name(cu.cuFuncSetAttribute(shared, MOST, most - static + 1)) == BAD
    assert summed(shared, 64, most - static) == 2016
    good(cu.cuFuncSetAttribute(shared, MOST, 256))
    assert summed(shared, 64, 256) == 2016
    assert summed(shared, 64, 260) == BAD


def test_a_block_is_no_larger_than_the_kernel_says(module):
    shared = function(module, b"shared")
    assert summed(shared, 96, 384) == 4560
    assert summed(shared, 97, 388) == BAD


def test_preferences(module):
    scale = function(module, b"scale")
    good(cu.cuFuncSetCacheConfig(scale, cu.CUfunc_cache.CU_FUNC_CACHE_PREFER_SHARED))
    good(cu.cuFuncSetSharedMemConfig(scale, 2))
    assert name(cu.cuFuncSetCacheConfig(scale, 4)) == BAD
    assert name(cu.cuFuncSetSharedMemConfig(scale, 3)) == BAD


def test_the_runtime_tells_the_same(module):
    shared = int(function(module, b"shared"))
    found = good(rt.cudaFuncGetAttributes(shared))
    assert found.maxThreadsPerBlock == 96 and found.constSizeBytes == 24
    assert found.sharedSizeBytes == read(shared, "SHARED_SIZE_BYTES")
    assert found.numRegs > 0 and found.ptxVersion == 80 and found.preferredShmemCarveout == -1
    good(rt.cudaFuncSetAttribute(shared, 8, 640))
    assert good(rt.cudaFuncGetAttributes(shared)).maxDynamicSharedSizeBytes == 640
    good(rt.cudaFuncSetCacheConfig(shared, rt.cudaFuncCache.cudaFuncCachePreferL1))
    good(rt.cudaFuncSetSharedMemConfig(shared, 1))
    for result in (
        rt.cudaFuncGetAttributes(1234),
        rt.cudaFuncSetAttribute(1234, 8, 0),
        rt.cudaFuncSetCacheConfig(1234, 0),
        rt.cudaOccupancyMaxActiveBlocksPerMultiprocessor(1234, 32, 0),
    ):
        assert name(result) == "cudaErrorInvalidDeviceFunction"


# --- occupancy ---


def test_active_blocks(module, device):
    shared = function(module, b"shared")
    count = cu.cuOccupancyMaxActiveBlocksPerMultiprocessor
    assert good(count(shared, 64, 1024)) >= 1
    assert good(count(shared, 97, 0)) == 0  # no such block
    assert good(count(shared, 64, device.limits.max_dynamic_shared)) == 0
    assert name(count(shared, 0, 0)) == BAD
    flags = cu.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    assert flags(shared, 64, 0, 1) == count(shared, 64, 0)
    assert name(flags(shared, 64, 0, 2)) == BAD
    runtime = rt.cudaOccupancyMaxActiveBlocksPerMultiprocessor(int(shared), 64, 0)
    assert good(runtime) == good(count(shared, 64, 0))


def test_potential_block_size(module, device):
    shared = function(module, b"shared")
    sizes = cu.cuOccupancyMaxPotentialBlockSize
    blocks, threads = good(sizes(shared, None, 0, 0))
    active = cu.cuOccupancyMaxActiveBlocksPerMultiprocessor
    held = {each: good(active(shared, each, 0)) for each in (32, 64, 96)}
    assert threads == max(held, key=lambda each: (each * held[each], each))
    assert blocks == held[threads] * attribute("MULTIPROCESSOR_COUNT")
    assert good(sizes(shared, None, 0, 48))[1] == 48
    assert name(sizes(shared, None, 1 << 30, 0)) == BAD
    assert name(sizes(shared, None, 0, -1)) == BAD


def test_potential_block_size_with_a_function_of_the_program(module, device):
    shared = function(module, b"shared")
    each = device.limits.max_dynamic_shared // 80  # so that 64 threads fit, and not 96
    kind = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)
    pointer = kind(lambda threads: threads * each)
    address = ctypes.cast(pointer, ctypes.c_void_p).value
    callbacks = [address, cu.CUoccupancyB2DSize(init_value=address)]
    if not NVIDIA:
        callbacks += [pointer, lambda threads: threads * each]
    for callback in callbacks:
        assert good(cu.cuOccupancyMaxPotentialBlockSize(shared, callback, 0, 0))[1] == 64
    flags = cu.cuOccupancyMaxPotentialBlockSizeWithFlags
    assert good(flags(shared, address, 0, 0, 0))[1] == 64
    assert name(flags(shared, address, 0, 0, 8)) == BAD
    del pointer


def test_available_shared_memory(module):
    shared = function(module, b"shared")
    available = cu.cuOccupancyAvailableDynamicSMemPerBlock
    held = good(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(shared, 64, 0))
    size = good(available(shared, 1, 64))
    assert size == good(cu.cuFuncGetAttribute(MOST, shared))
    assert good(available(shared, held, 64)) <= size
    for count in (0, held + 1):
        assert name(available(shared, count, 64)) == BAD
    assert good(rt.cudaOccupancyAvailableDynamicSMemPerBlock(int(shared), 1, 64)) == size


def config(*attributes, threads=32, dynamic=128, grid=1):
    made = cu.CUlaunchConfig()
    made.gridDimX, made.gridDimY, made.gridDimZ = grid, 1, 1
    made.blockDimX, made.blockDimY, made.blockDimZ = threads, 1, 1
    made.sharedMemBytes, made.hStream = dynamic, 0
    made.attrs, made.numAttrs = list(attributes), len(attributes)
    return made


def chosen(which, **members):
    made = cu.CUlaunchAttribute()
    made.id = which
    for member, value in members.items():
        target = made.value
        *path, last = member.split("__")
        for each in path:
            target = getattr(target, each)
        setattr(target, last, value)
    return made


def cluster(*size):
    members = {f"clusterDim__{axis}": count for axis, count in zip("xyz", size)}
    return chosen(L.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, **members)


def test_clusters(module):
    shared = function(module, b"shared")
    one, two, many = (config(cluster(n, 1, 1)) for n in (1, 2, 16))
    has = attribute("CLUSTER_LAUNCH")
    most = good(cu.cuOccupancyMaxPotentialClusterSize(shared, config()))
    assert most == (8 if has else 1)
    held = good(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(shared, 32, 128))
    count = held * attribute("MULTIPROCESSOR_COUNT")
    assert good(cu.cuOccupancyMaxActiveClusters(shared, one)) == count
    if has:
        assert good(cu.cuOccupancyMaxActiveClusters(shared, two)) > 0
    for wrong in (config(), many, *([] if has else [two])):
        result = cu.cuOccupancyMaxActiveClusters(shared, wrong)
        assert name(result) == "CUDA_ERROR_INVALID_CLUSTER_SIZE"
    assert summed(shared, 0, 0, one) == 496
    # A device with clusters has none of two blocks in a grid of one.
    refused = "CUDA_ERROR_INVALID_CLUSTER_SIZE" if has else "CUDA_ERROR_NOT_SUPPORTED"
    assert summed(shared, 0, 0, two) == summed(shared, 0, 0, many) == refused
    assert summed(shared, 0, 0, config(cluster(2, 0, 1))) == BAD
    attributes = cu.CUfunction_attribute
    for axis, size in (("WIDTH", 2), ("HEIGHT", 1), ("DEPTH", 1)):
        number = getattr(attributes, f"CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_{axis}")
        good(cu.cuFuncSetAttribute(shared, number, size))
        partial = refused if axis == "DEPTH" else "CUDA_ERROR_INVALID_CLUSTER_SIZE"
        assert summed(shared, 0, 0, config()) == partial


# --- attributes of launches ---


@pytest.mark.parametrize(
    "attributes, result",
    [
        ([], 496),
        ([chosen(L.CU_LAUNCH_ATTRIBUTE_IGNORE)], 496),
        ([chosen(L.CU_LAUNCH_ATTRIBUTE_PRIORITY, priority=-3), cluster(1, 1, 1)], 496),
        ([chosen(L.CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW)], 496),
        ([chosen(L.CU_LAUNCH_ATTRIBUTE_COOPERATIVE, cooperative=1)], 496),
        ([chosen(L.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, memSyncDomain=1)], 496),
        ([chosen(L.CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)], 496),
        (
            [
                chosen(
                    L.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                    programmaticStreamSerializationAllowed=1,
                )
            ],
            496,
        ),
        ([chosen(L.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, syncPolicy=1)], BAD),
        ([chosen(L.CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION)], BAD),
        (
            [chosen(L.CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, sharedMemCarveout=101)],
            BAD,
        ),
        ([chosen(15)], BAD),
        (
            [
                chosen(
                    L.CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
                    deviceUpdatableKernelNode__deviceUpdatable=1,
                )
            ],
            "CUDA_ERROR_NOT_SUPPORTED",
        ),
    ],
)
def test_attributes_of_launches(module, attributes, result):
    assert summed(function(module, b"shared"), 0, 0, config(*attributes)) == result


@pytest.mark.parametrize("which", ["programmaticEvent", "launchCompletionEvent"])
def test_events_of_launches(module, which):
    number = {
        "programmaticEvent": L.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
        "launchCompletionEvent": L.CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
    }[which]
    shared = function(module, b"shared")
    event, timed = good(cu.cuEventCreate(2)), good(cu.cuEventCreate(0))
    made = chosen(number, **{f"{which}__event": event})
    assert summed(shared, 0, 0, config(made)) == 496
    good(cu.cuEventSynchronize(event))
    assert cu.cuEventQuery(event) == (0,)
    made = chosen(number, **{f"{which}__event": timed})
    assert summed(shared, 0, 0, config(made)) == BAD


def test_cooperative_launches(module, device):
    counted = function(module, b"counted")
    out = device_array(np.zeros(1, np.uint32))
    params = (out,), (ctypes.c_void_p,)
    together = cu.cuLaunchCooperativeKernel
    good(together(counted, 1, 1, 1, 1, 1, 1, 0, 0, params))
    assert host_array(out, np.zeros(1, np.uint32)) == 8
    several = name(together(counted, 1 << 20, 1, 1, 1, 1, 1, 0, 0, params))
    assert several == (LARGE if device.name == "cuda" else "CUDA_ERROR_NOT_SUPPORTED")
    assert attribute("COOPERATIVE_LAUNCH") == 1


def runtime(called, *values):
    """The number of the error of a function of the runtime that Python has no name for."""
    try:
        calls("runtime")[called](*values)
    except Failure as failure:
        return failure.number
    return 0


def test_launches_of_the_runtime(module, device):
    library = good(cu.cuLibraryLoadData(TEXT, None, None, 0, None, None, 0))
    counted = int(good(cu.cuLibraryGetKernel(library, b"counted")))
    out = device_array(np.zeros(1, np.uint32))
    cell = ctypes.c_uint64(int(out))
    pointers = np.array([ctypes.addressof(cell)], np.uint64)
    one, none = Struct("dim3"), Struct("dim3")
    one.x = one.y = one.z = 1
    at = pointers.ctypes.data
    assert runtime("cudaLaunchKernel", counted, one, one, at, 0, 0) == 0
    assert runtime("cudaLaunchCooperativeKernel", counted, one, one, at, 0, 0) == 0
    made = Struct("cudaLaunchConfig_t")
    made.gridDim = made.blockDim = one
    assert runtime("cudaLaunchKernelExC", made, counted, at) == 0
    assert host_array(out, np.zeros(1, np.uint32)) == 10
    assert runtime("cudaLaunchKernel", counted, none, one, at, 0, 0) == 9
    assert runtime("cudaLaunchKernel", 1234, one, one, at, 0, 0) == 98

"""Memory that streams allocate and free: documented results and errors, on each device."""

import threading

import numpy as np
import pytest
from tests.abi.calling import BAD, NO_HANDLE, REFUSED, downloaded, good, host_function

from gridlane.abi.state import streams
from gridlane.cuda import driver as cu
from gridlane.cuda import runtime as rt

KIND = cu.CUmemPool_attribute
USED, RESERVED = KIND.CU_MEMPOOL_ATTR_USED_MEM_CURRENT, KIND.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
THRESHOLD = KIND.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD


def made_pool(**more):
    props = cu.CUmemPoolProps()
    props.allocType = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    props.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    for name, value in more.items():
        setattr(props, name, value)
    return good(cu.cuMemPoolCreate(props))


def figures(pool):
    return [int(good(cu.cuMemPoolGetAttribute(pool, n))) for n in range(5, 9)]


@pytest.fixture
def pool(context):
    found = made_pool()
    good(cu.cuMemPoolSetAttribute(found, THRESHOLD, cu.cuuint64_t(1 << 40)))
    return found


def test_figures(pool):
    first = good(cu.cuMemAllocFromPoolAsync(1 << 16, pool, 0))
    second = good(cu.cuMemAllocFromPoolAsync(1 << 18, pool, 0))
    assert figures(pool) == [5 << 16] * 4
    good(cu.cuMemFreeAsync(first, 0))
    assert figures(pool) == [5 << 16, 5 << 16, 4 << 16, 5 << 16]
    good(cu.cuMemPoolSetAttribute(pool, KIND.CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0))
    good(cu.cuMemPoolTrimTo(pool, 5 << 16))
    assert figures(pool) == [5 << 16, 5 << 16, 4 << 16, 4 << 16]
    good(cu.cuStreamSynchronize(0))
    good(cu.cuMemPoolTrimTo(pool, 0))
    good(cu.cuMemPoolSetAttribute(pool, KIND.CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0))
    assert figures(pool) == [4 << 16] * 4
    good(cu.cuMemFree(second))
    good(cu.cuMemPoolTrimTo(pool, 0))
    assert figures(pool)[::2] == [0, 0]
    for number, value in ((5, 0), (7, 0), (6, 1), (8, 1), (9, 0), (0, 0), (1 << 31, 0)):
        assert cu.cuMemPoolSetAttribute(pool, number, value)[0] == BAD
    assert cu.cuMemPoolGetAttribute(pool, 99)[0] == BAD


def test_a_wait_releases_what_is_over_the_threshold(context):
    pool = made_pool()
    stream = good(cu.cuStreamCreate(1))
    for wait in (
        lambda: cu.cuStreamSynchronize(stream),
        cu.cuCtxSynchronize,
        lambda: cu.cuEventSynchronize(event),
    ):
        event = good(cu.cuEventCreate(0))
        good(cu.cuMemFreeAsync(good(cu.cuMemAllocFromPoolAsync(4096, pool, stream)), stream))
        good(cu.cuEventRecord(event, stream))
        assert figures(pool)[0] == 4096
        good(wait())
        good(cu.cuStreamSynchronize(stream))
        assert figures(pool)[0] == 0


@pytest.mark.parametrize("default", [True, False])
def test_a_stream_uses_what_it_freed(pool, default):
    stream = 0 if default else good(cu.cuStreamCreate(1))
    seen = set()
    for n in range(200):
        size = 900 + n % 3 * 20
        x = good(cu.cuMemAllocFromPoolAsync(size, pool, stream))
        good(cu.cuMemsetD8Async(x, n, size, stream))
        seen.add(int(x))
        good(cu.cuMemFreeAsync(x, stream))
    assert len(seen) == 1 and figures(pool)[1] == 1024


def test_another_stream_uses_it_after_the_work(pool):
    first, second = good(cu.cuStreamCreate(1)), good(cu.cuStreamCreate(1))
    go = threading.Event()
    kept, wait = host_function(go.wait)
    x = good(cu.cuMemAllocFromPoolAsync(4096, pool, first))
    good(cu.cuLaunchHostFunc(first, wait, 0))
    good(cu.cuMemsetD8Async(x, 1, 4096, first))
    good(cu.cuMemFreeAsync(x, first))
    dependencies = KIND.CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES
    good(cu.cuMemPoolSetAttribute(pool, dependencies, 0))
    y = good(cu.cuMemAllocFromPoolAsync(4096, pool, second))
    assert int(y) != int(x)
    good(cu.cuMemPoolSetAttribute(pool, dependencies, 1))
    z = good(cu.cuMemAllocFromPoolAsync(4096, pool, second))
    assert int(z) == int(x)
    good(cu.cuMemsetD8Async(z, 2, 4096, second))
    go.set()
    good(cu.cuStreamSynchronize(second))
    assert (downloaded(z, np.zeros(4096, np.uint8)) == 2).all()
    good(cu.cuMemFreeAsync(y, second))
    good(cu.cuStreamSynchronize(second))
    good(cu.cuMemPoolSetAttribute(pool, dependencies, 0))
    again = good(cu.cuMemAllocFromPoolAsync(4096, pool, first))
    assert int(again) == int(y)
    assert kept


def test_a_free_in_another_stream(pool):
    """The stream that allocated it uses it again after the work of the one that freed it."""
    first, second = good(cu.cuStreamCreate(1)), good(cu.cuStreamCreate(1))
    go = threading.Event()
    kept, wait = host_function(go.wait)
    opportunistic = KIND.CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC
    dependencies = KIND.CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES
    good(cu.cuMemPoolSetAttribute(pool, dependencies, np.int32(0)))
    x = good(cu.cuMemAllocFromPoolAsync(4096, pool, first))
    good(cu.cuLaunchHostFunc(second, wait, 0))
    good(cu.cuMemFreeAsync(x, second))
    y = good(cu.cuMemAllocFromPoolAsync(4096, pool, first))
    good(cu.cuMemPoolTrimTo(pool, 0))  # work may still use it
    assert int(y) != int(x) and figures(pool)[0] == 8192
    go.set()
    good(cu.cuMemPoolSetAttribute(pool, opportunistic, 0))
    z = good(cu.cuMemAllocFromPoolAsync(4096, pool, first))
    assert int(z) != int(x) and figures(pool)[0] == 12288
    good(cu.cuStreamSynchronize(second))
    good(cu.cuMemPoolTrimTo(pool, 0))
    assert figures(pool)[0] == 8192 and kept
    assert good(cu.cuMemPoolGetAttribute(pool, opportunistic)) == 0


def test_a_destroyed_pool_ends_with_its_last_allocation(context):
    pool = made_pool()
    values = np.arange(512, dtype=np.uint32)
    x = good(cu.cuMemAllocFromPoolAsync(values.nbytes, pool, 0))
    good(cu.cuDeviceSetMemPool(0, pool))
    assert good(cu.cuDeviceGetMemPool(0)) == pool
    good(cu.cuMemPoolDestroy(pool))
    assert good(cu.cuDeviceGetMemPool(0)) == good(cu.cuDeviceGetDefaultMemPool(0))
    good(cu.cuMemcpyHtoD(x, values, values.nbytes))
    assert (downloaded(x, values) == values).all()
    for call in (cu.cuMemPoolDestroy, lambda pool: cu.cuMemAllocFromPoolAsync(8, pool, 0)):
        assert call(pool)[0] == BAD
    good(cu.cuMemFreeAsync(x, 0))
    assert cu.cuMemFreeAsync(x, 0)[0] == BAD
    assert cu.cuMemPoolDestroy(good(cu.cuDeviceGetDefaultMemPool(0)))[0] == BAD


def test_a_capture_allocates_nothing(pool):
    stream = good(cu.cuStreamCreate(1))
    x = good(cu.cuMemAllocFromPoolAsync(64, pool, stream))
    native = streams.stream(int(stream)).native
    native.begin_capture()
    assert cu.cuMemAllocFromPoolAsync(64, pool, stream)[0] == REFUSED
    assert cu.cuMemFreeAsync(x, stream)[0] == REFUSED
    native.end_capture()
    good(cu.cuMemFreeAsync(x, stream))
    assert figures(pool)[2] == 0


def test_what_a_pool_may_hold(context):
    pool = made_pool(maxSize=1 << 16)
    x = good(cu.cuMemAllocFromPoolAsync(1 << 15, pool, 0))
    assert cu.cuMemAllocFromPoolAsync(1 << 16, pool, 0)[0].name == "CUDA_ERROR_OUT_OF_MEMORY"
    good(cu.cuMemFreeAsync(x, 0))
    good(cu.cuMemAllocFromPoolAsync(1 << 16, pool, 0))  # what is free goes first
    assert cu.cuMemAllocAsync(1 << 62, 0)[0].name == "CUDA_ERROR_OUT_OF_MEMORY"


def test_memory_of_other_kinds(pool):
    stream = good(cu.cuStreamCreate(1))
    x = good(cu.cuMemAlloc(4096))
    good(cu.cuMemsetD8Async(x, 7, 4096, stream))
    good(cu.cuMemFreeAsync(x, stream))
    good(cu.cuStreamSynchronize(stream))
    assert cu.cuMemFree(x)[0] == BAD
    assert cu.cuMemcpyDtoH(np.zeros(8, np.uint8), x, 8)[0] == BAD
    y = good(cu.cuMemAllocFromPoolAsync(4096, pool, stream))
    assert cu.cuMemFreeAsync(int(y) + 8, stream)[0] == BAD
    good(cu.cuMemFree(y))
    assert cu.cuMemFree(y)[0] == BAD and figures(pool)[2] == 0
    good(cu.cuMemFreeAsync(0, stream))
    host = good(cu.cuMemAllocHost(64))
    assert cu.cuMemFreeAsync(host, stream)[0] == BAD


@pytest.mark.parametrize("wrong", [0, 1 << 63, (1 << 64) - 1])
def test_wrong_handles(context, wrong):
    stream = good(cu.cuStreamCreate(0))
    for call in (
        lambda: cu.cuMemPoolTrimTo(wrong, 0),
        lambda: cu.cuMemPoolGetAttribute(wrong, USED),
        lambda: cu.cuDeviceSetMemPool(0, wrong),
        lambda: cu.cuMemAllocFromPoolAsync(64, stream, 0),
        lambda: cu.cuMemAllocAsync(0, 0),
        lambda: cu.cuMemFreeAsync(wrong or 5, 0),
    ):
        assert call()[0] == BAD
    assert cu.cuMemAllocAsync(64, wrong or 7)[0] == NO_HANDLE
    assert cu.cuDeviceGetMemPool(9)[0].name == "CUDA_ERROR_INVALID_DEVICE"
    assert cu.cuMemPoolCreate(None)[0] == BAD


def test_places_of_pools(context):
    place = cu.CUmemLocation()
    kind, where = cu.CUmemAllocationType, cu.CUmemLocationType
    pinned = kind.CU_MEM_ALLOCATION_TYPE_PINNED
    place.type = where.CU_MEM_LOCATION_TYPE_DEVICE
    first = good(cu.cuMemGetDefaultMemPool(place, pinned))
    assert first == good(cu.cuDeviceGetDefaultMemPool(0)) == good(cu.cuMemGetMemPool(place, pinned))
    pool = made_pool()
    good(cu.cuMemSetMemPool(place, pinned, pool))
    assert good(cu.cuMemGetMemPool(place, pinned)) == pool
    x = good(cu.cuMemAllocAsync(64, 0))
    assert figures(pool)[2] and good(cu.cuMemPoolGetAccess(pool, place)) == 3
    good(cu.cuMemFreeAsync(x, 0))
    access = cu.CUmemAccessDesc()
    access.location, access.flags = place, cu.CUmemAccess_flags(3)
    good(cu.cuMemPoolSetAccess(pool, [access], 1))
    access.flags = cu.CUmemAccess_flags(0)
    assert cu.cuMemPoolSetAccess(pool, [access], 1)[0] == BAD
    assert cu.cuMemPoolSetAccess(pool, None, 1)[0] == BAD
    place.type = where.CU_MEM_LOCATION_TYPE_HOST
    assert cu.cuMemGetMemPool(place, pinned)[0] == REFUSED
    place.type = where.CU_MEM_LOCATION_TYPE_DEVICE
    assert cu.cuMemGetMemPool(place, kind.CU_MEM_ALLOCATION_TYPE_MANAGED)[0] == REFUSED
    place.id = 7
    assert cu.cuMemGetMemPool(place, pinned)[0] == BAD
    assert cu.cuMemPoolExportPointer(0)[0] == REFUSED


def test_the_runtime_has_the_same_pools(context):
    pool = good(rt.cudaDeviceGetDefaultMemPool(0))
    assert int(pool) == int(good(cu.cuDeviceGetDefaultMemPool(0)))
    x = good(rt.cudaMallocAsync(100, 0))
    used = rt.cudaMemPoolAttr.cudaMemPoolAttrUsedMemCurrent
    assert int(good(rt.cudaMemPoolGetAttribute(pool, used))) == 256
    good(rt.cudaFreeAsync(x, 0))
    assert int(good(rt.cudaMemPoolGetAttribute(pool, used))) == 0
    assert good(rt.cudaMallocAsync(0, 0)) == 0
    props = rt.cudaMemPoolProps()
    props.allocType = rt.cudaMemAllocationType.cudaMemAllocationTypePinned
    props.location.type = rt.cudaMemLocationType.cudaMemLocationTypeDevice
    good(rt.cudaMemPoolDestroy(good(rt.cudaMemPoolCreate(props))))


def test_two_contexts_share_the_pools_of_a_device(context):
    second = good(cu.cuCtxCreate(None, 0, 0))
    pool = good(cu.cuDeviceGetDefaultMemPool(0))
    x = good(cu.cuMemAllocAsync(4096, 0))
    assert figures(pool)[2] == 4096
    good(cu.cuCtxDestroy(second))
    assert figures(pool)[2] == 0 and cu.cuMemFreeAsync(x, 0)[0] == BAD


def test_threads(context):
    pool = good(cu.cuDeviceGetDefaultMemPool(0))
    bad = []

    def work():
        cu.cuCtxSetCurrent(context)
        stream = good(cu.cuStreamCreate(1))
        mine = set()
        for n in range(200):
            x = int(good(cu.cuMemAllocAsync(512 * (1 + n % 4), stream)))
            with lock:
                bad.extend({x} & others)
                others.add(x)
            mine.add(x)
            if n % 3:
                y = mine.pop()
                with lock:
                    others.remove(y)
                good(cu.cuMemFreeAsync(y, stream))
        for x in mine:
            with lock:
                others.remove(x)
            good(cu.cuMemFreeAsync(x, stream))

    lock, others = threading.Lock(), set()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not bad and figures(pool)[2] == 0


def test_many_allocations_stay_in_the_same_memory(cpu):
    good(cu.cuInit(0))
    context = good(cu.cuCtxCreate(None, 0, 0))
    pool = good(cu.cuDeviceGetDefaultMemPool(0))
    for n in range(25000):
        x = cu.cuMemAllocAsync(64 << n % 6, 0)[1]
        assert not cu.cuMemFreeAsync(x, 0)[0]
    assert figures(pool)[1] <= 4096 and figures(pool)[2] == 0
    good(cu.cuCtxDestroy(context))


def test_attributes_of_the_device(context):
    kind = cu.CUdevice_attribute
    supported = kind.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
    assert good(cu.cuDeviceGetAttribute(supported, 0)) == 1
    handles = kind.CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES
    assert good(cu.cuDeviceGetAttribute(handles, 0)) == 0

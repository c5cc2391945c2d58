"""What is at an address, and advice about it: documented results and errors, on each device."""

import ctypes
import threading

import numpy as np
import pytest
from tests.abi.calling import BAD, OK, REFUSED, by_row, good, host_function, uploaded

from gridlane.core.cuda_table import layout
from gridlane.cuda import driver as cu
from gridlane.cuda import runtime as rt

KIND = cu.CUpointer_attribute
NAMES = {each.name.removeprefix("CU_POINTER_ATTRIBUTE_"): each for each in KIND}
PLACE, ADVICE, RANGE = cu.CUmemLocationType, cu.CUmem_advise, cu.CUmem_range_attribute

TEXT = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 table[8];
.visible .entry k() { ret; }
\0"""


def ask(name, address):
    return cu.cuPointerGetAttribute(NAMES[name], address)


def visible(device):
    return device.host_visible


def test_memory_of_the_device(context, device):
    x = int(uploaded(np.zeros(1000, np.uint8)))
    for address in (x, x + 1, x + 999):
        assert good(ask("CONTEXT", address)) == context
        assert good(ask("MEMORY_TYPE", address)) == cu.CUmemorytype.CU_MEMORYTYPE_DEVICE
        assert int(good(ask("DEVICE_POINTER", address))) == address
        assert good(ask("DEVICE_ORDINAL", address)) == 0
        assert int(good(ask("RANGE_START_ADDR", address))) == x
        assert good(ask("RANGE_SIZE", address)) == 1000
        assert not good(ask("IS_MANAGED", address)) and good(ask("MAPPED", address))
        assert good(cu.cuMemGetAddressRange(address)) == (cu.CUdeviceptr(x), 1000)
        assert ask("HOST_POINTER", address)[0] == (OK if visible(device) else BAD)
    assert cu.cuMemGetAddressRange(x + 1000)[0] != OK or visible(device)
    y = int(good(cu.cuMemAlloc(16)))
    assert good(ask("BUFFER_ID", x)) != good(ask("BUFFER_ID", y))
    told = good(rt.cudaPointerGetAttributes(x + 8))
    assert told.type == rt.cudaMemoryType.cudaMemoryTypeDevice and told.device == 0
    assert int(told.devicePointer) == x + 8


def test_the_structure_of_cuda_12_is_the_first_part_of_13_s():
    old, new = layout("cudaPointerAttributes@12"), layout("cudaPointerAttributes")
    for name, field in old.fields.items():
        assert new.fields[name].offset == field.offset
    assert old.size == 24 and new.size > old.size


def test_every_attribute_is_answered_or_refused(context):
    x = int(good(cu.cuMemAlloc(64)))
    for name, number in NAMES.items():
        error = ask(name, x)[0]
        if name == "P2P_TOKENS":
            assert error == REFUSED
        elif name != "HOST_POINTER":
            assert error == OK, name
        assert cu.cuPointerGetAttribute(number, 1 << 59)[0] in (BAD, REFUSED)
    for wrong in (0, 99, 1 << 31):
        assert cu.cuPointerGetAttribute(wrong, x)[0] == BAD


def test_memory_of_the_host(context, device):
    x = int(good(cu.cuMemAllocHost(256)))
    assert good(ask("MEMORY_TYPE", x + 5)) == cu.CUmemorytype.CU_MEMORYTYPE_HOST
    assert int(good(ask("HOST_POINTER", x + 5))) == x + 5
    assert ask("DEVICE_POINTER", x)[0] == (OK if visible(device) else BAD)
    told = good(rt.cudaPointerGetAttributes(x))
    assert told.type == rt.cudaMemoryType.cudaMemoryTypeHost and int(told.hostPointer) == x
    own = np.zeros(64, np.uint8)
    told = good(rt.cudaPointerGetAttributes(own))
    assert told.type == rt.cudaMemoryType.cudaMemoryTypeUnregistered and told.device == -2
    assert int(told.hostPointer) == own.ctypes.data and not told.devicePointer
    assert ask("MEMORY_TYPE", own.ctypes.data)[0] == BAD
    good(cu.cuMemHostRegister(own, 64, 0))
    assert good(ask("MEMORY_TYPE", own.ctypes.data)) == cu.CUmemorytype.CU_MEMORYTYPE_HOST
    good(cu.cuMemHostUnregister(own))


def test_several_attributes_at_once(context):
    x = int(good(cu.cuMemAlloc(64)))
    wanted = [NAMES[each] for each in ("MEMORY_TYPE", "RANGE_SIZE", "DEVICE_ORDINAL", "CONTEXT")]
    assert good(cu.cuPointerGetAttributes(4, wanted, x + 3)) == [2, 64, 0, context]
    assert good(cu.cuPointerGetAttributes(4, wanted, 1 << 59)) == [0, 0, -2, cu.CUcontext(0)]
    assert cu.cuPointerGetAttributes(0, [], x)[0] == BAD
    assert cu.cuPointerGetAttributes(1, [99], x)[0] == BAD


def test_memory_that_is_gone(context):
    x = int(good(cu.cuMemAlloc(64)))
    good(cu.cuMemFree(x))
    y = int(good(cu.cuMemAllocAsync(64, 0)))
    assert int(good(ask("MEMPOOL_HANDLE", y))) == int(good(cu.cuDeviceGetMemPool(0)))
    good(cu.cuMemFreeAsync(y, 0))
    for address in (x, y, 0, 1 << 63, (1 << 64) - 1):
        assert ask("MEMORY_TYPE", address)[0] == BAD, hex(address)
        assert cu.cuMemGetAddressRange(address)[0].name == "CUDA_ERROR_NOT_FOUND"
    assert cu.cuMemcpyDtoH(np.zeros(8, np.uint8), y, 8)[0] == BAD


def test_variables_of_modules(context):
    module = good(cu.cuModuleLoadData(TEXT))
    x, size = good(cu.cuModuleGetGlobal(module, b"table"))
    assert good(ask("MEMORY_TYPE", int(x) + 8)) == cu.CUmemorytype.CU_MEMORYTYPE_DEVICE
    base, room = good(cu.cuMemGetAddressRange(int(x) + 8))
    assert int(base) <= int(x) and int(base) + room >= int(x) + size
    good(cu.cuMemsetD8(x, 1, size))
    assert cu.cuMemsetD8(x, 1, room + 1)[0] == BAD
    assert cu.cuMemcpyDtoD(base, base, room + 1)[0] == BAD


def test_without_a_context(context):
    x = int(good(cu.cuMemAlloc(64)))
    good(cu.cuCtxSetCurrent(None))
    assert good(ask("CONTEXT", x)) == context
    assert ask("DEVICE_POINTER", x)[0].name == "CUDA_ERROR_INVALID_CONTEXT"
    assert cu.cuMemGetAddressRange(x)[0].name == "CUDA_ERROR_INVALID_CONTEXT"
    good(cu.cuCtxSetCurrent(context))


def test_two_contexts(context):
    second = good(cu.cuCtxCreate(None, 0, 0))
    x = good(cu.cuMemAlloc(64))
    good(cu.cuCtxSetCurrent(context))
    assert good(ask("CONTEXT", x)) == second
    good(cu.cuCtxDestroy(second))
    assert ask("CONTEXT", x)[0] == BAD
    good(cu.cuCtxSetCurrent(context))


def test_copies_that_wait(context, device):
    """A copy within the device does not wait for its stream, but where a program asks for it."""
    if device.default_stream.inline:
        pytest.skip("the default stream of this device is done on return")
    x, y = (good(cu.cuMemAlloc(64)) for _ in range(2))
    flag = NAMES["SYNC_MEMOPS"]
    good(cu.cuPointerSetAttribute(1, flag, int(x) + 4))
    assert good(ask("SYNC_MEMOPS", x)) and not good(ask("SYNC_MEMOPS", y))
    seen = []
    kept, note = host_function(lambda: seen.append(1))
    for call in (
        lambda: cu.cuMemcpyDtoD(x, y, 64),
        lambda: cu.cuMemcpyDtoD(y, x, 64),
        lambda: cu.cuMemsetD8(x, 1, 64),
        lambda: cu.cuMemsetD2D32(x, 16, 1, 2, 2),
    ):
        seen.clear()
        good(cu.cuLaunchHostFunc(0, note, 0))
        good(call())
        assert seen
    good(cu.cuPointerSetAttribute(0, flag, x))
    assert not good(ask("SYNC_MEMOPS", x)) and kept


def test_attributes_that_cannot_be_set(context):
    x = good(cu.cuMemAlloc(64))
    flag = NAMES["SYNC_MEMOPS"]
    assert cu.cuPointerSetAttribute(1, NAMES["IS_MANAGED"], x)[0] == BAD
    assert cu.cuPointerSetAttribute(1, flag, 1 << 59)[0] == BAD
    assert cu.cuPointerSetAttribute(None, flag, x)[0] == BAD


# --- managed memory ---


def place(kind, number=0):
    made = cu.CUmemLocation()
    made.type, made.id = kind, number
    return made


@pytest.fixture
def managed(context):
    """Three pages of managed memory, and the first whole page in it."""
    error, x = cu.cuMemAllocManaged(5 * 4096, 1)
    if error:
        assert error == REFUSED
        pytest.skip("host and device of this kind share no memory")
    return -(-int(x) // 4096) * 4096


ON_DEVICE, ON_HOST = PLACE.CU_MEM_LOCATION_TYPE_DEVICE, PLACE.CU_MEM_LOCATION_TYPE_HOST


def said(size, name, address, count):
    return good(
        cu.cuMemRangeGetAttribute(size, RANGE[f"CU_MEM_RANGE_ATTRIBUTE_{name}"], address, count)
    )


def test_advice(managed):
    x = managed
    assert said(4, "READ_MOSTLY", x, 4096) == 0 and said(4, "PREFERRED_LOCATION", x, 1) == -2
    good(cu.cuMemAdvise(x, 4096, ADVICE.CU_MEM_ADVISE_SET_READ_MOSTLY, place(ON_DEVICE)))
    good(cu.cuMemAdvise(x, 8192, ADVICE.CU_MEM_ADVISE_SET_PREFERRED_LOCATION, place(ON_HOST, 9)))
    assert said(4, "READ_MOSTLY", x + 100, 100) == 1 and said(4, "READ_MOSTLY", x, 4097) == 0
    assert said(4, "PREFERRED_LOCATION", x, 8192) == -1
    assert said(4, "PREFERRED_LOCATION_TYPE", x, 8192) == ON_HOST
    assert said(4, "PREFERRED_LOCATION", x, 12288) == -2
    assert said(4, "PREFERRED_LOCATION_TYPE", x, 12288) == 0
    good(cu.cuMemAdvise(x, 4096, ADVICE.CU_MEM_ADVISE_SET_ACCESSED_BY, place(ON_DEVICE)))
    good(cu.cuMemAdvise(x, 8192, ADVICE.CU_MEM_ADVISE_SET_ACCESSED_BY, place(ON_HOST)))
    assert said(12, "ACCESSED_BY", x, 4096) == [0, -1, -2]
    assert said(8, "ACCESSED_BY", x, 8192) == [-1, -2] and said(4, "ACCESSED_BY", x, 4096) == [0]
    for undo, name, after in (
        ("READ_MOSTLY", "READ_MOSTLY", 0),
        ("PREFERRED_LOCATION", "PREFERRED_LOCATION", -2),
        ("ACCESSED_BY", "ACCESSED_BY", [-1]),
    ):
        advice = ADVICE[f"CU_MEM_ADVISE_UNSET_{undo}"]
        good(cu.cuMemAdvise(x, 4096, advice, place(ON_DEVICE)))
        assert said(4, name, x, 4096) == after


def test_prefetches(managed):
    x, stream = managed, good(cu.cuStreamCreate(1))
    good(cu.cuMemPrefetchAsync(x, 8192, place(ON_DEVICE), 0, stream))
    assert said(4, "LAST_PREFETCH_LOCATION", x, 8192) == 0
    assert said(4, "LAST_PREFETCH_LOCATION", x, 8193) == -2
    good(rt.cudaMemPrefetchAsync(x, 4096, place(ON_HOST), 0, int(stream)))
    assert said(4, "LAST_PREFETCH_LOCATION", x, 4096) == -1
    assert said(4, "LAST_PREFETCH_LOCATION_TYPE", x + 4096, 4096) == ON_DEVICE
    assert said(4, "LAST_PREFETCH_LOCATION_ID", x + 4096, 4096) == 0
    both = [place(ON_HOST), place(ON_DEVICE)]
    batch = [x, x + 4096, x + 8192], [4096] * 3, 3
    good(cu.cuMemPrefetchBatchAsync(*batch, both, [0, 2], 2, 0, stream))
    found = [said(4, "LAST_PREFETCH_LOCATION", x + n * 4096, 4096) for n in range(3)]
    assert found == [-1, -1, 0]
    good(cu.cuMemDiscardBatchAsync(*batch, 0, stream))
    good(cu.cuMemDiscardAndPrefetchBatchAsync(*batch, both, [0, 1], 2, 0, stream))
    assert said(4, "LAST_PREFETCH_LOCATION", x + 4096, 4096) == 0
    for call in (
        lambda: cu.cuMemPrefetchBatchAsync(*batch, both, [0, 3], 2, 0, stream),
        lambda: cu.cuMemPrefetchBatchAsync(*batch, both, [1, 2], 2, 0, stream),
        lambda: cu.cuMemPrefetchBatchAsync(*batch, None, [0], 1, 0, stream),
        lambda: cu.cuMemPrefetchBatchAsync(*batch, both, [0, 2], 2, 1, stream),
        lambda: cu.cuMemDiscardBatchAsync(*batch, 0, 0),
        lambda: cu.cuMemDiscardBatchAsync([x], [1 << 40], 1, 0, stream),
        lambda: cu.cuMemPrefetchAsync(x, 1 << 63, place(ON_DEVICE), 0, stream),
        lambda: cu.cuMemPrefetchAsync(x, 0, place(ON_DEVICE), 0, stream),
        lambda: cu.cuMemPrefetchAsync(x, 8, place(ON_DEVICE), 7, stream),
        lambda: cu.cuMemPrefetchAsync(x, 8, place(PLACE(0)), 0, stream),
    ):
        assert call()[0] == BAD


def test_places_by_the_number_of_a_device(managed):
    """The functions that CUDA 12 has under names which are others' in 13."""
    x, stream = managed, int(good(cu.cuStreamCreate(1)))
    prefer = ADVICE.CU_MEM_ADVISE_SET_PREFERRED_LOCATION
    for api, advise, prefetch in (
        ("driver", "cuMemAdvise", "cuMemPrefetchAsync"),
        ("runtime", "cudaMemAdvise@12", "cudaMemPrefetchAsync@12"),
    ):
        for number in (-1, 0):
            assert by_row(api, advise, x, 4096, prefer, number) == 0
            assert said(4, "PREFERRED_LOCATION", x, 4096) == number
            assert by_row(api, prefetch, x, 4096, number, stream) == 0
            assert said(4, "LAST_PREFETCH_LOCATION", x, 4096) == number
        assert by_row(api, advise, x, 4096, prefer, 9) == 101
        assert by_row(api, prefetch, x, 4096, -2, stream) == 101


def test_advice_that_there_is_not(managed, context):
    x = managed
    bad_device = cu.CUresult.CUDA_ERROR_INVALID_DEVICE
    prefer = ADVICE.CU_MEM_ADVISE_SET_PREFERRED_LOCATION
    assert cu.cuMemAdvise(x, 8, prefer, place(ON_DEVICE, 7))[0] == bad_device
    assert cu.cuMemAdvise(x, 8, 99, place(ON_DEVICE))[0] == BAD
    node = place(PLACE.CU_MEM_LOCATION_TYPE_HOST_NUMA, 12345)
    assert cu.cuMemAdvise(x, 8, prefer, node)[0] == BAD
    y = good(cu.cuMemAlloc(8192))
    for wrong in (y, 0, 1 << 63):
        assert cu.cuMemAdvise(wrong, 8, prefer, place(ON_HOST))[0] == BAD
        assert cu.cuMemRangeGetAttribute(4, 1, wrong, 8)[0] == BAD
    for size, number in ((8, 1), (0, 3), (6, 3), (4, 99)):
        assert cu.cuMemRangeGetAttribute(size, number, x, 8)[0] == BAD
    several = cu.cuMemRangeGetAttributes([4, 8], [RANGE(1), RANGE(3)], 2, x, 8)
    assert good(several) == [0, [-2, -2]]
    assert cu.cuMemRangeGetAttributes([4], [RANGE(1)], 0, x, 8)[0] == BAD


def test_a_thread_without_a_context(context):
    x, seen = good(cu.cuMemAlloc(64)), []
    cell = ctypes.c_int(0)

    def work():
        seen.append(cu.cuPointerSetAttribute(cell, NAMES["SYNC_MEMOPS"], x)[0].name)
        seen.append(good(ask("RANGE_SIZE", x)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == ["CUDA_ERROR_INVALID_CONTEXT", 64]

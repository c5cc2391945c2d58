"""Memory, copies and fills of the runtime, with numpy's arrays as what is right."""

import ctypes
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.abi.runtime import OK, called, error, good

from gridlane.abi.state import memory, modules
from gridlane.cuda import driver as cu
from gridlane.cuda import runtime as rt

E = rt.cudaError_t
HH, HD, DH, DD, ANY = (
    rt.cudaMemcpyKind[f"cudaMemcpy{name}"]
    for name in ("HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice", "Default")
)
HUGE = 1 << 63


def on_device(values):
    data = np.ascontiguousarray(values)
    address = good(rt.cudaMalloc(data.nbytes))
    good(rt.cudaMemcpy(address, data, data.nbytes, HD))
    return address


def on_host(address, like):
    made = np.zeros_like(like)
    good(rt.cudaMemcpy(made, address, made.nbytes, DH))
    return made


@pytest.mark.parametrize("kinds", [(HD, DD, DH), (ANY, ANY, ANY)])
def test_copies_of_all_kinds(device, kinds):
    values = np.random.default_rng(1).integers(0, 256, 5000, np.uint8)
    x, y = good(rt.cudaMalloc(5000)), good(rt.cudaMalloc(5000))
    back, again = np.zeros_like(values), np.zeros_like(values)
    to_device, within, to_host = kinds
    good(rt.cudaMemcpy(x, values, 5000, to_device))
    good(rt.cudaMemcpy(int(y) + 100, int(x) + 50, 4000, within))
    good(rt.cudaMemcpy(back, y, 5000, to_host))
    assert (back[100:4100] == values[50:4050]).all()
    good(rt.cudaMemcpy(again, back, 5000, HH if to_host == DH else ANY))
    assert (again == back).all()
    good(rt.cudaFree(x))
    good(rt.cudaFree(y))


@pytest.mark.parametrize("kinds", [(HD, DD, DH), (ANY, ANY, ANY)])
def test_copies_in_a_stream(device, kinds):
    values = np.random.default_rng(2).integers(0, 256, 3000, np.uint8)
    x, y = good(rt.cudaMalloc(3000)), good(rt.cudaMalloc(3000))
    stream, back = good(rt.cudaStreamCreate()), np.zeros_like(values)
    to_device, within, to_host = kinds
    good(rt.cudaMemcpyAsync(x, values, 3000, to_device, stream))
    good(rt.cudaMemcpyAsync(y, x, 3000, within, stream))
    good(rt.cudaMemcpyAsync(back, y, 3000, to_host, stream))
    good(rt.cudaStreamSynchronize(stream))
    assert (back == values).all()


def test_copies_of_the_host_are_done_on_return(device):
    stream = good(rt.cudaStreamCreate())
    values, back = np.arange(100, dtype=np.uint8), np.zeros(100, np.uint8)
    for kind in (HH, ANY):
        back[:] = 0
        good(rt.cudaMemcpyAsync(back, values, 100, kind, stream))
        assert (back == values).all()


def test_wrong_kinds_of_copies(device):
    host, x = np.zeros(64, np.uint8), on_device(np.zeros(64, np.uint8))
    for wrong in (-1, 5, 77):
        assert error(rt.cudaMemcpy(x, host, 64, wrong)) == E.cudaErrorInvalidMemcpyDirection
        assert error(rt.cudaMemcpy(x, host, 0, wrong)) == E.cudaErrorInvalidMemcpyDirection
        assert error(rt.cudaMemcpyAsync(x, host, 64, wrong, 0)) == E.cudaErrorInvalidMemcpyDirection
        args = x, 8, host, 8, 8, 8, wrong
        assert error(rt.cudaMemcpy2D(*args)) == E.cudaErrorInvalidMemcpyDirection
    for to, source, kind in ((x, x, HD), (x, x, DH), (host, x, HH), (x, host, HH)):
        assert error(rt.cudaMemcpy(to, source, 64, kind)) == E.cudaErrorInvalidMemcpyDirection
    for to, source, kind in ((host, host, HD), (host, host, DH), (x, host, DD), (host, x, DD)):
        assert error(rt.cudaMemcpy(to, source, 64, kind)) == E.cudaErrorInvalidValue
    assert error(rt.cudaMemcpy2D(x, 8, x, 8, 8, 8, HD)) == E.cudaErrorInvalidMemcpyDirection


def test_copies_and_fills_that_reach_outside(device):
    host, x = np.zeros(128, np.uint8), on_device(np.zeros(64, np.uint8))
    bad = E.cudaErrorInvalidValue
    for size in (65, 1 << 40, HUGE, (1 << 64) - 1):
        assert error(rt.cudaMemcpy(x, host, size, HD)) == bad
        assert error(rt.cudaMemcpy(host, x, size, DH)) == bad
        assert error(rt.cudaMemcpy(host, x, size, ANY)) == bad
        assert error(rt.cudaMemset(x, 0, size)) == bad
        assert error(rt.cudaMemcpyAsync(x, host, size, HD, 0)) == bad
        assert error(rt.cudaMemsetAsync(x, 0, size, 0)) == bad
    for size in (HUGE, (1 << 64) - 1):
        assert error(rt.cudaMemcpy(host, host, size, HH)) == bad
        assert error(rt.cudaMemcpy(host, host, size, ANY)) == bad
    assert error(rt.cudaMemcpy(int(x) + 60, host, 5, HD)) == bad
    assert error(rt.cudaMemset(host, 0, 4)) == bad
    for to, source, kind in ((0, host, HD), (x, 0, HD), (0, x, DH), (host, 0, DH), (0, 0, HH)):
        assert error(rt.cudaMemcpy(to, source, 4, kind)) == bad
        assert error(rt.cudaMemcpy(to, source, 4, ANY)) == bad
        good(rt.cudaMemcpy(to, source, 0, kind))
    assert error(rt.cudaMemset(0, 0, 4)) == bad
    good(rt.cudaMemset(0, 0, 0))


def test_memory_that_was_freed(device):
    host, x = np.zeros(64, np.uint8), on_device(np.zeros(64, np.uint8))
    assert error(rt.cudaFree(int(x) + 8)) == E.cudaErrorInvalidValue
    assert error(rt.cudaFree(host)) == E.cudaErrorInvalidValue
    assert error(rt.cudaFreeHost(x)) == E.cudaErrorInvalidValue
    good(rt.cudaFree(x))
    assert error(rt.cudaFree(x)) == E.cudaErrorInvalidValue
    assert error(rt.cudaMemset(x, 0, 4)) == E.cudaErrorInvalidValue
    assert error(rt.cudaMemcpy(x, host, 4, HD)) == E.cudaErrorInvalidValue
    good(rt.cudaFree(0))
    good(rt.cudaFree(None))
    good(rt.cudaFreeHost(0))


def test_sizes_of_allocations(device):
    none = E.cudaErrorMemoryAllocation
    for size in (1 << 50, HUGE, (1 << 64) - 1):
        assert error(rt.cudaMalloc(size)) == none
        assert error(rt.cudaMallocHost(size)) == none
        assert error(rt.cudaHostAlloc(size, 0)) == none
        assert error(rt.cudaMallocPitch(size, 3)) == none
        assert error(rt.cudaMalloc3D(rt.make_cudaExtent(size, size, size))) == none
        assert error(rt.cudaMallocManaged(size, 1)) in (none, E.cudaErrorNotSupported)
    assert error(rt.cudaMallocPitch((1 << 64) - 1, 0)) == none
    assert error(rt.cudaMalloc3D(rt.make_cudaExtent((1 << 64) - 1, 0, 0))) == none
    assert good(rt.cudaMalloc(0)) == 0
    assert good(rt.cudaMallocHost(0)) == 0
    assert good(rt.cudaMalloc3D(rt.make_cudaExtent(0, 4, 4))).ptr == 0
    assert error(rt.cudaMallocManaged(0, 1)) == E.cudaErrorInvalidValue
    assert error(rt.cudaMallocManaged(4, 9)) == E.cudaErrorInvalidValue
    assert error(rt.cudaHostAlloc(4, 64)) == E.cudaErrorInvalidValue
    free, total = good(rt.cudaMemGetInfo())
    assert 0 <= free <= total and total == good(rt.cudaGetDeviceProperties(0)).totalGlobalMem


def test_memory_of_the_host(device):
    for address in (good(rt.cudaMallocHost(256)), good(rt.cudaHostAlloc(256, 3))):
        view = np.ctypeslib.as_array((ctypes.c_uint8 * 256).from_address(int(address)))
        view[:] = np.arange(256)
        x, stream = good(rt.cudaMalloc(256)), good(rt.cudaStreamCreate())
        good(rt.cudaMemcpyAsync(x, address, 256, HD, stream))
        good(rt.cudaStreamSynchronize(stream))
        view[:] = 0
        good(rt.cudaMemcpyAsync(address, x, 256, ANY, stream))
        good(rt.cudaStreamSynchronize(stream))
        assert (view == np.arange(256)).all()
        assert error(rt.cudaFree(address)) == E.cudaErrorInvalidValue
        good(rt.cudaFreeHost(address))
        assert error(rt.cudaFreeHost(address)) == E.cudaErrorInvalidValue
        assert error(rt.cudaHostGetFlags(address)) == E.cudaErrorInvalidValue


@pytest.mark.parametrize("kind", ["pinned", "registered"])
def test_fills_of_memory_of_the_host(device, kind):
    own = np.zeros(128, np.uint8)
    if kind == "pinned":
        address = int(good(rt.cudaMallocHost(128)))
        own = np.ctypeslib.as_array((ctypes.c_uint8 * 128).from_address(address))
    else:
        address = own.ctypes.data
        good(rt.cudaHostRegister(address, 128, 0))
    stream = good(rt.cudaStreamCreate())
    for value, dtype in ((0x5A, np.uint8), (0x1234, np.uint16), (0x12345678, np.uint32)):
        size = np.dtype(dtype).itemsize
        for suffix in ("", "Async"):
            own[:] = 1
            more = (stream,) if suffix else ()
            call = getattr(cu, f"cuMemsetD{8 * size}{suffix}")
            good(call(address + 4, value, 64 // size, *more))
            if suffix:
                good(rt.cudaStreamSynchronize(stream))
            assert (own[4:68].view(dtype) == value).all()
            assert (own[:4] == 1).all() and (own[68:] == 1).all()
            call = getattr(cu, f"cuMemsetD2D{8 * size}{suffix}")
            good(call(address, 32, value, 8 // size, 3, *more))
            if suffix:
                good(rt.cudaStreamSynchronize(stream))
            assert (own[:96].reshape(3, 32)[:, :8].copy().view(dtype) == value).all()
            assert (own[8:32] != 0).all() and (own[72:96] == 1).all()
    good(rt.cudaMemset(address, 9, 128))
    assert (own == 9).all()
    good(rt.cudaMemset3D(rt.make_cudaPitchedPtr(address, 16, 8, 2), 3, rt.make_cudaExtent(8, 2, 4)))
    assert (own.reshape(8, 16)[:, :8] == 3).all() and (own.reshape(8, 16)[:, 8:] == 9).all()
    assert error(rt.cudaMemset(address + 64, 0, 128)) == E.cudaErrorInvalidValue
    other = np.zeros(4, np.uint8)
    assert error(rt.cudaMemset(other.ctypes.data, 1, 4)) == E.cudaErrorInvalidValue


def test_mapped_memory_of_the_host(device):
    address = good(rt.cudaHostAlloc(64, rt.cudaHostAllocMapped))
    assert good(rt.cudaHostGetFlags(address)) == rt.cudaHostAllocMapped
    result = rt.cudaHostGetDevicePointer(address, 0)
    if good(rt.cudaGetDeviceProperties(0)).canMapHostMemory or not result[0]:
        assert good(result) == int(address)
    else:  # the allocation succeeds, and asking for the pointer is the error
        assert error(result) == E.cudaErrorInvalidValue
    assert error(rt.cudaHostGetDevicePointer(address, 7)) == E.cudaErrorInvalidValue
    assert error(rt.cudaHostGetDevicePointer(0, 0)) == E.cudaErrorInvalidValue


def test_managed_memory(device):
    result = rt.cudaMallocManaged(64, rt.cudaMemAttachGlobal)
    if result[0] and not good(rt.cudaGetDeviceProperties(0)).managedMemory:
        assert error(result) == E.cudaErrorNotSupported
        return
    address = good(result)
    view = np.ctypeslib.as_array((ctypes.c_uint8 * 64).from_address(int(address)))
    good(rt.cudaMemset(address, 5, 64))
    good(rt.cudaDeviceSynchronize())
    assert (view == 5).all()
    host = np.zeros(64, np.uint8)
    for kind in (HH, DH, ANY):
        host[:] = 0
        good(rt.cudaMemcpy(host, address, 64, kind))
        assert (host == 5).all()
    good(rt.cudaFree(address))


def test_registered_memory(device):
    values = np.arange(4096, dtype=np.uint8)
    good(rt.cudaHostRegister(values, 4096, 0))
    again = error(rt.cudaHostRegister(values, 4096, 0))
    assert again == E.cudaErrorHostMemoryAlreadyRegistered
    assert good(rt.cudaHostGetFlags(values)) == 0
    x = good(rt.cudaMalloc(4096))
    good(rt.cudaMemcpyAsync(x, values, 4096, HD, 0))
    good(rt.cudaStreamSynchronize(0))
    assert (on_host(x, values) == values).all()
    good(rt.cudaHostUnregister(values))
    gone = error(rt.cudaHostUnregister(values))
    assert gone == E.cudaErrorHostMemoryNotRegistered
    for address, size, flags in ((0, 8, 0), (values, 0, 0), (values, 8, 64), (values, HUGE, 0)):
        assert error(rt.cudaHostRegister(address, size, flags)) == E.cudaErrorInvalidValue


def test_registered_memory_overlaps_no_other(device):
    values = np.zeros(8192, np.uint8)
    start = values.ctypes.data
    good(rt.cudaHostRegister(start + 100, 200, 0))
    taken = E.cudaErrorHostMemoryAlreadyRegistered
    for first, size in ((100, 200), (150, 10), (200, 200), (50, 51), (0, 4096), (299, 1), (0, 101)):
        assert error(rt.cudaHostRegister(start + first, size, 0)) == taken
    for first, size in ((0, 100), (300, 1), (301, 4000)):
        good(rt.cudaHostRegister(start + first, size, 0))
    for first in (0, 100, 300, 301):
        good(rt.cudaHostUnregister(start + first))
    good(rt.cudaHostRegister(start, 8192, 0))
    good(rt.cudaHostUnregister(start))


def test_threads_that_register_the_same_memory(device):
    values = np.zeros(4096, np.uint8)
    together = threading.Barrier(8)

    def register(number):
        together.wait()
        first = values.ctypes.data + number
        return [rt.cudaHostRegister(first, 4000, 0)[0] for _ in range(50)].count(E.cudaSuccess)

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(register, range(8))) == 1


def test_fills_of_bytes_rows_and_planes(device):
    extent = rt.make_cudaExtent(20, 5, 3)
    box = good(rt.cudaMalloc3D(extent))
    assert (box.xsize, box.ysize) == (20, 5) and box.pitch >= 20
    expected = np.zeros((3, 5, box.pitch), np.uint8)
    good(rt.cudaMemset(box.ptr, 0, expected.nbytes))
    good(rt.cudaMemset3D(box, 0x1FE, rt.make_cudaExtent(7, 3, 2)))
    expected[:2, :3, :7] = 0xFE
    good(rt.cudaMemset2D(int(box.ptr) + 2 * 5 * box.pitch, box.pitch, 9, 11, 4))
    expected[2, :4, :11] = 9
    stream = good(rt.cudaStreamCreate())
    good(rt.cudaMemset3DAsync(box, 3, rt.make_cudaExtent(2, 5, 3), stream))
    expected[:, :, :2] = 3
    good(rt.cudaMemset2DAsync(int(box.ptr) + 4, box.pitch, 8, 1, 15, stream))
    expected.reshape(15, -1)[:, 4] = 8
    good(rt.cudaMemsetAsync(int(box.ptr) + 5, 7, 1, stream))
    expected[0, 0, 5] = 7
    good(rt.cudaStreamSynchronize(stream))
    assert (on_host(box.ptr, expected) == expected).all()
    bad = E.cudaErrorInvalidValue
    assert error(rt.cudaMemset2D(box.ptr, 8, 0, 9, 2)) == bad
    assert error(rt.cudaMemset2D(box.ptr, HUGE, 0, 9, HUGE)) == bad
    assert error(rt.cudaMemset3D(box, 0, rt.make_cudaExtent(20, 6, 3))) == bad
    assert error(rt.cudaMemset3D(box, 0, rt.make_cudaExtent(20, 5, 4))) == bad
    assert error(rt.cudaMemset3D(rt.cudaPitchedPtr(), 0, extent)) == bad


@pytest.mark.parametrize("stream", [False, True])
def test_copies_of_rows(device, stream):
    rng = np.random.default_rng(3)
    source = rng.integers(0, 256, (9, 40), np.uint8)
    x, pitch = good(rt.cudaMallocPitch(33, 9))
    back = np.zeros((9, 50), np.uint8)
    if stream:
        queue = good(rt.cudaStreamCreate())
        good(rt.cudaMemcpy2DAsync(x, pitch, source, 40, 33, 9, HD, queue))
        good(rt.cudaMemcpy2DAsync(back, 50, x, pitch, 33, 9, DH, queue))
        good(rt.cudaStreamSynchronize(queue))
    else:
        good(rt.cudaMemcpy2D(x, pitch, source, 40, 33, 9, HD))
        good(rt.cudaMemcpy2D(back, 50, x, pitch, 33, 9, ANY))
    assert (back[:, :33] == source[:, :33]).all() and not back[:, 33:].any()


def test_wrong_copies_of_rows(device):
    x, host = good(rt.cudaMalloc(64)), np.zeros(64, np.uint8)
    pitch = E.cudaErrorInvalidPitchValue
    assert error(rt.cudaMemcpy2D(x, 7, host, 8, 8, 8, HD)) == pitch
    assert error(rt.cudaMemcpy2D(x, 8, host, 7, 8, 8, HD)) == pitch
    assert error(rt.cudaMemcpy2D(x, 8, host, 8, 8, 9, HD)) == E.cudaErrorInvalidValue
    assert error(rt.cudaMemcpy2D(x, HUGE, host, HUGE, 8, HUGE, HD)) == E.cudaErrorInvalidValue
    assert error(rt.cudaMemcpy2D(0, 8, host, 8, 8, 8, HD)) == E.cudaErrorInvalidValue
    good(rt.cudaMemcpy2D(0, 8, 0, 8, 0, 9, HD))


def box_of(source, source_size, to, to_size, extent, kind):
    """A copy between boxes: (address, pitch, rows of a plane) of each."""
    box = rt.cudaMemcpy3DParms()
    box.srcPtr = rt.make_cudaPitchedPtr(source[0], source[1], source_size, source[2])
    box.dstPtr = rt.make_cudaPitchedPtr(to[0], to[1], to_size, to[2])
    box.extent, box.kind = rt.make_cudaExtent(*extent), kind
    return box


@pytest.mark.parametrize("stream", [False, True])
def test_copies_of_planes(device, stream):
    rng = np.random.default_rng(4)
    source = rng.integers(0, 256, (5, 7, 24), np.uint8)
    made = good(rt.cudaMalloc3D(rt.make_cudaExtent(30, 8, 6)))
    good(rt.cudaMemset3D(made, 0, rt.make_cudaExtent(30, 8, 6)))
    place = made.ptr, made.pitch, 8
    up = box_of((source.ctypes.data, 24, 7), 24, place, 30, (20, 5, 4), HD)
    up.srcPos, up.dstPos = rt.make_cudaPos(3, 1, 1), rt.make_cudaPos(6, 2, 2)
    back = np.zeros((6, 8, 30), np.uint8)
    down = box_of(place, 30, (back.ctypes.data, 30, 8), 30, (30, 8, 6), ANY)
    if stream:
        queue = good(rt.cudaStreamCreate())
        good(rt.cudaMemcpy3DAsync(up, queue))
        good(rt.cudaMemcpy3DAsync(down, queue))
        good(rt.cudaStreamSynchronize(queue))
    else:
        good(rt.cudaMemcpy3D(up))
        good(rt.cudaMemcpy3D(down))
    expected = np.zeros_like(back)
    expected[2:6, 2:7, 6:26] = source[1:5, 1:6, 3:23]
    assert (back == expected).all()


def test_wrong_copies_of_planes(device):
    x, host = good(rt.cudaMalloc(64)), np.zeros(64, np.uint8)
    there, here = (x, 4, 4), (host.ctypes.data, 4, 4)

    def failed(kind=HD, extent=(4, 4, 4), source=here, to=there, **changes):
        box = box_of(source, 4, to, 4, extent, kind)
        for name, value in changes.items():
            setattr(box, name, value)
        return error(rt.cudaMemcpy3D(box))

    assert error(rt.cudaMemcpy3D(None)) == E.cudaErrorInvalidValue
    assert failed(kind=9) == E.cudaErrorInvalidMemcpyDirection
    assert failed(kind=HH) == E.cudaErrorInvalidMemcpyDirection
    assert failed(extent=(5, 1, 1)) == E.cudaErrorInvalidPitchValue
    assert failed(srcPos=rt.make_cudaPos(1, 0, 0)) == E.cudaErrorInvalidPitchValue
    assert failed(extent=(4, 5, 2)) == E.cudaErrorInvalidValue
    assert failed(extent=(4, 4, 5)) == E.cudaErrorInvalidValue
    assert failed(dstPos=rt.make_cudaPos(0, 0, 1)) == E.cudaErrorInvalidValue
    assert failed(source=(0, 4, 4)) == E.cudaErrorInvalidValue
    assert failed(extent=(4, HUGE, HUGE)) == E.cudaErrorInvalidValue
    assert failed(srcPos=rt.make_cudaPos(0, HUGE, HUGE)) == E.cudaErrorInvalidValue
    assert failed(kind=ANY, srcPos=rt.make_cudaPos(0, 0, HUGE)) == E.cudaErrorInvalidValue
    assert failed(source=(HUGE, HUGE, HUGE)) == E.cudaErrorInvalidValue
    good(rt.cudaMemcpy3D(box_of((0, 0, 0), 0, (0, 0, 0), 0, (0, 4, 4), HD)))


def test_copies_within_a_device_by_its_number(device):
    values = np.arange(64, dtype=np.uint8)
    x, y = on_device(values), good(rt.cudaMalloc(64))
    good(rt.cudaMemcpyPeer(y, 0, x, 0, 64))
    assert (on_host(y, values) == values).all()
    good(rt.cudaMemset(y, 0, 64))
    good(rt.cudaMemcpyPeerAsync(y, 0, x, 0, 32, 0))
    assert (on_host(y, values)[:32] == values[:32]).all()
    box = rt.cudaMemcpy3DPeerParms()
    box.srcPtr = rt.make_cudaPitchedPtr(x, 8, 8, 4)
    box.dstPtr = rt.make_cudaPitchedPtr(y, 8, 8, 4)
    box.extent = rt.make_cudaExtent(8, 4, 2)
    good(rt.cudaMemcpy3DPeer(box))
    assert (on_host(y, values) == values).all()
    assert error(rt.cudaMemcpyPeer(y, 0, x, 99, 64)) == E.cudaErrorInvalidDevice
    box.srcDevice = 99
    assert error(rt.cudaMemcpy3DPeerAsync(box, 0)) == E.cudaErrorInvalidDevice


def attributes(order):
    made = rt.cudaMemcpyAttributes()
    made.srcAccessOrder = order
    return made


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("api", [rt, cu], ids=["runtime", "driver"])
def test_batches_of_copies(device, order, api):
    good(rt.cudaFree(0))
    values = np.arange(96, dtype=np.uint8).reshape(3, 32)
    places = [good(rt.cudaMalloc(32)) for _ in values]
    back = np.zeros_like(values)
    stream = good(rt.cudaStreamCreate())
    copy = api.cudaMemcpyBatchAsync if api is rt else api.cuMemcpyBatchAsync
    made = attributes(order) if api is rt else cu.CUmemcpyAttributes()
    made.srcAccessOrder = order
    rows = [row.ctypes.data for row in values]
    sizes = [32, 16, 8]
    good(copy(places, rows, sizes, 3, [made], [0], 1, stream))
    ends = [row.ctypes.data for row in back]
    good(copy(ends, places, sizes, 3, [made, made], [0, 2], 2, stream))
    good(rt.cudaStreamSynchronize(stream))
    for row, kept, size in zip(values, back, sizes):
        assert (kept[:size] == row[:size]).all() and not kept[size:].any()


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("api", [rt, cu], ids=["runtime", "driver"])
def test_copies_with_attributes(device, order, api):
    """One copy, of bytes and of planes; unlike a batch in the default stream as well."""
    good(rt.cudaFree(0))
    values, back = np.arange(120, dtype=np.uint8).reshape(5, 24), np.zeros((5, 24), np.uint8)
    x, bad = good(rt.cudaMalloc(120)), E.cudaErrorInvalidValue
    prefix, made = ("cuda", attributes(order)) if api is rt else ("cu", cu.CUmemcpyAttributes())
    made.srcAccessOrder = order
    copy = getattr(api, f"{prefix}MemcpyWithAttributesAsync")
    copy_planes = getattr(api, f"{prefix}Memcpy3DWithAttributesAsync")
    op = rt.cudaMemcpy3DBatchOp() if api is rt else cu.CUDA_MEMCPY3D_BATCH_OP()
    op.src.type = op.dst.type = 1
    op.src.op.ptr.ptr, op.src.op.ptr.rowLength = x, 24
    op.dst.op.ptr.ptr, op.dst.op.ptr.rowLength = back.ctypes.data, 24
    op.extent.width, op.extent.height, op.extent.depth = 10, 4, 1
    op.srcAccessOrder = order
    for stream in (0, good(rt.cudaStreamCreate())):
        good(rt.cudaMemset(x, 0, 120))
        back[:] = 0
        good(copy(x, values.ctypes.data, 110, made, stream))
        good(copy_planes(op, 0, stream))
        good(rt.cudaStreamSynchronize(stream))
        assert (on_host(x, values).ravel() == [*range(110), *[0] * 10]).all()
        assert (back[:4, :10] == values[:4, :10]).all() and back.sum() == values[:4, :10].sum()
    for wrong in (copy_planes(op, 1, 0), copy_planes(None, 0, 0)):
        assert int(wrong[0]) == bad
    made.srcAccessOrder = 4
    for call in (copy(x, values.ctypes.data, 8, made, 0), copy(x, values.ctypes.data, 8, None, 0)):
        assert int(call[0]) == bad
    made.srcAccessOrder = order
    assert int(copy(x, values.ctypes.data, 121, made, 0)[0]) == bad


@pytest.mark.parametrize("planes", [False, True])
def test_a_batch_reads_its_source_in_the_order_of_the_stream(device, planes):
    values, x = np.zeros(32, np.uint8), good(rt.cudaMalloc(32))
    stream = good(rt.cudaStreamCreate())
    begun = threading.Event()

    def write(data):
        begun.wait(0.2)  # the copy is asked for meanwhile
        values[:] = 7

    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(write)
    good(rt.cudaLaunchHostFunc(stream, call, 0))
    if planes:
        op = rt.cudaMemcpy3DBatchOp()
        op.src.type = op.dst.type = 1
        op.src.op.ptr.ptr, op.dst.op.ptr.ptr = values.ctypes.data, x
        op.extent, op.srcAccessOrder = rt.make_cudaExtent(32, 1, 1), 1
        good(rt.cudaMemcpy3DBatchAsync(1, [op], 0, stream))
    else:
        here = [values.ctypes.data]
        good(rt.cudaMemcpyBatchAsync([x], here, [32], 1, [attributes(1)], [0], 1, stream))
    good(rt.cudaStreamSynchronize(stream))
    assert (on_host(x, values) == 7).all()


def test_wrong_batches(device):
    x, host = good(rt.cudaMalloc(32)), np.zeros(32, np.uint8)
    stream, here = good(rt.cudaStreamCreate()), [host.ctypes.data]
    bad, made = E.cudaErrorInvalidValue, attributes(1)
    batch = rt.cudaMemcpyBatchAsync
    good(batch([x], here, [32], 1, [made], [0], 1, stream))
    assert error(batch([x], here, [32], 1, [made], [0], 1, 0)) == bad  # the default stream
    assert error(batch([x], here, [33], 1, [made], [0], 1, stream)) == bad
    good(batch([x], here, [0], 1, [made], [0], 1, stream))
    assert error(batch([0], here, [8], 1, [made], [0], 1, stream)) == bad
    assert error(batch([x], here, [8], 1, [attributes(0)], [0], 1, stream)) == bad
    assert error(batch([x], here, [8], 1, [made], [1], 1, stream)) == bad
    assert error(batch([x], here, [8], 1, None, [0], 1, stream)) == bad
    assert error(batch(None, here, [8], 1, [made], [0], 1, stream)) == bad
    assert error(batch([x], here, [8], HUGE, [made], [0], 1, stream)) == bad
    assert error(rt.cudaMemcpy3DBatchAsync(HUGE, [rt.cudaMemcpy3DBatchOp()], 0, stream)) == bad


def test_batches_of_boxes(device):
    values = np.arange(120, dtype=np.uint8).reshape(5, 24)
    x = good(rt.cudaMalloc(120))
    good(rt.cudaMemset(x, 0, 120))
    stream = good(rt.cudaStreamCreate())
    op = rt.cudaMemcpy3DBatchOp()
    op.src.type = op.dst.type = rt.cudaMemcpy3DOperandType.cudaMemcpyOperandTypePointer
    op.src.op.ptr.ptr, op.src.op.ptr.rowLength = values.ctypes.data, 24
    op.dst.op.ptr.ptr, op.dst.op.ptr.rowLength = x, 24
    op.extent, op.srcAccessOrder = rt.make_cudaExtent(10, 4, 1), 1
    good(rt.cudaMemcpy3DBatchAsync(1, [op], 0, stream))
    good(rt.cudaStreamSynchronize(stream))
    expected = np.zeros_like(values)
    expected[:4, :10] = values[:4, :10]
    assert (on_host(x, values) == expected).all()
    assert error(rt.cudaMemcpy3DBatchAsync(1, [op], 3, stream)) == E.cudaErrorInvalidValue
    op.extent.depth = 0
    assert error(rt.cudaMemcpy3DBatchAsync(1, [op], 0, stream)) == E.cudaErrorInvalidValue
    op.extent.depth, op.dst.op.ptr.rowLength = 1, 9
    assert error(rt.cudaMemcpy3DBatchAsync(1, [op], 0, stream)) == E.cudaErrorInvalidValue


def test_batches_as_programs_of_cuda_12_make_them(device):
    values = np.arange(16, dtype=np.uint8)
    x, failed = good(rt.cudaMalloc(16)), ctypes.c_uint64(0)
    stream = int(good(rt.cudaStreamCreate()))
    cells = [(ctypes.c_uint64 * 1)(each) for each in (int(x), values.ctypes.data, 16, 0)]
    to, source, sizes, places = map(ctypes.addressof, cells)
    made = attributes(1)._struct
    told = ctypes.addressof(failed)
    args = to, source, sizes, 1, made, places, 1, told, stream
    assert called("cudaMemcpyBatchAsync@12", *args) == (0, ())
    assert failed.value == (1 << 64) - 1 and (on_host(x, values) == values).all()


def test_symbols_need_something_registered(device):
    host = np.zeros(4, np.uint8)
    wrong = int(E.cudaErrorInvalidSymbol)
    address = host.ctypes.data
    assert called("cudaMemcpyToSymbol", address, address, 4, 0, HD)[0] == wrong
    assert called("cudaMemcpyFromSymbol", address, address, 4, 0, DH)[0] == wrong
    assert called("cudaGetSymbolAddress", address)[0] == wrong
    assert called("cudaGetSymbolSize", 0)[0] == wrong
    assert rt.cudaGetLastError() == (E.cudaErrorInvalidSymbol,)
    assert rt.cudaGetLastError() == (OK,)


@pytest.mark.parametrize("freed", ["memory", "module"])
def test_ends_while_another_thread_resets_the_device(cpu, freed, monkeypatch):
    """What the reset has freed meanwhile is told as any that is gone."""
    address = good(rt.cudaMalloc(64))
    text = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n\0"
    code, module = cu.cuModuleLoadData(text)
    assert not code
    state, name = (memory, "remove") if freed == "memory" else (modules.modules, "get")
    way = getattr(state, name)

    def late(*given):
        monkeypatch.undo()
        found = way(*given) if freed == "module" else None
        good(rt.cudaDeviceReset())
        return way(*given) if freed == "memory" else found

    monkeypatch.setattr(state, name, late)
    if freed == "memory":
        assert rt.cudaFree(address) == (E.cudaErrorInvalidValue,)
    else:
        assert cu.cuModuleUnload(module) == (0,)

"""Pointers to memory as numba's driver has them, and copies by them, on every device here."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.errors import DeviceError
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.numba_compat import driver
from gridlane.launch import current
from gridlane.launch.devices import get_device

ALL = ["interp", *DEVICES]


@pytest.fixture(params=ALL)
def device(request):
    found = get_device(request.param)
    current.choose(found)
    return found


def test_copies_by_pointers(device):
    context = cuda.current_context()
    used = device.memory.statistics().used
    pointer = context.memalloc(400)
    assert driver.is_device_memory(pointer) and not driver.is_host_memory(pointer)
    assert device.memory.statistics().used == used + 400
    values = np.arange(100, dtype=np.int32)
    driver.host_to_device(pointer, values, 400)
    back = np.zeros(100, np.int32)
    driver.device_to_host(back, pointer.view(40), 360)
    assert (back[:90] == values[10:]).all() and not back[90:].any()
    other = context.memalloc(400)
    stream = cuda.stream()
    driver.device_memset(other, 0x101, 400, stream)
    driver.device_to_device(other.view(200), pointer, 200, stream)
    driver.device_to_host(back, other, 400, stream)
    assert (back[:50] == 0x01010101).all() and (back[50:] == values[:50]).all()
    raw = (ctypes.c_int * 4)()
    driver.device_to_host(raw, pointer.view(16), 16)
    assert list(raw) == [4, 5, 6, 7]
    assert driver.device_extents(pointer.view(16)) == (
        int(pointer.handle),
        int(pointer.handle) + 400,
    )
    del pointer, other
    gc.collect()
    assert device.memory.statistics().used == used


def test_copies_beyond_the_end_are_refused(device):
    array = cuda.device_array(4, np.int32)
    host = np.zeros(8, np.int32)
    for call, words in [
        (lambda: driver.host_to_device(array, host, 20), "device memory has 16"),
        (lambda: driver.device_to_host(host[:2], array, 16), "host's memory has 8"),
        (lambda: driver.device_memset(array, 0, 17), "device memory has 16"),
        (lambda: driver.device_to_device(array, array, -1), "device memory has 16"),
    ]:
        with pytest.raises(DeviceError, match=words):
            call()
    host.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        driver.device_to_host(host, array, 16)
    with pytest.raises(TypeError, match="not a CUDA memory object"):
        driver.device_pointer(host)


def test_an_array_over_a_pointer(device):
    pointer = cuda.current_context().memalloc(64)
    array = DeviceNDArray((8,), (8,), np.int64, gpu_data=pointer)
    array.copy_to_device(np.arange(8))
    del pointer
    gc.collect()
    tail = DeviceNDArray((3,), None, np.int64, gpu_data=array[5:].gpu_data)
    assert tail.copy_to_host().tolist() == [5, 6, 7]
    backwards = array[::-2].gpu_data
    assert (backwards.size, int(backwards.handle) - array.device_pointer) == (56, 8)
    with pytest.raises(ValueError, match="32 bytes do not fit into the pointer's 24"):
        DeviceNDArray((4,), None, np.int64, gpu_data=tail.gpu_data)
    with pytest.raises(TypeError, match="not a list"):
        DeviceNDArray((4,), None, np.int64, gpu_data=[1])
    assert cuda.device_array(0).gpu_data.size == 0


def test_views_of_a_whole_array_have_its_pointer():
    array, other = cuda.device_array(8, np.int64), cuda.device_array(8, np.int64)
    views = {each.gpu_data for each in (array, array.view(np.float64), array.reshape(2, 4))}
    assert views == {array.gpu_data} and array.gpu_data != other.gpu_data


def test_finalizers_run_exactly_once():
    freed = []

    def pointer(cls):
        return cls(None, ctypes.c_void_p(4096), 64, finalizer=lambda: freed.append(cls))

    plain = pointer(driver.MemoryPointer)
    reference = plain.own()
    view = plain.view(8, 24)
    assert (plain.refct, view.size, view.owner) == (3, 16, plain)
    del reference, view
    assert freed == [] and plain.refct == 1
    plain.free()
    assert freed == [driver.MemoryPointer]
    with pytest.raises(RuntimeError, match="freed already"):
        plain.free()
    del plain
    counted = pointer(driver.AutoFreePointer).own()
    inner = counted.view(60)
    del counted
    assert len(freed) == 1
    with pytest.raises(RuntimeError, match="no view"):
        inner.view(1, 6)
    del inner
    assert freed[1:] == [driver.AutoFreePointer]


def test_host_memory_by_pointers(device):
    context = cuda.current_context()
    pinned = context.memhostalloc(32)
    array = np.ndarray(8, np.int32, pinned)
    array[:] = 7
    assert isinstance(pinned, driver.PinnedMemory) and not driver.is_device_memory(pinned)
    on_device = cuda.to_device(array)
    assert on_device.copy_to_host().tolist() == [7] * 8
    own = np.arange(8)
    if device.name not in ("cpu", "cuda"):
        for refused in (
            lambda: context.mempin(own, own.ctypes.data, 64, mapped=True),
            lambda: cuda.mapped(own).__enter__(),
        ):
            with pytest.raises(DeviceError, match="has memory of its own"):
                refused()
    try:
        context.memhostalloc(32, mapped=True)
    except DeviceError as error:
        assert "of its own" in str(error) and device.name != "cpu"
        return
    mapped, managed = context.memhostalloc(32, mapped=True), context.memallocmanaged(32)
    for pointer in mapped, managed:
        view = np.ndarray(8, np.int32, pointer)
        driver.device_memset(pointer, 1, 32)
        device.synchronize()
        assert (view == 0x01010101).all()
    if device.name not in ("cpu", "cuda"):
        return
    with cuda.mapped(own) as there:
        add[1, 8](there)
        cuda.synchronize()
    assert own.tolist() == list(range(1, 9))


@cuda.jit
def add(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def test_extents_of_host_memory():
    a = np.arange(100, dtype="i4").reshape(10, 10)
    assert driver.host_memory_size(a.T) == 400 and driver.host_memory_size(a[::2, ::3]) == 360
    start, end = driver.host_memory_extents(a[::-1])
    assert (start, end) == (a.ctypes.data, a.ctypes.data + 400)
    when = np.array(["2020-01-01"], "M8[D]")
    assert driver.host_pointer(when) == when.ctypes.data
    assert driver.host_pointer(bytearray(4)) and driver.host_pointer(99) == 99
    with pytest.raises(ValueError, match="read-only"):
        driver.host_pointer(b"abc")
    assert driver.host_pointer(b"abc", readonly=True)
    assert not driver.is_host_memory(object()) and driver.is_host_memory(ctypes.c_double())


def test_the_drivers_functions_raise():
    info = driver.driver.cuMemGetInfo()
    assert info[0] <= info[1]
    with pytest.raises(DeviceError, match=r"cuMemFree"):
        driver.driver.cuMemFree(12345)
    with pytest.raises(AttributeError, match="no function 'nonsense'"):
        _ = driver.driver.nonsense


def test_the_active_context_of_a_thread():
    the_driver = driver.driver
    while the_driver.pop_active_context() is not None:
        pass
    with cuda.gpus[0], the_driver.get_active_context() as active:
        assert active and active.devnum == 0
    with the_driver.get_active_context() as active:
        assert not active and active.context_handle is None
    handle = int(cuda.current_context().handle)
    with the_driver.get_active_context() as active:
        assert int(active.context_handle) == handle

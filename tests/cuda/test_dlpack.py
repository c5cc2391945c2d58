"""DLPack, over memory of the host: numpy reads what device arrays export, and keeps it alive."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from gridlane import cuda
from gridlane.cuda import active, dlpack
from gridlane.runtime.devices import get_device


@pytest.fixture(autouse=True)
def device(monkeypatch):
    found = get_device("cpu")
    monkeypatch.setattr(active, "device", lambda: found)
    return found


@pytest.mark.parametrize("dtype", ["i1", "u8", "f2", "f4", "f8", "c8", "?"])
def test_numpy_reads_an_array(dtype):
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    array = cuda.to_device(values)
    shown = np.from_dlpack(array)
    assert shown.dtype == values.dtype and (shown == values).all()
    assert shown.ctypes.data == array.address


def test_strides():
    array = cuda.to_device(np.arange(24, dtype=np.int32).reshape(4, 6))
    assert (np.from_dlpack(array[1:, ::-2]) == np.arange(24).reshape(4, 6)[1:, ::-2]).all()


def test_the_consumer_keeps_the_memory_alive():
    array = cuda.to_device(np.arange(1000.0))
    memory = weakref.ref(array.gpu_data)
    shown = np.from_dlpack(array)
    del array
    gc.collect()
    assert memory() is not None and shown[999] == 999
    del shown
    gc.collect()
    assert memory() is None and not dlpack._exported


def test_a_capsule_that_nobody_takes():
    array = cuda.to_device(np.zeros(3))
    for _ in range(100):
        array.__dlpack__()
    gc.collect()
    assert not dlpack._exported


def test_what_dlpack_has_no_word_for():
    with pytest.raises(BufferError):
        cuda.to_device(np.zeros(2, [("x", "i4")])).__dlpack__()


class Shown:
    """Another library's tensor on a device of DLPack's kind ``kind``."""

    def __init__(self, array, kind, number=0):
        self.array, self.device = array, (kind, number)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


def test_reading_what_another_library_shows(monkeypatch):
    array = cuda.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))[:, 1:]
    monkeypatch.setattr(dlpack, "device_of", lambda: (dlpack.CUDA, 0))
    shown = dlpack.read(Shown(array, dlpack.CUDA))
    assert shown["shape"] == (3, 3) and shown["strides"] == (16, 4)
    assert shown["dtype"] == np.float32 and shown["data"][0] == array.address
    assert dlpack.read(Shown(array, dlpack.CPU)) is None
    assert dlpack.read(Shown(array, dlpack.CUDA, 1)) is None
    del shown
    gc.collect()
    assert not dlpack._exported

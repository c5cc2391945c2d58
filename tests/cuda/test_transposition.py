"""``numba.cuda.kernels.transpose``, and arrays and records like others."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.cuda.numba_compat.devicearray import auto_device, from_array_like, from_record_like
from gridlane.cuda.numba_compat.numpy_support import carray, farray
from gridlane.cuda.ufuncs.transposition import transpose
from gridlane.launch import current
from gridlane.launch.devices import get_device

RECORD = np.dtype([("i", np.int32), ("j", np.float32, (3, 2))])


@pytest.fixture(params=["interp", *DEVICES])
def _device(request):
    current.choose(get_device(request.param))


@pytest.mark.usefixtures("_device")
def test_transposes():
    for dtype in (np.float32, np.uint8, np.bool_, np.complex64, RECORD):
        host = np.zeros((17, 35), dtype)
        host.view(np.uint8)[...] = np.arange(host.nbytes).reshape(17, -1) % 2
        device = cuda.to_device(host)
        np.testing.assert_array_equal(transpose(device).copy_to_host(), host.T)
        target = cuda.device_array_like(host.T)
        assert transpose(device, target) is target
        np.testing.assert_array_equal(target.copy_to_host(), host.T)


def test_refusals():
    with pytest.raises(ValueError, match="a matrix, not an array of shape"):
        transpose(cuda.to_device(np.zeros(3)))
    with pytest.raises(ValueError, match="does not fit"):
        transpose(cuda.to_device(np.zeros((3, 2))), cuda.to_device(np.zeros((3, 2))))


def test_arrays_like_others():
    host = np.arange(12.0).reshape(3, 4).T
    like = from_array_like(host)
    assert (like.shape, like.strides, like.dtype) == (host.shape, host.strides, host.dtype)
    record = from_record_like(np.zeros(1, RECORD)[0])
    assert record.dtype == RECORD and record.shape == ()
    device, new = auto_device(np.arange(3))
    assert new and device.copy_to_host().tolist() == [0, 1, 2]
    assert auto_device(device) == (device, False)


def test_arrays_over_pointers():
    numbers = np.arange(6, dtype=np.int32)
    pointer = numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
    rows = carray(pointer, (2, 3))
    rows[0, 1] = 9
    assert numbers.tolist() == [0, 9, 2, 3, 4, 5] and farray(pointer, (3, 2))[1, 0] == 9
    plain = ctypes.c_void_p(numbers.ctypes.data)
    assert carray(plain, 6, "int32").tolist() == numbers.tolist()
    assert carray(plain, 0, np.float32).size == 0
    wrong = [(plain, None, "explicit dtype"), (pointer, "int8", "mismatching"), (3, None, "ctypes")]
    for pointed, dtype, words in wrong:
        with pytest.raises(TypeError, match=words):
            carray(pointed, 6, dtype)


def test_addresses_in_kernels():
    current.choose(get_device("interp"))

    @cuda.jit
    def kernel(out, a):
        out[0] = a.ctypes.data
        out[1] = a[1:].ctypes.data - a.ctypes.data

    out, a = np.zeros(2, np.uint64), cuda.to_device(np.zeros(3, np.float32))
    kernel[1, 1](out, a)
    assert out[1] == 4 and out[0] % 4 == 0 and out[0] > 0

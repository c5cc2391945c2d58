"""The values of arrays before and after launches."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import gridlane
from gridlane import cuda
from gridlane.launch import current
from gridlane.tuning import memory
from gridlane.tuning.errors import TuningError


def arrays_of(device_name):
    dense = cuda.to_device(np.arange(6, dtype=np.float32))
    strided = cuda.to_device(np.arange(12).reshape(3, 4).T)
    host = np.arange(10)[::2].copy()
    return [dense, strided, host]


@pytest.mark.parametrize("name", ["cpu", "interp"])
def test_values_return(name):
    with gridlane.device(name):
        arrays = arrays_of(name)
        before = [memory.on_host(each) for each in arrays]
        saved = memory.Saved(arrays, current.device())
        for each in arrays:
            memory.assign(each, np.full_like(memory.on_host(each), 77))
        assert all((each == 77).all() for each in saved.contents())
        saved.written = {0}
        saved.restore()
        assert (saved.contents()[0] == before[0]).all() and (saved.contents()[1] == 77).all()
        saved.restore(whole=True)
        for got, wanted in zip(saved.contents(), before):
            assert (got == wanted).all()


@pytest.mark.parametrize("name", ["cpu", "interp"])
def test_bits_are_inverted(name):
    with gridlane.device(name):
        for array in arrays_of(name):
            before = memory.on_host(array)
            memory.Saved([array], current.device()).invert(0)
            changed = memory.on_host(array)
            bits = [np.frombuffer(each.tobytes(), np.uint8) for each in (before, changed)]
            assert (bits[0] == ~bits[1]).all()
            memory.Saved([array], current.device()).invert(0)
            assert (memory.on_host(array) == before).all()


class Tensor:
    """What torch's tensors have, of a type that NumPy lacks; on the host."""

    is_cuda = False

    def __init__(self, values):
        self.values = values
        self.shape, self.dtype = values.shape, "torch.bfloat16"

    @property
    def __cuda_array_interface__(self):
        raise TypeError("no CUDA tensor")

    def data_ptr(self):
        return self.values.ctypes.data

    def element_size(self):
        return self.values.itemsize

    def stride(self):
        return tuple(each // self.values.itemsize for each in self.values.strides)

    def clone(self):
        return Tensor(self.values.copy())

    def copy_(self, other):
        self.values[...] = other.values


def test_tensors():
    base = np.arange(8, dtype=np.int16)
    one, other, apart = Tensor(base[::2]), Tensor(base[1::2]), Tensor(np.ones(3, np.int16))
    assert memory.arrays_in((one, apart)) == [one, apart]
    assert memory.apart([one, other, apart]) == {2}
    saved = memory.Saved([one, apart], current.device())
    base[:] = 0
    saved.restore()
    assert base.tolist() == [0, 0, 2, 0, 4, 0, 6, 0]


def test_the_arrays_of_arguments():
    x, y = np.zeros(3), cuda.to_device(np.zeros(3))
    assert memory.arrays_in((x, 1, (y, x), 2.0, None, np.float32(1))) == [x, y]
    with pytest.raises(TuningError, match="of type Odd"):
        memory.arrays_in((Odd(),))


class Odd:
    __cuda_array_interface__ = {}


def test_arrays_that_are_apart():
    x, y = np.zeros((4, 4)), np.zeros(4)
    assert memory.apart([x, y]) == {0, 1}
    assert memory.apart([x, x[1], y]) == {2}
    assert memory.apart([x[:2], x[2:], y]) == {0, 1, 2}
    assert memory.apart([x[:, 0], x[:, 1]]) == set()  # they interleave
    assert memory.apart([x[::-1], x[0]]) == set()


@pytest.mark.parametrize(
    ("one", "other", "exact", "close"),
    [
        ([1.0, 2.0], [1.0, 2.0], True, True),
        ([0.0], [-0.0], False, True),
        ([1.0, 100.0], [1.001, 100.0], False, True),  # relative to the largest
        ([1.0, 100.0], [1.2, 100.0], False, False),
        ([np.nan, 1.0], [np.nan, 1.0], True, True),
        ([np.nan, 1.0], [1.0, 1.0], False, False),
        ([np.inf, 1.0], [np.inf, 1.0], True, True),
        ([np.nan], [np.nan], True, True),
        ([0.0, 0.0], [0.0, 1e-6], False, True),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16])
def test_differences(one, other, exact, close, dtype):
    a, b = np.array(one, dtype), np.array(other, dtype)
    if dtype is ml_dtypes.bfloat16 and one == [1.0, 100.0] and other == [1.001, 100.0]:
        exact = True  # the same number
    assert (memory.differs(a, b, None) == "") == exact
    assert (memory.differs(a, b, 1e-4) == "") == close


def test_integers_have_no_tolerance():
    assert memory.differs(np.array([1000]), np.array([1001]), 0.5)
    assert not memory.differs(np.zeros(0), np.zeros(0), None)
    assert memory.tolerance_of([np.zeros(1, np.float32), np.zeros(1, int)]) == 1e-4
    assert memory.tolerance_of([np.zeros(1, np.complex128)]) == 1e-9
    assert memory.tolerance_of([np.zeros(1, ml_dtypes.bfloat16), np.zeros(1)]) == 2e-2

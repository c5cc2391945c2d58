"""Device arrays: copies, views, elements; on a device that shares the host's memory and one that
does not."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import DeviceError


@pytest.fixture(params=["fake", "remote"])
def device(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.int16).reshape(3, 4),
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.array(5, np.complex64),
        np.zeros((0, 3)),
        np.array([(1, 2.5)], dtype=[("a", "u1"), ("b", "f8")]),
        np.array([True, False]),
        np.arange(5, dtype=np.float16),
    ],
)
def test_round_trip(device, array):
    there = cuda.to_device(array)
    back = there.copy_to_host()
    assert back.dtype == array.dtype and back.shape == array.shape
    np.testing.assert_array_equal(back, array)
    assert there.flags["C_CONTIGUOUS"] == array.flags.c_contiguous
    mine = np.empty_like(array)
    assert there.copy_to_host(mine) is mine
    np.testing.assert_array_equal(mine, array)


def test_to_device_copies(device):
    x = np.zeros(4)
    there = cuda.to_device(x)
    x[:] = 1
    assert there.copy_to_host().tolist() == [0] * 4
    there.copy_to_device(x)
    assert there.copy_to_host().tolist() == [1] * 4
    assert cuda.to_device(there) is there


def test_copies_check_their_arrays(device):
    there = cuda.to_device(np.zeros(4))
    with pytest.raises(TypeError, match="incompatible dtype"):
        there.copy_to_device(np.zeros(4, np.float32))
    with pytest.raises(ValueError, match="incompatible shape"):
        there.copy_to_host(np.zeros(5))
    with pytest.raises(ValueError, match="ascontiguousarray"):
        cuda.to_device(np.zeros((4, 4))[::2, ::2])


def test_matrix(device):
    """A matrix of one row has no array of one axis."""
    matrix = np.asmatrix([[1, 2, 3]])
    there = cuda.to_device(matrix)
    back = there.copy_to_host(matrix * 0)
    there.copy_to_device(back + 1)
    assert back.tolist() == [[1, 2, 3]] and there.copy_to_host().tolist() == [[2, 3, 4]]


def test_broadcast_array(device):
    there = cuda.to_device(np.broadcast_to(np.arange(3), (4, 3)))
    assert there.strides == (0, 8)
    np.testing.assert_array_equal(there.copy_to_host(), np.tile(np.arange(3), (4, 1)))


@pytest.mark.parametrize(
    "item",
    [
        1,
        -1,
        slice(1, 3),
        slice(None, None, 2),
        (slice(None), 1),
        (1, 2),
        (..., 0),
        (slice(None), slice(None, None, -1)),
        (np.int64(2), slice(0, 0)),
    ],
)
def test_items_are_as_numpys(device, item):
    host = np.arange(20.0).reshape(4, 5)
    got = cuda.to_device(host)[item]
    if not isinstance(got, np.generic):
        got = got.copy_to_host()
    np.testing.assert_array_equal(got, host[item])


@pytest.mark.parametrize(
    ("item", "value"),
    [
        (1, 7.0),
        ((2, 3), 8),
        (slice(None), np.arange(5.0)),
        ((slice(None), 1), np.arange(4.0)),
        ((slice(None, None, 2), slice(1, 3)), [[1, 2], [3, 4]]),
    ],
)
def test_setting_items_is_as_numpys(device, item, value):
    host = np.zeros((4, 5))
    there = cuda.to_device(host)
    there[item] = value
    host[item] = value
    np.testing.assert_array_equal(there.copy_to_host(), host)


def test_setting_from_a_device_array(device):
    there = cuda.to_device(np.zeros(4))
    there[1:3] = cuda.to_device(np.array([5.0, 6.0]))
    assert there.copy_to_host().tolist() == [0, 5, 6, 0]
    with pytest.raises(ValueError, match="Can't assign 2-D array to 1-D self"):
        there[:] = np.zeros((1, 4))
    with pytest.raises(ValueError, match="size 3 to array axis 0 with dimension 4"):
        there[:] = np.zeros(3)


def test_fancy_indices_are_refused(device):
    with pytest.raises(NotImplementedError, match="integers and slices"):
        cuda.to_device(np.zeros(4))[[1, 2]]


def test_views_share_memory(device):
    there = cuda.to_device(np.arange(12, dtype=np.int32))
    square = there.reshape(3, 4)
    square[1, 1] = -1
    assert there[5] == -1
    assert square.reshape(-1).shape == square.ravel().shape == (12,)
    np.testing.assert_array_equal(square.T.copy_to_host(), square.copy_to_host().T)
    assert there.view(np.int16).shape == (24,)
    assert [len(part) for part in there.split(5)] == [5, 5, 2]
    assert square[None, :1].squeeze().shape == (4,)
    with pytest.raises(NotImplementedError, match="would require copy"):
        square[:, ::2].reshape(6)
    with pytest.raises(ValueError, match="cannot reshape"):
        there.reshape(5, -1)
    with pytest.raises(ValueError, match="C-contiguous"):
        square[:, 1].view(np.int8)


def test_records(device):
    dtype = np.dtype([("a", "i4"), ("b", "f4")])
    there = cuda.to_device(np.zeros(3, dtype))
    record = there[1]
    record["b"] = 2.5
    assert record["b"] == np.float32(2.5) and there.copy_to_host()["b"][1] == 2.5
    with pytest.raises(KeyError, match="no field 'c'; it has a, b"):
        record["c"]


def test_likes(device):
    f = np.asfortranarray(np.zeros((3, 4), np.float32))
    for like in (cuda.device_array_like, cuda.pinned_array_like, cuda.mapped_array_like):
        assert like(f).strides == f.strides and like(f).dtype == f.dtype
    strided = np.zeros((6, 8)).transpose(1, 0)[::2]
    assert cuda.device_array_like(strided).strides == np.empty_like(strided).strides
    for make in (cuda.device_array, cuda.pinned_array, cuda.mapped_array, cuda.managed_array):
        assert make((2, 3), np.int8).shape == (2, 3)
        assert make(5, order="F").size == 5


def test_mapped_memory_is_the_devices(fake):
    mapped = cuda.mapped_array(4)
    mapped[:] = 3
    assert cuda.as_cuda_array(mapped).copy_to_host().tolist() == [3] * 4


def test_interface(fake):
    x = cuda.to_device(np.arange(12.0).reshape(3, 4))

    class Foreign:
        __cuda_array_interface__ = x[:, 1:].__cuda_array_interface__

    assert cuda.is_cuda_array(Foreign()) and not cuda.is_cuda_array(np.zeros(1))
    mine = cuda.as_cuda_array(Foreign())
    assert mine.buffer is x.buffer
    np.testing.assert_array_equal(mine.copy_to_host(), np.arange(12.0).reshape(3, 4)[:, 1:])
    with pytest.raises(TypeError, match="cuda array interface"):
        cuda.as_cuda_array(np.zeros(1))


def test_memory_that_is_not_cudas_is_not_shown_as_such(remote):
    x = cuda.to_device(np.zeros(3))
    assert not hasattr(x, "__cuda_array_interface__") and cuda.is_cuda_array(x)
    with pytest.raises(AttributeError, match="device 'fake' is not CUDA's; use __dlpack__"):
        x.__cuda_array_interface__
    mapped = cuda.mapped_array(3)
    assert not hasattr(mapped, "__cuda_array_interface__") and not cuda.is_cuda_array(mapped)


def test_foreign_memory_is_refused(device):
    class Foreign:
        __cuda_array_interface__ = dict(
            shape=(4,), typestr="<f8", data=(0x7000_0000_0000, False), version=3
        )

    with pytest.raises(DeviceError, match="the device 'fake'"):
        cuda.as_cuda_array(Foreign())


def test_memory_lives_as_long_as_a_view(device):
    view = cuda.to_device(np.arange(5.0))[2:]
    assert view.copy_to_host().tolist() == [2, 3, 4]


def test_pinned_copies_follow_their_stream(device):
    import threading

    stream, gate = cuda.stream(), threading.Event()
    there, host = cuda.to_device(np.ones(3)), cuda.pinned_array(3)
    host[:] = 0
    stream.submit(gate.wait)
    there.copy_to_host(host, stream=stream)
    assert host.tolist() == [0, 0, 0]
    gate.set()
    stream.synchronize()
    assert host.tolist() == [1, 1, 1]

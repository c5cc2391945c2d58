"""Arrays as headers and frames: in the shapes of distributed's own tests of serialisation."""

from __future__ import annotations

import pickle

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gridlane import cuda, xp
from gridlane.distributed import arrays

protocol = pytest.importorskip("distributed.protocol", reason="distributed is not installed")

DeviceNDArray = type(cuda.device_array(1))
RECORD = np.dtype([("x", "i2"), ("y", "f8"), ("z", "u1", (3,))])
IS_HOST = cuda.device_array(1).__dlpack_device__()[0] == 1
CUBE = np.arange(24.0).reshape(2, 3, 4)


def _records():
    host = np.zeros(3, RECORD)
    host["y"], host["z"] = [1, 2, 3], [[1, 2, 3]] * 3
    return host


HOSTS = {
    "C order": CUBE,
    "Fortran's order": np.asfortranarray(CUBE),
    "records": _records(),
    "no elements": np.zeros((0, 3)),
    "no axes": np.array(5.0),
    "one element": np.ones((1, 1, 1), "u1"),
    "complex": CUBE.astype("c8"),
    "booleans": CUBE > 3,
    "half": CUBE.astype("f2"),
    "bfloat16": CUBE.astype(ml_dtypes.bfloat16),
    "aligned to 16": np.zeros(3, "c16"),
    "large": np.arange(1 << 17, dtype="i8"),
}


def _address(array):
    return array.__gridlane_array__["data"][0]


@pytest.fixture(autouse=True)
def _registered():
    arrays.register()  # as the import of gridlane.distributed does; other tests may undo it


@pytest.mark.parametrize("name", HOSTS)
def test_device_arrays(name):
    array = cuda.to_device(HOSTS[name])
    header, frames = protocol.serialize(array)
    again = protocol.deserialize(header, frames)
    assert type(again) is DeviceNDArray and not again.readonly
    assert (again.shape, again.strides, again.dtype) == (array.shape, array.strides, array.dtype)
    assert again.copy_to_host().tobytes() == array.copy_to_host().tobytes()
    assert len(frames) == 2 and memoryview(frames[1]).nbytes == array.nbytes
    if IS_HOST and array.size:
        assert _address(again) == _address(array), "neither end copies"


@pytest.mark.parametrize("name", [name for name in HOSTS if name != "records"])
def test_lazy_arrays(name):
    array = xp.asarray(HOSTS[name])
    again = protocol.deserialize(*protocol.serialize(array))
    assert type(again) is xp.Array and again.dtype == array.dtype
    assert np.asarray(again).tobytes() == np.asarray(array).tobytes()


def test_an_expression_is_computed_first():
    again = protocol.deserialize(*protocol.serialize(xp.arange(5) * 2 + 1))
    assert np.asarray(again).tolist() == [1, 3, 5, 7, 9]


VIEWS = {
    "every other": (lambda a: a[:, ::2], False),
    "backwards": (lambda a: a[::-1, :, ::-1], True),
    "a part": (lambda a: a[1], True),
    "a column": (lambda a: a[:, :, 1], False),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name):
    pick, has_strides = VIEWS[name]
    array = pick(cuda.to_device(CUBE))
    again = protocol.deserialize(*protocol.serialize(array))
    assert np.array_equal(again.copy_to_host(), pick(CUBE))
    assert (again.strides == array.strides) == has_strides, "gaps are not sent"


def test_a_record():
    record = cuda.to_device(_records())[1]
    again = protocol.deserialize(*protocol.serialize(record))
    assert type(again) is type(record) and again.copy_to_host() == _records()[1]
    assert again["y"] == 2.0


@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def test_readonly_frames_are_copied():
    array = cuda.to_device(np.arange(4.0))
    header, frames = protocol.serialize(array)
    frames = [bytes(each) for each in frames]
    again = protocol.deserialize(header, frames)
    increment[1, 4](again)
    assert again.copy_to_host().tolist() == [1, 2, 3, 4]
    assert np.frombuffer(frames[1]).tolist() == [0, 1, 2, 3]


def test_readonly_arrays_stay_so():
    host = np.arange(4.0)
    host.flags.writeable = False
    array = cuda.from_dlpack(host)
    again = protocol.deserialize(*protocol.serialize(array))
    assert again.readonly == array.readonly
    assert again.copy_to_host().tolist() == [0, 1, 2, 3]


def test_frames_at_odd_addresses():
    header, frames = protocol.serialize(cuda.to_device(np.arange(4.0)))
    shifted = bytearray(1 + 32)
    shifted[1:] = frames[1]
    again = protocol.deserialize(header, [frames[0], memoryview(shifted)[1:]])
    increment[1, 4](again)
    assert again.copy_to_host().tolist() == [1, 2, 3, 4]


def test_collections():
    data = {"a": [cuda.to_device(np.arange(3))] * 2, "b": (1, xp.ones(2))}
    again = protocol.deserialize(*protocol.serialize(data))
    assert again["a"][0].copy_to_host().tolist() == [0, 1, 2]
    assert np.asarray(again["b"][1]).tolist() == [1, 1]


@pytest.mark.parametrize("number", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_plain_pickles(number):
    array = cuda.to_device(np.asfortranarray(CUBE))
    again = pickle.loads(pickle.dumps(array, number))
    assert again.strides == array.strides and _address(again) != _address(array)
    assert np.array_equal(again.copy_to_host(), CUBE)
    lazy = pickle.loads(pickle.dumps(xp.asarray(CUBE), number))
    assert np.array_equal(np.asarray(lazy), CUBE)


def test_what_a_stream_computes_is_sent():
    stream, array = cuda.stream(), cuda.to_device(np.zeros(1 << 16))
    for _ in range(20):
        increment[1 << 8, 1 << 8, stream](array)
    again = protocol.deserialize(*[protocol.serialize(array)][0])
    assert set(again.copy_to_host()) == {20.0}


@settings(max_examples=60, deadline=None)
@given(
    host=hnp.arrays(
        st.sampled_from(["u1", "i2", "f4", "f8", "c16", RECORD]),
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
    ),
    order=st.sampled_from("CF"),
    steps=st.lists(st.sampled_from([1, 2, -1]), min_size=4, max_size=4),
)
def test_any_array(host, order, steps):
    """Views of any array have numpy's elements."""
    view = tuple([slice(None, None, step) for step in steps[: host.ndim]])
    array = cuda.to_device(np.array(host, order=order))
    array = array[view] if host.ndim else array
    again = protocol.deserialize(*protocol.serialize(array))
    expected = host[view]
    assert again.shape == expected.shape and again.copy_to_host().tobytes() == expected.tobytes()

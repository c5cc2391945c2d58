"""Arguments that overlap in memory of the host: every device answers as one that uses them in
place, one thread at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES
from tests.effort import examples

from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.launch import current
from gridlane.launch.devices import get_device

SIZE = 48


@pytest.fixture(params=["interp", *DEVICES], scope="module")
def chosen(request):
    return get_device(request.param)


@pytest.fixture
def device(chosen):
    current.choose(chosen)
    return chosen


def mix(into, one, other):
    for i in range(into.size):
        into[i] = one[i % one.size] + other[i % other.size] + 1


def mixed(into, one, other):
    """What the kernel does, in place."""
    for i in range(into.size):
        total = int(one[i % one.size]) + int(other[i % other.size]) + 1
        into[i] = np.int64(total).astype(into.dtype)


def pair(both, into):
    for i in range(into.size):
        into[i] = both[0][i % both[0].size] + both[1][i % both[1].size] + 1


KERNELS = {}


def kernel(device, function, signature=None):
    """A kernel is for one device."""
    key = device.name, function.__name__, signature
    if key not in KERNELS:
        KERNELS[key] = cuda.jit(signature)(function) if signature else cuda.jit(function)
    return KERNELS[key]


@st.composite
def views(draw, dtype):
    """Where a view lies: its element type, first byte, step and size."""
    dtype = np.dtype(dtype)
    step = draw(st.sampled_from((1, 1, 2, -1, -3)))
    size = draw(st.integers(1, 4))
    reach = (size - 1) * abs(step) + 1
    return dtype, draw(st.integers(0, SIZE // dtype.itemsize - reach)), step, size


def view(memory, place):
    """An array over bytes."""
    dtype, first, step, size = place
    array = memory.view(dtype)[first : first + (size - 1) * abs(step) + 1]
    return array[::step]


# Any layout, so that one kernel takes all views.
TYPED = {name: f"void({name}[:], int32[:], uint8[:])" for name in ("int32", "uint8")}


@pytest.mark.parametrize("name", TYPED)
@settings(max_examples=examples(40, 1000), deadline=None)
@given(data=st.data(), hint=st.sampled_from((cuda.InOut, cuda.Out, lambda array: array)))
def test_random_views(chosen, name, data, hint):
    current.choose(chosen)
    places = data.draw(st.tuples(*(map(views, (name, "int32", "uint8")))))
    wanted = np.arange(SIZE, dtype=np.uint8)
    found = wanted.copy()
    mixed(*(view(wanted, place) for place in places))
    into, *rest = (view(found, place) for place in places)
    kernel(device, mix, TYPED[name])[1, 1](hint(into), *rest)
    assert found.tolist() == wanted.tolist()


def test_a_shifted_copy(device):
    x = np.arange(8, dtype=np.float32)
    kernel(device, mix)[1, 1](x[1:], x[:7], x[:7])
    assert x.tolist() == [0, 1, 3, 7, 15, 31, 63, 127]


def test_memory_between_arguments_is_left_alone(device):
    def spoil(into, one):
        into[0] = one[0] + 1

    x = np.arange(9, dtype=np.int32)
    holes = x[::4], x[8:0:-4]
    cuda.jit(spoil)[1, 1](*holes)
    assert x.tolist() == [9, 1, 2, 3, 4, 5, 6, 7, 8]


def test_a_read_only_view_shows_what_was_written(device):
    x = np.zeros(4, np.int32)
    only_read = x[:3]
    only_read.flags.writeable = False
    kernel(device, mix)[1, 1](x[1:], only_read, only_read)
    assert x.tolist() == [0, 1, 3, 7]


def test_in_is_of_before(device):
    x = np.ones(4, np.int32)
    kernel(device, mix)[1, 1](x[1:], cuda.In(x[:3]), cuda.In(x))
    assert x.tolist() == [1, 3, 3, 3]


def test_in_a_tuple(device):
    x = np.ones(5, np.int32)
    kernel(device, pair)[1, 1]((x[:2], x[1:3]), x[2:])
    assert x.tolist() == [1, 1, 3, 5, 3]


def test_another_type_of_the_same_memory(device):
    x = np.array([1.0, 2.0], np.float32)
    kernel(device, mix)[1, 1](x.view(np.int32)[1:], x.view(np.int32)[:1], x.view(np.uint8)[3:])
    assert x.view(np.int32).tolist() == [0x3F800000, 0x3F800000 + 0x3F + 1]


def test_twice_the_same(device):
    x = np.arange(6, dtype=np.int32).reshape(2, 3).T

    def step(one, other):
        one[0, 0] = other[2, 1] + 1
        other[1, 1] = one[0, 0] + 1

    cuda.jit(step)[1, 1](x, x)
    assert x.tolist() == [[6, 3], [1, 7], [2, 5]]


RECORD = np.dtype([("x", np.int32), ("y", np.float32)])


def test_records(device):
    def step(one, other):
        one.x = 7
        other.y = 5

    array = np.zeros(3, RECORD)
    item = array[1]
    cuda.jit(step)[1, 1](item, item)
    assert array.tolist() == [(0, 0), (7, 5), (0, 0)]

    def through(one, every):
        every[2].x = 7
        one.y = every[2].x + 1

    cuda.jit(through)[1, 1](array[2], array)
    assert array.tolist() == [(0, 0), (7, 5), (7, 8)]


def test_records_on_a_stream(device):
    def step(one):
        one.x = 7

    array = np.zeros(3, RECORD)
    cuda.jit(step)[1, 1, cuda.stream()](array[1])
    assert array["x"].tolist() == [0, 7, 0]


PACKED = np.dtype([("mark", np.uint8), ("value", np.int32)])


def test_fields_that_are_not_aligned(device):
    array = np.zeros(5, PACKED)
    array["value"], array["mark"] = range(5), 1
    value, mark, out = array["value"], array["mark"], np.zeros(5, np.int32)
    kernel(device, mix)[1, 1](out, value, mark)
    assert out.tolist() == [2, 3, 4, 5, 6]
    kernel(device, mix)[1, 1](value, out, mark)
    assert value.tolist() == [4, 5, 6, 7, 8] and set(mark) == {1}
    kernel(device, mix)[1, 1](mark, mark, mark)
    assert value.tolist() == [4, 5, 6, 7, 8] and set(mark) == {3}
    with pytest.raises(ArgumentError, match="overlap in memory and cannot share a copy"):
        kernel(device, mix)[1, 1](value[1:], value[:4], mark)


def test_elements_that_overlap_each_other(device):
    windows = np.lib.stride_tricks.as_strided(np.zeros(8, np.uint8).view(np.int32), (4,), (1,))
    with pytest.raises(ArgumentError, match="overlap each other"):
        kernel(device, mix)[1, 1](windows, np.ones(4, np.int32), np.ones(4, np.uint8))
    again = np.lib.stride_tricks.as_strided(np.arange(3, dtype=np.int32), (2, 2), (4, 4))

    def step(x):
        x[0, 1] = 7
        x[1, 1] = x[1, 0] + 1

    cuda.jit(step)[1, 1](again)
    assert again.tolist() == [[0, 7], [7, 8]]


def test_what_no_copy_can_hold_is_refused(device):
    memory = np.zeros(17, np.uint8)
    one, other = memory[:16].view(np.int32), memory[1:].view(np.int32)
    with pytest.raises(ArgumentError, match="overlap in memory and cannot share a copy"):
        kernel(device, mix)[1, 1](one, other, other)

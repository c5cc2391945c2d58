"""What is matched by is made of a kernel's parameters: both launchers hand over the bytes that the
packer makes, or send the call the slow way."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cuda.test_launcher import CLASSES, Driver, made
from tests.launch.test_parameters import Pair, parameters_of

from gridlane import cuda
from gridlane.core.artifact import ParamSlot
from gridlane.core.compact import LIMIT
from gridlane.core.dtypes import ALL, bf16, f16
from gridlane.core.parameters import lay_out
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.launch.matchers import matcher
from gridlane.launch.packing import packer
from gridlane.launch.parameters import Parameters


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__name__)
def cls(request):
    return request.param


def launched(cls, parameters, args, *others, compact=False):
    """The blocks of launches with arguments and with others, after a profile of the first ones;
    None for the slow way."""
    matchers = [matcher(parameters, n, arg, compact) for n, arg in enumerate(args)]
    assert None not in matchers
    driver, blocks = Driver(), []
    launch = made(cls, driver, tuple(matchers), parameters.size)
    for each in (args, *others):
        launch(*each)
        blocks.append(driver.calls.pop()[-1] if driver.calls else None)
        assert (blocks[-1] is None) == bool(launch.slow)
        launch.slow.clear()
    return blocks


def test_all_kinds_of_arguments(cls):
    array = cuda.to_device(np.arange(6, dtype=np.int16).reshape(2, 3))
    record = cuda.to_device(np.zeros((), [("x", "f4")])[()])
    args = (array, 7, None, record, np.float32(0.1), True, np.int8(-3), 2.5, np.uint64(5), False)
    other = (
        array[1:],
        -7,
        None,
        record,
        np.float32(2),
        False,
        np.int8(3),
        -0.0,
        np.uint64(6),
        True,
    )
    parameters = parameters_of(*args)
    layout = "<Q4qqQf?b2xdQ?"
    shown = [
        struct.pack(
            layout, each[0].address, *each[0].shape, *each[0].strides, each[1], record.address,
            *each[4:],
        ).ljust(parameters.size, b"\0")
        for each in (args, other)
    ]  # fmt: skip
    assert launched(cls, parameters, args, other) == shown
    assert [packer(parameters, args)(*each) for each in (args, other)] == shown


class Int(int):
    pass


class Float(float):
    pass


class Sub(DeviceNDArray):
    pass


def strangers():
    array = cuda.to_device(np.zeros(4))
    large = DeviceNDArray((2,), (1 << 33,), "f8", 0, array.buffer, array.address)
    theirs = Sub((4,), (8,), "f8", 0, array.buffer, array.address)
    arrays = (
        array.view("i8"), array[::2], array.reshape(2, 2), theirs, np.zeros(4), large, None, 3,
    )  # fmt: skip
    yield array, [*arrays, array.address, array.__gridlane_packed__]
    yield 3, [2**63, -(2**63) - 1, True, 3.0, np.int64(3), Int(3), "3", None, LIMIT + 1]
    yield 3.0, [3, np.float64(3), Float(3), True, None, "3", 3j]
    yield True, [1, np.bool_(True), None, "x"]
    yield np.int64(3), [3, np.int32(3), np.uint64(3), np.int64(LIMIT + 1), np.array(3)]
    yield np.float16(3), [3.0, np.float32(3), np.uint16(3)]
    yield None, [0, False, ()]


def test_what_is_of_another_type_goes_the_slow_way(cls):
    for good, bad in strangers():
        parameters = parameters_of(good)
        blocks = launched(cls, parameters, (good,), *[(each,) for each in bad], compact=True)
        assert blocks[0] == packer(parameters, (good,))(good)
        assert blocks[1:] == [None] * len(bad), good
        assert launched(cls, parameters, (good,), (), (good, good)) == [blocks[0], None, None]


def test_integers_are_bounded_for_compact_code_alone(cls):
    parameters = parameters_of(1)
    sizes = (LIMIT,), (-LIMIT,), (LIMIT + 1,), (-LIMIT - 1,), (2**63 - 1,)
    blocks = [struct.pack("<q", *each) for each in sizes]
    assert launched(cls, parameters, (1,), *sizes)[1:] == blocks
    assert launched(cls, parameters, (1,), *sizes, compact=True)[1:] == [*blocks[:2], *[None] * 3]


@given(st.sampled_from(ALL), st.data())
def test_the_packers_agree_on_numbers(dtype, data):
    """Of Python and of numpy, for parameters of every type; where there is no matcher, the slow way
    packs."""
    if dtype.is_float:
        number = data.draw(st.floats(allow_nan=False))
        with np.errstate(over="ignore"):
            values = [number, dtype.numpy.type(number)]
    else:
        number = data.draw(st.integers(-(2**63), 2**63 - 1))
        values = [number, bool(number), np.array([number]).astype(dtype.numpy)[0]]
    parameters = Parameters(*lay_out([("x", dtype, 0, ())]))
    for value in values:
        wanted = packer(parameters, (value,))(value)
        found = matcher(parameters, 0, value, False)
        plain = isinstance(value, np.generic) or dtype not in (f16, bf16)
        integral_for_bool = dtype.is_bool and type(value) is int
        assert (found is not None) == (plain and not integral_for_bool), (value, dtype)
        if found is not None:
            for cls in CLASSES:
                assert launched(cls, parameters, (value,)) == [wanted], (value, dtype)


def test_what_has_no_matcher():
    """What is spread over several scalars, and what lies otherwise than it is packed."""
    array = cuda.to_device(np.zeros(3))
    for value in (1j, np.complex64(1), (1,), (array,), Pair(1, 2.0), ()):
        assert matcher(parameters_of(value), 0, value, False) is None
    slots = parameters_of(array).slots
    apart = tuple(ParamSlot("", 16 * n, s.dtype, 0, s.path) for n, s in enumerate(slots))
    assert matcher(Parameters(apart, 48), 0, array, False) is None
    pointer = Parameters(*lay_out([("p", None, 0, ())]))
    assert matcher(pointer, 0, 4096, False) is None and matcher(pointer, 0, array, False) is None

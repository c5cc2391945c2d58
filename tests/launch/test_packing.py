"""The parameter block, by one value a slot."""

from __future__ import annotations

import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridlane.core.artifact import ParamSlot
from gridlane.core.dtypes import ALL, FLOATS, INTEGERS, bf16, f16, f32, f64, i8, i32, u64
from gridlane.launch.packing import flat_packer, packer
from gridlane.launch.parameters import Parameters
from gridlane.memory.resource import Buffer


def laid_out(dtypes):
    slots, end = [], 0
    for number, dtype in enumerate(dtypes):
        size = 8 if dtype is None else dtype.size
        offset = -(-end // size) * size
        slots.append(ParamSlot(f"p{number}", offset, dtype, number))
        end = offset + size
    return slots, -(-end // 8) * 8


def value_of(dtype):
    if dtype is None:
        return st.integers(0, 2**64 - 1)
    if dtype.is_bool:
        return st.booleans()
    if dtype.is_integer:
        return st.integers(dtype.min, dtype.max)
    return st.floats(width={f16: 16, bf16: 16, f32: 32, f64: 64}[dtype], allow_nan=False)


@given(st.data())
def test_each_value_is_where_numpy_puts_it(data):
    dtypes = data.draw(st.lists(st.sampled_from([None, *ALL]), max_size=8))
    slots, size = laid_out(dtypes)
    values = [data.draw(value_of(dtype)) for dtype in dtypes]
    block = flat_packer(Parameters(tuple(slots), size))(*values)
    assert len(block) == size
    wanted = bytearray(size)
    for slot, value in zip(slots, values):
        kind = np.dtype("u8") if slot.dtype is None else slot.dtype.numpy
        with np.errstate(over="ignore"):
            octets = np.array(value, kind).tobytes()
        wanted[slot.offset : slot.offset + len(octets)] = octets
    assert block == wanted


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_wrap(dtype):
    slots, size = laid_out([dtype])
    pack = flat_packer(Parameters(tuple(slots), size))
    for value in (2**dtype.bits + 3, -1, np.int64(-2), np.uint8(7), True, 2.9):
        assert pack(value)[: dtype.size] == (int(value) % 2**dtype.bits).to_bytes(
            dtype.size, "little"
        )


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("value", [True, np.True_, np.False_], ids=repr)
def test_bools_are_numbers(dtype, value):
    parameters = Parameters(*laid_out([dtype]))
    wanted = np.array(int(value)).astype(dtype.numpy).tobytes()
    for pack in (flat_packer(parameters), packer(parameters, [value])):
        assert pack(value)[: dtype.size] == wanted


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats_are_rounded(dtype):
    slots, size = laid_out([dtype])
    pack = flat_packer(Parameters(tuple(slots), size))
    for value in (1e300, -1e300, 1 / 3, 3, np.float64(2) / 7, np.float32(0.1)):
        with np.errstate(over="ignore"):
            wanted = np.array(value).astype(dtype.numpy)
        assert pack(value)[: dtype.size] == wanted.tobytes()
    assert np.isnan(np.frombuffer(pack(float("nan")), dtype.numpy)[0])
    assert ml_dtypes.finfo(dtype.numpy).bits == dtype.bits


def test_pointers_are_addresses_and_what_has_one():
    slots, size = laid_out([i8, None, None])
    block = flat_packer(Parameters(tuple(slots), size))(1, Buffer(2**63 + 5, 16), np.uint64(7))
    assert block == struct.pack("<b7xQQ", 1, 2**63 + 5, 7)


def test_the_number_of_values_is_checked():
    slots, size = laid_out([i32, u64])
    with pytest.raises(TypeError):
        flat_packer(Parameters(tuple(slots), size))(1)

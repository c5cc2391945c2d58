"""Arguments of all kinds become the parameter block that struct packs by hand."""

from __future__ import annotations

import ctypes
import struct
from collections import namedtuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gridlane import compiler, cuda
from gridlane.core.artifact import ParamSlot
from gridlane.core.compact import LIMIT
from gridlane.core.dtypes import ALL, b1, bf16, f32, i8, i16, i32, i64
from gridlane.core.options import KernelOptions, Target
from gridlane.core.parameters import lay_out
from gridlane.cuda.kernels.argument_types import typeof
from gridlane.launch import compact
from gridlane.launch.packing import flat_packer, pack_from, packer
from gridlane.launch.parameters import Parameters, array_layout, struct_of

Pair = namedtuple("Pair", "left right")


def one(a):
    return


def two(a, b):
    return


def three(a, b, c):
    return


def four(a, b, c, d):
    return


def ten(a, b, c, d, e, f, g, h, i, j):
    return


KERNELS = {1: one, 2: two, 3: three, 4: four, 10: ten}


def parameters_of(*args):
    """How a kernel of such arguments has them."""
    module = compiler.translate(KERNELS[len(args)], tuple(map(typeof, args)), KernelOptions())
    artifact = compiler.generate(module, Target("interp"))
    return Parameters(artifact.params, artifact.param_bytes)


def packed(*args):
    return packer(parameters_of(*args), args)(*args)


def by_hand(array):
    address = array.address if hasattr(array, "address") else array.ctypes.data
    return struct.pack(f"<Q{2 * array.ndim}q", address, *array.shape, *array.strides)


def test_all_kinds_of_arguments():
    host = np.zeros((3, 4), np.int16)[:, ::2]
    device = cuda.to_device(np.arange(6.0).reshape(2, 3))
    record = cuda.to_device(np.zeros((), [("x", "f4"), ("y", "i8")])[()])
    point = cuda.to_device(np.float32(3)).reshape()
    args = (device, 7, host, None, np.float32(0.1), True, np.complex64(1 - 2j), record, point, 2.5)
    wanted = struct.pack(
        f"<{len(by_hand(device))}sq{len(by_hand(host))}sf?3xffQQd",
        by_hand(device), 7, by_hand(host), np.float32(0.1), True, 1, -2,
        record.address, point.address, 2.5,
    )  # fmt: skip
    assert packed(*args) == wanted


def test_items_of_tuples():
    device, host = cuda.to_device(np.zeros((2, 5), np.uint8)), np.zeros(3)
    wanted = by_hand(device) + struct.pack("<bxxxi", -3, 9) + by_hand(host) + struct.pack("<d", 0.5)
    assert packed((device, Pair(np.int8(-3), np.int32(9))), (host,), Pair(0.5, None)) == wanted


def test_a_packer_packs_other_arguments_of_the_types():
    one, two = (cuda.to_device(np.zeros(n, np.float32)) for n in (3, 4))
    pack = packer(parameters_of(one, 1), (one, 1))
    assert pack(two, -(2**63)) == by_hand(two) + struct.pack("<q", -(2**63))
    for args in ((two,), (two, 1, 2), (two, 2**63), (two, "1"), (3, 1)):
        with pytest.raises((TypeError, AttributeError, struct.error)):
            pack(*args)


@pytest.mark.parametrize("ndim", [0, 1, 3])
def test_an_array_packs_what_the_compiler_lays_out(ndim):
    array = cuda.to_device(np.zeros((2,) * ndim, np.int32))
    (piece,) = parameters_of(array).pieces
    assert array.__gridlane_packed__ == by_hand(array) and piece.array is array_layout(ndim)
    assert array_layout(ndim).pack(2**64 - 1, *[0] * 2 * ndim)[:8] == b"\xff" * 8


def test_what_lies_otherwise_is_no_array():
    """Slots with an array's paths at other places, or of other types."""
    whole = array_layout(1).slots
    moved = (whole[0], whole[2], whole[1])
    wide = [ParamSlot("", 16 * n, slot.dtype, 0, slot.path) for n, slot in enumerate(whole)]
    narrow, _ = lay_out(("", slot.dtype and i32, 0, slot.path) for slot in whole)
    array = cuda.to_device(np.zeros(5, np.int8))
    assert packer(Parameters(tuple(whole), 24), [array])(array) == array.__gridlane_packed__
    for slots in (wide, narrow, moved[1:], whole[:2]):
        parameters = Parameters(tuple(slots), 40)
        assert parameters.pieces[0].array is None
        block = packer(parameters, [array])(array)
        for slot in slots:
            value = array.address if slot.dtype is None else getattr(array, slot.path[0])[0]
            octets = value.to_bytes(slot.size, "little")
            assert block[slot.offset : slot.end] == octets


def test_places_that_overlap():
    with pytest.raises(ValueError, match="behind byte 4"):
        struct_of([(0, "q"), (4, "i")], 8)
    with pytest.raises(ValueError, match="behind byte 4"):
        struct_of([(0, "q")], 4)


# --- pointers to values, as cuLaunchKernel takes them ---


def c_array(dtype, value):
    """The bytes of a value in memory of its own."""
    kind = np.dtype("u8") if dtype is None else dtype.numpy
    return np.array([value]).astype(kind)


@given(st.lists(st.sampled_from([None, *ALL]), max_size=9), st.data())
def test_pointers_to_values_and_values_make_the_same_block(dtypes, data):
    slots, size = lay_out((f"p{n}", dtype, n, ()) for n, dtype in enumerate(dtypes))
    parameters = Parameters(slots, size)
    values = [
        c_array(dtype, data.draw(st.integers(0, 1 if dtype is b1 else 100))) for dtype in dtypes
    ]
    pointers = (ctypes.c_void_p * (len(values) + 1))(*[value.ctypes.data for value in values])
    block = pack_from(parameters, ctypes.addressof(pointers))
    assert block == flat_packer(parameters)(*[value[0] for value in values])


def test_pointers_are_read_as_ctypes_has_the_values():
    slots, size = lay_out((str(n), d, n, ()) for n, d in enumerate((i8, f32, None, i16)))
    values = ctypes.c_int8(-1), ctypes.c_float(1.5), ctypes.c_void_p(2**63), ctypes.c_int16(-2)
    pointers = (ctypes.c_void_p * 4)(*map(ctypes.addressof, values))
    block = pack_from(Parameters(slots, size), ctypes.addressof(pointers))
    assert block == struct.pack("<b3xfQh6x", -1, 1.5, 2**63, -2)


def test_null_pointers_are_refused():
    slots, size = lay_out([("x", f32, 0, ()), ("y", bf16, 1, ())])
    parameters, value = Parameters(slots, size), ctypes.c_float(1)
    with pytest.raises(ValueError, match="2 parameters is null"):
        pack_from(parameters, 0)
    pointers = (ctypes.c_void_p * 2)(ctypes.addressof(value), None)
    with pytest.raises(ValueError, match="parameter 1, 'y', is null"):
        pack_from(parameters, ctypes.addressof(pointers))
    assert pack_from(Parameters((), 0), 0) == b""


def test_a_bool_in_memory_is_0_or_1():
    parameters, value = Parameters(*lay_out([("x", b1, 0, ())])), ctypes.c_uint8(2)
    pointers = (ctypes.c_void_p * 1)(ctypes.addressof(value))
    assert pack_from(parameters, ctypes.addressof(pointers)) == struct.pack("<?7x", True)


# --- bounds of compact launches ---

LENGTHS = st.sampled_from([0, 1, 2, 3, LIMIT // 4, LIMIT // 4 + 1, LIMIT, LIMIT + 1, 2**40])
STEPS = st.sampled_from([0, 1, 4, 8, LIMIT // 2, LIMIT - 4, LIMIT, LIMIT + 1, 2**33])


def holds_by_hand(shape, strides):
    reach = sum(abs((n - 1) * step) for n, step in zip(shape, strides))
    return all(abs(n) <= LIMIT for n in (reach, *shape, *strides))


@given(st.lists(st.tuples(LENGTHS, STEPS, st.sampled_from([1, -1])), max_size=4), st.integers(0, 3))
@example([(2, LIMIT, 1)], 1)
def test_what_compact_code_gets(axes, before):
    """An array's key, the test of a whole block, and the definition agree."""
    shape, strides = [n for n, _, _ in axes], [step * sign for _, step, sign in axes]
    wanted = holds_by_hand(shape, strides)
    one = array_layout(len(axes)).pack(4096, *shape, *strides)
    assert compact.array_checker(len(axes))(one) is wanted
    assert (compact.reach(shape, strides) <= LIMIT) or not wanted
    array = cuda.to_device(np.zeros((1,) * len(axes)))
    arguments = [np.int8(1)] * before + [(array, 1)]
    whole = bytearray(packed(*arguments))
    parameters = parameters_of(*arguments)
    piece = next(piece for piece in parameters.pieces if piece.array is not None)
    whole[piece.offset : piece.offset + len(one)] = one
    check = compact.checker(parameters)
    assert check(bytes(whole)) is wanted
    struct.pack_into("<q", whole, parameters.slots[-1].offset, -LIMIT - 1)
    assert parameters.slots[-1].dtype is i64 and check(bytes(whole)) is False


def test_arrays_of_one_argument_are_measured_apart():
    """Each may reach as far as the limit."""
    array = cuda.to_device(np.zeros((1, 1)))
    parameters = parameters_of((array, array))
    far = array_layout(2).pack(4096, 2, 2, LIMIT // 2, LIMIT // 2)
    assert compact.checker(parameters)(far + far) is True


@pytest.mark.parametrize("itemsize", [1, 4, 16])
def test_what_seems_small_is_small(itemsize):
    """Of an array whose elements follow each other, before its address is known."""

    class Shown:
        def __init__(self, size):
            self.itemsize, self.nbytes = itemsize, size * itemsize

    for size in (1, LIMIT // itemsize - 1, LIMIT // itemsize, LIMIT // itemsize + 1, LIMIT):
        seen = compact.arguments_seem_small((Shown(size),))
        assert seen is (compact.reach((size,), (itemsize,)) <= LIMIT)

"""One kernel launched with each kind of argument behind each other: a launch takes no plan that was
made for another kind."""

from __future__ import annotations

import enum
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.launch import current
from gridlane.launch.devices import get_device


@pytest.fixture(params=[name for name in DEVICES if name != "cpu"] + ["cpu"], autouse=True)
def device(request, monkeypatch):
    found = get_device(request.param)
    current.choose(found)
    return found


class Sub(np.ndarray):
    pass


class Shown:
    """Shows host memory."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Foreign:
    """Shows device memory, or the host's."""

    def __init__(self, array):
        self.array = array
        if isinstance(array, np.ndarray):
            self.__array_interface__ = array.__array_interface__
        else:
            self.__cuda_array_interface__ = array.__gridlane_array__


class Level(enum.IntEnum):
    LOW = 7


def fresh():
    return np.arange(6, dtype=np.int32).reshape(2, 3)


def unaligned():
    return (
        np.concatenate((np.zeros(1, np.uint8), fresh().view(np.uint8).ravel()))[1:]
        .view(np.int32)
        .reshape(2, 3)
    )


def filled(array):
    array[...] = fresh()
    return array


def readonly(array):
    array.flags.writeable = False
    return array


def strided():
    return filled(np.zeros((4, 6), np.int32)[::2, ::2])


ARRAYS = {
    "C": fresh,
    "F": lambda: np.asfortranarray(fresh()),
    "strided": strided,
    "backwards": lambda: filled(np.zeros((2, 3), np.int32)[::-1]),
    "repeated": lambda: readonly(np.broadcast_to(fresh()[1], (2, 3)).view()),
    "unaligned": unaligned,
    "readonly": lambda: readonly(fresh()),
    "subclass": lambda: fresh().view(Sub),
    "pinned": lambda: filled(cuda.pinned_array((2, 3), np.int32)),
    "mapped": lambda: filled(cuda.mapped_array((2, 3), np.int32)),
    "managed": lambda: filled(cuda.managed_array((2, 3), np.int32)),
    "part of mapped": lambda: filled(cuda.mapped_array((4, 3), np.int32)[2:]),
    "sum of mapped": lambda: filled(cuda.mapped_array((2, 3), np.int32)) + np.int32(0),
    "plain view of mapped": lambda: np.asarray(filled(cuda.mapped_array((2, 3), np.int32))),
    "device": lambda: cuda.to_device(fresh()),
    "device F": lambda: cuda.to_device(np.asfortranarray(fresh())),
    "memoryview": lambda: memoryview(fresh()),
    "memoryview readonly": lambda: memoryview(fresh()).toreadonly(),
    "shown": lambda: Shown(fresh()),
    "shown unaligned": lambda: Shown(unaligned()),
    "shown readonly": lambda: Shown(readonly(fresh())),
    "foreign host": lambda: Foreign(fresh()),
    "foreign device": lambda: Foreign(cuda.to_device(fresh())),
    "In": lambda: cuda.In(fresh()),
    "InOut": lambda: cuda.InOut(fresh()),
    "InOut of mapped": lambda: cuda.InOut(filled(cuda.mapped_array((2, 3), np.int32))),
}
READ_ONLY = {name for name in ARRAYS if "readonly" in name or name in ("repeated", "In")}


def host(argument):
    """The elements that an argument has now."""
    if isinstance(argument, (Shown, Foreign)):
        return host(argument.array)
    if isinstance(argument, cuda.InOut):
        return host(argument.value)
    return argument.copy_to_host() if hasattr(argument, "copy_to_host") else np.asarray(argument)


SOME = ("C", "unaligned", "mapped", "foreign device", "int", "float", "float32", "tuple")


def pairs_of(names, device):
    """All ordered pairs; on other devices than these two, those of kinds that are converted."""
    target = device.target((32, 1, 1)).name
    if target not in ("cpu", "vulkan"):
        names = [name for name in names if name in SOME]
    if target not in ("cpu", "cuda"):  # the others refuse CUDA's interface: test_dlpack_devices.py
        names = [name for name in names if name != "foreign device"]
    return product(names, names)


def forget(kernel):
    """The launches of a kernel begin anew; its code stays."""
    kernel._plans.clear()
    kernel._configured.clear()


def test_arrays_that_are_read(device):
    @cuda.jit
    def kernel(x, out):
        out[0] = x[1, 0] * 100 + x[1, 2]

    for pair in pairs_of(ARRAYS, device):
        forget(kernel)
        for name in pair:
            out = np.zeros(1, np.int32)
            kernel[1, 1](ARRAYS[name](), out)
            assert out[0] == 305, pair


def test_arrays_that_are_written(device):
    @cuda.jit
    def kernel(x):
        x[1, cuda.threadIdx.x] += 10

    names = [name for name in ARRAYS if name not in READ_ONLY]
    wanted = fresh()
    wanted[1] += 10
    for pair in pairs_of(names, device):
        forget(kernel)
        for name in pair:
            argument = ARRAYS[name]()
            kernel[1, 3](argument)
            cuda.synchronize()
            assert host(argument).tolist() == wanted.tolist(), pair


SCALARS = {
    "bool": True,
    "int": 7,
    "negative int": -7,
    "big int": 2**63 + 8,
    "float": 7.75,
    "complex": 7 + 1j,
    **{
        str(np.dtype(dtype)): np.dtype(dtype).type(7)
        for dtype in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "q", "Q", "f2", "f4")
    },
    "float64": np.float64(7.5),
    "complex64": np.complex64(7),
    "bfloat16": ml_dtypes.bfloat16(7),
    "enum": Level.LOW,
    "tuple": (7, 1),
    "tuple of floats": (7.0, 1.0),
    "array": np.full(2, 7),
}


def test_all_kinds_behind_each_other(device):
    """A kernel that asks nothing of one argument, with another behind it: a wrong layout or a wrong
    conversion shows in what that is."""

    @cuda.jit
    def kernel(x, mark, out):
        out[0] = mark

    values = {**SCALARS, **{name: make() for name, make in ARRAYS.items()}, "none": None}
    for n, pair in enumerate(pairs_of(values, device)):
        if len(set(pair) & {"C", "mapped", "int", "tuple"}) == 0:
            continue  # each kind of array with each is above
        forget(kernel)
        for name in pair:
            out = np.zeros(1, np.int32)
            kernel[1, 1](values[name], n, out)
            assert out[0] == n, pair


def test_numbers(device):
    """Each arrives with its own type; devices without float64 have no complex128 either."""

    @cuda.jit
    def kernel(x, out):
        out[0] = x

    dtype = np.complex128 if device.host_visible else np.float32
    numbers = {name: x for name, x in SCALARS.items() if np.ndim(x) == 0}
    if not device.host_visible:
        numbers = {name: x for name, x in numbers.items() if not np.iscomplexobj(x)}
    for pair in pairs_of(numbers, device):
        forget(kernel)
        for name in pair:
            out = np.zeros(1, dtype)
            kernel[1, 1](numbers[name], out)
            assert out[0] == dtype(numbers[name]), pair


def test_what_cannot_be_an_argument_stays_refused():
    @cuda.jit
    def kernel(x):
        pass

    for bad in ([1], "text", b"text", object(), {}, 2**64, np.str_("a")):
        for good in (7, fresh()):
            kernel[1, 1](good)
            with pytest.raises(ArgumentError):
                kernel[1, 1](bad)

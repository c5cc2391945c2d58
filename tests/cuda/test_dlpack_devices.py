"""DLPack of each device: what it calls its memory, and whose tensors its kernels take."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tests.cuda.tensors import Tensor
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.dlpack_abi import COPIED
from gridlane.core.errors import ArgumentError, CompileError, DeviceError
from gridlane.cuda.interop import dlpack
from gridlane.launch import current
from gridlane.launch.devices import get_device

KINDS = {"cpu": 1, "cuda": 2, "vulkan": 7, "metal": 8, "webgpu": 15}


@pytest.fixture(params=["interp", *DEVICES], autouse=True)
def device(request, monkeypatch):
    found = get_device(request.param)
    current.choose(found)
    return found


def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


class Shown:
    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)


def test_each_device_has_its_own_kind(device):
    array = cuda.to_device(np.arange(4, dtype=np.float32))
    if device.name not in KINDS:
        with pytest.raises(
            BufferError, match=f"no kind of device for the memory of {device.name!r}"
        ):
            array.__dlpack_device__()
        with pytest.raises(BufferError, match="copy the array to the host with copy_to_host"):
            array.__dlpack__()
        return
    assert array.__dlpack_device__() == (KINDS[device.name], 0)
    tensor = dlpack.capsules.Tensor(array.__dlpack__(max_version=(1, 0)))
    assert (tensor.device_type, tensor.device_id) == array.__dlpack_device__()
    assert tensor.data == array.address and not tensor.flags


def test_every_device_copies_to_the_host(device):
    array = cuda.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))[:, 1:]
    want = [[1, 2, 3], [5, 6, 7], [9, 10, 11]]
    assert np.from_dlpack(array, device="cpu").tolist() == want
    if device.host_visible:
        return
    tensor = dlpack.capsules.Tensor(array.__dlpack__(max_version=(1, 0), dl_device=(1, 0)))
    assert tensor.device_type == 1 and tensor.flags == COPIED
    with pytest.raises(BufferError, match="copy=False"):
        array.__dlpack__(dl_device=(1, 0), copy=False)


def test_only_memory_that_cuda_can_use_has_its_interface(device):
    array = cuda.to_device(np.zeros(4, np.float32))
    if device.name in ("cpu", "cuda"):  # the CPU's as numba's simulator has it
        assert array.__cuda_array_interface__["data"][0] == array.address
        return
    assert not hasattr(array, "__cuda_array_interface__")
    assert cuda.is_cuda_array(array)


def test_arrays_go_round_without_a_copy(device):
    array = cuda.to_device(np.arange(4, dtype=np.float32))
    if device.name not in KINDS:
        return
    same = cuda.from_dlpack(Shown(array))
    assert same.address == array.address
    assert device.host_visible or same.buffer is array.buffer
    cuda.jit(add_one)[1, 32](Shown(array))
    assert array.copy_to_host().tolist() == [1, 2, 3, 4]
    copied = cuda.from_dlpack(Shown(array), copy=True)
    assert copied.address != array.address and copied.copy_to_host().tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("versioned", [False, True])
def test_tensors_of_the_host_are_arguments(device, versioned):
    tensor = Tensor(np.arange(8, dtype=np.float32)[::2], versioned=versioned)
    kernel = cuda.jit(add_one)
    kernel[1, 32](tensor)
    kernel[1, 32](tensor)
    gc.collect()
    assert tensor.array.tolist() == [2, 4, 6, 8] and tensor.deleted == 2
    assert tensor.array.base.tolist() == [2, 1, 4, 3, 6, 5, 8, 7]


def test_tensors_of_the_host_wherever_arrays_are_taken(device):
    """They have neither the buffer protocol nor ``__array__``."""
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    array = cuda.to_device(Tensor(values))
    assert array.copy_to_host().tolist() == values.tolist() and array.shape == (2, 3)
    array.copy_to_device(Tensor(values + 1))
    array[1] = Tensor(np.full(3, 9, np.float32))
    assert array.copy_to_host().tolist() == [[1, 2, 3], [9, 9, 9]]

    @cuda.vectorize(["float32(float32, float32)"])
    def both(x, y):
        return x + y

    @cuda.guvectorize(["void(float32[:], float32[:])"], "(n)->(n)")
    def twice(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] * 2

    tensor = Tensor(np.arange(4, dtype=np.float32))
    assert np.asarray(both(tensor, tensor)).tolist() == [0, 2, 4, 6]
    assert np.asarray(twice(tensor)).tolist() == [0, 2, 4, 6]


def test_from_dlpack_of_the_host(device):
    values = np.arange(8, dtype=np.float32)[::2]
    array = cuda.from_dlpack(values)
    assert array.copy_to_host().tolist() == [0, 2, 4, 6]
    if not device.host_visible:
        with pytest.raises(BufferError, match=f"{device.name!r} has memory of its own, and copy=F"):
            cuda.from_dlpack(values, copy=False)
    values[0] = 9
    assert array.copy_to_host()[0] == (9 if device.host_visible else 0)


def test_memory_of_cuda_is_not_taken_by_others(device):
    if device.name == "cuda":
        return
    tensor = Tensor(np.zeros(3, np.float32), place=(2, 0))
    with pytest.raises(ArgumentError, match=f"memory of kDLCUDA 0, .* device is {device.name!r}"):
        cuda.jit(add_one)[1, 32](tensor)

    # Even where the number is that of an address here, as a small one is on WebGPU.
    mine, kernel = cuda.to_device(np.zeros(4, np.float32)), cuda.jit(add_one)
    for address in (4096, mine.address):
        shown = dict(shape=(4,), typestr="<f4", data=(address, False), version=3)
        theirs = type("Theirs", (), {"__cuda_array_interface__": shown})()
        if device.host_visible and address == mine.address:
            kernel[1, 32](theirs)  # as numba's simulator has it
            continue
        for use in (kernel[1, 32], cuda.as_cuda_array, cuda.to_device):
            with pytest.raises(DeviceError, match=f"device {device.name!r}"):
                use(theirs)
    assert mine.copy_to_host().tolist() == [float(device.host_visible)] * 4


def test_a_number_of_another_library_s_memory_is_not_one_of_ours(device):
    """WebGPU's addresses are small numbers, as other libraries' handles may be."""
    array = cuda.to_device(np.zeros(4, np.float32))
    if device.name not in ("vulkan", "webgpu", "metal"):
        return
    tensor = Tensor(np.zeros(4, np.float32), place=(KINDS[device.name], 0), data=array.address)
    with pytest.raises(ArgumentError, match="copy it to the host"):
        cuda.jit(add_one)[1, 32](tensor)
    assert tensor.deleted == 1


def test_a_launch_refuses_the_array_of_another_device(device, monkeypatch):
    array, kernel = cuda.to_device(np.zeros(4, np.float32)), cuda.jit(add_one)
    other = get_device("cpu" if device.name == "interp" else "interp")
    current.choose(other)
    mine = cuda.to_device(np.zeros(4, np.float32))
    launch = cuda.jit(add_one)[1, 32]
    launch(mine)
    text = (
        rf"\(4,\) is in memory of the device '{device.name}', and the launch is on '{other.name}'"
    )
    for value in (array, (array,)):
        with pytest.raises(DeviceError, match=text):
            launch(value)
    assert mine.copy_to_host().tolist() == [1] * 4


def test_an_array_that_a_kernel_captures(device):
    array = cuda.to_device(np.array([5, 7], np.float32))

    @cuda.jit
    def kernel(out):
        out[0] = array[1]

    out = np.zeros(1, np.float32)
    try:
        kernel[1, 1](out)
    except CompileError as error:  # shaders without pointers
        assert "address" in str(error).lower() or "pointer" in str(error).lower()
    else:
        assert out[0] == 7


WRONG = {
    "max_version": [(3, TypeError), ("ab", TypeError), ((1.5, 0), TypeError), ((), ValueError)],
    "dl_device": [
        *((3, TypeError), ("cp", TypeError), ((1, "x"), TypeError), ((1.5, 0), TypeError)),
        *(((), ValueError), ((1,), ValueError), ((1, 0, 0), ValueError)),
    ],
    "copy": [(3, TypeError), (0, TypeError), ("x", TypeError)],
    "stream": [
        *(("x", TypeError), (1.5, TypeError), ((), TypeError), (True, TypeError)),
        *((-2, ValueError), (-(10**30), ValueError)),
    ],
}


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [(name, *case) for name, cases in WRONG.items() for case in cases],
)
def test_arguments_that_the_standard_does_not_have(device, name, value, error):
    array = cuda.to_device(np.zeros(4, np.float32))
    for others in ({}, {"dl_device": (1, 0)}):
        with pytest.raises(error, match=rf"{name} is .*; got"):
            array.__dlpack__(**{**others, name: value})
    if name == "copy":
        with pytest.raises(error, match="copy is True, False or None"):
            cuda.from_dlpack(np.zeros(3, np.float32), copy=value)

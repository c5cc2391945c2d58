"""Tile programs on the driver: launches like one before reach cuLaunchKernel without Python."""

from __future__ import annotations

import ctypes
import struct
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from gridlane import cuda, tiles
from gridlane.core.errors import KernelError
from gridlane.launch.devices import get_device
from gridlane.tiles.descriptors import TensorDescriptor

tl = tiles.language


def copied(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


def factored(x, out, n, m, k, factor, flag: tl.int1):
    if flag:
        tl.store(out, tl.load(x) * factor + n + m + k)


def block_copied(source, target, at):
    target.store([0, 0], source.load([at, 0]))


def checked(x, limit):
    tl.device_assert(tl.load(x) < limit, "too large")


def told(x):
    tl.device_print("x = ", tl.load(x))


def nothing():
    pass


def product(a, b, c, k, M: tl.constexpr):
    i = tl.arange(0, M)
    at = i[:, None] * k + tl.arange(0, 64)[None, :]
    left, right = a + at, b + at
    total = tl.zeros((M, M), tl.float32)
    for _ in range(0, k, 64):
        total = tl.dot(tl.load(left), tl.trans(tl.load(right)), total)
        left += 64
        right += 64
    tl.store(c + i[:, None] * M + i[None, :], total)


class Tensor:
    """An array like torch's on a GPU."""

    is_cpu, is_cuda = False, True
    dtype = property(lambda self: self.array.dtype)

    def __init__(self, array):
        self.array, self.shape = array, array.shape
        self.__cuda_array_interface__ = array.__cuda_array_interface__

    def is_neg(self):
        return False

    def data_ptr(self):
        return self.array.__cuda_array_interface__["data"][0]


@pytest.fixture
def slow(machine, monkeypatch):
    """The launches on the slow path, as their functions' names."""
    names, own = [], tiles.JITFunction.launch_slowly

    def launch_slowly(self, *args):
        names.append(self.__name__)
        return own(self, *args)

    monkeypatch.setattr(tiles.JITFunction, "launch_slowly", launch_slowly)
    return names


@pytest.fixture
def kernels(slow):
    """The programs above, for the time of a test: they hold code on the device."""
    functions = copied, factored, block_copied, checked, told, nothing, product
    return SimpleNamespace(**{each.__name__: tiles.jit(each) for each in functions})


def repeated(machine, slow, call):
    """The second of two launches, if that is a native one."""
    call()
    slow.clear()
    machine.clear_log()
    call()
    assert not slow
    assert [each for each in machine.calls if "Launch" in each] == ["cuLaunchKernel"]
    first, second = machine.launches[-2:]
    assert first == second
    return second


@pytest.mark.parametrize("wrap", [lambda array: array, Tensor])
def test_arrays(machine, slow, kernels, wrap):
    arrays = [cuda.to_device(np.zeros(64, np.float32)) for _ in range(2)]
    x, out = map(wrap, arrays)
    launch = repeated(machine, slow, lambda: kernels.copied[(2,)](x, out, 64, BLOCK=32))
    addresses = [each.__cuda_array_interface__["data"][0] for each in arrays]
    assert launch.params == struct.pack("<QQi", *addresses, 64)
    assert (launch.grid, launch.block) == ((2, 1, 1), (128, 1, 1))
    launch = repeated(
        machine, slow, lambda: kernels.copied[(2,)](x, out, 48, BLOCK=32, num_warps=2)
    )
    assert launch.params[-4:] == struct.pack("<i", 48) and launch.block == (64, 1, 1)


def test_figures_are_those_of_the_driver(kernels):
    x = cuda.to_device(np.zeros(64, np.float32))
    kernel = kernels.copied.warmup(x, x, 64, BLOCK=32, grid=(2,))
    assert (kernel.n_regs, kernel.n_spills) == (42, 16)
    assert kernels.nothing[1]().n_regs == 42


def test_blocks_of_parameters_without_padding(machine, slow, kernels):
    x = cuda.to_device(np.zeros(1, np.float32))
    out = cuda.to_device(np.zeros(1, np.float32))
    launch = repeated(machine, slow, lambda: kernels.factored[1](x, out, 5, 2**40, 7, 0.5, True))
    address, result = (each.__cuda_array_interface__["data"][0] for each in (x, out))
    assert launch.params == struct.pack("<QQi4xqif?", address, result, 5, 2**40, 7, 0.5, True)
    assert repeated(machine, slow, lambda: kernels.nothing[4]()).params == b""


@pytest.mark.parametrize("wrap", [lambda array: array, Tensor])
def test_descriptors(machine, slow, kernels, wrap):
    x, out = (wrap(cuda.to_device(np.zeros((8, 8), np.float32))) for _ in range(2))

    def call():
        source, target = (TensorDescriptor(each, [8, 8], [8, 1], [4, 4]) for each in (x, out))
        kernels.block_copied[(1,)](source, target, 2)

    repeated(machine, slow, call)


def test_programs_that_print(machine, slow, kernels):
    x = cuda.to_device(np.zeros(1, np.float32))
    repeated(machine, slow, lambda: kernels.told[1](x))


@pytest.mark.parametrize("wrap", [lambda array: array, Tensor])
def test_programs_that_can_raise_are_waited_for(machine, slow, kernels, wrap):
    x = wrap(cuda.to_device(np.zeros(1, np.int32)))
    repeated(machine, slow, lambda: kernels.checked[1](x, 4))
    repeated(machine, slow, lambda: kernels.checked[1](x, 4, debug=True))
    assert "cuStreamSynchronize" in machine.calls
    (report,) = get_device("cuda").context.reporting
    address = report.address
    first = struct.pack("<2I6I", 1, 1, 0, 0, 0, 0, 0, 0)
    machine.on_launch("checked*", lambda launch: ctypes.memmove(address, first, len(first)) and 0)
    slow.clear()
    with pytest.raises(KernelError, match="too large"):
        kernels.checked[1](x, 4, debug=True)
    assert not slow


def test_products_with_dynamic_shared_memory(machine, slow, kernels):
    a, b = (cuda.to_device(np.zeros((128, 256), np.float16)) for _ in range(2))
    c = cuda.to_device(np.zeros((128, 128), np.float32))
    launch = repeated(machine, slow, lambda: kernels.product[1](a, b, c, 256, M=128, num_stages=4))
    assert launch.shared > 48 << 10


@pytest.fixture
def torch(monkeypatch):
    """A module like torch, with the number of its current stream."""
    module = SimpleNamespace(Tensor=Tensor, handle=0)
    module._C = SimpleNamespace(_cuda_getCurrentRawStream=lambda ordinal: module.handle)
    module.cuda = SimpleNamespace(is_available=lambda: True)
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def test_torchs_current_stream(machine, slow, kernels, torch):
    """It has the launches over torch's tensors; where our arrays take part, it waits for them."""
    device = get_device("cuda")
    other, late = device.new_stream(), device.new_stream(True)
    arrays = [cuda.to_device(np.zeros(64, np.float32)) for _ in range(2)]
    x, out = map(Tensor, arrays)
    for each in (x, arrays[0]):
        repeated(machine, slow, lambda each=each: kernels.copied[(2,)](each, out, 64, BLOCK=32))
        for handle in (other.handle, late.handle, 0):
            torch.handle = handle
            machine.clear_log()
            assert tiles.runtime.driver.active.get_current_stream() == handle
            kernels.copied[(2,)](each, out, 64, BLOCK=32)
            assert machine.launches[-1].stream == handle and not slow
            waits = "cuStreamWaitEvent" in machine.calls
            assert waits is (each is not x and handle == late.handle)
    torch.handle = late.handle
    slow_kernel = tiles.jit(copied)
    slow_kernel[(2,)](x, out, 64, BLOCK=32)
    assert machine.launches[-1].stream == late.handle and slow
    repeated(machine, slow, lambda: kernels.copied[(2,)](*arrays, 64, BLOCK=32))
    assert machine.launches[-1].stream == 0


@pytest.mark.parametrize("warps", [1, 4, 32])
def test_the_driver_knows_the_block(machine, kernels, warps):
    """ptxas shares a multiprocessor's registers out among its threads."""
    x = cuda.to_device(np.zeros(4096, np.float32))
    kernel = kernels.copied[1](x, x, 4096, BLOCK=4096, num_warps=warps)
    assert f".maxntid {32 * warps}, 1, 1" in kernel.asm["ptx"]
    assert machine.launches[-1].block == (32 * warps, 1, 1)

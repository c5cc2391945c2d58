# ruff: noqa: F821  # extents are names that annotations define
"""Loop nests with torch's tensors: in the order of torch's current stream."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gridlane import cuda
from gridlane.algorithms.caching import clear_all_caches
from gridlane.algorithms.face import recipes
from gridlane.compute import Tensor, compute, f32, fused, grid, i64
from gridlane.cuda.interop import dlpack_read
from gridlane.profiler import figures

N = 1024


class OfTorch:
    """A tensor like torch's on a GPU, without gaps."""

    __module__ = "torch"
    is_cpu, is_cuda, requires_grad = False, True, False
    shape = dtype = None

    def __init__(self, values):
        self.array = cuda.to_device(values)
        self.shape, self.dtype = self.array.shape, self.array.dtype
        self.__cuda_array_interface__ = self.array.__cuda_array_interface__

    def is_neg(self):
        return False

    is_conj = is_neg

    def is_contiguous(self):
        return True

    def numel(self):
        return self.array.size

    def dim(self):
        return len(self.shape)

    def data_ptr(self):
        return self.__cuda_array_interface__["data"][0]

    def get_device(self):
        return 0

    def element_size(self):
        return self.array.dtype.itemsize

    def stride(self):
        return tuple([each // self.element_size() for each in self.array.strides])


@pytest.fixture
def torch(monkeypatch):
    module = SimpleNamespace(Tensor=OfTorch, handle=0)
    module._C = SimpleNamespace(_cuda_getCurrentRawStream=lambda ordinal: module.handle)
    module.cuda = SimpleNamespace(is_available=lambda: True)
    monkeypatch.setitem(sys.modules, "torch", module)
    monkeypatch.setitem(dlpack_read.IS_TENSOR, OfTorch, True)
    yield module
    clear_all_caches()  # of the algorithms, which keep kernels
    recipes._recipes.clear()


def doubled(x: Tensor[f32, "N"], out: Tensor[f32, "N"]):
    for i in grid(N):
        out[i] = 2 * x[i]


def summed(x: Tensor[i64, "N"], out: Tensor[i64, "N"]):
    s = 0
    for i in range(N):
        s += x[i]
        out[i] = s


ORDERED = ["cuEventRecord", "cuStreamWaitEvent", "launch", "cuEventRecord", "cuStreamWaitEvent"]


def log(machine):
    """The calls that matter: a launch is one, however many there are in a row."""
    found = []
    for each in machine.calls:
        word = "launch" if each.startswith("cuLaunch") else each
        if word in ORDERED and not (word == "launch" and found[-1:] == ["launch"]):
            found.append(word)
    return found


def is_ordered(machine):
    """Whether launches are between events; launches of tensors may have their own."""
    words = log(machine)
    ends = words[:2] + words[-2:]
    return ends == ORDERED[:2] + ORDERED[-2:] and "launch" in words[2:-2]


@pytest.mark.parametrize(("loops", "kind"), [(doubled, np.float32), (summed, np.int64)])
def test_the_current_stream_waits(machine, device, torch, loops, kind):
    """Of loops, and of an algorithm; the default stream needs nothing."""
    x, out = OfTorch(np.ones(N, kind)), OfTorch(np.zeros(N, kind))
    nest, other = compute(loops), device.new_stream()
    direct = []
    for number in range(24):
        torch.handle = other.handle if number % 3 else 0
        machine.clear_log()
        before = len(machine.launches)
        nest(x, out)
        used = {each.stream for each in machine.launches[before:]}
        direct.append(used == {other.handle})
        assert used == ({torch.handle} if direct[-1] else {0})
        if torch.handle and not direct[-1]:
            assert is_ordered(machine)
        else:
            assert log(machine) == ["launch"]
    # A launch alone is torch's stream's, once it is known to be one; an algorithm is not.
    assert direct[12:] == [False, *[loops is doubled] * 2] * 4
    machine.clear_log()
    nest.plain(x, out)
    assert is_ordered(machine)


def test_arrays_of_a_device_are_the_default_streams(machine, device, torch):
    x, out = (cuda.to_device(np.ones(N, np.float32)) for _ in range(2))
    nest, torch.handle = compute(doubled), device.new_stream().handle
    machine.clear_log()
    for _ in range(5):
        nest(x, out)
    assert log(machine) == ["launch"]


def rows(x: Tensor[i64, "M", "N"], out: Tensor[i64, "M"]):
    for i in grid(M):
        s = 0
        for j in range(N):
            s += x[i, j] * j
        out[i] = 3 * s


def test_memory_of_a_call_needs_the_order_of_the_default_stream(machine, device, torch):
    nest, other = compute(rows), device.new_stream(True)
    x, out = (OfTorch(np.ones(each, np.int64)) for each in ((2, 1 << 16), 2))
    for number in range(24):
        torch.handle = other.handle if number % 3 else 0
        machine.clear_log()
        nest(x, out)
        assert is_ordered(machine) if torch.handle else log(machine) == ["launch"]
        assert {each.stream for each in machine.launches} == {0}


@pytest.mark.parametrize("make", [cuda.to_device, OfTorch])
def test_equal_calls_need_no_python(machine, device, torch, make, monkeypatch):
    """On the default stream, and those of torch's memory on its current one."""
    nest, x, out = compute(doubled), make(np.ones(N, np.float32)), make(np.zeros(N, np.float32))
    other = make(np.ones(N, np.float32))
    for _ in range(6):
        nest(x, out)
    first = machine.launches[-1]
    seen, own = [], type(nest).run_fastest
    monkeypatch.setattr(
        type(nest), "run_fastest", lambda self, args: seen.append(args) or own(self, args)
    )
    theirs = device.new_stream(True)
    torch.handle = theirs.handle
    nest(x, out)
    used = torch.handle if make is OfTorch else 0
    assert machine.launches[-1] == replace(first, stream=used) and not seen
    torch.handle = 0
    nest(x, out)
    assert machine.launches[-1] == first and not seen
    nest(other, out)
    assert len(seen) == 1 and machine.launches[-1].params != first.params
    with fused():
        nest(x, out)
        assert len(seen) == 2
    assert machine.launches[-1].params == first.params
    before = len(machine.launches)
    monkeypatch.setattr(figures, "peaks", lambda device: None)
    with cuda.profiling(show=False) as profile:
        nest(x, out)
    assert [row.calls for row in profile.kernels] == [1] and len(machine.launches) == before + 1

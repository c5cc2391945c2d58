"""Launches after the first on a host-driven device: the hot path."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tests import on_vulkan

from gridlane import cuda
from gridlane.core.errors import DeviceError, KernelError
from gridlane.cuda.kernels.launch import Launching
from gridlane.launch import current
from gridlane.launch.devices import get_device

SIZE = 64


@pytest.fixture(autouse=True)
def device(monkeypatch):
    if not on_vulkan.found():
        pytest.skip("no device of Vulkan")
    found = get_device("vulkan")
    current.choose(found)
    return found


@pytest.fixture
def slow(monkeypatch):
    """The launches that went the slow way."""
    seen = []
    slowly = Launching._launch_slowly

    def counted(self, args):
        seen.append(len(args))  # not the arguments, which would live on
        slowly(self, args)

    monkeypatch.setattr(Launching, "_launch_slowly", counted)
    return seen


def kernel_of(**options):
    @cuda.jit(**options)
    def step(x, factor, addend):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = x[i] * factor + addend

    return step


def test_the_next_launches_are_fast_and_in_order(slow):
    step, x, expected = kernel_of(), cuda.to_device(np.arange(SIZE)), np.arange(SIZE)
    stream = cuda.stream()
    for n in range(9):
        step[2, 32, stream if n % 2 else 0](x, 3, n)
        expected = expected * 3 + n
    assert (x.copy_to_host() == expected).all()
    assert len(slow) == 2  # one for each stream


def test_other_types_and_host_arrays_are_noticed(slow):
    step = kernel_of()
    x, y = cuda.to_device(np.arange(SIZE)), cuda.to_device(np.arange(SIZE, dtype=np.float32))
    host = np.arange(SIZE)
    for _ in range(2):
        step[2, 32](x, 2, 1)
        step[2, 32](y, 2.5, 1)
        step[2, 32](host, 2, 1)
    assert (x.copy_to_host() == np.arange(SIZE) * 4 + 3).all()
    assert (y.copy_to_host() == np.arange(SIZE) * np.float32(6.25) + 3.5).all()
    assert (host == np.arange(SIZE) * 4 + 3).all()
    assert len(slow) == 4  # a launch with a host array copies it each time


def test_large_numbers_take_the_code_for_any_launch(slow):
    @cuda.jit
    def third(x, far):
        x[0] = far // 3 + 1

    x = cuda.to_device(np.zeros(1, np.int64))
    told = []
    for far in (9, 1 << 40, 12, -(1 << 50), 15):
        third[1, 1](x, far)
        told.append(int(x.copy_to_host()[0]))
    assert told == [far // 3 + 1 for far in (9, 1 << 40, 12, -(1 << 50), 15)]
    assert len(slow) == 3  # the first small one, and each large one


def test_a_captured_launch_keeps_its_arrays(slow):
    @cuda.jit
    def add(x, y):
        i = cuda.grid(1)
        x[i] += y[i]

    stream = cuda.stream()
    x, y = (cuda.to_device(np.arange(SIZE)) for _ in range(2))
    add[2, 32, stream](x, y)
    with cuda.capture(stream) as captured:
        for _ in range(3):
            add[2, 32, stream](x, y)
    assert len(slow) == 1
    assert (x.copy_to_host() == np.arange(SIZE) * 2).all(), "recorded, not run"
    graph = captured.instantiate()
    del y
    gc.collect()
    taken = [cuda.to_device(np.full(SIZE, -1)) for _ in range(8)]  # what was free is not any more
    for _ in range(2):
        graph.launch(stream)
    stream.synchronize()
    assert (x.copy_to_host() == np.arange(SIZE) * 8).all()
    assert all((other.copy_to_host() == -1).all() for other in taken)


def test_a_kernel_that_raises(slow):
    @cuda.jit(debug=True, opt=False)
    def checked(x, limit):
        i = cuda.grid(1)
        if i >= limit:
            raise ValueError("too many")
        x[i] = i

    x, stream = cuda.to_device(np.zeros(SIZE)), cuda.stream()
    checked[2, 32](x, SIZE)
    for _ in range(2):
        with pytest.raises(ValueError, match="too many") as caught:
            checked[2, 32](x, 40)
        assert isinstance(caught.value, KernelError)
    checked[2, 32, stream](x, SIZE)
    checked[2, 32, stream](x, 40)
    with pytest.raises(ValueError, match="too many"):
        stream.synchronize()
    checked[2, 32](x, SIZE)
    assert len(slow) == 2
    assert (x.copy_to_host() == np.arange(SIZE)).all()


def test_a_kernel_that_prints(slow, capfd):
    @cuda.jit
    def say(n):
        print("said", n)

    for n in range(3):
        say[1, 1](n)
    cuda.synchronize()
    assert capfd.readouterr().out == "said 0\nsaid 1\nsaid 2\n"
    assert len(slow) == 1


def test_a_launch_behind_a_host_function_waits_for_it(slow):
    step, stream = kernel_of(), cuda.stream()
    x = cuda.to_device(np.arange(SIZE))
    step[2, 32, stream](x, 1, 0)
    seen = []
    stream.add_callback(lambda *_: seen.append(1))
    step[2, 32, stream](x, 1, 5)
    stream.synchronize()
    assert seen == [1] and (x.copy_to_host() == np.arange(SIZE) + 5).all()
    assert len(slow) == 1


def test_each_device_has_its_own_plan(device, slow, monkeypatch):
    """A second opening of the same adapter stands for a second device."""
    from gridlane.runtime.drivers.vulkan import open_device

    other = open_device()
    other.ordinal = 1
    step, configured = kernel_of(), None
    for chosen in (device, other, device, other):
        current.choose(chosen)
        configured = configured or step[2, 32]
        x = cuda.to_device(np.arange(SIZE))
        configured(x, 2, 1)
        assert (x.copy_to_host() == np.arange(SIZE) * 2 + 1).all()
    assert len(slow) == 2
    with pytest.raises(DeviceError, match="the stream is of the device"):
        step[2, 32, _stream_of(device)](x, 2, 1)
    del x
    gc.collect()


def _stream_of(device):
    from gridlane.cuda.host.streams import Stream

    made = Stream()
    made.native = device.new_stream()
    return made

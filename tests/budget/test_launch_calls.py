"""What a cached launch costs, in calls and allocations rather than in time."""

from __future__ import annotations

import gc
import sys
import tracemalloc

import numpy as np
import pytest
from tests import on_shaders, on_vulkan
from tests.cuda.fakes import FakeCompiler, FakeDevice
from tests.runtime.vulkan import recording

from gridlane import compiler, cuda, tiles
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.runtime.drivers.vulkan.api import struct
from gridlane.runtime.host_device import HostKernel


class Silent(HostKernel):
    """A loaded kernel whose launch does nothing."""

    def launch(self, params, gx, gy, gz, shared):
        pass


@pytest.fixture
def launch(monkeypatch):
    device, fake = FakeDevice(), FakeCompiler()
    device.load = Silent
    current.choose(device)
    monkeypatch.setattr(compiler, "translate", fake.translate)
    monkeypatch.setattr(compiler, "compile_kernel", fake.compile_kernel)

    @cuda.jit
    def kernel(x, y, out, n):
        pass

    x = cuda.to_device(np.zeros(8, np.float32))

    def run():
        kernel[4, 32](x, x, x, 8)

    for _ in range(3):
        run()
    return run


def test_calls_of_a_cached_launch(launch):
    """Indexing, calling, the list of keys, four keys, the reader, the launch: nine of Python."""
    python, native = calls_of(launch)
    expected = {"__getitem__", "_at_once", "_device_key", "_int_key", "pack", "launch"}
    assert set(python) - {"<listcomp>"} == expected
    assert len(python) <= 10, python
    assert sorted(native) == ["__exit__", "get", "get", "pack"]  # it has the stream's turn


def test_calls_of_a_tile_program(monkeypatch):
    """A cached launch with keywords: indexing, the target and the kernel's launch of Python."""

    @tiles.jit
    def program(x, y, out, n, SIZE: tiles.language.constexpr, MORE: tiles.language.constexpr = 2):
        pass

    x, y = cuda.to_device(np.zeros(8, np.float32)), np.zeros(8, np.float32)

    def run():
        program[(4,)](x, x, y, 8, SIZE=4, num_warps=2)

    for _ in range(3):
        run()
    python, native = calls_of(run)
    assert python == ["__getitem__", "launch", "launch"]
    assert sorted(native) == ["__exit__", "_over", "addressof"]


def test_calls_of_a_new_event():
    """Of Python: both constructors, the device's, the thread's device, and the end of the event."""
    current.choose(get_device("cpu"))
    cuda.event()
    python, _ = calls_of(cuda.event)
    assert sorted(python) == ["__del__", "__init__", "__init__", "device", "new_event"]


def calls_of(launch):
    """The functions that a launch calls: Python's, and others but the bindings' own."""
    python, native = [], []

    def count(frame, event, argument):
        if event == "call":
            python.append(frame.f_code.co_name)
        elif event == "c_call":
            native.append(argument.__name__)

    gc.disable()  # or what others left is collected here
    sys.setprofile(count)
    launch()
    sys.setprofile(None)
    gc.enable()
    python.pop(0)
    native.remove("setprofile")
    return python, native


def vulkan(monkeypatch):
    """The device, as if no stream had called the host, and no kernel had run in parts: after that
    launches look at what others do."""
    device = get_device("vulkan")
    device.synchronize()
    monkeypatch.setattr(device, "runs_parts", False)
    monkeypatch.setattr(device.default_stream.context, "deferred_queues", set())
    return device


@pytest.mark.parametrize("own_stream", [False, True])
def test_calls_of_a_cached_launch_on_vulkan(monkeypatch, own_stream):
    """The same, with the stream's launch, the kernel's and the recorder's; bindings not counted."""
    if not on_vulkan.found():
        pytest.skip("no device of Vulkan")
    device = vulkan(monkeypatch)
    current.choose(device)

    @cuda.jit
    def kernel(x, y, out, n):
        out[0] = n

    x = cuda.to_device(np.zeros(8, np.float32))
    place = (4, 32, cuda.stream()) if own_stream else (4, 32)

    def run():
        kernel[place](x, x, x, 8)

    for _ in range(3):
        run()
    device.synchronize()
    run()  # begins the command buffer
    python, native = calls_of(run)
    ours = {"__getitem__", "_later", "device", "<lambda>", "_device_key", "_int_key", "pack"}
    drivers = {"launch", "record", "enter", "_behind", "ordered"}
    assert set(python) - {"<listcomp>"} <= ours | drivers
    assert python.count("launch") == 2 and len(python) <= 16, python
    assert len(native) <= 13, native  # one asks whether a signal handler has interrupted a launch
    device.synchronize()


@pytest.mark.parametrize("name", on_shaders.found())
def test_calls_of_a_cached_launch_on_one_buffer(name):
    """The calls on devices whose memory is one buffer: without tables, no block is composed."""
    device = get_device(name)
    device.synchronize()
    current.choose(device)

    @cuda.jit
    def kernel(x, y, out, n):
        out[0] = n

    x = cuda.to_device(np.zeros(8, np.float32))

    def run():
        kernel[4, 32](x, x, x, 8)

    for _ in range(3):
        run()
    device.synchronize()
    run()
    python, _ = calls_of(run)  # how a launch is submitted depends on what other tests have left
    assert "launch" in python and "parameter_block" not in python
    device.synchronize()


@pytest.mark.parametrize("own_stream", [False, True])
def test_calls_of_a_wait_on_vulkan(monkeypatch, own_stream):
    """What stands between a launch and its submission, and between its end and the return."""
    if not on_vulkan.found():
        pytest.skip("no device of Vulkan")
    device = vulkan(monkeypatch)
    recorder = device.recorder
    signal = struct("VkSemaphoreSignalInfo", semaphore=recorder.submission.timeline)

    def submit(command, value, *rest):  # work that takes the device no time
        signal.value = value
        return device.context.vk.vkSignalSemaphore(device.context.handle, signal) or None

    current.choose(device)

    @cuda.jit
    def kernel(x, y, out, n):
        out[0] = n

    x, stream = cuda.to_device(np.zeros(8, np.float32)), cuda.stream()
    place, wait = (
        ((4, 32, stream), stream.synchronize) if own_stream else ((4, 32), cuda.synchronize)
    )

    def launch():
        kernel[place](x, x, x, 8)

    for _ in range(3):
        launch()
        wait()
    recording.replace(device, monkeypatch, submit=submit)
    launch()
    wait()
    python, _ = calls_of(launch)
    assert "begin" not in python  # the command buffer was begun while the device worked
    wait()
    python, native = calls_of(lambda: (launch(), wait()))
    assert len(python) <= 41, python
    assert len(native) <= 25, native
    assert "new" not in python  # C's memory is the recorder's


def test_a_cached_launch_keeps_no_memory(launch):
    tracemalloc.start()
    launch()
    before = tracemalloc.take_snapshot()
    for _ in range(200):
        launch()
    grown = tracemalloc.take_snapshot().compare_to(before, "filename")
    tracemalloc.stop()
    ours = [d for d in grown if "gridlane" in d.traceback[0].filename and d.count_diff > 5]
    assert not ours, ours

"""Kernels that come from no Python function, through the launch service alone."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest
from tests import on_vulkan
from tests.runtime.arrays import to_device, words

from gridlane.compiler import compile_kernel
from gridlane.conformance.kernels import Kernel as Building
from gridlane.core.compact import Variant
from gridlane.core.dtypes import f32, i32, i64
from gridlane.core.errors import DeviceError, LaunchError
from gridlane.ir.ops import control
from gridlane.ir.source import ModuleSource
from gridlane.ir.values import ErrorSite
from gridlane.launch.devices import get_device
from gridlane.launch.kernel import Kernel

THREADS, BLOCK, GRID = 100, (32, 1, 1), (4, 1, 1)


def axpy():
    """y = a x + y, of the first n elements."""
    made = Building()
    b = made.builder
    x, y = made.array(f32), made.array(f32)
    a, n = made.param(f32), made.param(i64)
    with b.if_(b.lt(b.cast(made.thread, i64), n)):
        at = made.own(y)
        b.store(at, b.add(b.mul(a, b.load(made.own(x))), b.load(at)))
    return made.module


@pytest.fixture(params=["cpu", "interp", "vulkan"])
def device(request):
    if request.param == "vulkan" and not on_vulkan.found():
        pytest.skip("no device of Vulkan")
    return get_device(request.param)


@pytest.fixture
def arrays(device):
    host = np.arange(THREADS, dtype=np.float32)
    return to_device(device, host), to_device(device, host * 10)


def test_a_module_is_launched(device, arrays):
    kernel = Kernel(ModuleSource(axpy()))
    plan = kernel.plan(BLOCK, device=device)
    assert kernel.plan(BLOCK, device=device).kernel is plan.kernel
    x, y = arrays
    plan.launch(GRID, plan.pack(x, y, 2.0, THREADS - 1), keep=arrays)
    stream = device.new_stream()
    plan.launch(GRID, plan.pack(x.address, y.address, 0.5, THREADS), stream=stream, keep=arrays)
    stream.synchronize()
    host = np.arange(THREADS, dtype=np.float32)
    wanted = host * 10 + 2 * host + host / 2
    wanted[-1] -= 2 * host[-1]
    assert (words(device, y, np.float32) == wanted).all()


def test_a_plan_takes_pointers_to_values(device, arrays):
    """As cuLaunchKernel's callers in C have them."""
    plan = Kernel(ModuleSource(axpy())).plan(BLOCK, device=device)
    x, y = arrays
    values = [ctypes.c_uint64(x.address), ctypes.c_uint64(y.address)]
    values += [ctypes.c_float(2), ctypes.c_int64(THREADS)]
    pointers = (ctypes.c_void_p * 4)(*map(ctypes.addressof, values))
    params = plan.pack_from(ctypes.addressof(pointers))
    assert params == plan.pack(x, y, 2.0, THREADS)
    plan.launch(GRID, params, keep=arrays)
    assert (words(device, y, np.float32) == np.arange(THREADS) * 12).all()
    nothing = (ctypes.c_void_p * 4)()
    for missing in (0, ctypes.addressof(nothing)):
        with pytest.raises(ValueError, match="null"):
            plan.pack_from(missing)


def test_what_no_launch_can_be(device, arrays):
    plan = Kernel(ModuleSource(axpy())).plan(BLOCK, device=device)
    params = plan.pack(*arrays, 2.0, THREADS)
    with pytest.raises(LaunchError, match="has 0 along y"):
        plan.launch((4, 0, 1), params)
    with pytest.raises(LaunchError, match="shared memory"):
        plan.launch(GRID, params, shared=2**30)
    with pytest.raises(ValueError, match="takes 32 bytes of parameters, not 31"):
        plan.launch(GRID, params[:-1])
    with pytest.raises(LaunchError, match="the most is"):
        Kernel(ModuleSource(axpy())).plan((4096, 1, 1), device=device)
    other = get_device("interp" if device.name == "cpu" else "cpu")
    with pytest.raises(DeviceError, match=f"stream is of the device {other.name!r}"):
        plan.launch(GRID, params, stream=other.new_stream())
    assert (words(device, arrays[1], np.float32) == np.arange(THREADS) * 10).all()


def test_code_of_compact_launches_refuses_others(device, arrays):
    plan = Kernel(ModuleSource(axpy())).plan(BLOCK, Variant(True), device)
    params = plan.pack(*arrays, 1.0, THREADS)
    assert plan.suits(GRID, params) and not plan.suits(GRID, plan.pack(*arrays, 1.0, 2**40))
    assert not plan.suits((2**31 - 1, 1, 1), params)
    plan.launch(GRID, params)
    with pytest.raises(ValueError, match="too large for its compact code"):
        plan.launch(GRID, plan.pack(*arrays, 1.0, 2**40))
    assert (words(device, arrays[1], np.float32) == np.arange(THREADS) * 11).all()


def test_it_is_compiled_once_for_what_takes_code_of_its_own(device):
    made = []

    def compiled(source, types, options, target, device):
        made.append(target)
        return compile_kernel(source, types, options, target)

    kernel = Kernel(ModuleSource(axpy()), compile=compiled)
    threads = [
        threading.Thread(target=kernel.plan, args=((size, 1, 1),), kwargs={"device": device})
        for size in (32, 32, 64, 32)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == len({device.target((size, 1, 1)) for size in (32, 64)})
    assert kernel.loaded(device).artifact.entry and len(made) <= 2


def test_a_plan_is_traced(device, arrays, monkeypatch, capsys):
    monkeypatch.setattr("gridlane.core.trace.enabled", lambda: True)
    plan = Kernel(ModuleSource(axpy())).plan(BLOCK, device=device)
    plan.launch(GRID, plan.pack(*arrays, 1.0, THREADS))
    device.synchronize()
    said = capsys.readouterr().err
    assert f"device={device.name} grid=(4, 1, 1) block=(32, 1, 1)" in said


def test_errors_of_the_kernel_surface(device):
    made = Building()
    b = made.builder
    made.module.errors.append(ErrorSite("ValueError", "five"))
    with b.if_(b.eq(made.thread, b.const(5, i32))):
        b.emit(control.Raise(0))
    plan = Kernel(ModuleSource(made.module)).plan(BLOCK, device=device)
    with pytest.raises(ValueError, match="five"):
        plan.launch(GRID, plan.pack())
        device.synchronize()


def test_memory_of_another_device_is_refused(device, arrays):
    other = get_device("interp" if device.name == "cpu" else "cpu")
    foreign = to_device(other, np.zeros(THREADS, np.float32))
    foreign.device = other
    plan = Kernel(ModuleSource(axpy())).plan(BLOCK, device=device)
    with pytest.raises(DeviceError, match=f"memory is of the device {other.name!r}"):
        plan.pack(arrays[0], foreign, 2.0, THREADS)


@pytest.mark.parametrize("block", [8.0, "abc", None, (1.5, 1, 1), (8, 1, 1, 1), ()])
def test_what_is_no_block(device, block):
    with pytest.raises((TypeError, ValueError), match="block must be a sequence"):
        Kernel(ModuleSource(axpy())).plan(block, device=device)


def test_blocks_and_grids_of_fewer_axes(device, arrays):
    plan = Kernel(ModuleSource(axpy())).plan(32, device=device)
    plan.launch((4, 1), plan.pack(*arrays, 1.0, THREADS))
    assert plan.block == BLOCK
    assert (words(device, arrays[1], np.float32) == np.arange(THREADS) * 11).all()


def test_launches_of_wrong_types(device, arrays):
    kernel = Kernel(ModuleSource(axpy()))
    plan = kernel.plan(BLOCK, device=device)
    params = plan.pack(*arrays, 1.0, THREADS)
    for grid in ("abc", (1.5, 1, 1), None):
        with pytest.raises(TypeError, match="grid must be a sequence"):
            plan.launch(grid, params)
    with pytest.raises(TypeError, match="shared must be a number of bytes"):
        plan.launch(GRID, params, shared=1.5)
    with pytest.raises(TypeError, match="parameters are bytes"):
        plan.launch(GRID, bytearray(params))
    with pytest.raises(TypeError, match="a stream is one of"):
        plan.launch(GRID, params, stream="s")
    with pytest.raises(TypeError, match="pass the device"):
        kernel.plan(BLOCK, device=device.name)
    with pytest.raises(TypeError, match="is not one of"):
        kernel.plan(BLOCK, "x", device)
    for address in (-5, 2**64):
        with pytest.raises(ValueError, match="no address"):
            plan.pack(address, arrays[1], 1.0, THREADS)
    with pytest.raises(TypeError):
        plan.pack(1.5, arrays[1], 1.0, THREADS)
    assert (words(device, arrays[1], np.float32) == np.arange(THREADS) * 10).all()

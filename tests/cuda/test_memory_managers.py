"""Plugins that allocate a device's memory, by numba's interface."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from contextlib import suppress

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.errors import DeviceError
from gridlane.cuda.arrays import managers
from gridlane.cuda.host import device as host_device
from gridlane.cuda.numba_compat import driver
from gridlane.launch import current, devices
from gridlane.launch.devices import get_device


class Plugin(cuda.HostOnlyCUDAMemoryManager):
    """Allocates by numpy, and notes what it does."""

    fails = False

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.live, self.host, self.made, self.initialized = {}, [], 0, 0

    def initialize(self):
        self.initialized += 1

    def memalloc(self, size):
        if self.fails:
            raise MemoryError("the pool is empty")
        memory = np.empty(size, np.uint8)
        key = self.made = self.made + 1
        self.live[key] = size
        address = memory.ctypes.data

        def finalizer(memory=memory):
            del self.live[key]

        return cuda.MemoryPointer(self.context, address, size, finalizer=finalizer)

    def memhostalloc(self, size, mapped=False, portable=False, wc=False):
        self.host.append((size, mapped))
        return super().memhostalloc(size, mapped, portable, wc)

    def get_memory_info(self):
        return cuda.MemoryInfo(free=32, total=64)

    def get_ipc_handle(self, memory):
        return f"handle of {memory.size}"

    @property
    def interface_version(self):
        return 1


@pytest.fixture
def context():
    current.choose(get_device("cpu"))
    here = cuda.current_context()
    before = here.memory_manager
    yield here
    gc.collect()
    here.memory_manager = before
    host_device._plugin = None
    with suppress(ValueError):
        devices.at_opening.remove(host_device._install_plugin)
    current.choose(None)


@pytest.fixture
def plugin(context):
    context.memory_manager = Plugin(context=context)
    return context.memory_manager


@cuda.jit
def add(x, y):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += y[i]


def test_arrays_and_copies_of_arguments_are_the_plugins(plugin):
    used = get_device("cpu").memory.statistics().used
    array = cuda.to_device(np.arange(1000.0))
    assert plugin.initialized == 1 and list(plugin.live.values()) == [8000]
    assert get_device("cpu").memory.statistics().used == used + 8000
    add[4, 256](array, np.arange(1000.0)[::-1])
    assert (array.copy_to_host() == 999).all()
    view = array[10:20]
    del array
    assert len(plugin.live) == 1 and view.copy_to_host().tolist() == [999] * 10
    del view
    gc.collect()
    assert plugin.live == {} and get_device("cpu").memory.statistics().used == used
    pointer = cuda.current_context().memalloc(100)
    assert list(plugin.live.values()) == [100]
    del pointer
    assert plugin.live == {}


def test_its_answers_are_the_contexts(plugin, context):
    assert context.get_memory_info() == (32, 64)
    array = cuda.device_array(4)
    assert array.get_ipc_handle()._ipc_handle == "handle of 32"
    mapped, pinned = cuda.mapped_array(4), cuda.pinned_array(4)
    mapped[:] = 7  # it may hold anything
    add[1, 4](mapped, np.arange(4.0) - mapped)
    pinned[:] = mapped
    assert pinned.tolist() == [0, 1, 2, 3]
    assert plugin.host == [(32, True), (32, False)] and list(plugin.live.values()) == [32]


def test_what_it_raises_and_returns_wrongly(plugin):
    plugin.fails = True
    with pytest.raises(MemoryError, match="the pool is empty") as caught:
        cuda.device_array(10)
    assert caught.value.__notes__ == ["raised by Plugin.memalloc(80)"]
    plugin.fails = False
    for wrong, words in [
        (None, "returned a NoneType"),
        (cuda.MemoryPointer(None, 4096, 79), "returned 79 bytes at 0x1000"),
        (cuda.MemoryPointer(None, 0, 80), "returned 80 bytes at 0x0"),
    ]:
        plugin.memalloc = lambda size, wrong=wrong: wrong
        with pytest.raises(DeviceError, match=words):
            cuda.device_array(10)


def test_many_allocations_from_threads(plugin):
    def work():
        for n in range(12_500):
            cuda.current_context().memalloc(n % 100 + 1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    plugin.__dict__["made"] = 0
    lock = threading.Lock()
    inner = type(plugin).memalloc

    def locked(size):
        with lock:
            return inner(plugin, size)

    plugin.memalloc = locked
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    gc.collect()
    assert plugin.made == 50_000 and plugin.live == {}


def test_a_plugin_that_allocates_by_the_driver(context):
    class ByDriver(Plugin):
        def memalloc(self, size):
            pointer = driver.driver.cuMemAlloc(size)
            self.live[int(pointer)] = size

            def finalizer():
                del self.live[int(pointer)]
                driver.driver.cuMemFree(pointer)

            return cuda.cudadrv.driver.AutoFreePointer(
                self.context, pointer, size, finalizer=finalizer
            ).own()

    memory = get_device("cpu").memory
    context.memory_manager = plugin = ByDriver(context=context)
    used = get_device("cpu").memory.statistics().used
    array = cuda.to_device(np.arange(100))
    add[1, 128](array, array)
    assert array.copy_to_host()[9] == 18 and list(plugin.live.values()) == [800]
    assert memory.statistics().used == used + 800
    memory.limit = used + 1000
    try:
        with pytest.raises(DeviceError, match="limit"):
            cuda.device_array(100)
        cuda.device_array(20)
    finally:
        memory.limit = None
    del array
    gc.collect()
    assert plugin.live == {} and get_device("cpu").memory.statistics().used == used


def test_memory_of_before_is_freed_by_its_own_resource(context):
    array = cuda.to_device(np.arange(5))
    context.memory_manager = plugin = Plugin(context=context)
    other = cuda.to_device(np.arange(5))
    assert len(plugin.live) == 1
    context.memory_manager = managers.NumbaCUDAMemoryManager(context=context)
    del array
    assert other.copy_to_host().tolist() == [0, 1, 2, 3, 4]
    cuda.device_array(4)
    assert plugin.made == 1
    del other
    gc.collect()
    assert plugin.live == {}


@pytest.mark.parametrize("name", [n for n in ["interp", *DEVICES] if n not in ("cpu", "cuda")])
def test_devices_without_addresses_refuse(name, context):
    current.choose(get_device(name))
    other = cuda.current_context()
    with pytest.raises(DeviceError, match=f"on the device {name}.*not addresses of the process"):
        other.memory_manager = Plugin(context=other)
    with pytest.raises(DeviceError, match="Plugin"):
        cuda.set_memory_manager(Plugin)
    current.choose(get_device("cpu"))


def test_other_versions_are_refused(context):
    class Later(Plugin):
        interface_version = 2

    with pytest.raises(RuntimeError, match=r"version 2 of the interface - version 1 required"):
        cuda.set_memory_manager(Later)
    with pytest.raises(TypeError, match="abstract"):
        cuda.BaseCUDAMemoryManager(context=None)


MODULE = """
import numpy as np
from gridlane import cuda
from tests.cuda.test_memory_managers import Plugin as _numba_memory_manager
"""


@pytest.mark.parametrize("name", ["plugin_of_test", "no_such_module"])
def test_a_plugin_by_the_environment(tmp_path, name):
    (tmp_path / "plugin_of_test.py").write_text(MODULE)
    program = (
        "from gridlane import cuda\n"
        "a = cuda.device_array(3)\n"
        "print(cuda.current_context().memory_manager.made)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ
        | {
            "NUMBA_CUDA_MEMORY_MANAGER": name,
            "GRIDLANE_DEVICE": "cpu",
            "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
        },
        capture_output=True,
        text=True,
        cwd=os.getcwd(),
    )
    if name == "no_such_module":
        assert "failed to use the memory manager of no_such_module" in found.stderr.lower()
        assert found.returncode
    else:
        assert found.stdout.strip() == "1", found.stderr

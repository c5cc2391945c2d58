"""A device's memory over a resource, and the books of it, on doubles and on every device here."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading

import numpy as np
import pytest
from tests.cuda.fakes import FakeDevice

from gridlane.core.errors import DeviceError
from gridlane.launch.devices import get_device
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.host import HostResource
from gridlane.memory.resource import Buffer


class Double:
    """A resource that writes down what it is asked."""

    def __init__(self, start=4096):
        self.next, self.log = start, []

    def allocate(self, size):
        if size > 1 << 20:
            raise DeviceError("CUDA_ERROR_OUT_OF_MEMORY", 2, "no")
        address, self.next = self.next, self.next + 4096 * (1 + size // 4096)
        self.log.append(("allocate", address, size))
        return Buffer(address, size)

    def deallocate(self, address, size):
        self.log.append(("deallocate", address, size))


class KeepingDouble(Double):
    """One that keeps memory for later."""

    reserved = 5000

    def trim(self, keep=0):
        self.log.append(("trim", keep))


def figures(memory):
    told = memory.statistics()
    return told.used, told.peak, told.reserved, told.allocations, told.frees


def test_memory_goes_back_when_nobody_holds_it():
    double, owner = Double(), object()
    memory = DeviceMemory(double, owner)
    one, two = memory.allocate(100), memory.allocate(50)
    assert one.device is owner and figures(memory) == (150, 150, 150, 2, 0)
    address = one.address
    assert memory.find(address + 99, 1) is one and memory.find(address + 99, 2) is None
    del one
    assert double.log[-1] == ("deallocate", address, 100)
    assert figures(memory) == (50, 150, 50, 2, 1) and memory.find(address, 1) is None
    assert memory.accounting.buffers() == [two] and memory.accounting.used == 50


def test_a_resource_may_be_replaced():
    first, second = Double(), Double(1 << 30)
    memory = DeviceMemory(first)
    one = memory.allocate(10)
    memory.resource = second
    two = memory.allocate(20)
    assert memory.find(one.address, 10) is one and memory.find(two.address, 20) is two
    del one, two
    assert first.log[-1] == ("deallocate", 4096, 10)
    assert second.log[-1] == ("deallocate", 1 << 30, 20)
    assert figures(memory) == (0, 30, 0, 2, 2)


def test_what_a_resource_keeps():
    memory = DeviceMemory(KeepingDouble())
    kept = memory.allocate(100)
    assert figures(memory) == (100, 100, 5000, 1, 0) and kept
    memory.trim(7)
    assert memory.resource.log[-1] == ("trim", 7)
    DeviceMemory(Double()).trim()  # nothing is kept there


def test_what_is_refused():
    double = Double()
    memory = DeviceMemory(double)
    with pytest.raises(DeviceError, match=r"INVALID_VALUE.*-1 bytes"):
        memory.allocate(-1)
    assert double.log == []
    for limit in (None, 4 << 20):
        memory.limit = limit
        with pytest.raises(DeviceError, match="OUT_OF_MEMORY"):
            memory.allocate(2 << 20)
        assert figures(memory) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("limit", [None, 1 << 20])
def test_what_a_resource_gives_wrongly_is_refused(limit):
    class Wrong(Double):
        def allocate(self, size):
            buffer = super().allocate(size)
            buffer.size, buffer.address = buffer.size + more, buffer.address + aside
            return buffer

    double = Wrong()
    memory = DeviceMemory(double)
    memory.limit = limit
    for more, aside in ((-1, 0), (1, 0), (0, 128), (0, 1)):
        told = rf"INVALID_VALUE.* gave {100 + more} bytes .* 100 bytes at a multiple of 256"
        with pytest.raises(DeviceError, match=told):
            memory.allocate(100)
        assert double.log[-1] == ("deallocate", double.log[-2][1] + aside, 100 + more)
        assert figures(memory) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("limit", [None, 1 << 20])
def test_a_resource_without_its_methods_leaves_the_books_alone(limit):
    class Nothing(Double):
        def allocate(self, size):
            return None

    class Half:
        allocate = Double().allocate

    for resource in (Nothing(), Half()):
        memory = DeviceMemory(resource)
        memory.limit = limit
        with pytest.raises(AttributeError):
            memory.allocate(100)
        assert figures(memory) == (0, 0, 0, 0, 0)


def test_a_limit_is_a_number_of_bytes():
    memory = DeviceMemory(Double())
    memory.limit = np.int64(100)
    assert memory.limit == 100 and type(memory.limit) is int
    with pytest.raises(DeviceError, match=r"INVALID_VALUE.*a limit of -1 bytes"):
        memory.limit = -1
    for wrong in (1.5, "100"):
        with pytest.raises(TypeError):
            memory.limit = wrong
    assert memory.limit == 100


def test_a_limit_holds_for_what_is_being_allocated():
    class Slow(Double):
        def allocate(self, size):
            if threading.current_thread() is not threading.main_thread():
                started.set()
                assert go.wait(60)
            return super().allocate(size)

    started, go, kept = threading.Event(), threading.Event(), []
    memory = DeviceMemory(Slow())
    memory.limit = 100
    thread = threading.Thread(target=lambda: kept.append(memory.allocate(60)))
    thread.start()
    assert started.wait(60)
    told = "41 bytes, with 60 in use of the pool's limit of 100"
    with pytest.raises(DeviceError, match=told):
        memory.allocate(41)
    go.set()
    thread.join()
    kept.append(memory.allocate(40))
    assert figures(memory)[:2] == (100, 100)


def test_memory_of_the_host_is_found_and_not_counted():
    memory, other = DeviceMemory(Double(), "the device"), DeviceMemory(Double(1 << 30))
    shared = memory.note(other.allocate(100))
    address = shared.address
    assert shared.device == "the device" and memory.find(address, 100) is shared
    assert figures(memory) == (0, 0, 0, 0, 0) and figures(other)[0] == 100
    del shared
    assert memory.find(address, 1) is None and figures(other)[0] == 0
    assert other.resource.log[-1] == ("deallocate", 1 << 30, 100)


def test_a_device_that_is_opened_again():
    old = DeviceMemory(Double(), "the device")
    old.limit, lost = 100, old.allocate(50)
    memory = old.renewed(second := Double())
    assert (memory.limit, memory.device) == (100, "the device")
    assert memory.find(lost.address, 1) is None
    kept = memory.allocate(80)
    assert kept.address == lost.address  # of two worlds
    del lost
    assert figures(memory) == (80, 80, 80, 1, 0) and memory.find(kept.address, 80) is kept
    assert second.log == [("allocate", 4096, 80)]
    assert old.resource.log[-1] == ("deallocate", 4096, 50)


def test_memory_and_buffers_that_end_in_one_collection():
    """A reference that is garbage itself forgets its callback."""
    double = Double()

    class Owner:
        def __init__(self):
            self.memory = DeviceMemory(double, self)
            self.buffer = self.memory.allocate(100)

    Owner()
    gc.collect()
    assert double.log[-1] == ("deallocate", 4096, 100)


def test_nothing_is_given_back_while_python_ends():
    """Drivers are gone by then, and modules are taken apart."""

    source = """
import sys
import subprocess
from tests.memory.test_device_memory import Double
from gridlane.memory.device_memory import DeviceMemory

class Loud(Double):
    def deallocate(self, address, size):
        print("gave back", size)

memory = DeviceMemory(Loud())
cycle = [memory.allocate(1)]
cycle.append(cycle)
sys.kept = memory.allocate(2)
late = memory.allocate(3)
memory.allocate(4)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "gave back 4\n", "")


def test_a_user_s_resource_on_a_device():
    """Kernels and copies go by the buffers' addresses, wherever they come from."""

    class Counted(HostResource):
        taken = 0

        def allocate(self, size):
            self.taken += size
            return super().allocate(size)

    device = FakeDevice()
    device.memory.resource = counted = Counted()
    buffer, out = device.allocate(16), np.zeros(16, np.uint8)
    device.fill(buffer.address, 7, 16)
    device.download(out.data, buffer.address)
    assert counted.taken == 16 and (out == 7).all()
    assert device.memory.find(buffer.address, 16) is buffer


@pytest.mark.parametrize("name", ["cpu", "interp"])
def test_devices_on_the_host(name):
    device = get_device(name)
    before = device.memory.statistics()
    one, two = device.allocate(1000), device.allocate(0)
    assert one.address % 256 == 0 and one.address != two.address and one.device is device
    figures = device.memory.statistics()
    assert figures.used == before.used + 1000 and figures.allocations == before.allocations + 2
    assert device.memory.find(one.address + 10, 20) is one
    with pytest.raises(DeviceError, match=r"INVALID_VALUE.*-5 bytes"):
        device.allocate(-5)
    for size in (1 << 61, 1 << 63, 1 << 70):
        with pytest.raises(DeviceError, match=rf"OUT_OF_MEMORY \(2\).*{size} bytes"):
            device.allocate(size)
    device.memory.limit = before.used + 1500
    try:
        with pytest.raises(DeviceError, match="in use of the pool's limit"):
            device.allocate(600)
    finally:
        device.memory.limit = None
    del one, two
    assert device.memory.statistics().used == before.used


def test_arrays_are_in_the_books_of_their_device():
    from gridlane import cuda
    from gridlane.launch import current

    memory = current.device().memory
    before = memory.statistics()
    array = cuda.device_array(1000, np.float32)
    assert memory.statistics().used == before.used + 4000
    assert memory.find(array.buffer.address, 4000) is array.buffer
    del array
    assert memory.statistics().used == before.used

"""Sections in which no memory is freed, on resources of both kinds."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

from gridlane.memory.accounting import deferred_frees
from gridlane.memory.deferral import DEFERRAL
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer, goes_with_owner


class Freeing:
    """A resource that frees by address."""

    def __init__(self):
        self.next, self.freed = 4096, []

    def allocate(self, size):
        self.next += 4096
        return Buffer(self.next, size)

    def deallocate(self, address, size):
        self.freed.append((address, size))


class Owner:
    """What a buffer's memory goes with."""


class Owning:
    """A resource whose buffers own their memory."""

    deallocate = staticmethod(goes_with_owner)

    def __init__(self):
        self.next, self.alive = 1 << 30, weakref.WeakSet()

    def allocate(self, size):
        self.next += 4096
        owner = Owner()
        self.alive.add(owner)
        return Buffer(self.next, size, owner)


def test_frees_by_address_wait_for_the_end():
    resource = Freeing()
    memory = DeviceMemory(resource)
    before, first = memory.allocate(10), memory.allocate(20)
    address = first.address
    with deferred_frees():
        del first
        inside = memory.allocate(30)
        del inside
        assert resource.freed == [] and DEFERRAL.waiting() == (2, 50)
        assert memory.statistics().used == 10 and memory.find(address, 1) is None
    assert resource.freed == [(address, 20), (address + 4096, 30)]
    assert DEFERRAL.waiting() == (0, 0)
    del before
    assert len(resource.freed) == 3


def test_memory_that_goes_with_its_owner_waits_as_well():
    resource = Owning()
    memory = DeviceMemory(resource)
    kept, first = memory.allocate(10), memory.allocate(20)
    with deferred_frees():
        inside = memory.allocate(30)
        del first, inside
        assert len(resource.alive) == 3 and DEFERRAL.waiting() == (2, 50)
        told = memory.statistics()
        assert (told.used, told.reserved) == (10, 60)
        with deferred_frees():
            del kept
        assert len(resource.alive) == 3
    gc.collect()
    assert len(resource.alive) == 0 and memory.statistics().reserved == 0


def test_an_exception_ends_a_section():
    resource = Freeing()
    memory = DeviceMemory(resource)
    one = memory.allocate(8)
    with pytest.raises(KeyError), deferred_frees():
        del one
        raise KeyError
    assert len(resource.freed) == 1 and DEFERRAL.depth == 0


def test_threads_free_while_sections_begin_and_end():
    freeing, owning = Freeing(), Owning()
    memories = DeviceMemory(freeing), DeviceMemory(owning)
    errors = []

    def work():
        try:
            for n in range(300):
                for memory in memories:
                    memory.allocate(n + 1)
        except BaseException as error:
            errors.append(error)

    def sections():
        for _ in range(100):
            with deferred_frees():
                memories[0].allocate(1)

    threads = [threading.Thread(target=each) for each in (work, work, sections, sections)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    gc.collect()
    told = memories[0].statistics()
    assert not errors and DEFERRAL.waiting() == (0, 0) and DEFERRAL.depth == 0
    assert told.used == 0 and len(freeing.freed) == told.allocations
    assert memories[1].statistics().used == 0 and len(owning.alive) == 0


def test_the_bytes_stay_until_the_end():
    from gridlane import cuda

    array = cuda.to_device(np.arange(1000))
    address = array.device_pointer
    with cuda.defer_cleanup():
        del array
        others = [cuda.to_device(np.zeros(1000, int)) for _ in range(50)]
        assert address not in [each.device_pointer for each in others]
        assert len(cuda.current_context().deallocations) >= 1
    assert len(cuda.current_context().deallocations) == 0

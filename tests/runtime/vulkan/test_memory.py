"""What the pool does on Vulkan alone: types of memory, a full device, memory of both sides."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tests.runtime.arrays import octets, params, words
from tests.runtime.vulkan.shaders import ADD_ONE, kernel

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.vulkan.memory import COHERENT, LOCAL, VISIBLE, Pool

MEGABYTE = 1 << 20


@pytest.mark.parametrize("rest", [64, 255])
def test_addresses_are_aligned(device, monkeypatch, rest):
    vk, host = device.context.vk, np.arange(1000, dtype=np.uint8)
    original = vk.vkGetBufferDeviceAddress
    monkeypatch.setattr(vk, "vkGetBufferDeviceAddress", lambda *args: original(*args) + rest)
    for size in (1000, 2 * MEGABYTE):
        buffer, other = device.allocate(size), device.allocate(size)
        assert (buffer.address % 256, other.address % 256) == (0, 0)
        device.upload(buffer.address, octets(host))
        device.copy(other.address, buffer.address, size)
        assert (words(device, other, np.uint8)[:1000] == host).all()


def test_a_full_device(device, monkeypatch):
    monkeypatch.setattr(type(device.context), "heap", lambda self, number: (40 * MEGABYTE, None))
    kept = [device.allocate(10 * MEGABYTE) for _ in range(3)]
    assert device.memory_info() == (10 * MEGABYTE, 40 * MEGABYTE)
    with pytest.raises(DeviceError, match=r"12582912 bytes of device memory, with \d+ of \d+ in"):
        device.allocate(12 * MEGABYTE)
    kept.pop()
    assert device.allocate(12 * MEGABYTE)  # what nothing uses is given back for it


def test_a_driver_without_memory(device, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(device.context.vk, "vkAllocateMemory", lambda *args: -2)
        with pytest.raises(DeviceError, match=r"OUT_OF_MEMORY.*VK_ERROR_OUT_OF_DEVICE_MEMORY"):
            device.allocate(1000)
    assert device.memory.statistics().used == 0 and device.allocate(1000)


def test_buffers_that_outlive_the_device_do_no_harm(living, monkeypatch, tmp_path):
    from gridlane.runtime.drivers.vulkan import open_device, pipelines

    monkeypatch.setattr(pipelines, "directory", lambda: None)
    opened = open_device()
    kept = [opened.allocate(100), opened.new_stream(), opened.new_event()]
    opened.close()
    opened.close()
    kept.clear()
    gc.collect()
    assert not +living


@pytest.mark.parametrize("kind", ["mapped", "managed"])
def test_memory_of_both(device, kind):
    try:
        shared = device.allocate_host(256, kind)
    except DeviceError as error:
        assert "NOT_SUPPORTED" in str(error)
        return
    host = np.frombuffer(shared.owner.view(), np.uint32)
    host[:] = 5
    artifact = kernel(*ADD_ONE)
    device.load(artifact).bind((64, 1, 1)).launch(params(artifact, shared, 64), 1, 1, 1, 0)
    device.synchronize()
    assert (host == 6).all()


def test_mapped_memory_needs_one_address(device, monkeypatch):
    from gridlane.memory.suballocator import Suballocation

    monkeypatch.setattr(Suballocation, "pointer", property(lambda self: 4096))
    with pytest.raises(DeviceError, match=r"NOT_SUPPORTED.*addresses of its own"):
        device.allocate_host(256, "mapped")


def test_types_of_memory(device, monkeypatch):
    types = [
        (LOCAL, 2),
        (LOCAL, 0),
        (VISIBLE | COHERENT, 1),
        (LOCAL | VISIBLE | COHERENT | 0x40, 0),
    ]
    sizes = {0: 80 << 30, 1: 128 << 30, 2: 256 << 20}
    monkeypatch.setattr(device.context, "memory_types", lambda: types)
    monkeypatch.setattr(device.context, "heap", lambda number: (sizes[number], None))
    assert Pool(device.context, (LOCAL | VISIBLE, LOCAL)).type == 1
    assert Pool(device.context, (VISIBLE | COHERENT,)).type == 2
    assert not Pool(device.context, (VISIBLE | COHERENT,)).by_pointer
    with pytest.raises(DeviceError, match="no memory with"):
        Pool(device.context, (16,))

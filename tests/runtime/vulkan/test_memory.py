"""Buffers, the pool and its limits, copies of every kind, memory of the host."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from tests.runtime.arrays import octets, params, to_device, words
from tests.runtime.vulkan.shaders import ADD_ONE, kernel

from gridlane.core.errors import DeviceError
from gridlane.runtime.chunks import CHUNK, SMALL
from gridlane.runtime.drivers.vulkan import transfers
from gridlane.runtime.drivers.vulkan.memory import COHERENT, LOCAL, VISIBLE, Pool

MEGABYTE = 1 << 20


@pytest.fixture(params=["by pointer", "staged"])
def either(request, device, monkeypatch):
    """The device, and the same as if the host did not see its memory."""
    if request.param == "staged":
        device.pool.by_pointer = False
        monkeypatch.setattr(transfers, "PIECE", 1000)
    elif not device.pool.by_pointer:
        pytest.skip("the host does not see this device's memory")
    return device


def test_copies(either):
    rng = np.random.default_rng(1)
    for size in (1, 3, 999, 1000, 1001, 4097, 3 * MEGABYTE // 64):
        host = rng.integers(0, 256, size, np.uint8)
        buffer = to_device(either, host)
        other = either.allocate(size)
        either.copy(other.address, buffer.address, size)
        assert (words(either, other, np.uint8) == host).all()


def test_interior_addresses(either):
    host = np.arange(100, dtype=np.uint8)
    buffer = to_device(either, host)
    either.upload(buffer.address + 33, octets(np.full(5, 200, np.uint8)))
    either.copy(buffer.address + 50, buffer.address + 31, 9)
    host[33:38] = 200
    host[50:59] = host[31:40]
    assert (words(either, buffer, np.uint8) == host).all()
    part = bytearray(7)
    either.download(memoryview(part), buffer.address + 47)
    assert bytes(part) == bytes(host[47:54])


@pytest.mark.parametrize("distance", [1, 5, 64, -1, -17])
def test_copies_that_overlap(either, distance, monkeypatch):
    record = either.recorder.copy

    def apart(queue, source, at, target, to, size, keep=None):
        assert source != target or abs(to - at) >= size  # else Vulkan leaves the result open
        record(queue, source, at, target, to, size, keep)

    monkeypatch.setattr(either.recorder, "copy", apart)
    host = (np.arange(300) % 256).astype(np.uint8)
    buffer = to_device(either, host)
    start = 70
    either.copy(buffer.address + start + distance, buffer.address + start, 100)
    host[start + distance :][:100] = host[start:][:100].copy()
    assert (words(either, buffer, np.uint8) == host).all()


def test_setting_bytes(either):
    for offset in range(5):
        for size in (*range(10), 100, 1000):
            buffer = either.allocate(1100)
            either.fill(buffer.address, 0, 1100)
            either.fill(buffer.address + offset, 0xA5, size)
            found = words(either, buffer, np.uint8)
            assert (found[offset : offset + size] == 0xA5).all() and not found[:offset].any()
            assert not found[offset + size :].any()
    with pytest.raises(DeviceError, match="INVALID_VALUE"):
        either.fill(buffer.address, 256, 4)


def test_addresses_are_those_of_kernels(device):
    artifact = kernel(*ADD_ONE)
    data = to_device(device, np.zeros(64, np.uint32))
    block = params(artifact, data.address + 4 * 16, 10)
    device.load(artifact).bind((32, 1, 1)).launch(block, 1, 1, 1, 0)
    assert words(device, data).tolist() == [0] * 16 + [1] * 10 + [0] * 38


def test_memory_of_nobody(device):
    buffer = device.allocate(100)
    host = bytearray(100)
    outside = buffer.address + CHUNK
    for work in (
        lambda: device.upload(outside, memoryview(host)),
        lambda: device.download(memoryview(host), outside),
        lambda: device.copy(buffer.address, outside, 4),
        lambda: device.copy(outside, buffer.address, 4),
        lambda: device.fill(0, 0, 4),
        lambda: device.adopt(outside, 4),
        lambda: device.copy(buffer.address, buffer.address + 1, 1 << 60),
    ):
        with pytest.raises(DeviceError, match=r"INVALID_VALUE.*are not in an array of the device"):
            work()
    assert device.adopt(buffer.address + 10, 20).size == 20


def test_nothing(device):
    device.upload(0, memoryview(b""))
    device.download(memoryview(bytearray()), 0)
    device.copy(0, 0, 0)
    device.fill(0, 0, 0)
    assert device.allocate(0).address


def test_the_pool_counts(device):
    pool = device.pool
    one, two = device.allocate(1000), device.allocate(500)
    assert (one.address % 256, two.address % 256) == (0, 0) and one.address != two.address
    del one
    device.synchronize()
    figures = pool.statistics()
    assert (figures.used, figures.peak, figures.reserved) == (500, 1500, CHUNK)
    assert (figures.allocations, figures.frees, figures.limit) == (2, 1, None)
    del two
    device.reset()
    assert (pool.statistics().used, pool.statistics().reserved) == (0, 0)


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


def test_memory_is_used_again(device, living):
    addresses = {device.allocate(3 * MEGABYTE).address for _ in range(10)}
    assert len(addresses) == 1 and device.pool.reserved == 3 * MEGABYTE
    small = {device.allocate(1000).address for _ in range(10)}
    assert len(small) == 1


def test_many_small_arrays_share_a_chunk(device, living):
    before = living["Memory"]
    kept = [device.allocate(256) for _ in range(5000)]
    assert len({buffer.address for buffer in kept}) == 5000
    assert living["Memory"] == before + 1
    assert device.allocate(SMALL + 1) and living["Memory"] == before + 2


def test_memory_in_use_is_not_given_again(device):
    artifact = kernel(*ADD_ONE)
    bound = device.load(artifact).bind((64, 1, 1))
    stream = device.new_stream()
    used = device.allocate(2 * MEGABYTE)
    stream.launch(bound, params(artifact, used, 64), 1, 1, 1, 0)
    address = used.address
    del used  # its launch is not even submitted
    other = device.allocate(2 * MEGABYTE)
    assert other.address != address
    stream.synchronize()
    assert device.allocate(2 * MEGABYTE).address == address


def test_a_limit(device):
    device.pool.limit = 1000
    kept = device.allocate(600)
    with pytest.raises(DeviceError, match="500 bytes, with 600 in use of the pool's limit of 1000"):
        device.allocate(500)
    assert device.pool.statistics().used == 600 == kept.size
    del kept
    device.allocate(1000)


@pytest.mark.parametrize("size", [1 << 40, 1 << 63, (1 << 64) - 1, 1 << 70])
def test_large_allocations_are_refused(device, size):
    with pytest.raises(DeviceError, match=rf"OUT_OF_MEMORY \(2\).*{size} bytes") as caught:
        device.allocate(size)
    assert caught.value.number == 2
    with pytest.raises(DeviceError, match="OUT_OF_MEMORY"):
        device.allocate_host(size, "pinned")
    with pytest.raises(DeviceError, match="INVALID_VALUE"):
        device.allocate(-1)
    assert device.pool.statistics().used == 0


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
    assert device.pool.statistics().used == 0 and device.allocate(1000)


def test_memory_is_freed_from_any_thread(device):
    kept = [device.allocate(8)]
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    device.synchronize()
    assert device.pool.statistics().used == 0


def test_a_finalizer_in_the_middle_of_other_work(device):
    kept = [device.allocate(8)]

    def collected():
        with device.context.lock:
            kept.clear()

    thread = threading.Thread(target=collected, daemon=True)
    thread.start()
    thread.join(20)
    device.synchronize()
    assert not thread.is_alive() and device.pool.statistics().used == 0


def test_buffers_that_outlive_the_device_do_no_harm(living, monkeypatch, tmp_path):
    from gridlane.runtime.drivers.vulkan import device as module
    from gridlane.runtime.drivers.vulkan import open_device, pipelines

    monkeypatch.setattr(module, "atexit", SimpleNamespace(register=lambda function: None))
    monkeypatch.setattr(pipelines, "directory", lambda: None)
    opened = open_device()
    kept = [opened.allocate(100), opened.new_stream(), opened.new_event()]
    opened.close()
    opened.close()
    kept.clear()
    gc.collect()
    assert not +living


def test_pinned_memory(either):
    pinned = either.allocate_host(5000, "pinned")
    host = np.frombuffer(pinned.owner.view(), np.uint8)
    host[:] = np.arange(5000) % 251
    buffer, stream = either.allocate(4000), either.new_stream()
    stream.upload(buffer.address, host[100:4100].data)
    stream.fill(buffer.address, 9, 10)
    stream.download(host[1000:1020].data, buffer.address)
    stream.synchronize()
    assert host[1000:1020].tolist() == [9] * 10 + list(range(110, 120))
    assert (words(either, buffer, np.uint8)[10:] == np.arange(110, 4100) % 251).all()


def test_memory_that_is_not_pinned(either):
    source, out = np.arange(3000, dtype=np.uint8), np.zeros(3000, np.uint8)
    buffer, stream = either.allocate(3000), either.new_stream()
    stream.upload(buffer.address, octets(source))
    stream.download(octets(out), buffer.address)
    stream.fill(buffer.address, 0, 3000)
    stream.synchronize()
    assert (out == source).all() and not words(either, buffer, np.uint8).any()
    assert either.register_host(out.ctypes.data, 3000) is None


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
    from gridlane.runtime.chunks import Block

    monkeypatch.setattr(Block, "address", property(lambda self: 4096))
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


def test_the_end_of_a_process():
    """Whatever is alive then: work, pinned memory, host functions."""
    source = """
import numpy as np
from gridlane.runtime.devices import get_device
device = get_device("vulkan")
kept = [device.allocate(1000), device.new_stream(), device.new_event()]
kept[1].submit(lambda: print("called"))
kept[1].fill(kept[0].address, 0, 1000)
if {pinned}:
    pinned = device.allocate_host(1000, "pinned")
    array = np.frombuffer(pinned.owner.view(), np.uint8)
"""
    for pinned in (True, False):
        done = subprocess.run(
            [sys.executable, "-c", source.format(pinned=pinned)], capture_output=True, text=True
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "called\n", "")

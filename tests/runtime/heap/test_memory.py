"""The heap: copies of every kind and size, growth, limits, whose an address is."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from tests.runtime.arrays import octets, params, to_device, words
from tests.runtime.heap.texts import ADD_ONE, kernel

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.heap.pool import FIRST, SMALLEST, SPARE

MEGABYTE = 1 << 20


def bounded(device, monkeypatch, largest):
    """As if the device had a smaller heap."""
    monkeypatch.setattr(device.engine, "facts", replace(device.engine.facts, largest=largest))


def test_copies(device):
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 4, 5, 999, 1000, 1001, 4096, 4097, 3 * MEGABYTE + 1):
        host = rng.integers(0, 256, size, np.uint8)
        buffer = to_device(device, host)
        other = device.allocate(size)
        device.copy(other.address, buffer.address, size)
        assert (words(device, other, np.uint8) == host).all()


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 33])
def test_bytes_within_words(device, at, size):
    host = (np.arange(64) + 100).astype(np.uint8)
    buffer = to_device(device, host)
    fresh = np.arange(size, dtype=np.uint8)
    device.upload(buffer.address + 8 + at, fresh.data)
    host[8 + at :][:size] = fresh
    assert (words(device, buffer, np.uint8) == host).all()
    part = bytearray(size)
    device.download(memoryview(part), buffer.address + at + 7)
    assert bytes(part) == bytes(host[at + 7 :][:size])
    for to in range(4):
        device.copy(buffer.address + 44 - to, buffer.address + at, min(size, 16))
        host[44 - to :][: min(size, 16)] = host[at:][: min(size, 16)].copy()
        assert (words(device, buffer, np.uint8) == host).all()


@pytest.mark.parametrize("distance", [1, 4, 5, 64, -1, -17])
def test_copies_that_overlap(device, distance):
    host = (np.arange(300) % 256).astype(np.uint8)
    buffer = to_device(device, host)
    device.copy(buffer.address + 70 + distance, buffer.address + 70, 100)
    host[70 + distance :][:100] = host[70:][:100].copy()
    assert (words(device, buffer, np.uint8) == host).all()


def test_setting_bytes(device):
    buffer, other = device.allocate(1100), device.allocate(4)
    for offset in range(5):
        for size in (*range(10), 100, 1000):
            device.fill(buffer.address, 0, 1100)
            device.fill(buffer.address + offset, 0xA5, size)
            found = words(device, buffer, np.uint8)
            assert (found[offset : offset + size] == 0xA5).all() and not found[:offset].any()
            assert not found[offset + size :].any()
    for byte in (256, -1):
        with pytest.raises(DeviceError, match="INVALID_VALUE"):
            device.fill(buffer.address, byte, 4)
    del other


def test_addresses_are_those_of_kernels(device):
    artifact = kernel(device, *ADD_ONE)
    data = to_device(device, np.zeros(64, np.uint32))
    block = params(artifact, data.address + 4 * 16, 10)
    device.load(artifact).bind((64, 1, 1)).launch(block, 1, 1, 1, 0)
    assert words(device, data).tolist() == [0] * 16 + [1] * 10 + [0] * 38


def test_memory_of_nobody(device):
    buffer = device.allocate(100)
    host = bytearray(100)
    outside = buffer.address + MEGABYTE
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
    empty = device.allocate(0)
    assert empty.address and empty.address != device.allocate(0).address


def test_the_pool_counts(device):
    pool = device.pool
    one, two = device.allocate(1000), device.allocate(500)
    assert (one.address % 256, two.address % 256) == (0, 0)
    assert min(one.address, two.address) >= FIRST and abs(one.address - two.address) >= 512
    del one
    figures = pool.statistics()
    assert (figures.used, figures.peak, figures.reserved) == (500, 1500, SMALLEST)
    assert (figures.allocations, figures.frees, figures.limit) == (2, 1, None)


def test_memory_is_used_again(device):
    assert len({device.allocate(3 * MEGABYTE).address for _ in range(10)}) == 1
    assert len({device.allocate(1000).address for _ in range(10)}) == 1


def test_pieces_become_one_again(device):
    kept = [device.allocate(1000) for _ in range(100)]
    order = np.random.default_rng(3).permutation(100)
    for n in order:
        kept[n] = None
    whole = device.pool.size - FIRST - SPARE
    assert device.allocate(whole).address == FIRST
    assert device.pool.size == SMALLEST


def test_many_arrays_are_apart(device):
    rng = np.random.default_rng(4)
    hosts = [rng.integers(0, 256, size, np.uint8) for size in rng.integers(1, 3000, 300)]
    kept = [to_device(device, host) for host in hosts]
    for n in range(0, 300, 3):
        kept[n] = None
        hosts[n] = rng.integers(0, 256, int(rng.integers(1, 3000)), np.uint8)
        kept[n] = to_device(device, hosts[n])
    for buffer, host in zip(kept, hosts):
        assert (words(device, buffer, np.uint8) == host).all()


def test_the_heap_grows_with_work_in_it(device):
    artifact = kernel(device, *ADD_ONE)
    bound = device.load(artifact).bind((64, 1, 1))
    data = to_device(device, np.arange(64, dtype=np.uint32))
    before, kept = device.pool.size, []
    for _ in range(4):
        bound.launch(params(artifact, data, 64), 1, 1, 1, 0)
        kept.append(to_device(device, np.full(device.pool.size // 4, 7, np.uint32)))
    assert device.pool.size > 4 * before
    assert (words(device, data) == np.arange(64) + 4).all()
    assert all((words(device, each) == 7).all() for each in kept)


def test_the_largest_heap(device, monkeypatch):
    bounded(device, monkeypatch, 3 * MEGABYTE)
    kept = [device.allocate(MEGABYTE), device.allocate(MEGABYTE)]
    told = r"1048576 bytes, with 2097152 in use: all arrays .* one buffer, which has 3145728 bytes"
    with pytest.raises(DeviceError, match=told) as caught:
        device.allocate(MEGABYTE)
    assert caught.value.number == 2
    assert ("max-storage-buffer" in str(caught.value)) == (device.name == "webgpu")
    assert ("GL_MAX_SHADER_STORAGE" in str(caught.value)) == (device.name == "opengl")
    free, total = device.memory_info()
    assert (total, free) == (3 * MEGABYTE, MEGABYTE - FIRST - SPARE)
    assert device.pool.statistics().used == 2 * MEGABYTE
    kept.append(device.allocate(free))
    assert device.memory_info()[0] == 0
    kept.pop(0)
    assert device.allocate(MEGABYTE)


@pytest.mark.parametrize("size", [1 << 33, 1 << 40, 1 << 63, (1 << 64) - 1, 1 << 70])
def test_large_allocations_are_refused(device, size):
    with pytest.raises(DeviceError, match=rf"OUT_OF_MEMORY \(2\).*{size} bytes"):
        device.allocate(size)
    with pytest.raises(DeviceError, match="INVALID_VALUE"):
        device.allocate(-1)
    assert device.pool.statistics().used == 0


def test_a_limit(device):
    device.pool.limit = 1000
    kept = device.allocate(600)
    with pytest.raises(DeviceError, match="500 bytes, with 600 in use of the pool's limit of 1000"):
        device.allocate(500)
    assert device.pool.statistics().used == 600 == kept.size
    del kept
    device.allocate(1000)


def test_a_driver_without_memory(device, monkeypatch):
    first = to_device(device, np.arange(100, dtype=np.uint32))
    original, asked = device.engine.resize, []
    assert device.pool.size == SMALLEST

    def refuse(size):
        asked.append(size)
        if size > 3 * MEGABYTE:
            raise DeviceError("CUDA_ERROR_OUT_OF_MEMORY", 2, "no")
        original(size)

    monkeypatch.setattr(device.engine, "resize", refuse)
    second = device.allocate(MEGABYTE + MEGABYTE // 2)  # what is needed, when twice is not there
    third = device.allocate(MEGABYTE // 2)
    assert len(asked) == 3 and asked[1] > 3 * MEGABYTE >= asked[2]
    with pytest.raises(DeviceError, match="OUT_OF_MEMORY"):
        device.allocate(8 * MEGABYTE)
    assert (words(device, first) == np.arange(100)).all() and second and third


def test_memory_is_freed_from_any_thread(device):
    kept = [device.allocate(8)]
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    assert device.pool.statistics().used == 0


def test_a_finalizer_in_the_middle_of_other_work(device):
    kept = [device.allocate(8)]

    def collected():
        with device.queue.lock:
            kept.clear()

    thread = threading.Thread(target=collected, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive() and device.pool.statistics().used == 0


def test_pinned_memory(device):
    pinned = device.allocate_host(5000, "pinned")
    host = pinned.owner[pinned.address - pinned.owner.ctypes.data :][:5000]
    host[:] = np.arange(5000) % 251
    buffer, stream = device.allocate(4000), device.new_stream()
    stream.upload(buffer.address, host[100:4100].data)
    stream.fill(buffer.address, 9, 10)
    stream.download(host[1000:1020].data, buffer.address)
    stream.synchronize()
    assert host[1000:1020].tolist() == [9] * 10 + list(range(110, 120))
    assert device.register_host(host.ctypes.data, 10) is None


@pytest.mark.parametrize("kind", ["mapped", "managed"])
def test_memory_of_both_is_refused(device, kind):
    with pytest.raises(DeviceError, match=r"NOT_SUPPORTED.*memory of its own"):
        device.allocate_host(256, kind)


def test_what_is_copied_may_change_on_return(device):
    for size in (100, 100_000):
        host = np.arange(size, dtype=np.uint32)
        buffer = device.allocate(host.nbytes)
        device.default_stream.write(buffer.address, octets(host))
        host[:] = 0
        assert (words(device, buffer) == np.arange(size)).all()

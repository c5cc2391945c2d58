"""Copies of every kind, whose an address is, what the pool counts, memory of the host."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest
from tests.runtime.arrays import octets, params, to_device, words
from tests.runtime.host_driven.conftest import SUBALLOCATED
from tests.runtime.host_driven.programs import ADD_ONE, family_of, kernel

from gridlane.core.errors import DeviceError
from gridlane.memory.suballocator import ARENA
from gridlane.runtime.drivers.single_buffer.arena import SMALLEST

MEGABYTE = 1 << 20


def settle(device):
    """Let memory go back to the pool: behind the work so far or, in a single buffer, at once."""
    if family_of(device) != "single_buffer":
        device.synchronize()


def test_copies(copying):
    rng = np.random.default_rng(1)
    # The stand-in copies as slowly as it computes.
    most = 3 * MEGABYTE // 64 if family_of(copying) == "metal" else 3 * MEGABYTE + 1
    for size in (1, 2, 3, 4, 5, 999, 1000, 1001, 4096, 4097, 3 * MEGABYTE // 64, most):
        host = rng.integers(0, 256, size, np.uint8)
        buffer = to_device(copying, host)
        other = copying.allocate(size)
        copying.copy(other.address, buffer.address, size)
        assert (words(copying, other, np.uint8) == host).all()


def test_interior_addresses(copying):
    host = np.arange(100, dtype=np.uint8)
    buffer = to_device(copying, host)
    copying.upload(buffer.address + 33, octets(np.full(5, 200, np.uint8)))
    copying.copy(buffer.address + 50, buffer.address + 31, 9)
    host[33:38] = 200
    host[50:59] = host[31:40]
    assert (words(copying, buffer, np.uint8) == host).all()
    part = bytearray(7)
    copying.download(memoryview(part), buffer.address + 47)
    assert bytes(part) == bytes(host[47:54])


def watch_copies(device, patch):
    """Fail where the driver is given a copy of bytes to bytes that they overlap."""
    if family_of(device) in SUBALLOCATED:
        record = device.recorder.copy

        def differ(stream, target, source, size, keep=None):
            (goal, to), (origin, start) = target, source
            # Else Vulkan leaves the result open, and threads of Metal's kernel overtake each other.
            assert goal is not origin or abs(to - start) >= size
            record(stream, target, source, size, keep)

        patch.setattr(device.recorder, "copy", differ)


@pytest.mark.parametrize("distance", [1, 4, 5, 64, -1, -17])
def test_copies_that_overlap(copying, distance, monkeypatch):
    host = (np.arange(300) % 256).astype(np.uint8)
    buffer = to_device(copying, host)
    start = 70
    with monkeypatch.context() as patch:
        watch_copies(copying, patch)
        copying.copy(buffer.address + start + distance, buffer.address + start, 100)
    host[start + distance :][:100] = host[start:][:100].copy()
    assert (words(copying, buffer, np.uint8) == host).all()


def test_setting_bytes(copying):
    other = copying.allocate(4)
    for offset in range(5):
        for size in (*range(10), 100, 1000):
            buffer = copying.allocate(1100)
            copying.fill(buffer.address, 0, 1100)
            copying.fill(buffer.address + offset, 0xA5, size)
            found = words(copying, buffer, np.uint8)
            assert (found[offset : offset + size] == 0xA5).all() and not found[:offset].any()
            assert not found[offset + size :].any()
    for byte in (256, -1):
        with pytest.raises(DeviceError, match="INVALID_VALUE"):
            copying.fill(buffer.address, byte, 4)
    del other


def test_addresses_are_those_of_kernels(device):
    artifact = kernel(device, ADD_ONE)
    data = to_device(device, np.zeros(64, np.uint32))
    block = params(artifact, data.address + 4 * 16, 10)
    device.load(artifact).bind((64, 1, 1)).launch(block, 1, 1, 1, 0)
    assert words(device, data).tolist() == [0] * 16 + [1] * 10 + [0] * 38


def test_memory_of_nobody(device):
    buffer = device.allocate(100)
    host = bytearray(100)
    outside = buffer.address + (SMALLEST if family_of(device) == "single_buffer" else ARENA)
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
    if family_of(device) == "single_buffer":  # others know their arenas alone
        address = buffer.address
        del buffer
        with pytest.raises(DeviceError, match="INVALID_VALUE"):
            device.fill(address, 0, 4)


def test_nothing(device):
    device.upload(0, memoryview(b""))
    device.download(memoryview(bytearray()), 0)
    device.copy(0, 0, 0)
    device.fill(0, 0, 0)
    empty = device.allocate(0)
    assert empty.address and empty.address != device.allocate(0).address


def test_the_pool_counts(device):
    memory, reserved = device.memory, SMALLEST if family_of(device) == "single_buffer" else ARENA
    one, two = device.allocate(1000), device.allocate(500)
    assert (one.address % 256, two.address % 256) == (0, 0)
    assert abs(one.address - two.address) >= 512
    del one
    settle(device)
    figures = memory.statistics()
    assert (figures.used, figures.peak, figures.reserved) == (500, 1500, reserved)
    assert (figures.allocations, figures.frees, figures.limit) == (2, 1, None)


def test_memory_is_used_again(device):
    assert len({device.allocate(3 * MEGABYTE).address for _ in range(10)}) == 1
    assert len({device.allocate(1000).address for _ in range(10)}) == 1


def test_a_limit(device):
    device.memory.limit = 1000
    kept = device.allocate(600)
    with pytest.raises(DeviceError, match="500 bytes, with 600 in use of the pool's limit of 1000"):
        device.allocate(500)
    assert device.memory.statistics().used == 600 == kept.size
    del kept
    device.allocate(1000)


@pytest.mark.parametrize("size", [1 << 40, 1 << 63, (1 << 64) - 1, 1 << 70])
def test_large_allocations_are_refused(device, size):
    with pytest.raises(DeviceError, match=rf"OUT_OF_MEMORY \(2\).*{size} bytes") as caught:
        device.allocate(size)
    assert caught.value.number == 2
    with pytest.raises(DeviceError, match="INVALID_VALUE"):
        device.allocate(-1)
    assert device.memory.statistics().used == 0


def test_memory_is_freed_from_any_thread(device):
    kept = [device.allocate(8)]
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    settle(device)
    assert device.memory.statistics().used == 0


def test_a_finalizer_in_the_middle_of_other_work(device):
    kept = [device.allocate(8)]

    def collected():
        with device.default_stream.context.lock:
            kept.clear()

    thread = threading.Thread(target=collected, daemon=True)
    thread.start()
    thread.join(60)
    settle(device)
    assert not thread.is_alive() and device.memory.statistics().used == 0


def test_pinned_memory(copying):
    pinned = copying.allocate_host(5000, "pinned")
    host = np.ctypeslib.as_array((ctypes.c_ubyte * 5000).from_address(pinned.address))
    host[:] = np.arange(5000) % 251
    buffer, stream = copying.allocate(4000), copying.new_stream()
    stream.upload(buffer.address, host[100:4100].data)
    stream.fill(buffer.address, 9, 10)
    stream.download(host[1000:1020].data, buffer.address)
    stream.synchronize()
    assert host[1000:1020].tolist() == [9] * 10 + list(range(110, 120))
    assert (words(copying, buffer, np.uint8)[10:] == np.arange(110, 4100) % 251).all()
    assert copying.register_host(pinned.address, 10) is None


def test_memory_that_is_not_pinned(copying):
    source, out = np.arange(3000, dtype=np.uint8), np.zeros(3000, np.uint8)
    buffer, stream = copying.allocate(3000), copying.new_stream()
    stream.upload(buffer.address, octets(source))
    stream.download(octets(out), buffer.address)
    stream.fill(buffer.address, 0, 3000)
    stream.synchronize()
    assert (out == source).all() and not words(copying, buffer, np.uint8).any()
    assert copying.register_host(out.ctypes.data, 3000) is None

"""Buffers, the pool and its limits, copies of every kind, memory of the host."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from tests.runtime.arrays import octets, params, to_device, words
from tests.runtime.metal.kernels import ADD_ONE, kernel

from gridlane.core.errors import DeviceError
from gridlane.emulation.metal import bridge
from gridlane.runtime.chunks import CHUNK, SMALL

MEGABYTE = 1 << 20


def test_copies(device):
    rng = np.random.default_rng(1)
    for size in (1, 3, 999, 1000, 1001, 4097, 3 * MEGABYTE // 64):
        host = rng.integers(0, 256, size, np.uint8)
        buffer = to_device(device, host)
        other = device.allocate(size)
        device.copy(other.address, buffer.address, size)
        assert (words(device, other, np.uint8) == host).all()


def test_interior_addresses(device):
    host = np.arange(100, dtype=np.uint8)
    buffer = to_device(device, host)
    device.upload(buffer.address + 33, octets(np.full(5, 200, np.uint8)))
    device.copy(buffer.address + 50, buffer.address + 31, 9)
    host[33:38] = 200
    host[50:59] = host[31:40]
    assert (words(device, buffer, np.uint8) == host).all()
    part = bytearray(7)
    device.download(memoryview(part), buffer.address + 47)
    assert bytes(part) == bytes(host[47:54])


@pytest.mark.parametrize("distance", [1, 5, 64, -1, -17])
def test_copies_that_overlap(device, distance, monkeypatch):
    move = device.mover.copy

    def apart(queue, target, source, size, keep=None):
        assert abs(target - source) >= size  # else threads overtake each other
        move(queue, target, source, size, keep)

    host = (np.arange(300) % 256).astype(np.uint8)
    buffer = to_device(device, host)
    start = 70
    with monkeypatch.context() as patch:
        patch.setattr(device.mover, "copy", apart)
        device.copy(buffer.address + start + distance, buffer.address + start, 100)
    host[start + distance :][:100] = host[start:][:100].copy()
    assert (words(device, buffer, np.uint8) == host).all()


def test_setting_bytes(device):
    for offset in range(5):
        for size in (*range(10), 100, 1000):
            buffer = device.allocate(1100)
            device.fill(buffer.address, 0, 1100)
            device.fill(buffer.address + offset, 0xA5, size)
            found = words(device, buffer, np.uint8)
            assert (found[offset : offset + size] == 0xA5).all() and not found[:offset].any()
            assert not found[offset + size :].any()
    with pytest.raises(DeviceError, match="INVALID_VALUE"):
        device.fill(buffer.address, 256, 4)


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
    from gridlane.emulation.metal.device import MTLBuffer

    original = MTLBuffer.gpuAddress
    monkeypatch.setattr(MTLBuffer, "gpuAddress", lambda self: original(self) + rest)
    for size in (1000, 2 * MEGABYTE):
        buffer, other = device.allocate(size), device.allocate(size)
        assert (buffer.address % 256, other.address % 256) == (0, 0)
        assert (buffer.owner.pointer - buffer.owner.offset) % 4096 == 256 - rest


def test_memory_is_used_again(device):
    addresses = {device.allocate(3 * MEGABYTE).address for _ in range(10)}
    assert len(addresses) == 1 and device.pool.reserved == 3 * MEGABYTE
    small = {device.allocate(1000).address for _ in range(10)}
    assert len(small) == 1


def test_many_small_arrays_share_a_chunk(device):
    before = bridge.living["MTLBuffer"]
    kept = [device.allocate(256) for _ in range(5000)]
    assert len({buffer.address for buffer in kept}) == 5000
    assert bridge.living["MTLBuffer"] == before + 1
    assert device.allocate(SMALL + 1) and bridge.living["MTLBuffer"] == before + 2


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


def test_pinned_memory(device):
    pinned = device.allocate_host(5000, "pinned")
    host = np.frombuffer(pinned.owner.host(), np.uint8)
    host[:] = np.arange(5000) % 251
    buffer, stream = device.allocate(4000), device.new_stream()
    stream.upload(buffer.address, host[100:4100].data)
    stream.fill(buffer.address, 9, 10)
    stream.download(host[1000:1020].data, buffer.address)
    stream.synchronize()
    assert host[1000:1020].tolist() == [9] * 10 + list(range(110, 120))
    assert (words(device, buffer, np.uint8)[10:] == np.arange(110, 4100) % 251).all()


def test_memory_that_is_not_pinned(device):
    source, out = np.arange(3000, dtype=np.uint8), np.zeros(3000, np.uint8)
    buffer, stream = device.allocate(3000), device.new_stream()
    stream.upload(buffer.address, octets(source))
    stream.download(octets(out), buffer.address)
    stream.fill(buffer.address, 0, 3000)
    stream.synchronize()
    assert (out == source).all() and not words(device, buffer, np.uint8).any()
    assert device.register_host(out.ctypes.data, 3000) is None


def test_a_full_device(metal, device):
    kept = [device.allocate(500 * MEGABYTE) for _ in range(3)]
    free, total = device.memory_info()
    assert total == 2048 * MEGABYTE and 0 <= total - free - device.pool.reserved < 4096
    with pytest.raises(DeviceError, match=r"bytes of device memory, with \d+ of \d+ in use"):
        device.allocate(600 * MEGABYTE)
    kept.pop()
    assert device.allocate(600 * MEGABYTE)  # what nothing uses is given back for it


def test_metal_without_memory(metal, device):
    metal._working_set = MEGABYTE
    with pytest.raises(DeviceError, match=r"OUT_OF_MEMORY.*1000 bytes of device memory"):
        device.allocate(1000)
    metal._working_set = 64 * MEGABYTE
    assert device.allocate(1000) and device.pool.statistics().allocations == 1


@pytest.mark.parametrize("kind", ["mapped", "managed"])
def test_memory_of_both(device, kind):
    with pytest.raises(DeviceError, match=r"NOT_SUPPORTED.*addresses of its own"):
        device.allocate_host(256, kind)


def reach_every_buffer(device):
    """Launches on buffers that come one after the other, in the same command buffer."""
    artifact = kernel(*ADD_ONE)
    bound = device.load(artifact).bind((64, 1, 1))
    kept = []
    for _ in range(5):
        kept.append(device.allocate(2 * MEGABYTE))
        for buffer in kept:
            bound.launch(params(artifact, buffer, 64), 1, 1, 1, 0)
    assert device.recorder._open.commands == 15
    assert [words(device, buffer)[0] for buffer in kept] == [5, 4, 3, 2, 1]


def test_every_buffer_is_resident(device):
    assert device.pool.residency.set is not None
    reach_every_buffer(device)


def test_residency_without_sets(metal, request):
    metal._residency = False
    device = request.getfixturevalue("device")
    assert device.pool.residency.set is None
    reach_every_buffer(device)


def test_leaks_show(metal, device):
    """Without what the driver tells pyobjc, no buffer is ever given back."""
    buffers = bridge.living["MTLBuffer"]
    device.allocate(4 * MEGABYTE)
    assert bridge.living["MTLBuffer"] == buffers + 1
    device.reset()
    assert bridge.living["MTLBuffer"] == buffers
    forgotten = bridge._metadata.pop(b"newBufferWithLength:options:")
    device.allocate(4 * MEGABYTE)
    device.reset()
    bridge._metadata[b"newBufferWithLength:options:"] = forgotten
    assert bridge.living["MTLBuffer"] == buffers + 1
    bridge.living["MTLBuffer"] -= 1


def test_the_end_of_a_process():
    """Whatever is alive then: work, pinned memory, host functions."""
    source = """
import numpy as np
from gridlane.runtime.devices import get_device
device = get_device("metal")
kept = [device.allocate(1000), device.new_stream(), device.new_event()]
kept[1].submit(lambda: print("called"))
kept[1].fill(kept[0].address, 0, 1000)
if {pinned}:
    pinned = device.allocate_host(1000, "pinned")
    array = np.frombuffer(pinned.owner.host(), np.uint8)
"""
    for pinned in (True, False):
        done = subprocess.run(
            [sys.executable, "-c", source.format(pinned=pinned)],
            env={**os.environ, "GRIDLANE_METAL": "emulated"},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "called\n", "")

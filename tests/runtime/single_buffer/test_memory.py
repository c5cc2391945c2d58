"""The growing arena: bytes within words, growth, limits."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from tests.runtime.arrays import octets, params, to_device, words
from tests.runtime.single_buffer.helpers import bounded
from tests.runtime.single_buffer.texts import ADD_ONE, kernel

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.single_buffer.arena import FIRST, KEPT, SMALLEST, SPARE

MEGABYTE = 1 << 20


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


class Owner:
    """What host bytes belong to, as a program frees them."""


def test_the_owner_of_host_bytes_lives_until_they_are_copied(device):
    buffer, stream = to_device(device, np.zeros(64, np.uint8)), device.new_stream()
    host, back = np.arange(64, dtype=np.uint8), np.zeros(64, np.uint8)
    owners = [Owner(), Owner()]
    alive = [weakref.ref(each) for each in owners]
    stream.upload(buffer.address, host.data, owners[0])
    stream.download(back.data, buffer.address, owners[1])
    owners.clear()
    gc.collect()
    assert all(each() is not None for each in alive)
    stream.synchronize()
    gc.collect()
    assert (back == host).all() and not any(each() for each in alive)


def test_pieces_become_one_again(device):
    kept = [device.allocate(1000) for _ in range(100)]
    order = np.random.default_rng(3).permutation(100)
    for n in order:
        kept[n] = None
    whole = device.arena.reserved - FIRST - SPARE
    assert device.allocate(whole).address == FIRST
    assert device.arena.reserved == SMALLEST


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


def test_the_arena_grows_with_work_in_it(device):
    artifact = kernel(device, *ADD_ONE)
    bound = device.load(artifact).bind((64, 1, 1))
    data = to_device(device, np.arange(64, dtype=np.uint32))
    before, kept = device.arena.reserved, []
    for _ in range(4):
        bound.launch(params(artifact, data, 64), 1, 1, 1, 0)
        kept.append(to_device(device, np.full(device.arena.reserved // 4, 7, np.uint32)))
    assert device.arena.reserved > 4 * before
    assert (words(device, data) == np.arange(64) + 4).all()
    assert all((words(device, each) == 7).all() for each in kept)


def test_the_largest_array(device, monkeypatch):
    bounded(device, monkeypatch, 3 * MEGABYTE)
    free, total = device.memory_info()
    assert (total, free) == (3 * MEGABYTE, 3 * MEGABYTE - FIRST - SPARE)
    size = free + 1
    told = rf"{size} bytes: an array .* is in one buffer, which holds {free} bytes at most"
    with pytest.raises(DeviceError, match=told) as caught:
        device.allocate(size)
    assert caught.value.number == 2
    assert ("max-storage-buffer" in str(caught.value)) == (device.name == "webgpu")
    assert ("GL_MAX_SHADER_STORAGE" in str(caught.value)) == (device.name == "opengl")
    kept = [device.allocate(MEGABYTE)]
    assert device.memory_info() == (2 * MEGABYTE - FIRST - SPARE, 3 * MEGABYTE)
    kept.append(device.allocate(2 * MEGABYTE - FIRST - SPARE))
    assert device.memory_info()[0] == 0 and not device.several_buffers
    kept.pop(0)
    assert device.allocate(MEGABYTE - KEPT).address == FIRST and not device.several_buffers


def test_more_than_a_buffer_can_have(device):
    size = 1 << 33
    with pytest.raises(DeviceError, match=rf"OUT_OF_MEMORY \(2\).*{size} bytes"):
        device.allocate(size)
    assert device.memory.statistics().used == 0


def test_nothing_is_at_the_null_pointer(device):
    kept = [device.allocate(1000), device.allocate(500)]
    assert min(buffer.address for buffer in kept) >= FIRST


def test_a_driver_without_memory(device, monkeypatch):
    first = to_device(device, np.arange(100, dtype=np.uint32))
    original, asked = device.engine.resize, []
    assert device.arena.reserved == SMALLEST

    def refuse(number, size):
        asked.append(size)
        if number or size > 3 * MEGABYTE:
            raise DeviceError("CUDA_ERROR_OUT_OF_MEMORY", 2, "no")
        original(number, size)

    monkeypatch.setattr(device.engine, "resize", refuse)
    second = device.allocate(MEGABYTE + MEGABYTE // 2)  # what is needed, when twice is not there
    third = device.allocate(MEGABYTE // 2)
    assert len(asked) == 3 and asked[1] > 3 * MEGABYTE >= asked[2]
    with pytest.raises(DeviceError, match="OUT_OF_MEMORY"):
        device.allocate(8 * MEGABYTE)
    assert (words(device, first) == np.arange(100)).all() and second and third


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

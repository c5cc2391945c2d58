"""What the pool does on Metal alone: residency, a full device, ownership of buffers."""

from __future__ import annotations

import pytest
from tests.runtime.arrays import params, words
from tests.runtime.metal.kernels import ADD_ONE, kernel

from gridlane.core.errors import DeviceError
from gridlane.emulation.metal import bridge

MEGABYTE = 1 << 20


@pytest.mark.parametrize("rest", [64, 255])
def test_addresses_are_aligned(device, monkeypatch, rest):
    from gridlane.emulation.metal.resources import MTLBuffer

    original = MTLBuffer.gpuAddress
    monkeypatch.setattr(MTLBuffer, "gpuAddress", lambda self: original(self) + rest)
    for size in (1000, 2 * MEGABYTE):
        buffer, other = device.allocate(size), device.allocate(size)
        assert (buffer.address % 256, other.address % 256) == (0, 0)
        assert (buffer.pointer - buffer.offset) % 4096 == 256 - rest


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
    assert device.allocate(1000) and device.memory.statistics().allocations == 1


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

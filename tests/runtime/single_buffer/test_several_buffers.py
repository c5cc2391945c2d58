"""Memory of several buffers: addresses, copies, what is free, launches."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.single_buffer.helpers import bounded, spread
from tests.runtime.single_buffer.test_reports import PRINT, SITE
from tests.runtime.single_buffer.texts import ADD_ONE, kernel

from gridlane.core.errors import DeviceError
from gridlane.core.shader_abi import located
from gridlane.runtime.drivers.single_buffer.arena import FIRST, KEPT, SPARE

MEGABYTE = 1 << 20
LARGEST = 2 * MEGABYTE
WHOLE = LARGEST - FIRST - SPARE


@pytest.fixture
def several(device, monkeypatch):
    """A device whose arrays take turns among three buffers."""
    spread(device, monkeypatch)
    return device


def buffers_of(*arrays):
    return [located(array.address)[0] for array in arrays]


def test_an_array_that_does_not_fit_begins_another_buffer(device, monkeypatch):
    bounded(device, monkeypatch, LARGEST)
    hosts = [np.full(MEGABYTE // 4, n, np.uint32) for n in range(1, 6)]
    arrays = [to_device(device, host) for host in hosts]
    assert buffers_of(*arrays) == [0, 1, 2, 3, 4] and device.several_buffers
    small = to_device(device, np.arange(64, dtype=np.uint32))
    assert buffers_of(small) == [0]
    assert device.memory_info()[1] == 5 * LARGEST
    for array, host in zip(arrays, hosts):
        assert (words(device, array) == host).all()
    assert device.memory.find(arrays[3].address + 7, 100) is arrays[3]
    assert device.adopt(arrays[3].address + 8, 100).size == 100


def test_freed_buffers_are_reused(device, monkeypatch):
    bounded(device, monkeypatch, LARGEST)
    arrays = [device.allocate(WHOLE) for _ in range(3)]
    assert device.memory_info() == (0, 3 * LARGEST)
    address = arrays[1].address
    arrays[1] = None
    assert device.memory_info()[0] == WHOLE
    again = device.allocate(WHOLE)
    assert again.address == address and len(device.arena.segments) == 3
    assert device.memory.statistics().used == 3 * WHOLE


def test_trim_releases_further_buffers_without_arrays(device, monkeypatch):
    bounded(device, monkeypatch, LARGEST)
    arrays = [to_device(device, np.full(WHOLE // 4, n, np.uint32)) for n in range(3)]
    arrays[1] = None
    device.memory.trim()
    assert [segment.size > 0 for segment in device.arena.segments] == [True, False, True]
    assert device.arena.reserved == 2 * LARGEST
    arrays[1] = to_device(device, np.full(WHOLE // 4, 1, np.uint32))
    assert buffers_of(*arrays) == [0, 1, 2]
    assert all((words(device, array) == n).all() for n, array in enumerate(arrays))
    arrays.clear()
    device.memory.trim(2 * LARGEST)
    assert device.arena.reserved == 2 * LARGEST
    device.memory.trim()
    assert device.arena.reserved == LARGEST


def test_a_further_buffer_grows_and_keeps_its_arrays(device, monkeypatch):
    bounded(device, monkeypatch, 8 * MEGABYTE)
    first = device.allocate(7 * MEGABYTE)
    arrays = [to_device(device, np.full(3 * MEGABYTE // 8, n, np.uint32)) for n in range(4)]
    assert buffers_of(first, *arrays) == [0, 1, 1, 1, 1]
    assert device.arena.segments[1].size > 4 * MEGABYTE
    assert all((words(device, array) == n).all() for n, array in enumerate(arrays))


def test_a_driver_that_grows_no_buffer_makes_another(device, monkeypatch):
    first = to_device(device, np.arange(100, dtype=np.uint32))
    original = device.engine.resize

    def refuse(number, size):
        if number == 0:
            raise DeviceError("CUDA_ERROR_OUT_OF_MEMORY", 2, "no")
        original(number, size)

    monkeypatch.setattr(device.engine, "resize", refuse)
    second = to_device(device, np.full(MEGABYTE, 5, np.uint32))
    assert buffers_of(first, second) == [0, 1]
    assert (words(device, first) == np.arange(100)).all() and (words(device, second) == 5).all()


@pytest.mark.parametrize("at", [0, 1, 3])
@pytest.mark.parametrize("size", [1, 4, 7, 1001])
def test_copies_between_buffers(several, at, size):
    rng = np.random.default_rng(size)
    hosts = [rng.integers(0, 256, 2048).astype(np.uint8) for _ in range(3)]
    arrays = [to_device(several, host) for host in hosts]
    assert buffers_of(*arrays) == [0, 1, 2]
    for to in range(3):
        for of in range(3):
            target = arrays[to].address + 1024 - at
            several.copy(target, arrays[of].address + at, size)
            hosts[to][1024 - at :][:size] = hosts[of][at:][:size].copy()
    for to in range(3):
        several.fill(arrays[to].address + 5 + at, 9 + to, size)
        hosts[to][5 + at :][:size] = 9 + to
        several.upload(arrays[to].address + 2047 - size, hosts[to][at:][:size].data)
        hosts[to][2047 - size :][:size] = hosts[to][at:][:size].copy()
    for array, host in zip(arrays, hosts):
        assert (words(several, array, np.uint8) == host).all()


def test_overlapping_copies_in_a_further_buffer(several):
    several.allocate(4)
    host = np.arange(2048, dtype=np.uint32)
    array = to_device(several, host)
    assert buffers_of(array) == [1]
    several.copy(array.address + 12, array.address, 4000)
    host[3:1003] = host[:1000].copy()
    assert (words(several, array) == host).all()


def test_random_arrays_and_copies(device, monkeypatch):
    bounded(device, monkeypatch, LARGEST)
    rng = np.random.default_rng(11)
    hosts, arrays, most = {}, {}, 0
    for n in range(150):
        what = rng.choice(["allocate", "allocate", "free", "copy", "fill", "trim"])
        some = sorted(arrays)
        if what == "allocate" or len(some) < 2:
            hosts[n] = rng.integers(0, 256, int(rng.integers(1, 900_000))).astype(np.uint8)
            arrays[n] = to_device(device, hosts[n])
            most = max(most, located(arrays[n].address)[0])
        elif what == "free":
            gone = rng.choice(some)
            assert (words(device, arrays.pop(gone), np.uint8) == hosts.pop(gone)).all()
        elif what == "trim":
            device.memory.trim()
        else:
            to, of = rng.choice(some, 2, replace=False)
            size = int(rng.integers(1, min(hosts[to].size, hosts[of].size) + 1))
            if what == "copy":
                device.copy(arrays[to].address, arrays[of].address, size)
                hosts[to][:size] = hosts[of][:size]
            else:
                device.fill(arrays[to].address, n, size)
                hosts[to][:size] = n
    assert most >= 2
    for n, host in hosts.items():
        assert (words(device, arrays[n], np.uint8) == host).all()


def test_a_launch_on_a_further_buffer_is_refused(several):
    """Its code would read and write the first buffer."""
    artifact = kernel(several, *ADD_ONE)
    bound = several.load(artifact).bind((64, 1, 1))
    first, other = (to_device(several, np.arange(64, dtype=np.uint32)) for _ in range(2))
    assert buffers_of(first, other) == [0, 1]
    stream = several.new_stream()
    for launch in (bound.launch, lambda *grid: stream.launch(bound, *grid)):
        with pytest.raises(DeviceError, match=r"INVALID_VALUE.*pointers are in the buffers \(1,\)"):
            launch(params(artifact, other, 64), 1, 1, 1, 0)
    nowhere = 7 << 32 | 256
    with pytest.raises(DeviceError, match="in no buffer of the device's memory"):
        bound.launch(params(artifact, nowhere, 64), 1, 1, 1, 0)
    bound.launch(params(artifact, first, 64), 1, 1, 1, 0)
    assert (words(several, first) == np.arange(64) + 1).all()
    assert (words(several, other) == np.arange(64)).all()


def test_code_for_several_buffers(several):
    """Places are those of ``buffer_places``; the bindings behind the first are 3 and on."""
    body = "heap1[a + i] = heap2[b + i] + heap[c + i];"
    artifact = kernel(several, "a: ptr, b: ptr, n: u32, c: ptr", body, buffers=(1, 2, 0))
    bound = several.load(artifact).bind((64, 1, 1))
    arrays = [to_device(several, np.full(64, 10**n, np.uint32)) for n in range(3)]
    for a, b, c in ((1, 2, 0), (2, 1, 0)):
        bound.launch(params(artifact, arrays[a], arrays[b], 7, arrays[c]), 1, 1, 1, 0)
        assert (words(several, arrays[a]) == 10**b + 1).all()
        several.upload(arrays[a].address, np.full(64, 10**a, np.uint32).data)
    for a, b, c in ((1, 1, 0), (0, 1, 2), (0, 0, 0), (1, 2, 1)):
        with pytest.raises(DeviceError, match="INVALID_VALUE"):
            bound.launch(params(artifact, arrays[a], arrays[b], 7, arrays[c]), 1, 1, 1, 0)


def test_more_buffers_than_bindings(several):
    most = several.engine.facts.bindings - 2
    assert most >= 2
    names = ", ".join(f"a{n}: ptr" for n in range(most))
    artifact = kernel(several, names, "", buffers=tuple(range(1, most + 1)))
    told = rf"OUT_OF_RESOURCES.*arrays are in {most + 1} buffers.* has {most}"
    with pytest.raises(DeviceError, match=told):
        several.load(artifact)


def test_code_with_pointers_of_unknown_provenance(several):
    artifact = kernel(several, *ADD_ONE, untraced=True)
    data, *_others = [to_device(several, np.zeros(64, np.uint32)) for _ in range(3)]
    with pytest.raises(DeviceError, match=r"NOT_SUPPORTED.*makes pointers of numbers"):
        several.load(artifact).bind((64, 1, 1)).launch(params(artifact, data, 64), 1, 1, 1, 0)


def test_such_code_runs_again_when_further_buffers_are_empty(device, monkeypatch):
    bounded(device, monkeypatch, LARGEST)
    artifact = kernel(device, *ADD_ONE, untraced=True)
    data, kept = to_device(device, np.zeros(64, np.uint32)), []
    bound = device.load(artifact).bind((64, 1, 1))
    while len(device.arena.segments) < 2:
        kept.append(device.allocate(10_000))
    with pytest.raises(DeviceError, match="NOT_SUPPORTED"):
        bound.launch(params(artifact, data, 64), 1, 1, 1, 0)
    kept.clear()
    gc.collect()
    bound.launch(params(artifact, data, 64), 1, 1, 1, 0)
    assert (words(device, data) == 1).all() and not device.has_several_buffers()


def test_reports_are_in_the_first_buffer(several, capfd):
    several.allocate(4)
    artifact = kernel(several, "n: u32, lines: u32", PRINT, (4, 1, 1), prints=(SITE,))
    bound = several.load(artifact).bind((4, 1, 1))
    bound.launch(params(artifact, 3, 2), 1, 1, 1, 0)
    several.synchronize()
    assert capfd.readouterr().out == "line 3\nline 4\n"


def test_small_arrays_leave_room_for_reports(device, monkeypatch, capfd):
    """Less than a kernel asks for that prints, so the block is smaller."""
    bounded(device, monkeypatch, LARGEST)
    kept = []
    while len(device.arena.segments) < 3:
        kept.append(device.allocate(10_000))
    left = device.arena.segments[0].end - FIRST - device.arena.segments[0].used
    assert KEPT <= left < KEPT + 20_000
    artifact = kernel(device, "n: u32, lines: u32", PRINT, (4, 1, 1), prints=(SITE,))
    loaded = device.load(artifact)
    for lines in (3, 2, 2000, 1):
        loaded.bind((4, 1, 1)).launch(params(artifact, 5, lines), 1, 1, 1, 0)
        device.synchronize()
        said = capfd.readouterr()
        shown = said.out.splitlines()
        assert shown == [f"line {5 + n}" for n in range(len(shown))]
        assert len(shown) == lines or (len(shown) >= 1000 and "those lines are lost" in said.err)
    assert loaded.block_of(device.owners.here()).report.capacity <= KEPT


def test_reports_without_room(device, monkeypatch):
    bounded(device, monkeypatch, LARGEST)
    kept = device.allocate(WHOLE)
    artifact = kernel(device, "n: u32, lines: u32", PRINT, (4, 1, 1), prints=(SITE,))
    with pytest.raises(DeviceError, match=r"OUT_OF_MEMORY.*in the first buffer") as caught:
        device.load(artifact).bind((4, 1, 1)).launch(params(artifact, 3, 2), 1, 1, 1, 0)
    assert "before they fill it" in str(caught.value) and kept

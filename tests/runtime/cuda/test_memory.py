"""The pool of a device, memory of the host, memory of others, several devices."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from cuda.bindings import driver
from tests.fake_cuda.kernels import artifact
from tests.fake_cuda.library import MEGABYTE

from gridlane.core.errors import DeviceError
from gridlane.memory import accounting
from gridlane.runtime.drivers.cuda import open_device


def test_the_pool_counts(machine, device):
    memory, one = device.memory, device.allocate(1000)
    two = device.allocate(500)
    del one
    figures = memory.statistics()
    assert (figures.used, figures.peak, figures.reserved) == (500, 1500, 1500)
    assert (figures.allocations, figures.frees, figures.limit) == (2, 1, None)
    memory.trim()
    assert memory.statistics().reserved == 500 == two.size
    assert device.memory_info() == (64 * MEGABYTE - 500, 64 * MEGABYTE)


def test_the_pool_keeps_memory_for_the_next_allocation(machine, device):
    device.allocate(1000)
    assert device.memory.statistics().reserved == 1000
    device.pool.trim(keep=600)
    assert device.memory.statistics().reserved == 600
    device.allocate(600)
    assert device.memory.statistics().reserved == 600


def test_a_limit(machine, device):
    device.memory.limit = 1000
    kept = device.allocate(600)
    with pytest.raises(DeviceError, match="500 bytes, with 600 in use of the pool's limit of 1000"):
        device.allocate(500)
    assert device.memory.statistics().used == 600 == kept.size
    del kept
    device.allocate(1000)


def test_what_waits_to_be_freed_is_enough(machine):
    machine.reset(memory=1000)
    device = open_device()
    kept = device.allocate(800)
    machine.late()
    device.default_stream.submit(lambda: None)
    del kept
    machine.clear_log()
    device.allocate(900)
    calls = [call for call in machine.calls if call != "cuCtxSetCurrent"]
    ask = "cuMemAllocFromPoolAsync"
    assert calls[:4] == [ask, "cuCtxSynchronize", "cuMemPoolTrimTo", ask]
    with pytest.raises(DeviceError, match=r"OUT_OF_MEMORY \(2\).*2000 bytes"):
        device.allocate(2000)
    assert device.memory.statistics().used == 0


def test_a_device_without_pools(machine):
    machine.reset(MEMORY_POOLS_SUPPORTED=0)
    device = open_device()
    memory = device.allocate(100)
    assert machine.blocks("device") == 1 and "cuMemPoolCreate" not in machine.calls
    assert device.memory.statistics().reserved == 100
    device.pool.trim()
    del memory
    assert machine.blocks("device") == 0 and machine.calls[-1] == "cuMemFree"


def test_memory_is_freed_from_any_thread(machine, device):
    kept = [device.allocate(8)]
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    assert machine.blocks("pool") == 0 and device.memory.statistics().used == 0


def test_a_finalizer_in_the_middle_of_the_memory_s_own_work(machine, device):
    kept = [device.allocate(8)]

    def collected():
        with accounting._lock, device.pool._lock:
            kept.clear()

    thread = threading.Thread(target=collected, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive() and device.memory.statistics().used == 0


def test_finalizers_raise_nothing(machine, device, capfd):
    freeing = ["cuMemFreeAsync", "cuMemFreeHost", "cuMemFree", "cuMemHostUnregister"]
    freeing += ["cuStreamDestroy", "cuEventDestroy", "cuModuleUnload"]
    hosts = [np.zeros(100, np.uint8), np.zeros(100, np.uint8)]
    for number, host in zip((304, 700), hosts):
        kept = [device.allocate(8), device.allocate_host(8, "pinned")]
        kept += [device.allocate_host(8, "managed"), device.new_stream(), device.new_event()]
        kept += [device.load(artifact()), device.register_host(host.ctypes.data, 100)]
        for name in freeing[: None if number == 304 else 1]:
            machine.fail(name, number)
        kept.clear()
        gc.collect()
    assert not machine.unfailed()
    with pytest.raises(DeviceError, match=r"\(700\)"):  # is raised where work is waited for
        device.synchronize()
    assert capfd.readouterr().err == ""
    device.reset()


@pytest.mark.parametrize(
    "kind, memory, flags", [("pinned", "host", 1), ("mapped", "host", 3), ("managed", "managed", 1)]
)
def test_memory_of_the_host(machine, device, kind, memory, flags):
    buffer = device.allocate_host(64, kind)
    call = "cuMemAllocManaged" if kind == "managed" else "cuMemHostAlloc"
    assert f"{call}(64, {flags})" in machine.log and machine.blocks(memory) == 1
    device.fill(buffer.address, 7, 64)
    host = np.zeros(64, np.uint8)
    device.download(host.data, buffer.address)
    assert host.tolist() == [7] * 64
    del buffer
    assert machine.blocks(memory) == 0


def test_registered_memory(machine, device):
    host = np.zeros(64, np.uint8)
    pinned = device.register_host(host.ctypes.data, 64)
    assert machine.blocks("registered") == 1
    with pytest.raises(DeviceError, match=r"ALREADY_REGISTERED \(712\)"):
        device.register_host(host.ctypes.data, 64)
    machine.late()
    memory = device.allocate(64)
    device.new_stream().upload(memory.address, host.data)
    del pinned
    assert machine.calls[-2:] == ["cuCtxSynchronize", "cuMemHostUnregister"]
    device.synchronize()


def test_memory_of_another_library(machine, device):
    theirs = driver.cuMemAlloc(64)[1]
    assert device.adopt(int(theirs), 64).address == int(theirs)
    host = np.zeros(64, np.uint8)
    with pytest.raises(DeviceError, match="not memory of a CUDA device"):
        device.adopt(host.ctypes.data, 64)
    driver.cuMemFree(theirs)


def test_copies_are_done_on_return(machine, device):
    memory, other = device.allocate(64), device.allocate(64)
    host, back = np.arange(64, dtype=np.uint8), np.zeros(64, np.uint8)
    machine.late()
    device.upload(memory.address, host.data)
    device.copy(other.address, memory.address, 64)
    device.fill(other.address, 9, 4)
    device.download(back.data, other.address)
    assert back.tolist() == [9] * 4 + list(range(4, 64))


@pytest.mark.parametrize("what", ["upload", "fill", "copy", "download"])
def test_ranges_are_checked(device, what):
    memory, host = device.allocate(64), np.zeros(100, np.uint8)
    work = {
        "upload": lambda: device.upload(memory.address, host.data),
        "download": lambda: device.download(host.data, memory.address),
        "fill": lambda: device.fill(memory.address + 1, 0, 64),
        "copy": lambda: device.copy(memory.address, memory.address + 32, 64),
    }
    with pytest.raises(DeviceError, match=r"INVALID_VALUE \(1\)"):
        work[what]()


# --- several devices


@pytest.fixture
def pair(machine, request):
    machine.reset(2)
    return open_device(0), open_device(1)


def test_devices_have_their_own_memory(machine, pair):
    kept = pair[1].allocate(100)
    assert [device.memory_info()[0] for device in pair] == [64 * MEGABYTE, 64 * MEGABYTE - 100]
    assert [device.name for device in pair] == ["cuda", "cuda:1"] and kept


def test_a_finalizer_leaves_the_context_of_its_thread(machine, pair):
    kept = [pair[1].allocate(100)]
    pair[0].allocate(8)
    assert int(driver.cuCtxGetCurrent()[1]) == int(pair[0].context.handle)
    kept.clear()
    assert int(driver.cuCtxGetCurrent()[1]) == int(pair[0].context.handle)
    assert machine.calls.count("cuMemFreeAsync") == 2


def test_copies_between_devices(machine, pair):
    one, two = pair
    here, there = one.allocate(8), two.allocate(8)
    host = np.arange(8, dtype=np.uint8)
    one.upload(here.address, host.data)
    assert one.can_reach(two)
    one.enable_peer(two)
    two.copy(there.address, here.address, 8)
    back = np.zeros(8, np.uint8)
    two.download(back.data, there.address)
    assert back.tolist() == host.tolist()
    order = [call for call in machine.calls if "Peer" in call or "SetAccess" in call]
    assert order == ["cuDeviceCanAccessPeer", "cuMemPoolSetAccess", "cuCtxEnablePeerAccess"]


def test_copies_from_a_peer_whose_memory_is_not_shared(machine, pair):
    one, two = pair
    here, there = one.allocate(8), two.allocate(8)
    host = np.arange(8, dtype=np.uint8)
    one.upload(here.address, host.data)
    two.default_stream.copy_from(one, there.address, here.address, 8)
    back = np.zeros(8, np.uint8)
    two.download(back.data, there.address)
    assert back.tolist() == host.tolist()


def test_peers_that_are_already_and_cannot_be(machine, pair):
    one, two = pair
    one.enable_peer(two)
    machine.clear_log()
    with pytest.raises(DeviceError, match=r"PEER_ACCESS_ALREADY_ENABLED \(704\)"):
        one.enable_peer(two)
    assert "cuMemPoolSetAccess" in machine.calls  # which says nothing of the pool
    machine.set_peer(1, 0, False)
    assert not two.can_reach(one)
    with pytest.raises(DeviceError, match=r"PEER_ACCESS_UNSUPPORTED \(217\)"):
        two.enable_peer(one)


def test_memory_of_a_pool_has_no_handle(machine, device):
    buffer = device.allocate(1000)
    with pytest.raises(DeviceError, match=r"is of a pool(.|\n)*GRIDLANE_CUDA_IPC=1"):
        device.export_memory(buffer, buffer.address)


def test_memory_of_other_processes(machine):
    machine.reset(MEMORY_POOLS_SUPPORTED=0)
    device = open_device()
    buffer = device.allocate(1000)
    handle, offset = device.export_memory(buffer, buffer.address + 100)
    assert len(handle) == 64 and offset == 100
    with pytest.raises(DeviceError, match="INVALID_CONTEXT"):
        device.import_memory(handle, 1000)
    theirs = (1).to_bytes(8, "little") + handle[8:]  # the fake's other process
    opened = device.import_memory(theirs, 1000)
    assert opened.size == 1000 and opened.address != buffer.address
    machine.clear_log()
    device.memory.note(opened)
    assert device.memory.find(opened.address + 999, 1) is opened
    address = opened.address
    del opened
    gc.collect()
    device.synchronize()
    assert f"cuIpcCloseMemHandle({address:#x})" in machine.log
    with pytest.raises(DeviceError, match="1000 bytes, and 1001 are asked for"):
        device.import_memory(theirs, 1001)
    with pytest.raises(DeviceError, match="3 bytes are no handle"):
        device.import_memory(b"abc", 1)

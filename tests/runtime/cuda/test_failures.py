"""Every function of the driver that gridlane calls fails once: the error says which, and nothing
is left behind."""

from __future__ import annotations

import gc
import re
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cuda.bindings import driver
from tests.fake_cuda.kernels import HELLO, TOO_LARGE, artifact

import gridlane.runtime.drivers.cuda
from gridlane.core.errors import DeviceError
from gridlane.core.tensor_map import Element, TensorMap
from gridlane.runtime.drivers.cuda import open_device, tensor_maps
from gridlane.runtime.drivers.cuda.api import call
from gridlane.runtime.drivers.cuda.memory import as_array

PARAMS = struct.pack("<Qq", 0, 1)
MODE = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
SYSTEM, FAULT = 304, 719
"""A failure that passes, and one that stays."""

SOURCE = Path(gridlane.runtime.drivers.cuda.__file__).parent
CALLED = sorted(
    {
        name
        for file in SOURCE.glob("*.py")
        for name in re.findall(r"\"(cu[A-Z]\w+)\"", file.read_text())
    }
)
"""What the driver's code names."""

FREEING = {
    "cuCtxGetCurrent",
    "cuMemFree",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemHostUnregister",
    "cuIpcCloseMemHandle",
    "cuMemPoolDestroy",
    "cuStreamDestroy",
    "cuEventDestroy",
    "cuModuleUnload",
    "cuDevicePrimaryCtxRelease",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
}
"""Called by finalizers, whose failures nobody sees."""


def everything(machine):
    """Call every function that the driver's code has, from the start to a new context."""
    first, second = open_device(0), open_device(1)
    first.describe()
    first.synchronize()
    memories(first, second)
    streams(first)
    kernels(first)
    graphs(first)
    first.synchronize()
    first.reset()
    machine.fault(700)
    with pytest.raises(DeviceError, match=r"\(700\)"):
        first.synchronize()
    first.reset()


def memories(first, second):
    host = np.zeros(64, np.uint8)
    kept = [first.allocate_host(64, kind) for kind in ("pinned", "mapped", "managed")]
    kept += [first.register_host(host.ctypes.data, 64), second.allocate(64)]
    memory = first.allocate(64)
    first.adopt(memory.address, 64)
    first.upload(memory.address, host.data)
    first.download(host.data, memory.address)
    first.copy(memory.address, memory.address, 8)
    first.default_stream.copy_from(second, memory.address, kept[-1].address, 8)
    first.fill(memory.address, 0, 64)
    first.memory.statistics()
    handle, _ = second.export_memory(kept[-1], kept[-1].address)
    second.import_memory((1).to_bytes(8, "little") + handle[8:], 64)  # of the fake's other process
    if first.can_reach(second):
        first.enable_peer(second)
        second.enable_peer(first)


def streams(device):
    stream, memory, host = device.new_stream(True), device.allocate(64), np.zeros(64, np.uint8)
    start, end = device.new_event(), device.new_event()
    start.record(stream)
    stream.write(memory.address, host.data)
    stream.read(host.data, memory.address)
    stream.submit(lambda: None)
    stream.fill(memory.address, 0, 64, memory)
    end.record(stream)
    end.wait(device.default_stream)
    end.synchronize()
    start.elapsed_ms(end)
    stream.query()
    stream.synchronize()


def kernels(device):
    made = artifact("made", errors=(TOO_LARGE,), prints=(HELLO,), dynamic=True)
    kernel = device.load(made)
    kernel.figures()
    kernel.occupancy(32)
    kernel.potential_block_size()
    kernel.bind((1, 1, 1)).launch(PARAMS, 1, 1, 1, 0)
    device.load(artifact(cooperative=True)).bind((1, 1, 1)).launch(PARAMS, 1, 1, 1, 0)
    device.load(replace(artifact(), format="cubin"))
    clusters = device.load(artifact(cluster=(2, 1, 1)))
    clusters.active_clusters(32)
    clusters.bind((1, 1, 1)).launch(PARAMS, 2, 1, 1, 0)
    tensor_maps.encode(TensorMap(64, Element.F16, (64,), (), (64,), (1,)))


def graphs(device):
    stream, memory, host = (
        device.new_stream(),
        device.allocate(8),
        device.allocate_host(8, "pinned"),
    )
    stream.begin_capture()
    try:
        stream.upload(memory.address, memoryview(as_array(host.address, 8)).cast("B"))
    finally:
        graph = stream.end_capture()
    assert graph.size == 1
    graph.instantiate().launch(stream)
    for _ in range(2):
        device.stream_at(stream.handle)
    for _ in range(2):
        foreign_capture(device, memory)


def foreign_capture(device, memory):
    """Work in another library's graph."""
    _, theirs = driver.cuStreamCreate(1)
    try:
        call("cuStreamBeginCapture", theirs, MODE)
        device.stream_at(int(theirs)).fill(memory.address, 0, 8)
        driver.cuGraphDestroy(call("cuStreamEndCapture", theirs))
    finally:
        driver.cuStreamDestroy(theirs)


@pytest.fixture
def two(machine):
    machine.reset(2)
    machine.set_attributes(1, MEMORY_POOLS_SUPPORTED=0)
    return machine


def test_everything_is_called(two):
    everything(two)
    gc.collect()
    called = set(two.calls)
    assert set(CALLED) - called == set()
    assert FREEING & called == FREEING & set(CALLED)


@pytest.mark.parametrize("name", CALLED)
@pytest.mark.parametrize("nth", [1, 2])
def test_a_failure_that_passes(two, name, nth):
    two.fail(name, SYSTEM, nth)
    caught = None
    try:
        everything(two)
    except DeviceError as error:
        caught = error
    gc.collect()
    if two.unfailed() and nth == 2:  # there was one call only
        assert caught is None
        two.reset()
        return
    if name in FREEING or (name == "cuCtxSynchronize" and nth == 2):  # the second is a finalizer's
        assert caught is None and not two.unfailed()
        two.reset()  # what was not freed stays
        return
    assert caught is not None and not two.unfailed()
    assert caught.number == SYSTEM and caught.name == "CUDA_ERROR_OPERATING_SYSTEM"
    assert name in str(caught)
    caught = None
    gc.collect()
    assert not two.leaks()
    two.reset()


@pytest.mark.parametrize("name", [name for name in CALLED if name not in FREEING])
def test_a_failure_that_stays(two, name):
    two.fail(name, FAULT)
    try:
        everything(two)
    except DeviceError as error:
        assert error.number == FAULT
        number = error.number
    else:
        number = None
    gc.collect()
    assert number == FAULT
    two.reset()  # what a lost context holds is the driver's to give back

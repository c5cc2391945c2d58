# extents are names that annotations define
"""torch's captures, as by ``torch.cuda.graph``: launches with its tensors are in its graph."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from cuda.bindings import driver
from tests.runtime.cuda.test_nest_streams import OfTorch, doubled, summed, torch
from tests.runtime.cuda.test_nests_on_streams import _caches, product, rows

from gridlane import algorithms, cuda, tiles, xp
from gridlane.compute import compute
from gridlane.core.errors import DeviceError
from gridlane.xp.computing import compute as compute_group

__all__ = ["_caches", "torch"]
N = 1024
tl = tiles.language
GLOBAL = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL


class Captured:
    """What torch does for a graph: a stream of its own is current, and captured in global mode."""

    def __init__(self, torch, device):
        device.activate()
        self.torch, self.stream = torch, driver.cuStreamCreate(1)[1]
        self.handle = int(self.stream)

    def __enter__(self):
        assert driver.cuStreamBeginCapture(self.stream, GLOBAL)[0] == 0
        self.before, self.torch.handle = self.torch.handle, self.handle
        return self

    def __exit__(self, kind, *error):
        self.torch.handle = self.before
        code, graph = driver.cuStreamEndCapture(self.stream)
        assert code == 0 or kind
        if code == 0:
            self.nodes = driver.cuGraphGetNodes(graph)[2]
            self.executable = driver.cuGraphInstantiate(graph, 0)[1]
            driver.cuGraphDestroy(graph)

    def replay(self):
        assert driver.cuGraphLaunch(self.executable, self.stream)[0] == 0
        assert driver.cuStreamSynchronize(self.stream)[0] == 0

    def close(self):
        driver.cuGraphExecDestroy(self.executable)
        driver.cuStreamDestroy(self.stream)


@pytest.fixture
def captured(machine, device, torch):
    made = Captured(torch, device)
    yield made
    made.close()
    device.allocate(8)  # what the graph used is dropped then


def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def tile(x, SIZE: tl.constexpr):
    at = x + tl.arange(0, SIZE)
    tl.store(at, tl.load(at) + 1)


def kernel_run():
    configured = cuda.jit(add_one)[8, 128]
    return lambda x, out: configured(out)


def tile_run():
    program = tiles.jit(tile)
    return lambda x, out: program[(1,)](out, SIZE=N)


def scan_run():
    def run(x, out):
        algorithms.inclusive_scan(d_in=x, d_out=out, op=algorithms.OpKind.PLUS, num_items=N)

    return run


def nest_run(loops):
    return lambda: compute(loops)


CASES = {
    "kernel": (kernel_run, (N,), (N,), np.float32, 1, 0),
    "tiles": (tile_run, (N,), (N,), np.float32, 1, 0),
    "loops": (nest_run(doubled), (N,), (N,), np.float32, 1, 0),
    "several blocks a sum": (nest_run(rows), (2, 1 << 16), (2,), np.int64, 2, 1),
    "algorithm": (nest_run(summed), (N,), (N,), np.int64, None, 1),
    "scan": (scan_run, (N,), (N,), np.int64, None, 1),
    "library": (nest_run(product), (64, 64), (64, 64), np.float32, None, 0),
}


@pytest.mark.parametrize("warm", [0, 4, 40], ids=["first", "known", "ready"])
@pytest.mark.parametrize("case", CASES)
def test_torchs_graph_has_the_launches(machine, device, torch, captured, case, warm):
    make, shape, to, kind, count, blocks = CASES[case]
    run, x, out = make(), OfTorch(np.ones(shape, kind)), OfTorch(np.zeros(to, kind))
    for _ in range(warm):
        run(x, out)
    device.synchronize()
    before, waits = len(machine.launches), len(machine.calls)
    with captured:
        run(x, out)
        run(x, out)
    assert len(machine.launches) == before, "it ran at once"
    made = {"cuEventRecord", "cuStreamWaitEvent"} & {*machine.calls[waits:]}
    assert not made, "another stream is waited for"
    assert captured.nodes and captured.nodes % 2 == 0
    assert count is None or captured.nodes == 2 * count
    if not warm and blocks:
        assert machine.blocks("device")
    for number in (1, 2):
        captured.replay()
        launches = machine.launches[before:]
        assert len(launches) == number * captured.nodes
        assert {each.stream for each in launches} == {captured.handle}
    before = len(machine.launches)
    run(x, out)  # behind the capture it is as before
    assert {each.stream for each in machine.launches[before:]} == {0}


def test_what_the_graph_uses_lives_with_it(machine, device, torch, captured):
    nest, x, out = compute(summed), OfTorch(np.ones(N, np.int64)), OfTorch(np.zeros(N, np.int64))
    kernel = cuda.jit(add_one)
    with captured:
        nest(x, out)
        kernel[8, 128](out)
    owner = weakref.ref(out)
    own, modules = machine.blocks("device"), machine.alive("module")
    del kernel, out
    gc.collect()
    device.synchronize()
    assert own and owner() is not None
    assert machine.blocks("device") == own and machine.alive("module") == modules
    captured.replay()
    driver.cuGraphExecDestroy(captured.executable)
    other, fresh = Captured(torch, device), OfTorch(np.zeros(N, np.int64))
    with other:
        nest(x, fresh)
    gc.collect()
    device.synchronize()
    assert owner() is None and machine.alive("module") == modules - 1
    captured.executable = other.executable
    driver.cuStreamDestroy(other.stream)


def test_memory_is_none_of_the_pool(machine, device, torch, captured):
    """The pool's is allocated and freed in the order of a stream that the graph does not follow."""
    nest, x, out = compute(rows), *map(OfTorch, (np.ones((2, 1 << 16), np.int64), np.ones(2, int)))
    waste = [device.allocate(8), device.allocate_host(8, "pinned"), device.new_event()]
    with captured:
        machine.clear_log()
        nest(x, out)
        waste.clear()
        gc.collect()
        assert "cuMemAlloc" in machine.calls and "cuMemAllocFromPoolAsync" not in machine.calls
        assert not {"cuMemFreeAsync", "cuCtxSynchronize", "cuMemFreeHost"} & {*machine.calls}
    device.synchronize()
    assert not machine.blocks("host")


def test_the_order_of_torchs_work(machine, device, torch, captured):
    """gridlane's launches are between those that are captured before and after."""
    x, out = OfTorch(np.ones(N, np.float32)), OfTorch(np.zeros(N, np.float32))
    kernel, nest = cuda.jit(add_one), compute(doubled)
    for _ in range(40):
        kernel[8, 128](out)
        nest(x, out)
    seen, host = [], cuda.pinned_array(N, np.float32)
    first, second = [each.name for each in machine.launches[-2:]]
    machine.on_launch(first, lambda ran: seen.append("kernel") or 0)
    machine.on_launch(second, lambda ran: seen.append("nest") or 0)
    with captured:
        stream = device.stream_at(captured.handle)
        stream.submit(lambda: seen.append("first"))
        kernel[8, 128](out)
        stream.submit(lambda: seen.append("second"))
        nest(x, out)
        stream.submit(lambda: seen.append("third"))
        stream.download(host.data, x.data_ptr(), host)
    del stream
    captured.replay()
    assert seen == ["first", "kernel", "second", "nest", "third"] and (host == 1).all()


def test_what_torchs_capture_refuses(machine, device, torch, captured):
    """Host arrays, waits, and kernels that can raise; torch's capture goes on."""
    x, out = OfTorch(np.ones(N, np.float32)), OfTorch(np.zeros(N, np.float32))
    nest = compute(doubled)
    with captured:
        nest(x, out)
        with pytest.raises(DeviceError, match=r"\(900\)"):
            nest(np.ones(N, np.float32), out)
        with pytest.raises(DeviceError, match=r"\(900\)"):
            cuda.synchronize()
        stream = device.stream_at(captured.handle)
        with pytest.raises(DeviceError, match=r"\(900\)"):
            stream.synchronize()
        with pytest.raises(DeviceError, match=r"\(401\)"):
            stream.end_capture()
        with pytest.raises(DeviceError, match=r"\(401\)"):
            stream.begin_capture()
        event = device.new_event(False)
        event.record(stream)
        with pytest.raises(DeviceError, match=r"\(900\).*another library's capture"):
            event.wait(device.new_stream())
        nest(x, out)
    assert captured.nodes == 2
    assert not device.stream_at(captured.handle).capturing and not device.context.captures
    cuda.synchronize()


def test_groups_of_xp_are_refused(machine, device, torch, captured):
    """They are on the default stream, and no graph would have them."""
    x = xp.ones(N, dtype=xp.float32)
    with captured:
        with pytest.raises(DeviceError, match=r"\(906\).*torch captures"):
            compute_group((x + 1).node)
    assert not machine.launches and not captured.nodes


def test_a_stream_that_is_named(machine, device, torch, captured):
    """A launch on another stream by name is no part of torch's graph."""
    x, kernel, stream = OfTorch(np.ones(N, np.float32)), cuda.jit(add_one), cuda.stream()
    with captured:
        kernel[8, 128, stream](x)
    assert [each.stream for each in machine.launches] == [stream.handle] and not captured.nodes

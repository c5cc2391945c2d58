# ruff: noqa: F821  # extents are names that annotations define
"""Loop nests on a stream of the driver: where launches go, and what a graph has."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tests.runtime.cuda.test_nest_streams import ORDERED, OfTorch, doubled, log, summed, torch

from gridlane import cuda, tiles
from gridlane.algorithms.caching import clear_all_caches
from gridlane.algorithms.face import recipes
from gridlane.compute import Tensor, compute, f32, grid, i64
from gridlane.core.errors import DeviceError
from gridlane.tiles import kernels

__all__ = ["torch"]
N = 1024
tl = tiles.language


def rows(x: Tensor[i64, "M", "N"], out: Tensor[i64, "M"]):
    for i in grid(M):
        s = 0
        for j in range(N):
            s += x[i, j] * j
        out[i] = 3 * s


def product(x: Tensor[f32, "N", "N"], out: Tensor[f32, "N", "N"]):
    for i, j in grid(N, N):
        s = 0.0
        for k in range(N):
            s += x[i, k] * x[k, j]
        out[i, j] = s


CASES = {
    "loops": (doubled, (N,), (N,), np.float32),
    "several blocks a sum": (rows, (2, 1 << 16), (2,), np.int64),
    "algorithm": (summed, (N,), (N,), np.int64),
    "tiles": (product, (64, 64), (64, 64), np.float32),
}


def made(machine, run, *args):
    """The launches that a call makes."""
    machine.clear_log()
    before = len(machine.launches)
    run(*args)
    return machine.launches[before:]


def multiplied(a, b, out, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    at = i[:, None] * SIZE + i[None, :]
    tl.store(out + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision="ieee"))


@pytest.fixture(autouse=True)
def _caches(machine, monkeypatch):
    """Programs of the test alone, as those of modules keep a device."""
    program = tiles.jit(multiplied)

    def matmul(a, b, out, **options):
        program[(1,)](a, b, out, SIZE=64)

    monkeypatch.setattr(kernels, "matmul", matmul)
    yield
    monkeypatch.undo()
    clear_all_caches()  # of the algorithms, which keep kernels
    recipes._recipes.clear()


@pytest.fixture(params=CASES)
def case(request):
    loops, *shapes, kind = CASES[request.param]
    return compute(loops), *[cuda.to_device(np.ones(shape, kind)) for shape in shapes]


def test_all_launches_are_on_the_stream(machine, device, case):
    nest, x, out = case
    stream, other = cuda.stream(), cuda.stream()
    counts = set()
    for number in range(12):
        on = (stream, other)[number % 2]
        launches = made(machine, nest.on(on), x, out)
        assert {each.stream for each in launches} == {on.handle}
        assert log(machine) == ["launch"]
        counts.add(len(launches))
        launches = made(machine, nest, x, out)
        assert {each.stream for each in launches} == {0}
        counts.add(len(launches))
    assert len(counts) == 1


def test_a_stream_of_another_library_that_waits_for_none(machine, device, case):
    nest, x, out = case
    owner = device.new_stream(True)
    stream = cuda.external_stream(owner.handle)
    for _ in range(6):
        launches = made(machine, nest.on(stream), x, out)
        assert {each.stream for each in launches} == {0} and log(machine) == ORDERED


@pytest.mark.parametrize("loops", [doubled, product])
def test_the_stream_comes_before_torchs(machine, device, torch, loops):
    shape = (64, 64) if loops is product else N
    nest, stream = compute(loops), cuda.stream()
    x, out = OfTorch(np.ones(shape, np.float32)), OfTorch(np.zeros(shape, np.float32))
    theirs = device.new_stream()
    torch.handle = theirs.handle
    for _ in range(6):
        launches = made(machine, nest.on(stream), x, out)
        assert {each.stream for each in launches} == {stream.handle}
        assert log(machine) == ["launch"]


@pytest.mark.parametrize("loops", [doubled, product])
def test_torchs_stream_is_another_one(machine, device, torch, loops):
    """Calls on the default stream, and on one that does not wait for it, are not on torch's."""
    shape = (64, 64) if loops is product else N
    nest, stream, theirs = compute(loops), device.new_stream(True), device.new_stream(True)
    x, out = OfTorch(np.ones(shape, np.float32)), OfTorch(np.zeros(shape, np.float32))
    torch.handle = theirs.handle
    for number in range(12):
        on = cuda.external_stream(stream.handle) if number % 2 else 0
        launches = made(machine, nest.on(on), x, out)
        assert {each.stream for each in launches} == {0}
        assert log(machine) == (ORDERED if number % 2 else ["launch"])


@pytest.mark.parametrize("repeated", [False, True], ids=["first", "repeated"])
def test_a_capture_has_all_launches(machine, device, case, repeated):
    """In the temporary memory of a call before, or in memory of its own; it lives with the graph,
    as arrays do."""
    nest, x, out = case
    stream = cuda.stream()
    for _ in range(2 if repeated else 0):
        made(machine, nest.on(stream), x, out)
    with cuda.capture(stream) as graph:
        assert not made(machine, nest.on(stream), x, out)
    expected = made(machine, nest.on(stream), x, out)
    own = machine.blocks("device")  # of an algorithm, and of a first call's split sums
    assert own == (nest.function is summed or (nest.function is rows and not repeated))
    assert len(graph) == len(expected)
    work = graph.instantiate()
    nest._known._steps.clear()
    del graph, x, out
    gc.collect()
    assert machine.blocks("device") == own
    for _ in range(2):
        launches = made(machine, work.launch, stream)
        stream.synchronize()
        assert [(e.grid, e.stream, len(e.params)) for e in launches] == [
            (e.grid, e.stream, len(e.params)) for e in expected
        ]
        same = [e.params == other.params for e, other in zip(launches, expected, strict=True)]
        assert all(same) or own
    del work
    gc.collect()
    cuda.synchronize()
    assert not machine.blocks("device")


def test_calls_without_a_stream(machine, device, case):
    nest, x, out = case
    stream = cuda.stream()
    for _ in range(6):
        nest(x, out)
        before = len(machine.launches)
        with pytest.raises(DeviceError, match=r"(?s)\(906\).*on\(stream\)"):
            with cuda.capture(stream):
                nest(x, out)
        assert len(machine.launches) == before


def test_host_arrays(machine, device):
    nest, stream, x, out = compute(doubled), cuda.stream(), *np.ones((2, N), np.float32)
    machine.clear_log()
    nest.on(stream)(x, out)
    assert machine.calls.index("cuStreamSynchronize") < machine.calls.index("cuLaunchKernel")
    with pytest.raises(DeviceError, match=r"(?s)\(900\).*array of the host"):
        with cuda.capture(stream):
            nest.on(stream)(x, out)

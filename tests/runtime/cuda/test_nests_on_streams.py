# ruff: noqa: F821  # extents are names that annotations define
"""Loop nests on a stream of the driver: where launches go, and what a graph has."""

from __future__ import annotations

import gc
import struct

import numpy as np
import pytest
from tests.runtime.cuda.test_nest_streams import ORDERED, OfTorch, doubled, log, summed, torch

from gridlane import cuda, tiles
from gridlane.algorithms.caching import clear_all_caches
from gridlane.algorithms.face import recipes
from gridlane.compute import Tensor, compute, f32, grid, i64
from gridlane.compute.known import Repeatable
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


def test_the_temporary_memory_of_an_algorithm(machine, device):
    """That which a device keeps is the default stream's: others have their own."""
    x, out = (cuda.to_device(np.ones(1 << 16, np.int64)) for _ in range(2))
    nest = compute(summed)
    for _ in range(4):
        nest(x, out)
    kept = device.memory.kept["scratch of algorithms"]

    def is_in(launch):
        words = struct.iter_unpack("<Q", launch.params[: len(launch.params) // 8 * 8])
        return any(kept.address <= each < kept.address + kept.size for (each,) in words)

    assert any(map(is_in, made(machine, nest, x, out)))
    streams = [cuda.stream() for _ in range(2)]
    for number in range(8):
        launches = made(machine, nest.on(streams[number % 2]), x, out)
        assert launches and not any(map(is_in, launches))
        assert "cuMemAllocFromPoolAsync" in machine.calls


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
    """Calls on the default stream, and on one that does not wait for it, are not on torch's. What
    is in torch's memory alone needs no order but the stream's, once it is a launch alone."""
    shape = (64, 64) if loops is product else N
    nest, stream, theirs = compute(loops), device.new_stream(True), device.new_stream(True)
    x, out = OfTorch(np.ones(shape, np.float32)), OfTorch(np.zeros(shape, np.float32))
    torch.handle = theirs.handle
    direct = []
    for number in range(12):
        on = cuda.external_stream(stream.handle) if number % 2 else 0
        launches = made(machine, nest.on(on), x, out)
        used = {each.stream for each in launches}
        direct.append(used == {stream.handle})
        assert used == ({stream.handle} if direct[-1] else {0})
        assert log(machine) == (ORDERED if number % 2 and not direct[-1] else ["launch"])
    assert direct[::2] == [False] * 6 and direct[5::2] == [True] * 4


@pytest.mark.parametrize("own", ["x", "out"])
def test_arrays_of_a_device_need_the_order_of_the_default_stream(machine, device, torch, own):
    """Their memory is allocated and freed there."""
    nest, stream = compute(doubled), cuda.external_stream((owner := device.new_stream(True)).handle)
    given = {"x": np.ones(N, np.float32), "out": np.zeros(N, np.float32)}
    given = {n: cuda.to_device(v) if n == own else OfTorch(v) for n, v in given.items()}
    for _ in range(6):
        launches = made(machine, nest.on(stream), *given.values())
        assert {each.stream for each in launches} == {0} and log(machine) == ORDERED
    assert owner.apart


def test_memory_of_a_call_needs_the_order_of_the_default_stream(machine, device, torch):
    nest, stream = compute(rows), cuda.external_stream((owner := device.new_stream(True)).handle)
    x, out = (OfTorch(np.ones(each, np.int64)) for each in ((2, 1 << 16), 2))
    for _ in range(6):
        launches = made(machine, nest.on(stream), x, out)
        assert {each.stream for each in launches} == {0} and log(machine) == ORDERED
    assert owner.apart


def test_a_launch_that_is_no_longer_ready(machine, device, case, monkeypatch):
    """The rest of the call goes to the stream too, and in front of it nothing is made twice."""
    nest, x, out = case
    for apart in (False, True):
        owner = device.new_stream(apart)
        stream = cuda.external_stream(owner.handle)
        ready_for = Repeatable.ready_for
        for number in (0, 1):
            for _ in range(6):
                expected = made(machine, nest.on(stream), x, out)
            left, tried = [True] * number, []

            def some(self, args, left=left, tried=tried):
                def launch(*on):
                    tried.append(ready)
                    return bool(left) and left.pop() and ready(*on)

                ready = ready_for(self, args)
                return launch if ready is not None else None

            monkeypatch.setattr(Repeatable, "ready_for", some)
            launches = made(machine, nest.on(stream), x, out)
            assert [(e.name, e.grid, e.stream) for e in launches] == [
                (e.name, e.grid, e.stream) for e in expected
            ]
            # An algorithm is never ready: its temporary memory is each call's.
            assert (tried and not left) or (nest.function is summed and not tried)
            monkeypatch.setattr(Repeatable, "ready_for", ready_for)


def test_other_arguments_of_ready_launches(machine, device):
    """Scalars, shapes, places and devices of arrays are those of each call."""

    def scaled(x: Tensor[f32, "N"], out: Tensor[f32, "N"], by: float, n: int):
        for i in grid(N):
            out[i] = by * x[i] + n

    nest, stream = compute(scaled), cuda.stream()
    x, out, other = (cuda.to_device(np.ones(N, np.float32)) for _ in range(3))
    ways = [
        (x, out, 0.5, 1), (x, out, 0.25, 1), (x, out, 0.5, 2), (other, out, 0.5, 1),
        (x[: N // 2], out[: N // 2], 0.5, 1), (x[::2], out[: N // 2], 0.5, 1),
        (x, out, 0.0, 1), (x, out, -0.0, 1),
    ]  # fmt: skip
    alone = [[(e.params, e.grid) for e in made(machine, compute(scaled), *each)] for each in ways]
    for _ in range(6):
        for way, expected in zip(ways, alone, strict=True):
            launches = made(machine, nest.on(stream), *way)
            assert [(e.params, e.grid) for e in launches] == expected
            assert {each.stream for each in launches} == {stream.handle}
    assert len({each[0] for each in map(tuple, alone)}) >= 7


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

"""Calls of loop nests on the driver: one like a call before is a launch with the same bytes."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import cuda, tiles
from gridlane.compute import Tensor, compute, f32, fused, grid
from gridlane.compute.known import LibraryCall
from gridlane.compute.running import Compute
from gridlane.profiler import figures

N = 256
tl = tiles.language


def scaled(x, out, by, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * by, mask=i < n)


def arrays(count=2):
    return [cuda.to_device(np.ones(N, np.float32)) for _ in range(count)]


@pytest.fixture
def call(machine, device):
    """A call of a tile program, and the arguments that it was looked at with."""
    program, seen = tiles.jit(scaled), []

    def run(args):
        seen.append(args[2:])
        program[(2,)](*args, N, BLOCK=128)

    return LibraryCall(run), seen


def test_a_tile_program(machine, call):
    again, seen = call
    x, out = arrays()
    for _ in range(8):
        again.run((x, out, 3))
    assert len(seen) == 2 and len(machine.launches) == 8
    first = machine.launches[0]
    assert all((e.params, e.grid, e.block) == (first.params, first.grid, first.block)
               for e in machine.launches)  # fmt: skip
    assert first.grid == (2, 1, 1)


def test_floats_of_a_tile_program(machine, call):
    again, seen = call
    x, out = arrays()
    for by in (0.5, 0.5, 0.5, 0.25, 0.5, 0.5):
        again.run((x, out, by))
    assert seen == [(0.5,), (0.5,), (0.25,)]
    blocks = [each.params for each in machine.launches]
    assert blocks[3] != blocks[0] and {blocks[n] for n in (1, 2, 4, 5)} == {blocks[0]}


def test_observers_and_delayed_launches(machine, call, monkeypatch):
    monkeypatch.setattr(figures, "peaks", lambda device: None)
    again, seen = call
    x, out = arrays()
    for _ in range(3):
        again.run((x, out, 3))
    with cuda.profiling(show=False) as profile:
        again.run((x, out, 3))
        again.run((x, out, 3))
    assert len(machine.launches) == 5
    assert [(row.name, row.calls) for row in profile.kernels] == [("scaled", 2)]
    seen.clear()
    with fused():
        again.run((x, out, 3))
        assert len(machine.launches) == 5
    assert len(machine.launches) == 6 and seen
    seen.clear()
    for _ in range(64):
        again.run((x, out, 3))
    assert len(machine.launches) == 70 and 1 <= len(seen) <= 32
    assert len({each.params for each in machine.launches}) == 1


def test_elements(machine, device, monkeypatch):
    @compute
    def doubled(x: Tensor[f32, "N"], out: Tensor[f32, "N"], n: int):
        for i in grid(N):
            out[i] = 2 * x[i] + n

    looked_at, own = [], Compute._run

    def run(self, args, plain, key=None):
        looked_at.append(args[2])
        own(self, args, plain, key)

    monkeypatch.setattr(Compute, "_run", run)
    x, out = arrays()
    for n in (3, 4, 3, 3, 4, 3, 4, 3):
        doubled(x, out, n)
    first, second, *rest = [each.params for each in machine.launches]
    assert rest == [first, first, second, first, second, first] and first != second
    assert looked_at == [3, 4]

"""Profiles of launches by the driver of NVIDIA GPUs, and of those without Python."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.occupancy import Occupancy
from gridlane.profiler import figures as figures_module
from gridlane.runtime import observing


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch):
    monkeypatch.setattr(figures_module, "peaks", lambda device: None)


def scale(x, n):
    x[cuda.grid(1)] *= n


def calls_of(machine, name):
    return machine.calls.count(name)


def test_launches_without_python_are_seen_and_come_back(machine, device):
    kernel, x = cuda.jit(scale), cuda.to_device(np.ones(64, np.float32))
    launch = kernel[2, 32]
    for _ in range(3):
        launch(x, 2)  # the last ones are by the driver's address alone
    with cuda.profiling(show=False) as profile:
        for _ in range(3):
            launch(x, 2)
        x.copy_to_host()
    (row,) = profile.kernels
    assert (row.name, row.device, row.clock, row.calls, row.timed) == (
        *("scale", "cuda", "device"),
        *(3, 3),
    )
    assert row.array_bytes == 2 * 4 * 64
    assert [(copy.kind, copy.size) for copy in profile.figures.copies] == [("to host", 256)]
    events = calls_of(machine, "cuEventRecord")
    for _ in range(3):
        launch(x, 2)
    cuda.synchronize()
    assert calls_of(machine, "cuEventRecord") == events and not observing.observers
    assert len([each for each in machine.launches if each.name.startswith("scale")]) == 9
    assert [row.calls for row in profile.kernels] == [3]


def test_a_graph_is_one_entry(machine, device):
    kernel, x = cuda.jit(scale), cuda.to_device(np.ones(64, np.float32))
    stream = cuda.stream()
    kernel[2, 32](x, 2)
    with cuda.profiling(show=False) as profile:
        with cuda.capture(stream) as graph:
            kernel[2, 32, stream](x, 2)
            kernel[2, 32, stream](x, 2)
        made = graph.instantiate()
        for _ in range(3):
            made.launch(stream)
        stream.synchronize()
    (row,) = profile.kernels
    assert row.name.startswith("graph ") and (row.calls, row.timed) == (3, 3)
    assert row.array_bytes is None and row.flops is None and row.occupancy is None


def test_occupancy_by_the_drivers_registers(machine, device):
    kernel, x = cuda.jit(scale), cuda.to_device(np.ones(64, np.float32))
    with cuda.profiling(show=False) as profile:
        kernel[2, 32](x, 2)
        kernel[2, 64, 0, 40000](x, 2)
        kernel[2, 512](x, 2)
    found = {row.block[0]: row.occupancy for row in profile.kernels}
    # The fake driver says 42 registers of each thread: 1536 of a warp, of 16384 in each quarter.
    assert found[32] == Occupancy(32, 32, 64, "blocks")
    assert found[64] == Occupancy(5, 10, 64, "shared memory")
    assert found[512] == Occupancy(2, 32, 64, "registers")

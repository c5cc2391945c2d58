"""What a cached launch costs, in calls and allocations rather than in time."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest
from tests.cuda.fakes import FakeCompiler, FakeDevice

from gridlane import compiler, cuda
from gridlane.cuda import active
from gridlane.runtime.hosted import HostKernel


class Silent(HostKernel):
    """A loaded kernel whose launch does nothing."""

    def launch(self, params, gx, gy, gz, shared):
        pass


@pytest.fixture
def launch(monkeypatch):
    device, fake = FakeDevice(), FakeCompiler()
    device.load = Silent
    monkeypatch.setattr(active, "device", lambda: device)
    monkeypatch.setattr(compiler, "translate", fake.translate)
    monkeypatch.setattr(compiler, "compile_kernel", fake.compile_kernel)

    @cuda.jit
    def kernel(x, y, out, n):
        pass

    x = cuda.to_device(np.zeros(8, np.float32))

    def run():
        kernel[4, 32](x, x, x, 8)

    for _ in range(3):
        run()
    return run


def test_calls_of_a_cached_launch(launch):
    """Indexing, calling, the list of keys, four keys, the reader, the launch: nine of Python."""
    python, native = [], []

    def count(frame, event, argument):
        if event == "call":
            python.append(frame.f_code.co_name)
        elif event == "c_call":
            native.append(argument.__name__)

    sys.setprofile(count)
    launch()
    sys.setprofile(None)
    python.remove("run")
    expected = {"__getitem__", "__call__", "_device_key", "_int_key", "read", "launch"}
    assert set(python) - {"<listcomp>"} == expected
    assert len(python) <= 10, python
    native.remove("setprofile")
    assert sorted(native) == ["get", "get", "pack"]


def test_a_cached_launch_keeps_no_memory(launch):
    tracemalloc.start()
    launch()
    before = tracemalloc.take_snapshot()
    for _ in range(200):
        launch()
    grown = tracemalloc.take_snapshot().compare_to(before, "filename")
    tracemalloc.stop()
    ours = [d for d in grown if "gridlane" in d.traceback[0].filename and d.count_diff > 5]
    assert not ours, ours

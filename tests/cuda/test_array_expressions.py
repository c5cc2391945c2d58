"""Operators on whole arrays, on every device, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.core.errors import TargetError


@cuda.jit
def fused(out, a, b):
    i = cuda.grid(1)
    x = a + b * np.float32(2)
    if i < out.shape[0]:
        out[i] = x[i] - x[-1]


@cuda.jit
def stored(out, a):
    i = cuda.grid(1)
    own = np.zeros(4, np.float32)
    own[:] = a[i] + np.ones(4, np.float32)
    x = own * own
    own[1] = 99
    out[i] = x + own
    out[i, 1:] -= a[0, 1:]


@pytest.mark.parametrize("name", [*DEVICES, "interp"])
def test_array_expressions(name):
    with gridlane.device(name):
        a, b = np.arange(8, dtype=np.float32), np.float32([3])
        out = np.zeros(8, np.float32)
        fused[2, 4](out, a, b)
        np.testing.assert_array_equal(out, (a + b * 2) - (a + b * 2)[-1])
        rows = np.arange(16, dtype=np.float32).reshape(4, 4)
        found = np.zeros((4, 4), np.float32)
        stored[1, 4](found, rows)
        wanted = (rows + 1) ** 2 + (rows + 1)
        wanted[:, 1] += 99 - (rows + 1)[:, 1]
        wanted[:, 1:] -= rows[0, 1:]
        np.testing.assert_array_equal(found, wanted)


@cuda.jit
def kept(out, a, b):
    i = cuda.grid(1)
    x = a + b
    total = a * 0
    for _ in range(3):
        total = total + x
    x[1] = 100
    cuda.syncthreads()
    a[i] = -1
    cuda.syncthreads()
    out[i] = x[i] + total[i]


@pytest.mark.parametrize("name", [*DEVICES, "interp"])
def test_memory_of_a_size_known_at_run_time(name):
    with gridlane.device(name):
        a, b = np.arange(5, dtype=np.float32), np.float32([3])
        out = np.zeros(5, np.float32)
        refused = {
            "webgpu": "an array of a size that is known when it runs",
            "opengl": "local memory has no addresses that are numbers",
        }
        if name in refused:
            with pytest.raises(TargetError, match=refused[name]):
                kept[1, 5](out, a, b)
            return
        kept[1, 5](out, a, b)
        assert out.tolist() == [12, 112, 20, 24, 28] and (a == -1).all()
        with pytest.raises(MemoryError, match="elements in a thread's memory"):
            kept[1, 5](out, np.zeros(10_000, np.float32), b)
            cuda.synchronize()

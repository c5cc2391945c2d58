"""GRIDLANE_TRACE=1: a line for each launch, whatever way later ones go."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core import trace
from gridlane.launch import current
from gridlane.launch.devices import get_device


@pytest.fixture(params=["interp", *DEVICES])
def device(request, monkeypatch):
    found = get_device(request.param)
    current.choose(found)
    monkeypatch.setattr(trace, "enabled", lambda: True)
    return found


def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] * factor


def launches(capfd):
    lines = capfd.readouterr().err.splitlines()
    return [line for line in lines if line.startswith("gridlane: launch ")]


def test_each_launch_has_its_line(device, capfd):
    there, here = cuda.to_device(np.ones(64, np.float32)), np.ones(64, np.float32)
    run = cuda.jit(scale)[2, 32, 0, 64]
    for _ in range(3):
        run(there, np.float32(2))
    run(here, np.float32(2))
    shown = launches(capfd)
    assert len(shown) == 4
    for line in shown:
        assert f" kernel=scale device={device.name} grid=(2, 1, 1) block=(32, 1, 1)" in line
        assert " shared=64 route=" in line and line.endswith(" emulated=nothing")
    assert [" copies=0 " in line for line in shown[:3]] == [True] * 3
    assert there.copy_to_host().tolist() == [8] * 64 and here.tolist() == [2] * 64


def test_what_is_emulated_is_told(device, capfd):
    x = cuda.to_device(np.ones(64, np.float32))

    def root(x):
        i = cuda.grid(1)
        x[i] = np.float32(np.float64(x[i]) / 3.0)

    run = cuda.jit(root)[2, 32]
    run(x)
    run(x)
    shown = launches(capfd)
    assert len(shown) == 2 and shown[0] == shown[1]
    emulates = device.name in ("webgpu", "opengl", "metal")
    assert ("float64" in shown[0].partition(" emulated=")[2]) is emulates

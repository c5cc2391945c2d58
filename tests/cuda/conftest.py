"""Fixtures of the cuda tests: a process whose device is a fake one."""

from __future__ import annotations

import pytest
from tests.cuda.fakes import FakeCompiler, FakeDevice

from gridlane import compiler
from gridlane.cuda.arrays import allocation
from gridlane.launch import current


@pytest.fixture(autouse=True)
def without_cuda(monkeypatch):
    """What the CPU shows depends on whether a test before has loaded CUDA's driver."""
    monkeypatch.setattr(allocation, "has_cuda_driver", lambda: False)


@pytest.fixture
def fake(monkeypatch):
    """A fake host-visible device and a fake compiler; returns the device."""
    return _install(monkeypatch, True)


@pytest.fixture
def remote(monkeypatch):
    """A fake device with memory of its own."""
    return _install(monkeypatch, False)


def _install(monkeypatch, host_visible):
    device = FakeDevice(host_visible)
    device.compiler = FakeCompiler()
    current.choose(device)
    for name in ("translate", "compile_kernel"):
        monkeypatch.setattr(compiler, name, getattr(device.compiler, name), raising=False)
    return device

"""The Metal driver, on the stand-in. Apple's is tried by ``gridlane selftest``."""

from __future__ import annotations

import gc
import os

import pytest
from tests.waiting import until

from gridlane.core.config import read
from gridlane.emulation.metal import bridge, framework, machine
from gridlane.runtime.drivers.metal import adapters, provider


def require():
    """Skip where the stand-in has no compiler; fail where it has to have one."""
    missing = "" if machine.compiler() else "no g++ with _Float16 and __float128"
    if missing and os.environ.get("CI"):
        pytest.fail(missing)  # .ci/run installs it
    if missing:
        pytest.skip(missing)


@pytest.fixture(scope="session", autouse=True)
def _compiler():
    require()


def forget():
    """Let the next one find its provider and devices anew."""
    provider.provider.cache_clear()
    adapters.all_adapters.cache_clear()
    for device in framework.devices:
        device._gpu.end()
    framework.devices.clear()


def what_is_left():
    """How many objects of each kind live, by name."""
    left = {kind: count for kind, count in bridge.living.items() if count}
    left.pop("MTLDevice", None)  # pytest keeps it for the report
    return left


@pytest.fixture
def metal(monkeypatch):
    """The stand-in is the provider, with a device of its own, which a test may change before it is
    opened. At the end nothing may be left of what the test has made."""
    monkeypatch.setattr(provider, "config", lambda: read({"GRIDLANE_METAL": "emulated"}))
    forget()
    gc.collect()
    for counts in (bridge.living, bridge.unpooled):
        counts.clear()
    with bridge.autorelease_pool():
        (made,) = framework.MTLCopyAllDevices()
    yield made
    del made
    forget()
    # What goes in one round leaves word to free memory in the next, and the thread of a stream that
    # is gone holds its device until it has ended or serves another one.
    until(lambda: gc.collect() >= 0 and not what_is_left(), facts=what_is_left)
    assert not +bridge.unpooled


@pytest.fixture
def opening(metal, monkeypatch, tmp_path):
    """Opens a device, with files that are the test's own."""
    from gridlane.runtime.drivers.metal import archive, open_device

    monkeypatch.setattr(archive, "directory", lambda: tmp_path / "metal")
    return open_device


@pytest.fixture
def device(request, opening):
    """A device, opened for the test."""
    opened = opening()
    yield opened
    opened.close()
    request.node.funcargs.clear()


@pytest.fixture
def gpu(device):
    """The stand-in's own thread: ``hold(True)`` keeps it from working."""
    return device.adapter.device._gpu

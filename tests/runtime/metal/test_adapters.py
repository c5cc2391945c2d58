"""Finding Metal and its devices, and saying why there is none."""

from __future__ import annotations

import sys

import pytest
from tests.runtime.metal.conftest import forget

from gridlane.core.config import read
from gridlane.core.errors import DeviceError
from gridlane.emulation.metal import framework
from gridlane.runtime.drivers import metal as driver
from gridlane.runtime.drivers.metal import adapters, provider


@pytest.fixture
def plain(monkeypatch):
    """Nobody asked for the stand-in."""
    monkeypatch.setattr(provider, "config", lambda: read({}))
    forget()
    yield
    forget()


def test_a_system_without_metal(plain, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(DeviceError, match=r"NO_DEVICE.*part of macOS") as caught:
        driver.open_device()
    assert "GRIDLANE_METAL=emulated" in str(caught.value)
    assert driver.device_count() == 0


def test_macos_without_pyobjc(plain, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setitem(sys.modules, "Metal", None)
    with pytest.raises(DeviceError, match=r"pyobjc does not load.*\n.*gridlane\[metal\]"):
        driver.open_device()


def test_the_stand_in_is_never_taken_unasked(plain, monkeypatch):
    """The modules of the system are those that are imported by name."""
    from gridlane.emulation.metal import bridge, foundation

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr("platform.mac_ver", lambda: ("15.5", ("", "", ""), "arm64"))
    monkeypatch.setitem(sys.modules, "Metal", framework)
    monkeypatch.setitem(sys.modules, "objc", bridge)
    monkeypatch.setitem(sys.modules, "Foundation", foundation)
    found = provider.provider()
    assert (found.metal, found.macos, found.emulated) == (framework, (15, 5), False)


def test_the_stand_in_says_what_it_is(device):
    told = device.describe()
    assert device.name == "metal (CPU emulation)"
    assert "CPU emulation" in told["name"] and "CPU emulation" in told["metal"]
    with pytest.raises(DeviceError, match=r"array of the device 'metal \(CPU emulation\)'"):
        device.fill(0, 0, 4)


def test_limits(device):
    assert device.limits.max_threads == 1024 and device.limits.max_shared == 32768
    assert device.limits.warp_size == 32
    facts = device.attributes()
    assert (facts["INTEGRATED"], facts["UNIFIED_ADDRESSING"]) == (1, 0)


def test_numbers(metal):
    assert driver.device_count() == 1
    with pytest.raises(DeviceError, match="device 1 of Metal; this machine has 1"):
        driver.open_device(1)


def test_an_old_system(metal, monkeypatch):
    monkeypatch.setattr(framework, "MACOS", (14, 6))
    with pytest.raises(DeviceError, match=r"NO_DEVICE.*macOS 15.0 or newer.*this is 14.6"):
        driver.open_device()


def test_an_old_device(metal):
    metal._families = (1006,)
    with pytest.raises(DeviceError, match=r"NO_DEVICE.*not of the family Metal 3"):
        driver.open_device()
    assert adapters.all_adapters()[0].missing


def test_a_machine_without_gxx(metal, monkeypatch):
    monkeypatch.setattr(framework, "compiler", lambda: None)
    framework.devices.clear()
    with pytest.raises(DeviceError, match=r"NO_DEVICE.*no g\+\+"):
        driver.open_device()


def test_what_the_compiler_is_asked_for(device):
    target = device.target((32, 1, 1))
    assert (target.name, target.block) == ("metal", None)

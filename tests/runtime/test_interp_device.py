"""The device interp: memory of its own, checked, freed when it may be."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from gridlane.backends import names
from gridlane.core.artifact import Artifact
from gridlane.core.errors import DeviceError
from gridlane.launch.devices import get_device
from gridlane.runtime.drivers.interp import InterpDevice


def test_copies():
    device = InterpDevice()
    a, b = device.allocate(16), device.allocate(16)
    assert a.address % 256 == 0
    data = np.arange(16, dtype=np.uint8)
    device.upload(a.address, memoryview(data))
    device.copy(b.address, a.address, 16)
    device.fill(b.address + 2, 7, 3)
    back = np.empty(16, np.uint8)
    device.download(memoryview(back), b.address)
    assert back.tolist() == [0, 1, 7, 7, 7, *range(5, 16)]


def test_memory_ends_with_its_buffer():
    device = InterpDevice()
    kept = device.allocate(8)
    address = device.allocate(8).address
    gc.collect()
    device.allocate(8)
    with pytest.raises(Exception, match="out of bounds"):
        device.download(memoryview(bytearray(8)), address)
    device.download(memoryview(bytearray(8)), kept.address)


def test_other_code_is_refused():
    with pytest.raises(DeviceError, match="INVALID_IMAGE"):
        InterpDevice().load(Artifact("cpu", "object", b"", "k", (), 0))


def test_devices_by_name():
    assert {"cpu", "interp"} <= set(names())
    assert get_device("interp") is get_device("interp")
    with pytest.raises(DeviceError, match="NO_DEVICE"):
        get_device("abacus")

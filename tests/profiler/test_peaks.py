"""What a device can do at most: measured once, and kept."""

from __future__ import annotations

import pytest
from tests.devices import DEVICES

from gridlane.core.config import config
from gridlane.launch.devices import get_device
from gridlane.profiler import peaks as module
from gridlane.profiler.peaks import Peaks, peaks


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRIDLANE_CACHE_DIR", str(tmp_path))
    config.cache_clear()
    yield tmp_path
    config.cache_clear()


@pytest.mark.parametrize("name", DEVICES)
def test_a_device_is_measured_once(folder, monkeypatch, name):
    monkeypatch.setattr(module, "_ENOUGH_NS", 1.0)
    monkeypatch.setattr(module, "_SLOW_NS", 1.0)
    monkeypatch.setattr(module, "_LONG_NS", 1.0)
    found = peaks(get_device(name))
    assert found is not None and found.bytes_per_second > 1e6 and found.flops_per_second > 1e6
    monkeypatch.setattr(module, "_measure", lambda device: Peaks(1, 2, 3))
    assert peaks(get_device(name)) == found
    (file,) = (folder / "peaks").iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"x")  # not what was written
    assert peaks(get_device(name)) == Peaks(1, 2, 3) == peaks(get_device(name))


def test_the_interpreter_has_none():
    assert peaks(get_device("interp")) is None


def test_a_device_that_fails_has_none(folder, monkeypatch):
    def failing(device):
        raise module.GridlaneError("no memory")

    monkeypatch.setattr(module, "_measure", failing)
    assert peaks(get_device("cpu")) is None

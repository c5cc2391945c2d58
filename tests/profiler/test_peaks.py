"""What a device can do at most: measured, kept, and measured again."""

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


def test_the_best_of_some_days_counts(folder, monkeypatch):
    """A measurement on a busy machine is not kept for ever, and a good one is not lost at once."""
    hour, day, device = 3600, 24 * 3600, get_device("cpu")

    def at(time, *measured):
        monkeypatch.setattr(module, "_clock", lambda: time)
        monkeypatch.setattr(module, "_measure", lambda device: Peaks(*measured))
        return peaks(device)

    start = 20_000 * day
    assert at(start, 10, 5, 5) == Peaks(10, 5, 5)  # a busy machine
    assert at(start + hour - 1, 99, 99, 99) == Peaks(10, 5, 5)
    assert at(start + hour, 8, 50, 20) == Peaks(10, 50, 20)
    assert at(start + day, 100, 1, 1) == Peaks(100, 50, 20)
    assert at(start + 31 * day - 1, 3, 3, 3) == Peaks(100, 3, 3)
    assert at(start + 40 * day, 4, 2, 2) == Peaks(4, 3, 3)
    assert at(start, 7, 7, 7) == Peaks(7, 7, 7)  # a clock that was set back


def test_a_device_that_fails_later_has_what_was_measured(folder, monkeypatch):
    def failing(device):
        raise module.GridlaneError("no memory")

    monkeypatch.setattr(module, "_measure", lambda device: Peaks(1, 2, 3))
    assert peaks(get_device("cpu")) == Peaks(1, 2, 3)
    monkeypatch.setattr(module, "_measure", failing)
    monkeypatch.setattr(module, "_AGAIN_S", 0)
    assert peaks(get_device("cpu")) == Peaks(1, 2, 3)

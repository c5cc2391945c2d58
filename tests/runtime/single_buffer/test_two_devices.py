"""Two devices of one library: what belongs to one is refused by the other."""

from __future__ import annotations

import pytest
from tests.runtime.arrays import params
from tests.runtime.host_driven.programs import ADD_ONE, kernel
from tests.runtime.single_buffer.helpers import KINDS, opened

from gridlane.core.errors import DeviceError


@pytest.fixture(params=KINDS)
def two(request, tmp_path, monkeypatch):
    """Two devices of a kind."""
    devices = [opened(request.param, monkeypatch, tmp_path / "programs") for _ in range(2)]
    yield devices
    for device in devices:
        device.close()


def test_the_time_between_events_of_two_devices(two):
    events = [device.new_event() for device in two]
    for device, event in zip(two, events):
        event.record(device.default_stream)
        device.synchronize()
    with pytest.raises(DeviceError, match=r"INVALID_HANDLE.*another device"):
        events[0].elapsed_ms(events[1])


def test_an_event_on_another_device_s_stream(two):
    event, stream = two[0].new_event(), two[1].new_stream()
    for use in (event.record, event.wait):
        with pytest.raises(DeviceError, match=r"INVALID_HANDLE.*another device"):
            use(stream)


def test_a_launch_on_another_device_s_stream(two):
    artifact = kernel(two[0], ADD_ONE)
    bound, buffer = two[0].load(artifact).bind((64, 1, 1)), two[0].allocate(256)
    with pytest.raises(DeviceError, match=r"INVALID_HANDLE.*another device"):
        two[1].new_stream().launch(bound, params(artifact, buffer, 1), 1, 1, 1, 0)

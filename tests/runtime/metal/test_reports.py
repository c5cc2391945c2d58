"""Failures of command buffers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.metal.kernels import kernel

from gridlane.core.errors import DeviceError


def failing(device, gpu, code):
    """A kernel on a stream, whose command buffer ends with an error of Metal."""
    artifact = kernel("values: ulong", "at(values, i) += 1;")
    bound = device.load(artifact).bind((4, 1, 1))
    data, stream = to_device(device, np.zeros(4, np.uint32)), device.new_stream()
    gpu.fails = code, "as told"
    stream.launch(bound, params(artifact, data), 1, 1, 1, 0)
    return artifact, bound, data, stream


@pytest.mark.parametrize(
    "code, number, told",
    [
        (1, 719, "internal error"),
        (2, 702, "longer than the system allows"),
        (3, 700, "page fault"),
        (8, 2, "out of memory"),
        (11, 46, "removed"),
        (12, 719, "stack"),
        (99, 719, "does not know"),
    ],
)
def test_errors_of_command_buffers(device, gpu, code, number, told):
    *_, stream = failing(device, gpu, code)
    with pytest.raises(DeviceError, match=rf"{told}.*in k_main \(MTL.* {code}: as told") as caught:
        stream.synchronize()
    assert caught.value.number == number
    device.reset()


def test_a_fault_stays_until_the_device_is_reset(device, gpu):
    artifact, bound, data, stream = failing(device, gpu, 3)
    bound.launch(params(artifact, data), 1, 1, 1, 0)  # behind it, in the same command buffer
    with pytest.raises(DeviceError, match="700") as caught:
        stream.synchronize()
    for work in (
        device.synchronize,
        lambda: device.allocate(8),
        lambda: stream.fill(data.address, 0, 4),
        lambda: bound.launch(params(artifact, data), 1, 1, 1, 0),
        lambda: device.new_event().record(stream),
        lambda: device.load(artifact),
    ):
        with pytest.raises(DeviceError, match="700") as again:
            work()
        assert again.value is not caught.value
    device.reset()
    assert not words(device, data).any()
    bound.launch(params(artifact, data), 1, 1, 1, 0)
    stream.synchronize()
    assert (words(device, data) == 1).all()


def test_an_address_of_nobody(device):
    artifact = kernel("values: ulong", "at(values, i) += 1;")
    bound = device.load(artifact).bind((4, 1, 1))
    bound.launch(params(artifact, 64), 1, 1, 1, 0)
    with pytest.raises(DeviceError, match=r"700.*page fault at 0x4"):
        device.synchronize()
    device.reset()


def test_the_hosts_address_is_not_the_devices(device):
    data, pinned = device.allocate(16), device.allocate_host(16, "pinned")
    assert data.pointer != data.address
    assert pinned.address == pinned.owner.pointer != pinned.owner.address


def test_work_after_a_failure_that_nobody_has_seen(device, gpu):
    artifact, bound, data, stream = failing(device, gpu, 2)
    device.recorder.flush()
    with pytest.raises(DeviceError, match="702"):
        for _ in range(1000):  # several command buffers
            stream.launch(bound, params(artifact, data), 1, 1, 1, 0)
        stream.synchronize()
    device.reset()

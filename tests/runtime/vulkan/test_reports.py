"""A lost device."""

from __future__ import annotations

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.vulkan import recording
from tests.runtime.vulkan.shaders import kernel

from gridlane.core import error_history
from gridlane.core.errors import DeviceError


def test_a_lost_device(device, living, monkeypatch):
    artifact = kernel("values: uint64_t", "at(values, i) += 1;")
    bound = device.load(artifact).bind((4, 1, 1))
    data, stream = device.allocate(16), device.new_stream()
    stream.launch(bound, params(artifact, data), 1, 1, 1, 0)
    recording.replace(device, monkeypatch, submit=lambda *args: ("vkQueueSubmit", -4))
    error_history.clear()
    with pytest.raises(DeviceError, match=r"\(719\).*VK_ERROR_DEVICE_LOST.*in main") as caught:
        stream.synchronize()
    assert "run it on the device cpu with GRIDLANE_CHECK=1" in str(caught.value)
    for work in (
        device.synchronize,
        lambda: device.allocate(8),
        lambda: stream.fill(data.address, 0, 4),
        lambda: bound.launch(params(artifact, data), 1, 1, 1, 0),
        lambda: device.new_event().record(stream),
        lambda: device.load(artifact),
    ):
        with pytest.raises(DeviceError, match="719") as again:
            work()
        assert again.value is not caught.value
    (entry,) = error_history.entries()
    assert (entry.category, entry.device, entry.kernel) == ("lost", device.name, artifact.name)
    lost = device.context
    living.clear()  # what the lost device has made is left alone
    device.reset()
    assert device.context is not lost
    fresh = to_device(device, np.zeros(4, np.uint32))
    bound.launch(params(artifact, fresh), 1, 1, 1, 0)  # the kernel is loaded again
    assert (words(device, fresh) == 1).all()
    with pytest.raises(DeviceError, match="719"):
        stream.synchronize()


# Some drivers answer success, and the largest number.
@pytest.mark.parametrize("answer", [-4, 2**64 - 1], ids=["lost", "beyond"])
def test_a_device_that_is_lost_while_a_wait_polls(device, living, monkeypatch, answer):
    artifact = kernel("values: uint64_t", "at(values, i) += 1;")
    bound = device.load(artifact).bind((4, 1, 1))
    data, stream = device.allocate(16), device.new_stream()
    device.synchronize()
    context = device.context
    monkeypatch.setattr(context, "polls", True)
    recording.replace(device, monkeypatch, poll=lambda *args: answer)
    stream.launch(bound, params(artifact, data), 1, 1, 1, 0)
    with pytest.raises(DeviceError, match=r"LOST, told by vkGetSemaphoreCounterValue\), in main"):
        stream.synchronize()
    with pytest.raises(DeviceError, match="719"):
        stream.query()
    context.vk.vkDeviceWaitIdle(context.handle)
    living.clear()  # what the lost device has made is left alone
    device.reset()
    assert device.context is not context
    bound.launch(params(artifact, to_device(device, np.zeros(4, np.uint32))), 1, 1, 1, 0)
    device.synchronize()

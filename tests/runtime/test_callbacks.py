"""What a callback of a stream may do."""

from __future__ import annotations

import threading

import pytest

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.cpu import CpuDevice
from gridlane.runtime.queues.callbacks import callback
from gridlane.runtime.queues.host_driven_context import HostDrivenContext


def test_a_callback_of_a_host_driven_device_uses_none():
    context = HostDrivenContext(software=True)
    with callback(), pytest.raises(DeviceError, match=r"NOT_PERMITTED.*callback"):
        context.enter()
    context.enter()


def test_it_is_refused_on_its_own_thread_alone():
    context, errors = HostDrivenContext(software=True), []

    def use():
        try:
            context.enter()
        except DeviceError as error:
            errors.append(error)

    with callback():
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
    assert not errors


def test_a_callback_that_raises_leaves_its_thread_free():
    context = HostDrivenContext(software=True)
    with pytest.raises(ZeroDivisionError), callback():
        1 / 0
    context.enter()


def test_a_callback_of_the_cpu_uses_the_device():
    device, seen = CpuDevice(), bytearray(4)
    stream, other, memory = device.new_stream(), device.new_stream(), device.allocate(4)

    def use():
        other.fill(memory.address, 7, 4)
        other.synchronize()
        device.download(memoryview(seen), memory.address)

    stream.submit(use)
    stream.synchronize()
    assert seen == bytes([7] * 4)

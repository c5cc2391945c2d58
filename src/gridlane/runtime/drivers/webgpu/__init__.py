"""The devices ``webgpu``, ``webgpu:1`` …: the adapters of wgpu-native, by PyPI's wgpu.

Discrete GPUs come first, then integrated ones, then software.
"""

from __future__ import annotations

from gridlane.core import dlpack_abi
from gridlane.core.device_errors import INVALID_DEVICE, fail
from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.single_buffer.device import SingleBufferDevice
from gridlane.runtime.drivers.webgpu.adapters import usable
from gridlane.runtime.drivers.webgpu.engine import WebGpuEngine

__all__ = ["device_count", "open_device"]


def device_count() -> int:
    """The number of devices of this machine; 0 without a driver."""
    try:
        return len(usable())
    except DeviceError:
        return 0


def open_device(ordinal: int = 0) -> SingleBufferDevice:
    """Open a device by its number; called once for each.

    Raises:
        DeviceError: NO_DEVICE, without a driver or a device; INVALID_DEVICE.
    """
    adapters = usable()
    if ordinal >= len(adapters):
        fail(INVALID_DEVICE, f"device {ordinal} of WebGPU; this machine has {len(adapters)}")
    return SingleBufferDevice(
        "webgpu", ordinal, lambda: WebGpuEngine(usable()[ordinal]), dlpack_abi.WEBGPU
    )

"""The devices ``webgpu``, ``webgpu:1`` …: the adapters of wgpu-native, by PyPI's wgpu.

Discrete GPUs come first, then integrated ones, then software.
"""

from __future__ import annotations

from gridlane.core import dlpack_abi
from gridlane.runtime.drivers.single_buffer.device import SingleBufferDevice
from gridlane.runtime.drivers.webgpu.adapters import usable
from gridlane.runtime.drivers.webgpu.engine import WebGpuEngine
from gridlane.runtime.host_driven_device import chosen, count_of

__all__ = ["device_count", "open_device"]


def device_count() -> int:
    """The number of devices of this machine."""
    return count_of(usable)


def open_device(ordinal: int = 0) -> SingleBufferDevice:
    """Open a device by its number; called once for each.

    Raises:
        DeviceError: NO_DEVICE, without a driver or a device; INVALID_DEVICE.
    """
    adapter = chosen(usable(), ordinal, "WebGPU")
    return SingleBufferDevice("webgpu", ordinal, lambda: WebGpuEngine(adapter), dlpack_abi.WEBGPU)

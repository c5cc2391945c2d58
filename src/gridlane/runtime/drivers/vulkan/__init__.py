"""The devices ``vulkan``, ``vulkan:1`` …: every device with Vulkan 1.3, by PyPI's vulkan.

Discrete GPUs come first, then integrated ones, then software such as Mesa's lavapipe.
"""

from __future__ import annotations

from gridlane.core.device_errors import INVALID_DEVICE, fail
from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.vulkan.adapters import usable
from gridlane.runtime.drivers.vulkan.device import VulkanDevice

__all__ = ["VulkanDevice", "device_count", "open_device"]


def device_count() -> int:
    """The number of devices of this machine; 0 without a driver."""
    try:
        return len(usable())
    except DeviceError:
        return 0


def open_device(ordinal: int = 0) -> VulkanDevice:
    """Open a device by its number; called once for each.

    Raises:
        DeviceError: NO_DEVICE, without a driver or a device; INVALID_DEVICE.
    """
    adapters = usable()
    if ordinal >= len(adapters):
        fail(INVALID_DEVICE, f"device {ordinal} of Vulkan; this machine has {len(adapters)}")
    return VulkanDevice(adapters[ordinal], ordinal)

"""The devices ``vulkan``, ``vulkan:1`` …: every device with Vulkan 1.3, by PyPI's vulkan.

Discrete GPUs come first, then integrated ones, then software such as Mesa's lavapipe.
"""

from __future__ import annotations

from gridlane.runtime.drivers.vulkan.adapters import usable
from gridlane.runtime.drivers.vulkan.device import VulkanDevice
from gridlane.runtime.host_driven_device import chosen, count_of

__all__ = ["VulkanDevice", "device_count", "open_device"]


def device_count() -> int:
    """The number of devices of this machine."""
    return count_of(usable)


def open_device(ordinal: int = 0) -> VulkanDevice:
    """Open a device by its number; called once for each.

    Raises:
        DeviceError: NO_DEVICE, without a driver or a device; INVALID_DEVICE.
    """
    return VulkanDevice(chosen(usable(), ordinal, "Vulkan"), ordinal)

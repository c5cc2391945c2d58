"""The devices ``metal``, ``metal:1`` …: GPUs of macOS, by PyPI's pyobjc-framework-Metal.

GRIDLANE_METAL=emulated selects a stand-in on the CPU; see provider.py.
"""

from __future__ import annotations

from gridlane.core.device_errors import no_device
from gridlane.runtime.drivers.metal.adapters import all_adapters, usable
from gridlane.runtime.drivers.metal.device import MetalDevice
from gridlane.runtime.host_driven_device import chosen, count_of

__all__ = ["MetalDevice", "device_count", "open_device", "open_for_compiling"]


def device_count() -> int:
    """The number of devices of this machine."""
    return count_of(usable)


def open_device(ordinal: int = 0) -> MetalDevice:
    """Open a device by its number; called once for each.

    Raises:
        DeviceError: METAL_NO_DEVICE, without Metal or a usable device; INVALID_DEVICE.
    """
    return MetalDevice(chosen(usable(), ordinal, "Metal"), ordinal)


def open_for_compiling() -> MetalDevice:
    """Open a separate device to try Metal's compiler, even one that cannot run kernels."""
    adapters = all_adapters()
    if not adapters:
        no_device("metal", "Metal shows no device")
    return MetalDevice(adapters[0], 0)

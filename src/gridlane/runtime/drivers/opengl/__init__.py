"""The devices ``opengl``, ``opengl:1`` …: every EGL device with OpenGL 4.3, by PyPI's moderngl, or
else OpenGL ES 3.1. Needs no window and no display.
"""

from __future__ import annotations

from gridlane.core.device_errors import INVALID_DEVICE, fail
from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.opengl.contexts import usable
from gridlane.runtime.drivers.opengl.engine import OpenGlEngine
from gridlane.runtime.drivers.single_buffer.device import SingleBufferDevice

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
        fail(INVALID_DEVICE, f"device {ordinal} of OpenGL; this machine has {len(adapters)}")
    return SingleBufferDevice("opengl", ordinal, lambda: OpenGlEngine(adapters[ordinal]()))

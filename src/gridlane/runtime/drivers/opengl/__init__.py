"""The devices ``opengl``, ``opengl:1`` …: every EGL device with OpenGL 4.3, by PyPI's moderngl, or
else OpenGL ES 3.1. Needs no window and no display.
"""

from __future__ import annotations

from gridlane.runtime.drivers.opengl.contexts import usable
from gridlane.runtime.drivers.opengl.engine import OpenGlEngine
from gridlane.runtime.drivers.single_buffer.device import SingleBufferDevice
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
    adapter = chosen(usable(), ordinal, "OpenGL")
    return SingleBufferDevice("opengl", ordinal, lambda: OpenGlEngine(adapter()))

"""The devices ``opengl``, ``opengl:1`` …: whatever EGL shows that has OpenGL 4.3, by PyPI's
moderngl, or else OpenGL ES 3.1. No window and no display are needed.
"""

from __future__ import annotations

from gridlane.core.device_errors import INVALID_DEVICE, fail
from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.opengl.contexts import usable
from gridlane.runtime.drivers.opengl.engine import OpenGlEngine
from gridlane.runtime.drivers.single_buffer.device import SingleBufferDevice

__all__ = ["device_count", "open_device"]


def device_count() -> int:
    """Devices of this machine; 0 where there is no driver."""
    try:
        return len(usable())
    except DeviceError:
        return 0


def open_device(ordinal: int = 0) -> SingleBufferDevice:
    """A device by its number; called once for each.

    Raises:
        DeviceError: NO_DEVICE, there is no driver or it has no device; INVALID_DEVICE.
    """
    found = usable()
    if ordinal >= len(found):
        fail(INVALID_DEVICE, f"device {ordinal} of OpenGL; this machine has {len(found)}")
    return SingleBufferDevice("opengl", ordinal, lambda: OpenGlEngine(found[ordinal]()))

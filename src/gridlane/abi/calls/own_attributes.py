"""Attributes of devices that are this interface's, on every device."""

from __future__ import annotations

from gridlane.core.texture_record import Geometry
from gridlane.runtime.protocol import Device
from gridlane.textures.geometry import MOST
from gridlane.textures.records import MOST_LINEAR

_TEXEL = 16
"""Bytes of the largest texel: linear memory of textures, and its rows, begin at multiples."""
_LARGEST_PITCH = (1 << 31) - 1

_SHAPES = {
    Geometry.ONE: ("1D", ("WIDTH",)),
    Geometry.TWO: ("2D", ("WIDTH", "HEIGHT")),
    Geometry.THREE: ("3D", ("WIDTH", "HEIGHT", "DEPTH")),
    Geometry.LAYERS_OF_ONE: ("1D_LAYERED", ("WIDTH", "LAYERS")),
    Geometry.LAYERS_OF_TWO: ("2D_LAYERED", ("WIDTH", "HEIGHT", "LAYERS")),
    Geometry.CUBE: ("CUBEMAP", ("WIDTH",)),
    Geometry.LAYERS_OF_CUBES: ("CUBEMAP_LAYERED", ("WIDTH", "", "LAYERS")),
}


def _of_textures() -> dict[str, int]:
    width, height = MOST[Geometry.TWO]
    limits = {
        "TEXTURE_ALIGNMENT": _TEXEL,
        "TEXTURE_PITCH_ALIGNMENT": _TEXEL,
        "SURFACE_ALIGNMENT": _TEXEL,
        "MAX_PITCH": _LARGEST_PITCH,
        "MAXIMUM_TEXTURE1D_LINEAR_WIDTH": MOST_LINEAR,
        "MAXIMUM_TEXTURE2D_LINEAR_WIDTH": width,
        "MAXIMUM_TEXTURE2D_LINEAR_HEIGHT": height,
        "MAXIMUM_TEXTURE2D_LINEAR_PITCH": width * _TEXEL,
        "MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH": MOST[Geometry.ONE][0],
    }
    for word in ("GATHER", "MIPMAPPED"):
        limits[f"MAXIMUM_TEXTURE2D_{word}_WIDTH"] = width
        limits[f"MAXIMUM_TEXTURE2D_{word}_HEIGHT"] = height
    for geometry, (name, axes) in _SHAPES.items():
        for axis, most in zip(axes, MOST[geometry]):
            if axis:
                limits[f"MAXIMUM_TEXTURE{name}_{axis}"] = most
                limits[f"MAXIMUM_SURFACE{name}_{axis}"] = most
    for axis, most in zip(("WIDTH", "HEIGHT", "DEPTH"), MOST[Geometry.THREE]):
        limits[f"MAXIMUM_TEXTURE3D_{axis}_ALTERNATE"] = most
    return limits


_ALWAYS = {
    "CAN_FLUSH_REMOTE_WRITES": 0,
    "MEMORY_POOLS_SUPPORTED": 1,
    "MEMPOOL_SUPPORTED_HANDLE_TYPES": 0,
    **_of_textures(),
}
_WAITS = (
    "CAN_USE_STREAM_MEM_OPS_V1",
    "CAN_USE_64_BIT_STREAM_MEM_OPS",
    "CAN_USE_64_BIT_STREAM_MEM_OPS_V1",
    "CAN_USE_STREAM_WAIT_VALUE_NOR",
    "CAN_USE_STREAM_WAIT_VALUE_NOR_V1",
)
"""What a device does whose memory is the host's; others write words and cannot wait for them."""


def own_attributes(device: Device) -> dict[str, int]:
    """The attributes, by their names without CU_DEVICE_ATTRIBUTE_ in front."""
    return _ALWAYS | dict.fromkeys(_WAITS, int(device.host_visible))

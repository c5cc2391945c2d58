"""Arrays of texels."""

from __future__ import annotations

from typing import NoReturn

from gridlane.abi.calls import formats
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import arrays, contexts
from gridlane.abi.state.arrays import Array, Mipmapped
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import constants

_LAYERED, _CUBE = 1, 4
_KNOWN = 0xF
"""Layers, surfaces, cubes, gathers."""
_FLAGS = {
    value: name
    for name, value in constants().items()
    if name.startswith("CUDA_ARRAY3D_") and value > _KNOWN
}


def array(handle: int) -> Array:
    """An array by its handle.

    Raises:
        Failure: INVALID_HANDLE, there is none; the fault of its context.
    """
    array_object = arrays.arrays.get(handle)
    array_object.context.check()
    return array_object


def mipmapped(handle: int) -> Mipmapped:
    """An array with levels by its handle; see ``array``."""
    levels = arrays.mipmapped.get(handle)
    levels.context.check()
    return levels


def check_flags(flags: int) -> None:
    """Raise NOT_SUPPORTED or INVALID_VALUE for flags of arrays that gridlane does not have."""
    for value, name in _FLAGS.items():
        if flags & value:
            fail(NOT_SUPPORTED, f"arrays with {name}")
    if flags & ~_KNOWN:
        fail(INVALID_VALUE, f"an array with the flags {flags:#x}")


# --- the driver's ---


@implements("cuArrayCreate_v2")
def create(desc: Struct | None) -> int:
    """Create an array of one or two dimensions."""
    if desc is None:
        fail(INVALID_VALUE, "no description of the array")
    form = formats.of_driver(desc.Format, desc.NumChannels)
    sizes = desc.Width, desc.Height, 0
    return arrays.create(contexts.current(), form, sizes, 0).handle


@implements("cuArray3DCreate_v2")
def create_3d(desc: Struct | None) -> int:
    """Create an array of up to three dimensions, or with layers."""
    if desc is None:
        fail(INVALID_VALUE, "no description of the array")
    check_flags(desc.Flags)
    form = formats.of_driver(desc.Format, desc.NumChannels)
    sizes = desc.Width, desc.Height, desc.Depth
    return arrays.create(contexts.current(), form, sizes, desc.Flags).handle


@implements("cuArray3DGetDescriptor_v2")
def get_descriptor_3d(handle: int) -> Struct:
    """The sizes, format and flags of an array."""
    array_object = array(handle)
    struct = described(Struct("CUDA_ARRAY3D_DESCRIPTOR"), array_object)
    struct.Depth, struct.Flags = array_object.sizes[2], array_object.flags
    return struct


def described(struct: Struct, array_object: Array) -> Struct:
    """Write the sizes and the format of an array to a structure."""
    struct.Width, struct.Height = array_object.sizes[:2]
    struct.Format, struct.NumChannels = (
        formats.to_driver(array_object.form),
        array_object.form.channels,
    )
    return struct


@implements("cuMipmappedArrayCreate")
def create_mipmapped(desc: Struct | None, levels: int) -> int:
    """Create an array with levels; more than there can be are as many as there can be."""
    if desc is None:
        fail(INVALID_VALUE, "no description of the array")
    check_flags(desc.Flags)
    form = formats.of_driver(desc.Format, desc.NumChannels)
    return new_levels(form, (desc.Width, desc.Height, desc.Depth), levels, desc.Flags)


def new_levels(
    form: formats.ChannelFormatDescriptor, sizes: arrays.Sizes, levels: int, flags: int
) -> int:
    """Create an array with levels; more than there can be are as many as there can be."""
    layered = flags & (_LAYERED | _CUBE)
    most = max(sizes[:2] if layered else sizes).bit_length()
    context = contexts.current()
    return arrays.create_mipmapped(context, form, sizes, max(1, min(levels, most)), flags).handle


@implements("cuMipmappedArrayGetLevel", "cudaGetMipmappedArrayLevel")
def get_level(handle: int, level: int) -> int:
    """An array that is a level of another; 0 is the largest."""
    mipmapped_object = mipmapped(handle)
    if level >= len(mipmapped_object.levels):
        fail(INVALID_VALUE, f"level {level}; there are {len(mipmapped_object.levels)}")
    return mipmapped_object.levels[level].handle


# --- what arrays of gridlane are not ---


@implements("cuArrayGetPlane", "cudaArrayGetPlane")
def get_plane(handle: int, plane: int) -> NoReturn:
    """Fail: no array of gridlane has planes of several formats."""
    array(handle)
    fail(INVALID_VALUE, f"plane {plane}: the array has no planes of several formats")


# --- the runtime's ---


@implements("cudaArrayGetInfo")
def get_info(handle: int) -> tuple[Struct, Struct, int]:
    """The format, sizes and flags of an array."""
    array_object = array(handle)
    extent = Struct("cudaExtent")
    extent.width, extent.height, extent.depth = array_object.sizes
    return formats.to_runtime(array_object.form), extent, array_object.flags


@implements("cudaCreateChannelDesc")
def create_channel_desc(x: int, y: int, z: int, w: int, kind: int) -> Struct:
    """A description of texels, as it is given."""
    struct = Struct("cudaChannelFormatDesc")
    struct.x, struct.y, struct.z, struct.w, struct.f = x, y, z, w, kind
    return struct

"""Descriptions of textures, between the structures of programs and gridlane's own."""

from __future__ import annotations

from gridlane.abi.calls import formats
from gridlane.abi.calls.arrays import array, mipmapped
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.copying import check_device
from gridlane.abi.state.textures import Resource, Sampling
from gridlane.abi.struct import Struct
from gridlane.core.texture_record import ChannelKind
from gridlane.textures import constants
from gridlane.textures.formats import ChannelFormatDescriptor
from gridlane.textures.sampling import TextureDescriptor

ARRAY, LEVELS, LINEAR, ROWS = 0, 1, 2, 3
_AS_INTEGERS, _NORMALIZED, _SRGB, _UNOPTIMISED, _SEAMLESS = 1, 2, 16, 32, 64


# --- the memory ---


def of_driver(desc: Struct | None, context: Context) -> Resource:
    """A resource of the driver's structure.

    Raises:
        Failure: INVALID_VALUE, INVALID_HANDLE, NOT_SUPPORTED.
    """
    if desc is None or desc.flags:
        fail(INVALID_VALUE, "no description of the resource, or one with flags")
    if desc.resType in (ARRAY, LEVELS):
        inner = desc.res.array.hArray if desc.resType == ARRAY else desc.res.mipmap.hMipmappedArray
        return _of_array(desc.resType, inner, context)
    if desc.resType not in (LINEAR, ROWS):
        fail(INVALID_VALUE, f"no type of resource has the number {desc.resType}")
    inner = desc.res.linear if desc.resType == LINEAR else desc.res.pitch2D
    form = formats.of_driver(inner.format, inner.numChannels)
    return _of_memory(desc.resType, inner, form, context)


def of_runtime(desc: Struct | None, context: Context) -> Resource:
    """A resource of the runtime's structure; see ``of_driver``."""
    if desc is None:
        fail(INVALID_VALUE, "no description of the resource")
    if desc.resType in (ARRAY, LEVELS):
        inner = desc.res.array.array if desc.resType == ARRAY else desc.res.mipmap.mipmap
        return _of_array(desc.resType, inner, context)
    if desc.resType not in (LINEAR, ROWS):
        fail(INVALID_VALUE, f"no type of resource has the number {desc.resType}")
    inner = desc.res.linear if desc.resType == LINEAR else desc.res.pitch2D
    return _of_memory(desc.resType, inner, formats.of_runtime(inner.desc), context)


def _of_array(kind: int, handle: int, context: Context) -> Resource:
    if kind == ARRAY:
        array_object = array(handle)
        resource = Resource(array_object.form, array=array_object)
    else:
        whole = mipmapped(handle)
        array_object = whole.levels[0]
        resource = Resource(array_object.form, levels=whole)
    if array_object.context.device is not context.device:
        fail(INVALID_VALUE, f"the array is on the device {array_object.context.device.name}")
    return resource


def _of_memory(
    kind: int, given: Struct, form: ChannelFormatDescriptor, context: Context
) -> Resource:
    address = given.devPtr
    if not address or address % form.size:
        fail(INVALID_VALUE, f"{address:#x} is no multiple of a texel, {form.size} bytes")
    if kind == LINEAR:
        size = given.sizeInBytes
        if size < form.size:
            fail(INVALID_VALUE, f"{size} bytes of texels of {form.size}")
        check_device(address, size, context)
        return Resource(form, address=address, size=size)
    row, pitch = given.width * form.size, given.pitchInBytes
    if not row or not given.height or pitch < row or pitch % form.size:
        fail(
            INVALID_VALUE,
            f"{given.height} rows of {row} bytes, {pitch} bytes apart, of texels of {form.size}",
        )
    check_device(address, pitch * (given.height - 1) + row, context)
    sizes = given.width, given.height
    return Resource(form, address=address, width=sizes[0], height=sizes[1], pitch=pitch)


def to_driver(resource: Resource) -> Struct:
    """The driver's structure of a resource."""
    struct = Struct("CUDA_RESOURCE_DESC")
    inner = _filled(struct, resource, "hArray", "hMipmappedArray")
    if inner is not None:
        inner.format, inner.numChannels = formats.to_driver(resource.form), resource.form.channels
    return struct


def to_runtime(resource: Resource) -> Struct:
    """The runtime's structure of a resource."""
    struct = Struct("cudaResourceDesc")
    inner = _filled(struct, resource, "array", "mipmap")
    if inner is not None:
        inner.desc = formats.to_runtime(resource.form)
    return struct


def _filled(struct: Struct, resource: Resource, of_array: str, of_levels: str) -> Struct | None:
    """Write what both structures have; return the part that still lacks the texels' format."""
    if resource.array is not None:
        struct.resType = ARRAY
        setattr(struct.res.array, of_array, resource.array.handle)
        return None
    if resource.levels is not None:
        struct.resType = LEVELS
        setattr(struct.res.mipmap, of_levels, resource.levels.handle)
        return None
    struct.resType = LINEAR if resource.size else ROWS
    inner = struct.res.linear if resource.size else struct.res.pitch2D
    inner.devPtr = resource.address
    if resource.size:
        inner.sizeInBytes = resource.size
    else:
        inner.width, inner.height, inner.pitchInBytes = (
            resource.width,
            resource.height,
            resource.pitch,
        )
    return inner


# --- how it is read ---


def sampling_of_driver(desc: Struct | None) -> Sampling:
    """The driver's description of how a texture is read.

    Raises:
        Failure: INVALID_VALUE; NOT_SUPPORTED, see ``_checked``.
    """
    if desc is None or desc.flags & ~0x73:
        fail(INVALID_VALUE, "no description of how the texture is read, or unknown flags")
    return _checked(
        desc,
        not desc.flags & _AS_INTEGERS,
        bool(desc.flags & _SRGB),
        bool(desc.flags & _NORMALIZED),
        bool(desc.flags & _UNOPTIMISED),
        bool(desc.flags & _SEAMLESS),
    )


def sampling_of_runtime(desc: Struct | None) -> Sampling:
    """The runtime's description of how a texture is read; see ``sampling_of_driver``."""
    if desc is None or desc.readMode not in (0, 1):
        fail(INVALID_VALUE, "no description of how the texture is read, or an unknown mode")
    return _checked(
        desc,
        desc.readMode == constants.cudaReadModeNormalizedFloat,
        bool(desc.sRGB),
        bool(desc.normalizedCoords),
        bool(desc.disableTrilinearOptimization),
        bool(desc.seamlessCubemap),
    )


def _checked(
    desc: Struct, as_numbers: bool, srgb: bool, normalized: bool, exact: bool, seamless: bool
) -> Sampling:
    if seamless:
        fail(NOT_SUPPORTED, "filters across the edges of cubes: leave out the seamless flag")
    if desc.maxAnisotropy > 1:
        fail(NOT_SUPPORTED, "anisotropic filters: set maxAnisotropy to 0 or 1")
    return Sampling(
        modes=desc.addressMode,
        filter=desc.filterMode,
        as_numbers=as_numbers,
        srgb=srgb,
        normalized=normalized,
        anisotropy=desc.maxAnisotropy,
        levels=desc.mipmapFilterMode,
        bias=desc.mipmapLevelBias,
        lowest=desc.minMipmapLevelClamp,
        highest=desc.maxMipmapLevelClamp,
        border=desc.borderColor,
        unoptimised=exact,
    )


def sampling_to_driver(sampling: Sampling) -> Struct:
    """The driver's structure of how a texture is read."""
    struct = _with_common(Struct("CUDA_TEXTURE_DESC"), sampling)
    struct.flags = (
        (0 if sampling.as_numbers else _AS_INTEGERS)
        | (_NORMALIZED if sampling.normalized else 0)
        | (_SRGB if sampling.srgb else 0)
        | (_UNOPTIMISED if sampling.unoptimised else 0)
    )
    return struct


def sampling_to_runtime(sampling: Sampling) -> Struct:
    """The runtime's structure of how a texture is read."""
    struct = _with_common(Struct("cudaTextureDesc"), sampling)
    struct.readMode, struct.sRGB = int(sampling.as_numbers), int(sampling.srgb)
    struct.normalizedCoords = int(sampling.normalized)
    struct.disableTrilinearOptimization = int(sampling.unoptimised)
    return struct


def _with_common(struct: Struct, sampling: Sampling) -> Struct:
    struct.addressMode, struct.filterMode = sampling.modes, sampling.filter
    struct.borderColor, struct.maxAnisotropy = sampling.border, sampling.anisotropy
    struct.mipmapFilterMode, struct.mipmapLevelBias = sampling.levels, sampling.bias
    struct.minMipmapLevelClamp, struct.maxMipmapLevelClamp = sampling.lowest, sampling.highest
    return struct


def described(sampling: Sampling, form: ChannelFormatDescriptor, linear: bool) -> TextureDescriptor:
    """How a texture is read, for its record.

    Args:
        linear: whether it is linear memory, which has no filters and no modes.

    Raises:
        ArgumentError: a mode is none of CUDA's.
    """
    plain = constants.cudaFilterModePoint
    return TextureDescriptor(
        addressModes=sampling.modes,
        filterMode=plain if linear else sampling.filter,
        readMode=int(sampling.as_numbers and form.kind != ChannelKind.FLOAT),
        sRGB=sampling.srgb,
        borderColors=sampling.border,
        normalizedCoords=sampling.normalized,
        mipmapFilterMode=plain if linear else sampling.levels,
        mipmapLevelBias=sampling.bias,
        minMipmapLevelClamp=sampling.lowest,
        maxMipmapLevelClamp=sampling.highest,
    )

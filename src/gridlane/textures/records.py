"""The records of textures and surfaces."""

from __future__ import annotations

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.core.texture_record import (
    SURFACE,
    TEXTURE,
    AddressMode,
    ChannelKind,
    Flag,
    Geometry,
    Level,
    Record,
)
from gridlane.textures import constants
from gridlane.textures.formats import ChannelFormatDescriptor
from gridlane.textures.sampling import TextureDescriptor

MOST_LINEAR = 1 << 28
"""Texels of linear memory, at most."""


def texture_record(
    geometry: Geometry,
    form: ChannelFormatDescriptor,
    levels: list[Level],
    layers: int,
    how: TextureDescriptor,
) -> Record:
    """The record of a texture.

    Raises:
        ArgumentError: the texels cannot be read so.
    """
    several = len(levels) > 1
    return Record(
        TEXTURE,
        *_form(geometry, form),
        levels,
        layers,
        _flags(geometry, form, how),
        _border(geometry, form, how),
        how.mipmapLevelBias if several else 0.0,
        how.minMipmapLevelClamp if several else 0.0,
        how.maxMipmapLevelClamp if several else 0.0,
    )


def surface_record(
    geometry: Geometry, form: ChannelFormatDescriptor, level: Level, layers: int, flags: int
) -> Record:
    """The record of a surface.

    Args:
        flags: of the array.

    Raises:
        ArgumentError: the array was made without ``cudaArraySurfaceLoadStore``.
    """
    if not flags & constants.cudaArraySurfaceLoadStore:
        raise ArgumentError("a surface is of an array made with cudaArraySurfaceLoadStore")
    return Record(SURFACE, *_form(geometry, form), [level], layers)


def linear_level(form: ChannelFormatDescriptor, address: int, size: int) -> Level:
    """The texels of linear memory.

    Raises:
        ArgumentError: they are too many.
    """
    count = size // form.size
    if count > MOST_LINEAR:
        raise ArgumentError(f"{count} texels of linear memory: the most are {MOST_LINEAR}")
    # One row: its pitch counts for nothing.
    return Level(address, count, 1, 1, 0)


def _form(
    geometry: Geometry, form: ChannelFormatDescriptor
) -> tuple[Geometry, int, int, ChannelKind]:
    return geometry, form.bits, form.channels, form.kind


def _border(
    geometry: Geometry, form: ChannelFormatDescriptor, how: TextureDescriptor
) -> tuple[int, int, int, int]:
    """The bits of the border colour, which is a texel: channels that texels lack are 0."""
    if geometry is Geometry.LINEAR:
        return 0, 0, 0, 0
    colour = np.array(how.borderColors, np.float32)
    colour[form.channels :] = 0
    if form.kind == ChannelKind.FLOAT:
        with np.errstate(over="ignore"):
            colour = colour.astype(form.dtype).astype(np.float32)
    elif how.readMode == constants.cudaReadModeNormalizedFloat:
        most = np.iinfo(form.dtype).max
        low = 0 if form.kind == ChannelKind.UNSIGNED else -1
        steps = np.clip(np.nan_to_num(colour), low, 1).astype(np.float64) * most
        colour = np.ceil(steps - 0.5) / most  # half down, as an H200 does
    bits = colour.astype(np.float32).view(np.uint32)
    return int(bits[0]), int(bits[1]), int(bits[2]), int(bits[3])


def _flags(geometry: Geometry, form: ChannelFormatDescriptor, how: TextureDescriptor) -> int:
    """The flags of a record.

    Raises:
        ArgumentError: the texels cannot be read so.
    """
    is_float = form.kind == ChannelKind.FLOAT
    normalized = how.readMode == constants.cudaReadModeNormalizedFloat and not is_float
    if normalized and form.bits == 32:
        raise ArgumentError("integers of 32 bits are not read as normalized floats")
    linear = how.filterMode == constants.cudaFilterModeLinear
    between = how.mipmapFilterMode == constants.cudaFilterModeLinear
    if (linear or between) and not is_float and not normalized:
        raise ArgumentError(
            "linear filtering is of floats: read integers with cudaReadModeNormalizedFloat"
        )
    if geometry is Geometry.LINEAR and (linear or how.normalizedCoords):
        raise ArgumentError("linear memory is read by the number of a texel, without a filter")
    if how.sRGB and not (normalized and form.bits == 8 and form.kind == ChannelKind.UNSIGNED):
        raise ArgumentError("sRGB is of unsigned bytes, read with cudaReadModeNormalizedFloat")
    is_cube = geometry in (Geometry.CUBE, Geometry.LAYERS_OF_CUBES)
    whole = how.normalizedCoords or is_cube
    flags = sum(
        flag
        for flag, holds in (
            (Flag.NORMALIZED_COORDINATES, whole),
            (Flag.LINEAR, linear),
            (Flag.NORMALIZED_VALUES, normalized),
            (Flag.SRGB, how.sRGB),
            (Flag.LINEAR_LEVELS, between),
        )
        if holds
    )
    for axis, given in enumerate(how.addressModes):
        mode = AddressMode(given)
        if is_cube or (not whole and mode in (AddressMode.WRAP, AddressMode.MIRROR)):
            mode = AddressMode.CLAMP
        if geometry is Geometry.LINEAR:
            mode = AddressMode.BORDER
        flags |= mode * Flag.ADDRESS << 2 * axis
    return flags

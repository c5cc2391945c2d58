"""Texture and surface objects: records in device memory, whose addresses kernels get."""

from __future__ import annotations

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.core.process_bound import ProcessBound
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
from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.texture import constants
from gridlane.cuda.texture.arrays import CUDAarray, MipmappedArray
from gridlane.cuda.texture.descriptors import ResourceDescriptor, TextureDescriptor
from gridlane.cuda.texture.formats import ChannelFormatDescriptor
from gridlane.launch import current

_MOST_LINEAR = 1 << 28


class DeviceObject(ProcessBound):
    """A record in the memory of the current device. It keeps the resource alive.

    Attributes:
        ResDesc: the resource.
    """

    _instead = "make one of its descriptors there"

    def __init__(self, resource: ResourceDescriptor, record: Record) -> None:
        self.ResDesc = resource
        device = current.device()
        self._check_device(resource)
        data = np.frombuffer(record.packed(), np.uint8)
        self._record, self._destroyed = device_array(len(data), np.uint8), False
        self._record.copy_to_device(data)
        device.default_stream.synchronize()  # before launches on any other stream

    @property
    def ptr(self) -> int:
        """The handle, which kernels take: an integer of 64 bits.

        Raises:
            ArgumentError: the object is destroyed, or of another device.
        """
        if self._destroyed:
            raise ArgumentError(f"this {type(self).__name__} is destroyed")
        self._check_owner(self._record)
        return self._record.address

    def destroy(self) -> None:
        """End the object: it is no argument of launches, and kernels that have its handle of
        elsewhere report an error while it exists."""
        if not self._destroyed:
            self._destroyed = True
            self._record.copy_to_device(np.zeros(self._record.size, np.uint8))

    def _check_device(self, resource: ResourceDescriptor) -> None:
        for each in _memories(resource):
            self._check_owner(each)

    def _check_owner(self, memory: DeviceNDArray) -> None:
        owner, here = memory.gpu_data.device, current.device()
        if owner is not None and owner is not here and not here.reaches(owner, memory.address):
            raise ArgumentError(
                f"this {type(self).__name__} is of the device {owner.name!r}, and the current "
                f"device is {here.name!r}"
            )


class TextureObject(DeviceObject):
    """A texture that kernels read.

    Args:
        ResDesc: the memory.
        TexDesc: how it is read.

    Raises:
        ArgumentError: the memory cannot be read so.
    """

    def __init__(self, ResDesc: ResourceDescriptor, TexDesc: TextureDescriptor) -> None:
        self.TexDesc = TexDesc
        super().__init__(ResDesc, _texture(ResDesc, TexDesc))


class SurfaceObject(DeviceObject):
    """An array that kernels read and write by ``surf2Dread`` and the like.

    Args:
        ResDesc: an array made with ``cudaArraySurfaceLoadStore``.

    Raises:
        ArgumentError: the resource is another.
    """

    def __init__(self, ResDesc: ResourceDescriptor) -> None:
        array = ResDesc.cuArr
        if not isinstance(array, CUDAarray):
            raise ArgumentError("a surface is of a CUDAarray; a mipmapped one has level(number)")
        if not array.flags & constants.cudaArraySurfaceLoadStore:
            raise ArgumentError("a surface is of an array made with cudaArraySurfaceLoadStore")
        levels = [array.level()]
        super().__init__(
            ResDesc, Record(SURFACE, *_form(array.geometry, array.desc), levels, array.layers)
        )


def _form(
    geometry: Geometry, form: ChannelFormatDescriptor
) -> tuple[Geometry, int, int, ChannelKind]:
    return geometry, form.bits, form.channels, form.kind


def _memories(resource: ResourceDescriptor) -> list[DeviceNDArray]:
    array = resource.cuArr
    if isinstance(array, MipmappedArray):
        return [array.level(number).memory for number in range(len(array))]
    if array is not None:
        return [array.memory]
    return [resource.arr] if resource.arr is not None else []


def _texture(resource: ResourceDescriptor, how: TextureDescriptor) -> Record:
    """The record of a texture."""
    form = resource.chDesc
    assert form is not None
    geometry, levels, layers = _content(resource, form)
    flags = _flags(geometry, form, how)
    several = len(levels) > 1
    return Record(
        TEXTURE,
        *_form(geometry, form),
        levels,
        layers,
        flags,
        _border(geometry, form, how),
        how.mipmapLevelBias if several else 0.0,
        how.minMipmapLevelClamp if several else 0.0,
        how.maxMipmapLevelClamp if several else 0.0,
    )


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


def _content(
    resource: ResourceDescriptor, form: ChannelFormatDescriptor
) -> tuple[Geometry, list[Level], int]:
    """The geometry of a resource, its levels, and how many layers they have."""
    array, memory = resource.cuArr, resource.arr
    if isinstance(array, MipmappedArray):
        levels = [array.level(number).level() for number in range(len(array))]
        return array.geometry, levels, array.layers
    if array is not None:
        return array.geometry, [array.level()], array.layers
    assert memory is not None
    if resource.restype == constants.cudaResourceTypePitch2D:
        sizes = resource.width, resource.height, 1, resource.pitchInBytes
        return Geometry.TWO, [Level(memory.address, *sizes)], 1
    count = resource.sizeInBytes // form.size
    if count > _MOST_LINEAR:
        raise ArgumentError(f"{count} texels of linear memory: the most are {_MOST_LINEAR}")
    # One row: its pitch counts for nothing.
    return Geometry.LINEAR, [Level(memory.address, count, 1, 1, 0)], 1


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
    made = sum(
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
        made |= mode * Flag.ADDRESS << 2 * axis
    return made

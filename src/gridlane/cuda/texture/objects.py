"""Texture and surface objects: records in device memory, whose addresses kernels get."""

from __future__ import annotations

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.core.process_bound import ProcessBound
from gridlane.core.texture_record import Geometry, Level, Record
from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.texture.arrays import CUDAarray, MipmappedArray
from gridlane.cuda.texture.descriptors import ResourceDescriptor
from gridlane.launch import current
from gridlane.textures import constants
from gridlane.textures.formats import ChannelFormatDescriptor
from gridlane.textures.records import linear_level, surface_record, texture_record
from gridlane.textures.sampling import TextureDescriptor


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
        owner, here = memory.buffer.device, current.device()
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
        level, layers = array.level(), array.layers
        super().__init__(
            ResDesc, surface_record(array.geometry, array.desc, level, layers, array.flags)
        )


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
    return texture_record(geometry, form, levels, layers, how)


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
    return Geometry.LINEAR, [linear_level(form, memory.address, resource.sizeInBytes)], 1

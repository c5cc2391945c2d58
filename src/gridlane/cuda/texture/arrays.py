"""Arrays of texels in device memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.core.process_bound import ProcessBound
from gridlane.core.texture_record import Level
from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.arrays.devicearray import DeviceNDArray, as_device
from gridlane.textures.formats import ChannelFormatDescriptor
from gridlane.textures.geometry import geometry_of, layers_of, level_of, sizes_of_levels


class CUDAarray(ProcessBound):
    """Texels of 1 to 3 dimensions on the current device. Their values are undefined at first.

    Args:
        desc: the channels of a texel.
        width, height, depth: in texels; 0 of absent axes. ``depth`` counts the layers, or the faces
            of cubes, where flags say so.
        flags: ``cudaArrayDefault``, ``Layered``, ``SurfaceLoadStore``, ``Cubemap``,
            ``TextureGather``, or several.

    Raises:
        ArgumentError: there is no array of such sizes.
        MemoryError: the device has no room for it.
    """

    _instead = "copy its texels to a host array, and make one of them there"

    def __init__(
        self,
        desc: ChannelFormatDescriptor,
        width: int,
        height: int = 0,
        depth: int = 0,
        flags: int = 0,
    ) -> None:
        if not isinstance(desc, ChannelFormatDescriptor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"desc is a {type(desc).__name__}, not a ChannelFormatDescriptor")
        self.desc, self.flags = desc, int(flags)
        self.width, self.height, self.depth = int(width), int(height), int(depth)
        self.geometry = geometry_of(self.width, self.height, self.depth, self.flags)
        axes = [size for size in (self.depth, self.height, self.width) if size]
        self.ndim = len(axes)
        self.shape = *axes[:-1], axes[-1] * desc.channels
        self.memory = device_array(self.shape, desc.dtype)
        """The texels as a device array: the channels of a texel are elements of the last axis."""

    @property
    def layers(self) -> int:
        """How many layers there are, or faces of cubes; 1 of other arrays."""
        return layers_of(self.depth, self.flags)

    def level(self) -> Level:
        """The texels as a level of a resource."""
        sizes = self.width, self.height, self.depth
        return level_of(self.desc, self.memory.address, *sizes, self.flags)

    def copy_from(self, in_arr: Any, stream: Any = None) -> None:
        """Copy texels into the array.

        Args:
            in_arr: a host or device array of the shape (depth, height, width * channels), without
                the absent axes; the channels may be an axis of their own.
            stream: the stream after whose work the copy is ordered.

        Raises:
            ArgumentError: the shape or the dtype is another.
        """
        source = as_device(in_arr)
        if not isinstance(source, DeviceNDArray):
            source = np.ascontiguousarray(source)
        self.memory.copy_to_device(self._fitting(source), stream or 0)

    def copy_to(self, out_arr: Any, stream: Any = None) -> None:
        """Copy the texels to a host or device array; see ``copy_from``."""
        destination = as_device(out_arr)
        if isinstance(destination, DeviceNDArray):
            self._fitting(destination).copy_to_device(self.memory, stream or 0)
            return
        if not isinstance(destination, np.ndarray):
            raise ArgumentError(f"out_arr is a {type(out_arr).__name__}, not an array")
        self._check(destination)
        texels = self.memory.copy_to_host(stream=stream or 0)
        destination[...] = texels.reshape(destination.shape)

    def _fitting(self, array: Any) -> Any:
        self._check(array)
        return array if array.shape == self.shape else array.reshape(self.shape)

    def _check(self, array: Any) -> None:
        apart = *self.shape[:-1], self.width, self.desc.channels
        if tuple(array.shape) not in (self.shape, apart) or array.dtype != self.desc.dtype:
            raise ArgumentError(
                f"an array of {array.dtype} with shape {tuple(array.shape)}: the texels are "
                f"{self.desc.dtype} with shape {self.shape}"
            )


class MipmappedArray(ProcessBound):
    """Levels of an array, each half as large as the one before.

    Args:
        levels: how many; at most so many that the last has one texel.

    Raises:
        ArgumentError: there is no such array.
        MemoryError: the device has no room for it.
    """

    _instead = CUDAarray._instead  # pyright: ignore[reportPrivateUsage]

    def __init__(
        self,
        desc: ChannelFormatDescriptor,
        width: int,
        height: int = 0,
        depth: int = 0,
        levels: int = 1,
        flags: int = 0,
    ) -> None:
        self.desc, self.flags = desc, int(flags)
        self.geometry = geometry_of(int(width), int(height), int(depth), self.flags)
        self._levels = [
            CUDAarray(desc, *sizes, self.flags)
            for sizes in sizes_of_levels(width, height, depth, levels, self.flags)
        ]

    def __len__(self) -> int:
        return len(self._levels)

    def level(self, number: int) -> CUDAarray:
        """The texels of a level; 0 is the largest."""
        return self._levels[number]

    @property
    def layers(self) -> int:
        """How many layers each level has."""
        return self._levels[0].layers

"""Arrays of texels in device memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.core.process_bound import ProcessBound
from gridlane.core.texture_record import Geometry, Level
from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.arrays.devicearray import DeviceNDArray, as_device
from gridlane.cuda.texture import constants
from gridlane.cuda.texture.formats import ChannelFormatDescriptor

_LAYERED, _CUBE = constants.cudaArrayLayered, constants.cudaArrayCubemap
_FLAGS = 15
_MOST = {
    Geometry.ONE: (131072,),
    Geometry.TWO: (131072, 65536),
    Geometry.THREE: (16384, 16384, 16384),
    Geometry.LAYERS_OF_ONE: (32768, 2048),
    Geometry.LAYERS_OF_TWO: (32768, 32768, 2048),
    Geometry.CUBE: (32768, 32768, 6),
    Geometry.LAYERS_OF_CUBES: (32768, 32768, 2046),
}
"""The largest sizes, those of GPUs of compute capability 6 to 9."""


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
        self.geometry = _geometry(self.width, self.height, self.depth, self.flags)
        axes = [size for size in (self.depth, self.height, self.width) if size]
        self.ndim = len(axes)
        self.shape = *axes[:-1], axes[-1] * desc.channels
        self.memory = device_array(self.shape, desc.dtype)
        """The texels as a device array: the channels of a texel are elements of the last axis."""

    @property
    def layers(self) -> int:
        """How many layers there are, or faces of cubes; 1 of other arrays."""
        return self.depth if self.flags & (_LAYERED | _CUBE) else 1

    def level(self) -> Level:
        """The texels as a level of a resource."""
        depth = 1 if self.flags & (_LAYERED | _CUBE) else max(1, self.depth)
        pitch = self.width * self.desc.size
        return Level(self.memory.address, self.width, max(1, self.height), depth, pitch)

    def copy_from(self, in_arr: Any, stream: Any = None) -> None:
        """Copy texels into the array.

        Args:
            in_arr: a host or device array of the shape (depth, height, width * channels), without
                the absent axes; the channels may be an axis of their own.
            stream: after whose work the copy comes.

        Raises:
            ArgumentError: the shape or the dtype is another.
        """
        found = as_device(in_arr)
        if not isinstance(found, DeviceNDArray):
            found = np.ascontiguousarray(found)
        self.memory.copy_to_device(self._fitting(found), stream or 0)

    def copy_to(self, out_arr: Any, stream: Any = None) -> None:
        """Copy the texels to a host or device array; see ``copy_from``."""
        found = as_device(out_arr)
        if isinstance(found, DeviceNDArray):
            self._fitting(found).copy_to_device(self.memory, stream or 0)
            return
        if not isinstance(found, np.ndarray):
            raise ArgumentError(f"out_arr is a {type(out_arr).__name__}, not an array")
        self._check(found)
        made = self.memory.copy_to_host(stream=stream or 0)
        found[...] = made.reshape(found.shape)

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


def _geometry(width: int, height: int, depth: int, flags: int) -> Geometry:
    """The geometry of an array.

    Raises:
        ArgumentError: there is no such array.
    """
    sizes = f"{width} x {height} x {depth}, flags {flags}"
    if flags & ~_FLAGS or min(width, height, depth) < 0 or not width:
        raise ArgumentError(f"there is no array of {sizes}")
    layered = bool(flags & _LAYERED)
    if flags & _CUBE:
        found = Geometry.LAYERS_OF_CUBES if layered else Geometry.CUBE
        if width != height or not depth or depth % 6 or (depth != 6 and not layered):
            raise ArgumentError(f"{sizes}: faces of cubes are squares, and six for each cube")
    elif layered:
        found = Geometry.LAYERS_OF_TWO if height else Geometry.LAYERS_OF_ONE
        if not depth:
            raise ArgumentError(f"{sizes}: there are no layers; depth is their number")
    elif depth:
        found = Geometry.THREE
        if not height:
            raise ArgumentError(f"{sizes}: an array with a depth has a height, or layers")
    else:
        found = Geometry.TWO if height else Geometry.ONE
    given = [size for size in (width, height, depth) if size]
    if any(size > most for size, most in zip(given, _MOST[found], strict=True)):
        raise ArgumentError(f"{sizes}: the largest is {' x '.join(map(str, _MOST[found]))}")
    return found


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
        self.geometry = _geometry(int(width), int(height), int(depth), self.flags)
        layered = self.flags & (_LAYERED | _CUBE)
        most = max(width, height, 0 if layered else depth).bit_length()
        if not 1 <= levels <= most:
            raise ArgumentError(f"{levels} levels: an array of this size has 1 to {most}")
        self._levels: list[CUDAarray] = []
        for level in range(levels):
            w, h, d = (max(1, size >> level) if size else 0 for size in (width, height, depth))
            self._levels.append(CUDAarray(desc, w, h, depth if layered else d, self.flags))

    def __len__(self) -> int:
        return len(self._levels)

    def level(self, number: int) -> CUDAarray:
        """The texels of a level; 0 is the largest."""
        return self._levels[number]

    @property
    def layers(self) -> int:
        """How many layers each level has."""
        return self._levels[0].layers

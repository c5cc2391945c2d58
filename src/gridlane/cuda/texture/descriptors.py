"""What describes the memory of a texture."""

from __future__ import annotations

from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.cuda.arrays.devicearray import DeviceNDArray, as_device
from gridlane.cuda.texture.arrays import CUDAarray, MipmappedArray
from gridlane.textures import constants
from gridlane.textures.formats import ChannelFormatDescriptor

_ARRAYS: dict[int, type[CUDAarray | MipmappedArray]] = {
    constants.cudaResourceTypeArray: CUDAarray,
    constants.cudaResourceTypeMipmappedArray: MipmappedArray,
}


class ResourceDescriptor:
    """The memory of a texture or surface.

    Args:
        restype: ``cudaResourceTypeArray``, ``MipmappedArray``, ``Linear`` or ``Pitch2D``.
        cuArr: the CUDAarray, or the MipmappedArray.
        arr: a contiguous device array; the resource keeps it alive.
        chDesc: its texels.
        sizeInBytes: of linear memory.
        width, height: of pitched memory, in texels.
        pitchInBytes: from a row to the next.

    Raises:
        ArgumentError: what the type needs is absent or does not fit.
    """

    def __init__(
        self,
        restype: int,
        cuArr: CUDAarray | MipmappedArray | None = None,
        arr: Any = None,
        chDesc: ChannelFormatDescriptor | None = None,
        sizeInBytes: int = 0,
        width: int = 0,
        height: int = 0,
        pitchInBytes: int = 0,
    ) -> None:
        self.restype, self.cuArr, self.chDesc = restype, cuArr, chDesc
        self.arr: DeviceNDArray | None = None
        self.sizeInBytes, self.width, self.height = int(sizeInBytes), int(width), int(height)
        self.pitchInBytes = int(pitchInBytes)
        if restype in _ARRAYS:
            if not isinstance(cuArr, _ARRAYS[restype]):
                wanted = _ARRAYS[restype].__name__
                raise ArgumentError(f"cuArr is a {type(cuArr).__name__}, not a {wanted}")
            self.chDesc = cuArr.desc
        elif restype in (constants.cudaResourceTypeLinear, constants.cudaResourceTypePitch2D):
            self.arr = _device_array(arr)
            self._check_memory(self.arr)
        else:
            raise ArgumentError(f"there is no type {restype!r} of a resource")

    def _check_memory(self, arr: DeviceNDArray) -> None:
        form = self.chDesc
        if not isinstance(form, ChannelFormatDescriptor):
            raise ArgumentError("chDesc, the format of the texels in an array, is absent")
        if arr.address % form.size:
            raise ArgumentError(f"the array begins at no multiple of a texel, {form.size} bytes")
        if self.restype == constants.cudaResourceTypeLinear:
            needed, named = self.sizeInBytes, f"sizeInBytes={self.sizeInBytes}"
            least = form.size
        else:
            row = self.width * form.size
            if self.pitchInBytes < row or self.pitchInBytes % form.size:
                raise ArgumentError(
                    f"pitchInBytes={self.pitchInBytes} is no multiple of a texel with room for a "
                    f"row of {row} bytes"
                )
            needed = self.pitchInBytes * (self.height - 1) + row
            named = f"{self.height} rows of {self.pitchInBytes} bytes"
            least = form.size if self.width > 0 and self.height > 0 else needed + 1
        if not least <= needed <= arr.nbytes:
            raise ArgumentError(f"{named}: the array has {arr.nbytes} bytes, a texel {form.size}")


def _device_array(arr: Any) -> DeviceNDArray:
    device_nd_array = as_device(arr)
    if not isinstance(device_nd_array, DeviceNDArray) or not device_nd_array.is_c_contiguous():
        raise ArgumentError("arr is a contiguous device array; cuda.to_device makes one")
    return device_nd_array

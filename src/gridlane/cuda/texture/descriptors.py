"""What describes the memory of a texture, and how it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.cuda.arrays.devicearray import DeviceNDArray, as_device
from gridlane.cuda.texture import constants
from gridlane.cuda.texture.arrays import CUDAarray, MipmappedArray
from gridlane.cuda.texture.formats import ChannelFormatDescriptor

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
    found = as_device(arr)
    if not isinstance(found, DeviceNDArray) or not found.is_c_contiguous():
        raise ArgumentError("arr is a contiguous device array; cuda.to_device makes one")
    return found


class TextureDescriptor:
    """How a texture is read.

    Args:
        addressModes: of up to three axes; wrapping and mirroring need normalized coordinates, and
            clamp without.
        filterMode: ``cudaFilterModePoint`` or ``Linear``.
        readMode: ``cudaReadModeElementType``, or ``NormalizedFloat``: integers of 8 and 16 bits as
            floats from 0 or -1 to 1.
        sRGB: whether bytes are sRGB, and become linear.
        borderColors: four floats, which read as the border; of integers their bits.
        normalizedCoords: whether a texture is 1 wide.
        maxAnisotropy: up to 1, as filters are the same in all directions.
        mipmapFilterMode, mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp: of levels.

    Raises:
        ArgumentError: a mode is none of CUDA's.
    """

    def __init__(
        self,
        addressModes: Sequence[int] | None = None,
        filterMode: int = 0,
        readMode: int = 0,
        sRGB: bool | None = None,
        borderColors: Sequence[float] | None = None,
        normalizedCoords: bool | None = None,
        maxAnisotropy: int | None = None,
        mipmapFilterMode: int = 0,
        mipmapLevelBias: float = 0.0,
        minMipmapLevelClamp: float = 0.0,
        maxMipmapLevelClamp: float = 0.0,
    ) -> None:
        modes = tuple(addressModes or ())
        if len(modes) > 3 or any(mode not in range(4) for mode in modes):
            raise ArgumentError(f"addressModes={modes}: up to three numbers from 0 to 3")
        for name, value in (
            ("filterMode", filterMode),
            ("readMode", readMode),
            ("mipmapFilterMode", mipmapFilterMode),
        ):
            if value not in (0, 1):
                raise ArgumentError(f"{name}={value!r} is neither 0 nor 1")
        border = tuple(float(each) for each in borderColors or ())
        if border and len(border) != 4:
            raise ArgumentError(f"borderColors={border}: four floats, or none")
        if (maxAnisotropy or 0) > 1:
            raise ArgumentError(f"maxAnisotropy={maxAnisotropy}: filters are isotropic here")
        self.addressModes = modes + (constants.cudaAddressModeWrap,) * (3 - len(modes))
        self.filterMode, self.readMode, self.sRGB = filterMode, readMode, bool(sRGB)
        self.borderColors = border or (0.0,) * 4
        self.normalizedCoords = bool(normalizedCoords)
        self.mipmapFilterMode, self.mipmapLevelBias = mipmapFilterMode, float(mipmapLevelBias)
        self.minMipmapLevelClamp = float(minMipmapLevelClamp)
        self.maxMipmapLevelClamp = float(maxMipmapLevelClamp)

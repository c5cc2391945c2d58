"""How a texture is read."""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.core.errors import ArgumentError
from gridlane.textures import constants


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

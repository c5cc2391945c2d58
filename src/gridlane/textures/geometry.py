"""The shapes of arrays of texels."""

from __future__ import annotations

from gridlane.core.errors import ArgumentError
from gridlane.core.texture_record import Geometry, Level
from gridlane.textures import constants
from gridlane.textures.formats import ChannelFormatDescriptor

_LAYERED, _CUBE = constants.cudaArrayLayered, constants.cudaArrayCubemap
_FLAGS = 15
MOST: dict[Geometry, tuple[int, ...]] = {
    Geometry.ONE: (131072,),
    Geometry.TWO: (131072, 65536),
    Geometry.THREE: (16384, 16384, 16384),
    Geometry.LAYERS_OF_ONE: (32768, 2048),
    Geometry.LAYERS_OF_TWO: (32768, 32768, 2048),
    Geometry.CUBE: (32768, 32768, 6),
    Geometry.LAYERS_OF_CUBES: (32768, 32768, 2046),
}
"""The largest sizes, those of GPUs of compute capability 6 to 9."""


def geometry_of(width: int, height: int, depth: int, flags: int) -> Geometry:
    """The geometry of an array of texels; sizes are 0 along absent axes.

    Raises:
        ArgumentError: there is no such array.
    """
    sizes = f"{width} x {height} x {depth}, flags {flags}"
    if flags & ~_FLAGS or min(width, height, depth) < 0 or not width:
        raise ArgumentError(f"there is no array of {sizes}")
    layered = bool(flags & _LAYERED)
    if flags & _CUBE:
        geometry = Geometry.LAYERS_OF_CUBES if layered else Geometry.CUBE
        if width != height or not depth or depth % 6 or (depth != 6 and not layered):
            raise ArgumentError(f"{sizes}: faces of cubes are squares, and six for each cube")
    elif layered:
        geometry = Geometry.LAYERS_OF_TWO if height else Geometry.LAYERS_OF_ONE
        if not depth:
            raise ArgumentError(f"{sizes}: there are no layers; depth is their number")
    elif depth:
        geometry = Geometry.THREE
        if not height:
            raise ArgumentError(f"{sizes}: an array with a depth has a height, or layers")
    else:
        geometry = Geometry.TWO if height else Geometry.ONE
    given = [size for size in (width, height, depth) if size]
    if any(size > most for size, most in zip(given, MOST[geometry], strict=True)):
        raise ArgumentError(f"{sizes}: the largest is {' x '.join(map(str, MOST[geometry]))}")
    return geometry


def layers_of(depth: int, flags: int) -> int:
    """How many layers an array has, or faces of cubes; 1 of other arrays."""
    return depth if flags & (_LAYERED | _CUBE) else 1


def level_of(
    form: ChannelFormatDescriptor, address: int, width: int, height: int, depth: int, flags: int
) -> Level:
    """The texels of an array as a level of a resource. Rows are dense."""
    depth = 1 if flags & (_LAYERED | _CUBE) else max(1, depth)
    return Level(address, width, max(1, height), depth, width * form.size)


def sizes_of_levels(
    width: int, height: int, depth: int, levels: int, flags: int
) -> list[tuple[int, int, int]]:
    """The sizes of the levels of a mipmapped array, each half as large as the one before.

    Raises:
        ArgumentError: there are not so many.
    """
    layered = flags & (_LAYERED | _CUBE)
    most = max(width, height, 0 if layered else depth).bit_length()
    if not 1 <= levels <= most:
        raise ArgumentError(f"{levels} levels: an array of this size has 1 to {most}")
    results: list[tuple[int, int, int]] = []
    for level in range(levels):
        w, h, d = (max(1, size >> level) if size else 0 for size in (width, height, depth))
        results.append((w, h, depth if layered else d))
    return results

"""Ends of copies of planes that are in arrays of texels."""

from __future__ import annotations

from gridlane.abi.calls.copies import ARRAY
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.raw import END
from gridlane.abi.state import arrays
from gridlane.abi.struct import Struct


def texel_of(*handles: int) -> int:
    """Bytes of an element of a copy between these arrays: a byte if there is none.

    Raises:
        Failure: INVALID_VALUE, the texels of two arrays have different sizes; INVALID_HANDLE.
    """
    sizes = {arrays.arrays.get(each).form.size for each in handles if each}
    if len(sizes) > 1:
        fail(INVALID_VALUE, f"the arrays have texels of {sizes} bytes")
    return sizes.pop() if sizes else 1


def put_extent(box: Struct, extent: Struct, texel: int) -> None:
    """Fill the size of a copy, whose width is in elements."""
    width = extent.width * texel
    if width > END:
        fail(INVALID_VALUE, f"rows of {width} bytes")
    box.WidthInBytes, box.Height, box.Depth = width, extent.height, extent.depth


def put_array(box: Struct, end: str, array: int, place: Struct, texel: int) -> None:
    """Fill one end, ``src`` or ``dst``, of a copy that begins at an element of an array."""
    if place.x > END // texel:
        fail(INVALID_VALUE, f"an element at {place.x}")
    setattr(box, f"{end}MemoryType", ARRAY)
    setattr(box, f"{end}Array", array)
    for name, value in (("XInBytes", place.x * texel), ("Y", place.y), ("Z", place.z)):
        setattr(box, f"{end}{name}", value)

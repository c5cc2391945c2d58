"""Arrays of texels, with levels or without, by their handles."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import memory
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.copying import Rows
from gridlane.abi.state.handles import Handles
from gridlane.core.texture_record import Geometry, Level
from gridlane.memory.resource import Buffer
from gridlane.textures.formats import ChannelFormatDescriptor
from gridlane.textures.geometry import geometry_of, layers_of, level_of, sizes_of_levels

Sizes = tuple[int, int, int]


@dataclass(slots=True, eq=False)
class Array:
    """An array of texels. Rows, slices and layers are dense.

    Attributes:
        sizes: width, height and depth in texels; 0 along absent axes. The depth counts layers, or
            faces of cubes, where the flags say so.
        flags: as it was made with, CUDA's.
        whole: the array whose level it is.
    """

    form: ChannelFormatDescriptor
    sizes: Sizes
    flags: int
    geometry: Geometry
    context: Context
    buffer: Buffer = field(repr=False)
    whole: Mipmapped | None = None
    handle: int = 0

    @property
    def pitch(self) -> int:
        """Bytes from row to row."""
        return self.sizes[0] * self.form.size

    @property
    def bytes(self) -> int:
        """All bytes."""
        return self.pitch * max(1, self.sizes[1]) * max(1, self.sizes[2])

    @property
    def layers(self) -> int:
        """How many layers there are; 1 of other arrays."""
        return layers_of(self.sizes[2], self.flags)

    def level(self) -> Level:
        """The texels as a level of a resource."""
        return level_of(self.form, self.buffer.address, *self.sizes, self.flags)


@dataclass(slots=True, eq=False)
class Mipmapped:
    """An array with levels, the largest first."""

    levels: list[Array]
    context: Context
    handle: int = 0


arrays = Handles[Array]("array")
mipmapped = Handles[Mipmapped]("mipmapped array")
_lock = threading.Lock()


def create(context: Context, form: ChannelFormatDescriptor, sizes: Sizes, flags: int) -> Array:
    """Create an array, which ends with its context. Its texels are undefined.

    Raises:
        ArgumentError: there is no array of such sizes.
        DeviceError: OUT_OF_MEMORY.
    """
    array = _made(context, form, sizes, flags)
    array.handle = arrays.add(array)
    _owned(context, "arrays", arrays).add(array.handle)
    return array


def create_mipmapped(
    context: Context, form: ChannelFormatDescriptor, sizes: Sizes, levels: int, flags: int
) -> Mipmapped:
    """Create an array with levels; the program gets handles of them, which end with it.

    Raises:
        ArgumentError: there is no such array.
        DeviceError: OUT_OF_MEMORY.
    """
    geometry_of(*sizes, flags)
    parts = [_made(context, form, each, flags) for each in sizes_of_levels(*sizes, levels, flags)]
    new_mipmapped = Mipmapped(parts, context)
    for each in parts:
        each.whole, each.handle = new_mipmapped, arrays.add(each)
        _owned(context, "arrays", arrays).add(each.handle)
    new_mipmapped.handle = mipmapped.add(new_mipmapped)
    _owned(context, "mipmapped arrays", mipmapped).add(new_mipmapped.handle)
    return new_mipmapped


def _made(context: Context, form: ChannelFormatDescriptor, sizes: Sizes, flags: int) -> Array:
    geometry = geometry_of(*sizes, flags)
    width, height, depth = sizes
    buffer = context.device.allocate(width * form.size * max(1, height) * max(1, depth))
    memory.hidden.add(buffer)
    return Array(form, sizes, flags, geometry, context, buffer)


def _owned(context: Context, kind: str, table: Handles[Any]) -> set[int]:
    """The handles of a kind that end with a context."""
    with _lock:
        if kind not in context.kept:
            context.kept[kind] = set[int]()
            owned: set[int] = context.kept[kind]
            context.ends.append(lambda: [table.discard(each) for each in tuple(owned)])
        return context.kept[kind]


def destroy(array: Array) -> None:
    """End an array after the work that may use it.

    Raises:
        Failure: INVALID_VALUE, it is a level of another array.
    """
    if array.whole is not None:
        fail(INVALID_VALUE, "a level ends with its mipmapped array")
    array.context.finish()
    arrays.remove(array.handle)
    _owned(array.context, "arrays", arrays).discard(array.handle)


def destroy_mipmapped(array_object: Mipmapped) -> None:
    """End an array with levels after the work that may use it."""
    array_object.context.finish()
    mipmapped.remove(array_object.handle)
    _owned(array_object.context, "mipmapped arrays", mipmapped).discard(array_object.handle)
    for each in array_object.levels:
        arrays.discard(each.handle)
        _owned(array_object.context, "arrays", arrays).discard(each.handle)


# --- for copies ---


def rows(
    array: Array, x: int, y: int, z: int, width: int, height: int, depth: int, context: Context
) -> Rows:
    """A box of an array, for copies in a context.

    Args:
        x, width: in bytes; ``y``, ``height``: in rows; ``z``, ``depth``: in slices or layers.

    Raises:
        Failure: INVALID_VALUE, it cuts texels or reaches over an end.
    """
    _check(array, x, width, context)
    high, deep = max(1, array.sizes[1]), max(1, array.sizes[2])
    if x + width > array.pitch or y + height > high or z + depth > deep:
        fail(
            INVALID_VALUE,
            f"{width} bytes, {height} rows and {depth} slices from ({x}, {y}, {z}) on; the array "
            f"has {array.pitch}, {high} and {deep}",
        )
    start = array.buffer.address + x + array.pitch * (y + high * z)
    return Rows(start, True, array.pitch, high)


def run(array: Array, offset: int, size: int, context: Context) -> Rows:
    """Bytes of an array in the order of its rows, for copies in a context.

    Raises:
        Failure: INVALID_VALUE, they cut texels or reach over the end.
    """
    _check(array, offset, size, context)
    if offset + size > array.bytes:
        fail(INVALID_VALUE, f"{size} bytes from {offset} on; the array has {array.bytes}")
    return Rows(array.buffer.address + offset, True)


def _check(array: Array, offset: int, size: int, context: Context) -> None:
    if array.context.device is not context.device:
        fail(INVALID_VALUE, f"the array is on the device {array.context.device.name}")
    if offset % array.form.size or size % array.form.size:
        fail(INVALID_VALUE, f"{size} bytes from {offset} on cut texels of {array.form.size}")

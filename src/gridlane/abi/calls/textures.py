"""Texture and surface objects."""

from __future__ import annotations

from dataclasses import replace

from gridlane.abi.calls import formats, resources
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import contexts, textures
from gridlane.abi.state.textures import Object, Resource, Sampling
from gridlane.abi.struct import Struct
from gridlane.core.texture_record import ChannelKind, Geometry, Level
from gridlane.textures.formats import ChannelFormatDescriptor
from gridlane.textures.records import surface_record, texture_record

_LAYERS = Geometry.LAYERS_OF_ONE, Geometry.LAYERS_OF_TWO, Geometry.LAYERS_OF_CUBES


def texture_of(handle: int) -> Object:
    """A texture by its handle."""
    return textures.find("texture", handle, contexts.current())


def surface_of(handle: int) -> Object:
    """A surface by its handle."""
    return textures.find("surface", handle, contexts.current())


# --- textures ---


@implements("cuTexObjectCreate")
def create(resource: Struct | None, how: Struct | None, view: Struct | None) -> int:
    """Create a texture; its handle is what kernels take."""
    of_resource = resources.of_driver(resource, contexts.current())
    sampling = resources.sampling_of_driver(how)
    # Integers of 32 bits are read as they are, whatever the flag says.
    whole = of_resource.form.kind != ChannelKind.FLOAT and of_resource.form.bits == 32
    read = replace(sampling, as_numbers=False) if whole else sampling
    return _texture(of_resource, sampling, read, view)


@implements("cudaCreateTextureObject")
def create_by_runtime(resource: Struct | None, how: Struct | None, view: Struct | None) -> int:
    """Create a texture; its handle is what kernels take."""
    of_resource = resources.of_runtime(resource, contexts.current())
    sampling = resources.sampling_of_runtime(how)
    return _texture(of_resource, sampling, sampling, view)


def _texture(resource: Resource, given: Sampling, read: Sampling, view: Struct | None) -> int:
    """Create a texture.

    Args:
        given: the description of the program; ``read``: the one by which it is read.
    """
    geometry, levels, layers = resource.content()
    form = resource.form
    if resource.levels is not None and not read.normalized:
        fail(INVALID_VALUE, "textures with levels have normalized coordinates")
    if view is not None:
        form, levels, layers = _viewed(view, resource, geometry, levels, layers)
    how = resources.described(read, form, geometry is Geometry.LINEAR)
    record = texture_record(geometry, form, levels, layers, how)
    context, seen = contexts.current(), b"" if view is None else bytes(view)
    return textures.create(context, record, "texture", resource, given, seen).handle


def _viewed(
    view: Struct, resource: Resource, geometry: Geometry, levels: list[Level], layers: int
) -> tuple[ChannelFormatDescriptor, list[Level], int]:
    """The texels, levels and layers of a resource that a view has.

    Raises:
        Failure: INVALID_VALUE, the resource does not have them; NOT_SUPPORTED, see ``of_view``.
    """
    array = resource.levels.levels[0] if resource.levels is not None else resource.array
    if array is None:
        fail(INVALID_VALUE, "a view is of an array")
    if (view.width, view.height, view.depth) != array.sizes:
        fail(INVALID_VALUE, f"a view has the sizes of its array, {array.sizes}")
    form = formats.of_view(view.format, resource.form)
    first, last = view.firstMipmapLevel, view.lastMipmapLevel
    if not first <= last < len(levels):
        fail(INVALID_VALUE, f"the levels {first} to {last} of {len(levels)}")
    levels = levels[first : last + 1]
    low, high = view.firstLayer, view.lastLayer
    if geometry not in _LAYERS:
        if low or high:
            fail(INVALID_VALUE, "layers of an array that has none")
        return form, levels, layers
    count = high - low + 1
    of_cubes = geometry is Geometry.LAYERS_OF_CUBES
    if not low <= high < layers or (of_cubes and (low % 6 or count % 6)):
        fail(INVALID_VALUE, f"the layers {low} to {high} of {layers}")
    moved = [replace(each, address=each.address + low * _slice(each)) for each in levels]
    return form, moved, count


def _slice(level: Level) -> int:
    """Bytes of a layer."""
    return level.pitch * level.height


def sampling_of(handle: int) -> Sampling:
    """How a texture is read, by its handle."""
    sampling = texture_of(handle).sampling
    assert sampling is not None  # textures have it
    return sampling


def view_of(handle: int, name: str) -> Struct:
    """The view that a texture was made with, in the structure of a name."""
    texture = texture_of(handle)
    if not texture.view:
        fail(INVALID_VALUE, "the texture was made without a view")
    struct = Struct(name)
    struct.fill(texture.view)
    return struct


# --- surfaces ---


def surface_from(resource: Resource) -> int:
    """Create a surface of an array."""
    array = resource.array
    if array is None:
        fail(INVALID_VALUE, "a surface is of an array; levels of a mipmapped one are arrays")
    record = surface_record(array.geometry, array.form, array.level(), array.layers, array.flags)
    return textures.create(contexts.current(), record, "surface", resource).handle

"""The functions of textures as instructions call them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gridlane.core.dtypes import b1, f32, i32, u32, u64
from gridlane.core.frozen import frozen
from gridlane.core.texture_record import Geometry
from gridlane.frontends.ptx.textures import filters, levels, surfaces
from gridlane.frontends.ptx.textures.records import function
from gridlane.ir.builder import Builder
from gridlane.ir.ops import memory
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Function, Module, Value

Results = tuple[Value, ...]
_FOUR = (u32, u32, u32, u32)


@frozen
class Shape:
    """The operands and resources of an instruction's geometry.

    Attributes:
        axes: coordinates of a texel in a layer.
        has_layer: whether the first operand is the number of a layer.
        known: the geometries of resources that it is for; the first is its own.
    """

    axes: int
    has_layer: bool
    known: tuple[Geometry, ...]

    @property
    def operands(self) -> tuple[int, int]:
        """How many coordinates an instruction has, without and with the ones that PTX pads."""
        count = self.has_layer + self.axes + self.is_cube
        return count, 4 if count == 3 else count

    @property
    def is_cube(self) -> bool:
        """Whether it reads the faces of cubes by directions."""
        return self.known[0] in (Geometry.CUBE, Geometry.LAYERS_OF_CUBES)


SHAPES = {
    "1d": Shape(1, False, (Geometry.ONE, Geometry.LINEAR)),
    "2d": Shape(2, False, (Geometry.TWO,)),
    "3d": Shape(3, False, (Geometry.THREE,)),
    "a1d": Shape(1, True, (Geometry.LAYERS_OF_ONE,)),
    "a2d": Shape(2, True, (Geometry.LAYERS_OF_TWO, Geometry.CUBE, Geometry.LAYERS_OF_CUBES)),
    "cube": Shape(2, False, (Geometry.CUBE,)),
    "acube": Shape(2, True, (Geometry.LAYERS_OF_CUBES,)),
}
"""By their names in PTX."""


def sample(
    b: Builder, handle: Value, level: Value, layer: Value, coordinates: Sequence[Value]
) -> Results:
    """Read a level (i32) at float or integer coordinates: the bits of four channels."""
    is_float = coordinates[0].type is f32
    return b.call(
        _reader(b.module, is_float, len(coordinates)), (handle, level, layer, *coordinates)
    )


def sample_detail(
    b: Builder, handle: Value, detail: Value, layer: Value, coordinates: Sequence[Value]
) -> Results:
    """Read the levels of a level of detail (f32) at float coordinates."""
    axes = len(coordinates)
    write = partial(levels.by_level, reader=_reader(b.module, True, axes))
    params = (u64, f32, i32, *[f32] * axes)
    function_object = function(b.module, f"texture.levels.{axes}", params, _FOUR, write)
    return b.call(function_object, (handle, detail, layer, *coordinates))


def _reader(module: Module, is_float: bool, axes: int) -> Function:
    kind, write = (f32, filters.sampled) if is_float else (i32, filters.fetched)
    params = (u64, i32, i32, *[kind] * axes)
    return function(module, f"texture.{kind}.{axes}", params, _FOUR, write)


def gather(
    b: Builder, handle: Value, channel: Value, layer: Value, coordinates: Sequence[Value]
) -> Results:
    """One channel (i32) of four texels."""
    params = (u64, i32, i32, f32, f32)
    function_object = function(b.module, "texture.gathered", params, _FOUR, filters.gathered)
    return b.call(function_object, (handle, channel, layer, *coordinates))


def detail(b: Builder, handle: Value, gradients: Sequence[Value]) -> Value:
    """The level of detail of gradients along x and along y."""
    count = len(gradients)
    name = f"texture.detail.{count // 2}"
    function_object = function(b.module, name, (u64, *[f32] * count), (f32,), levels.detail_of)
    return b.call(function_object, (handle, *gradients))[0]


def face(b: Builder, direction: Sequence[Value]) -> Results:
    """The face of a cube (i32), and two coordinates on it."""
    function_object = function(
        b.module, "texture.face", (f32, f32, f32), (i32, f32, f32), levels.on_face
    )
    return b.call(function_object, tuple(direction))


def place(
    b: Builder, handle: Value, size: int, layer: Value, coordinates: Sequence[Value]
) -> Results:
    """The address of bytes in a surface; whether the coordinates are inside; whether the bytes
    can be there."""
    params = (u64, *[i32] * (2 + len(coordinates)))
    name = f"surface.place.{len(coordinates)}"
    function_object = function(b.module, name, params, (u64, b1, b1), surfaces.placed)
    return b.call(function_object, (handle, b.const(size, i32), layer, *coordinates))


def word(b: Builder, handle: Value, number: int) -> Value:
    """A word of the record (u32)."""
    start = b.value(memory.FromAddress(handle, pointer(u32, Space.GLOBAL)))
    return b.load(b.offset(start, b.const(number, i32)))

"""Reads of textures. PTX ISA 9.0, "Texture Instructions"."""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.core.dtypes import b1, f32, i32, u32, u64
from gridlane.core.texture_record import HEAD_WORDS, TEXTURE, Flag, LevelWord, Word
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Address, Operand, Pair, Reg, Register, Symbol, Texel
from gridlane.frontends.ptx.textures import calls
from gridlane.frontends.ptx.textures.calls import SHAPES, Shape
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]

_FLAT = ".1d|2d|3d|a1d|a2d"
_RESULT = ".v4 .f32|s32|u32"


def handle_of(t: Values, operand: Operand, kind: int, shape: Shape | None) -> Value:
    """The object of an instruction, after a test that it is one.

    Args:
        kind: TEXTURE or SURFACE.
        shape: that the instruction reads; None of queries.
    """
    name = "texture" if kind == TEXTURE else "surface"
    if isinstance(operand, Symbol) and (
        operand.variable is None or not operand.variable.is_reference
    ):
        t.fail(f"{operand.name} is neither a register nor a reference to a {name}")
    handle, b = t.read(operand, u64), t.b
    raise_if(t, b.eq(handle, b.zero(u64)), f"the {name} object is null, or a reference is unbound")
    word = calls.word(b, handle, Word.KIND)
    known: Value = b.const(False, b1)
    if shape is None:
        high = b.and_(word, b.const(0xFFFF0000, u32))
        known = b.eq(high, b.const(kind, u32))
    else:
        for each in shape.known:
            known = b.or_(known, b.eq(word, b.const(kind | each, u32)))
    message = f"the argument is no {name} object of the shape that the instruction reads"
    raise_if(t, b.not_(known), f"{message}, or one that was destroyed")
    return handle


def raise_if(t: Values, condition: Value, message: str) -> None:
    """End the thread with an error where a condition holds."""
    t.b.raise_if(condition, "RuntimeError", message)


def coordinates(t: Values, operand: Operand, shape: Shape) -> tuple[Operand, tuple[Operand, ...]]:
    """The object, and the coordinates without the ones that only fill the vector."""
    if not isinstance(operand, Texel):
        t.fail("a place in a texture or surface is written [object, {coordinates}]")
    object_, *coordinates_given = operand.parts
    if len(coordinates_given) not in shape.operands:
        t.fail(f"{len(coordinates_given)} coordinates are given, not {shape.operands[0]}")
    return object_, tuple(coordinates_given[: shape.operands[0]])


def _shape(m: Match) -> Shape:
    return SHAPES[m.one_of(*SHAPES)]


def _place(t: Values, m: Match, operand: Operand) -> tuple[Value, Value, list[Value]]:
    """The texture, the layer, and the coordinates in it."""
    shape, b = _shape(m), t.b
    object_, coordinates_given = coordinates(t, operand, shape)
    handle = handle_of(t, object_, TEXTURE, shape)
    layer: Value = b.zero(i32)
    if shape.has_layer:
        layer = _layer(t, t.read(coordinates_given[0], u32))
        coordinates_given = coordinates_given[1:]
    positions = [t.read(each, m.type) for each in coordinates_given]
    if shape.is_cube:
        face, *positions = calls.face(b, positions)
        layer = b.add(b.mul(layer, b.const(6, i32)), face)
    return handle, layer, positions


def _layer(t: Values, number: Value) -> Value:
    """The number of a layer, which is unsigned, below a bound that no texture has."""
    return t.b.cast(t.b.binary(arith.Min, number, t.b.const(1 << 20, u32)), i32)


def _write(t: Values, m: Match, operand: Operand, values: Sequence[Value]) -> None:
    if isinstance(operand, Pair):  # whether the texels are resident, as all are
        t.write(operand.second, t.b.const(True, b1))
        operand = operand.first
    dtype = m.types[0]
    for target, value in zip(t.parts(operand, 4), values, strict=True):
        t.write(target, t.as_type(value, dtype))


@form(f"tex [.base] {_FLAT} {_RESULT} .f32|s32", "d, a")
@form(f"tex [.base] .cube|acube {_RESULT} .f32", "d, a")
def tex(t: Values, m: Match, o: Operands) -> None:
    """A read of the finest level."""
    handle, layer, position = _place(t, m, o[1])
    _write(t, m, o[0], calls.sample(t.b, handle, t.b.zero(i32), layer, position))


@form(f"tex .level {_FLAT} {_RESULT} .f32|s32", "d, a, lod")
@form(f"tex .level .cube|acube {_RESULT} .f32", "d, a, lod")
def tex_level(t: Values, m: Match, o: Operands) -> None:
    """A read of a level of detail; of a level by its number at integer coordinates."""
    handle, layer, position = _place(t, m, o[1])
    b = t.b
    if m.type is f32:
        detail = t.read(o[2], f32)
        _write(t, m, o[0], calls.sample_detail(b, handle, detail, layer, position))
        return
    level = b.binary(arith.Max, t.read(o[2], i32), b.zero(i32))
    last = b.sub(b.cast(calls.word(b, handle, Word.LEVELS), i32), b.const(1, i32))
    level = b.binary(arith.Min, level, last)
    _write(t, m, o[0], calls.sample(b, handle, level, layer, position))


@form(f"tex .grad {_FLAT} {_RESULT} .f32", "d, a, dx, dy")
def tex_gradient(t: Values, m: Match, o: Operands) -> None:
    """A read of the level of detail of gradients."""
    handle, layer, position = _place(t, m, o[1])
    gradients = [
        t.read(each, f32) for operand in o[2:4] for each in _gradient(t, operand, len(position))
    ]
    detail = calls.detail(t.b, handle, gradients)
    _write(t, m, o[0], calls.sample_detail(t.b, handle, detail, layer, position))


def _gradient(t: Values, operand: Operand, axes: int) -> tuple[Operand, ...]:
    """The parts of a gradient without the one that only fills the vector."""
    return t.parts(operand, 4 if axes == 3 else axes)[:axes]


@form(f"tld4 .r|g|b|a .2d|a2d {_RESULT} .f32", "d, a")
@form(f"tld4 .r|g|b|a .cube|acube {_RESULT} .f32", "d, a")
def gather(t: Values, m: Match, o: Operands) -> None:
    """One channel of four texels."""
    handle, layer, position = _place(t, m, o[1])
    channel = t.b.const("rgba".index(m.modifiers[0]), i32)
    _write(t, m, o[0], calls.gather(t.b, handle, channel, layer, position))


_SIZES = {
    "width": HEAD_WORDS + LevelWord.WIDTH,
    "height": HEAD_WORDS + LevelWord.HEIGHT,
    "depth": HEAD_WORDS + LevelWord.DEPTH,
    "array_size": Word.LAYERS,
    "num_mipmap_levels": Word.LEVELS,
}


@form("txq .width|height|depth|array_size|num_mipmap_levels|normalized_coords .b32", "d, a")
def texture_query(t: Values, m: Match, o: Operands) -> None:
    """A property of a texture."""
    handle, name = queried(t, o[1], TEXTURE), m.modifiers[0]
    if name != "normalized_coords":
        t.write(o[0], calls.word(t.b, handle, _SIZES[name]))
        return
    flag = t.b.const(Flag.NORMALIZED_COORDINATES, u32)
    t.write(o[0], t.b.and_(calls.word(t.b, handle, Word.FLAGS), flag))


def queried(t: Values, operand: Operand, kind: int) -> Value:
    """The object that a query is of."""
    if not isinstance(operand, Address) or operand.offset:
        t.fail("a query's object stands alone in brackets")
    base = operand.base
    if base is None:
        t.fail("a query's object is a register")
    return handle_of(t, Reg(base) if isinstance(base, Register) else base, kind, None)


def size_of(t: Values, handle: Value, name: str) -> Value:
    """A size of the finest level, or the number of layers."""
    return calls.word(t.b, handle, _SIZES[name])

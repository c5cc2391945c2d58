"""Reads, writes and atomics of surfaces. PTX ISA 9.0, "Surface Instructions"."""

from __future__ import annotations

from gridlane.core.dtypes import DType, b1, i32
from gridlane.core.texture_record import SURFACE
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.forms.textures import (
    coordinates,
    handle_of,
    queried,
    raise_if,
    size_of,
)
from gridlane.frontends.ptx.operands import Operand, Vector
from gridlane.frontends.ptx.textures import calls
from gridlane.frontends.ptx.textures.calls import SHAPES
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import memory
from gridlane.ir.ops.atomic import Atomic, AtomicKind
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]

_SHAPES = ".1d|2d|3d|a1d|a2d"
_MODES = ".trap|clamp|zero"
_NARROW, _WIDE = f"[.v2|v4] .b8|b16|b32 {_MODES}", f"[.v2] .b64 {_MODES}"
_KINDS = {
    "add": AtomicKind.ADD,
    "min": AtomicKind.MIN,
    "max": AtomicKind.MAX,
    "and": AtomicKind.AND,
    "or": AtomicKind.OR,
}


def _place(t: Values, m: Match, operand: Operand, dtype: DType, count: int) -> tuple[Value, Value]:
    """The first of some elements in a surface, as a pointer; and whether the access is done."""
    b, shape = t.b, SHAPES[m.one_of(*SHAPES)]
    object_, places = coordinates(t, operand, shape)
    handle = handle_of(t, object_, SURFACE, shape)
    indices = [t.read(each, i32) for each in places]
    layer = indices.pop(0) if shape.has_layer else b.zero(i32)
    address, inside, sound = calls.place(b, handle, dtype.size * count, layer, indices)
    message = f"{dtype.size * count} bytes are not at such an x of the surface"
    raise_if(t, b.not_(sound), f"{message}: it is a multiple of them, in a row that has them")
    if m.has("trap"):
        raise_if(t, b.not_(inside), "the coordinates are outside of the surface")
    start = b.value(memory.FromAddress(address, pointer(dtype, Space.GLOBAL)))
    return start, inside if m.has("zero") else b.const(True, b1)


def _count(m: Match) -> int:
    return int((m.one_of("v2", "v4") or "v1")[1:])


def _parts(t: Values, operand: Operand, count: int) -> tuple[Operand, ...]:
    return (operand,) if count == 1 and not isinstance(operand, Vector) else t.parts(operand, count)


@form(f"suld .b {_SHAPES} [.ca|cg|cs|cv] {_NARROW}", "d, a")
@form(f"suld .b {_SHAPES} [.ca|cg|cs|cv] {_WIDE}", "d, a")
def load(t: Values, m: Match, o: Operands) -> None:
    """A read; of zeros outside of the surface with .zero."""
    b, count, dtype = t.b, _count(m), m.type
    start, inside = _place(t, m, o[1], dtype, count)
    for number, target in enumerate(_parts(t, o[0], count)):
        value = b.load(b.offset(start, b.const(number, i32)))
        t.write(target, t.widen(target, b.select(inside, value, b.zero(dtype))))


@form(f"sust .b {_SHAPES} [.wb|cg|cs|wt] {_NARROW}", "a, b")
@form(f"sust .b {_SHAPES} [.wb|cg|cs|wt] {_WIDE}", "a, b")
def store(t: Values, m: Match, o: Operands) -> None:
    """A write; none outside of the surface with .zero."""
    b, count, dtype = t.b, _count(m), m.type
    values = [t.read(each, dtype, narrows=True) for each in _parts(t, o[1], count)]
    start, inside = _place(t, m, o[0], dtype, count)
    with b.if_(inside):
        for number, value in enumerate(values):
            b.store(b.offset(start, b.const(number, i32)), value)


@form(f"sured .b .add .1d|2d|3d .u32|s32|u64 {_MODES}", "a, b")
@form(f"sured .b .min|max .1d|2d|3d .u32|s32|u64|s64 {_MODES}", "a, b")
@form(f"sured .b .and|or .1d|2d|3d .b32 {_MODES}", "a, b")
def reduce(t: Values, m: Match, o: Operands) -> None:
    """An atomic change."""
    b, dtype = t.b, m.type
    value = t.read(o[1], dtype)
    start, inside = _place(t, m, o[0], dtype, 1)
    how = MemoryOrder.RELAXED, MemoryScope.DEVICE
    with b.if_(inside):
        b.emit(Atomic(_KINDS[m.modifiers[1]], start, value, *how))


@form("suq .width|height|depth|array_size .b32", "d, a")
def surface_query(t: Values, m: Match, o: Operands) -> None:
    """A size of a surface."""
    t.write(o[0], size_of(t, queried(t, o[1], SURFACE), m.modifiers[0]))

"""Layouts as WGSL for storage buffers.

WGSL has no integers of 8, 16 and 64 bits and no binary64. A value of 64 bits is a vec2<u32>, the
low word first. Fields whose alignment is below 4 share words of 32 bits, which functions read and
write; so is a nested layout of such fields. All others are members, where WGSL's own rules put them
at C's offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from gridlane.actors.layouts.c_structs import note
from gridlane.actors.layouts.names import Names, Scope, comment, joined
from gridlane.actors.layouts.reserved import WGSL, WGSL_PREDECLARED
from gridlane.actors.layouts.schema import (
    Array,
    Field,
    FieldType,
    Layout,
    align_of,
    size_of,
    up,
)
from gridlane.core.argtypes import ScalarType

WORD = 4
_PAIR = "vec2<u32>"
SCALARS = {
    "int32": "i32",
    "uint32": "u32",
    "float32": "f32",
    "int64": _PAIR,
    "uint64": _PAIR,
    "float64": _PAIR,
}
_VALUES = {
    "bool": ("bool", "{} != 0u", "select(0u, 1u, value)"),
    "int8": ("i32", "{}", "bitcast<u32>(value)"),
    "int16": ("i32", "{}", "bitcast<u32>(value)"),
    "uint8": ("u32", "{}", "value"),
    "uint16": ("u32", "{}", "value"),
    "float16": ("u32", "{}", "value"),
}
"""Of each packed scalar: its type in functions, its value of the bits, its bits of the value."""
_NOTES = {
    "int64": "the bits of an int64",
    "uint64": "the words of a uint64",
    "float64": "the bits of a float64",
    "float16": "the bits of a float16, see unpack2x16float",
}
_HEAD = "// Messages of gridlane: made from their layouts, not by hand.\n"


@dataclass(frozen=True, slots=True)
class _Packed:
    """A scalar in words that fields share.

    Attributes:
        path: the names from the structure to it.
        axes: (extent, bytes from one element to the next) of each index, the outermost first.
        words, start: the member with its words, and the byte where this begins.
    """

    scalar: ScalarType
    path: tuple[str, ...]
    offset: int
    axes: tuple[tuple[int, int], ...]
    words: str
    start: int


def scope_of(layouts: Sequence[Layout]) -> Scope:
    """The structures of a text, and the names that they and their members have there.

    Raises:
        ArgumentError: two different layouts have one name.
    """
    return Scope(layouts, WGSL, WGSL_PREDECLARED)


def text(layouts: Sequence[Layout]) -> str:
    """The declarations of layouts with the functions of packed fields: ``Order_get_flag(&order)``
    and ``Order_set_flag(&order, value)``, with an index for each axis of an array in front of the
    value, which takes the last element where it is too large. A value that is too large for its
    field wraps.

    A layout whose size is no multiple of 4 takes whole words.

    Raises:
        ArgumentError: two different layouts have one name.
    """
    scope = scope_of(layouts)
    return "\n".join([_HEAD, *("\n".join(_struct(each, scope)) + "\n" for each in scope.layouts)])


def _struct(layout: Layout, scope: Scope) -> Iterator[str]:
    title = scope.struct(layout)
    inner, names = scope.members(layout)
    packed: list[_Packed] = []
    yield comment(layout.meaning or layout.name)
    if layout.size % WORD:
        yield comment(f"{layout.size} bytes, in words of {WORD}")
    yield f"struct {title} {{"
    for is_packed, run in groupby(layout.fields, key=lambda field: _is_packed(field.type)):
        fields = list(run)
        if is_packed:
            words, start = inner.take(f"words_{fields[0].offset}"), fields[0].offset
            held = [_Packed(*leaf, words, start) for each in fields for leaf in _leaves(each)]
            count = (up(fields[-1].end, WORD) - start) // WORD
            remark = comment(f"byte {start}", ", ".join(each.name for each in fields))
            yield f"    {words}: array<u32, {count}>, {remark}"
            packed += held
        else:
            yield from (f"    {_member(each, names[each.name], scope)}" for each in fields)
    yield "}"
    low, high = layout.type_id & 0xFFFFFFFF, layout.type_id >> 32
    constant = scope.names.take(joined(title, "type_id"))
    yield f"const {constant} = vec2<u32>(0x{low:08x}u, 0x{high:08x}u);"
    meanings = {each.name: each.meaning for each in layout.fields}
    for each in packed:
        yield from _functions(each, title, scope.names, meanings[each.path[0]])


def _is_packed(type_: FieldType) -> bool:
    return align_of(type_) < WORD


def _member(field: Field, name: str, scope: Scope) -> str:
    shape = field.type.shape if isinstance(field.type, Array) else ()
    element = field.type.element if isinstance(field.type, Array) else field.type
    type_text = scope.struct(element) if isinstance(element, Layout) else SCALARS[element.name]
    for extent in reversed(shape):
        type_text = f"array<{type_text}, {extent}>"
    remark = note(field, name)
    extra = _NOTES.get(element.name, "")
    return f"{name}: {type_text}, {remark}{f'; {extra}' if extra else ''}"


_Leaf = tuple[ScalarType, tuple[str, ...], int, tuple[tuple[int, int], ...]]


def _leaves(field: Field) -> Iterator[_Leaf]:
    """The scalars of a packed field, as the first four of _Packed."""
    yield from _scalars(field.type, (field.name,), field.offset, ())


def _scalars(
    type_: FieldType, path: tuple[str, ...], offset: int, axes: tuple[tuple[int, int], ...]
) -> Iterator[_Leaf]:
    if isinstance(type_, Array):
        stride, own = size_of(type_.element), list[tuple[int, int]]()
        for extent in reversed(type_.shape):
            own.insert(0, (extent, stride))
            stride *= extent
        yield from _scalars(type_.element, path, offset, (*axes, *own))
    elif isinstance(type_, Layout):
        for each in type_.fields:
            yield from _scalars(each.type, (*path, each.name), offset + each.offset, axes)
    else:
        yield type_, path, offset, axes


def _functions(packed: _Packed, title: str, names: Names, meaning: str) -> Iterator[str]:
    """The functions that read and write a packed scalar."""
    scalar, own = packed.scalar, "_".join(packed.path)
    value, of_bits, to_bits = _VALUES[scalar.name]
    numbers = range(len(packed.axes))
    given = "".join(f", i{n}: u32" for n in numbers)
    terms = [f"{packed.offset - packed.start}u"]
    terms += [
        f"min(i{n}, {extent - 1}u) * {stride}u" for n, (extent, stride) in zip(numbers, packed.axes)
    ]
    sum_line = f"    let at = {' + '.join(terms)};"
    word = f"(*it).{packed.words}[at / 4u]"
    place = f"(at % 4u) * 8u, {8 * scalar.itemsize}u"
    source = f"bitcast<i32>({word})" if value == "i32" else word
    pointer = f"it: ptr<function, {title}>{given}"
    indices = "".join(f"[i{n}]" for n in numbers)
    yield comment(
        f"{'.'.join(packed.path)}{indices}", _NOTES.get(scalar.name, scalar.name), meaning
    )
    yield f"fn {names.take(joined(title, 'get', own))}({pointer}) -> {value} {{"
    yield sum_line
    yield f"    return {of_bits.format(f'extractBits({source}, {place})')};"
    yield "}"
    yield f"fn {names.take(joined(title, 'set', own))}({pointer}, value: {value}) {{"
    yield sum_line
    yield f"    {word} = insertBits({word}, {to_bits}, {place});"
    yield "}"

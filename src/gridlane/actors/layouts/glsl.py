"""Layouts as GLSL for storage buffers in the layouts std430 and scalar.

GLSL gives explicit offsets to members of a block alone, not to those of a structure, and the
scalar layout may use the end of a structure for what follows it. So padding has names in
structures. A bool is a uint8_t, as GLSL's own has no size in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gridlane.actors.layouts import c_structs
from gridlane.actors.layouts.names import Names, Scope, comment, joined
from gridlane.actors.layouts.reserved import GLSL
from gridlane.actors.layouts.schema import Array, Layout

SCALARS = {
    "bool": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int",
    "int64": "int64_t",
    "uint8": "uint8_t",
    "uint16": "uint16_t",
    "uint32": "uint",
    "uint64": "uint64_t",
    "float16": "float16_t",
    "float32": "float",
    "float64": "double",
}
_EXTENSIONS = {
    "int8_t": "int8",
    "uint8_t": "int8",
    "int16_t": "int16",
    "uint16_t": "int16",
    "int64_t": "int64",
    "uint64_t": "int64",
    "float16_t": "float16",
}
_PADDING = {4: "uint", 2: "uint16_t", 1: "uint8_t"}
_HEAD = "// Messages of gridlane: made from their layouts, not by hand."


def scope_of(layouts: Sequence[Layout]) -> Scope:
    """The structures of a text, and the names that they and their members have there.

    Raises:
        ArgumentError: two different layouts have one name.
    """
    return Scope(layouts, GLSL)


def text(layouts: Sequence[Layout]) -> str:
    """The declarations of layouts, inner ones first, behind the extensions that they need. They
    belong behind the line of the version, which is 4.50 or later.

    Raises:
        ArgumentError: two different layouts have one name.
    """
    scope = scope_of(layouts)
    structs = ["\n".join(_struct(each, scope)) + "\n" for each in scope.layouts]
    return "\n".join(["\n".join([_HEAD, *_extensions(scope.layouts)]) + "\n", *structs])


def block(layout: Layout, binding: int, name: str, instance: str, group: int | None = None) -> str:
    """A storage buffer that holds one layout, with an explicit offset for each member. It belongs
    behind the declarations of the layouts inside this one.

    Args:
        name, instance: of the block, and of what the shader accesses.
        group: the descriptor set, which Vulkan has and OpenGL has not.
    """
    scope = scope_of([layout])
    _, names = scope.members(layout)
    place = f"binding = {binding}" if group is None else f"set = {group}, binding = {binding}"
    lines = [f"layout(std430, {place}) buffer {name} {{"]
    for field, line in zip(layout.fields, c_structs.members(layout, names, SCALARS, scope)):
        lines.append(f"    layout(offset = {field.offset}) {line.strip()}")
    return "\n".join([*lines, f"}} {instance};\n"])


def _struct(layout: Layout, scope: Scope) -> Iterator[str]:
    title = scope.struct(layout)
    inner, names = scope.members(layout)
    fields = iter(list(c_structs.members(layout, names, SCALARS, scope)))
    yield comment(layout.meaning or layout.name)
    yield f"struct {title} {{"
    for offset, size in c_structs.gaps(layout):
        if size:
            yield f"    {_padding(offset, size, inner)}; {comment(f'byte {offset}', 'padding')}"
        yield from (line for line in [next(fields, "")] if line)
    yield "};"
    constant = scope.names.take(joined(title, "type_id"))
    low, high = layout.type_id & 0xFFFFFFFF, layout.type_id >> 32
    yield f"const uvec2 {constant} = uvec2(0x{low:08x}u, 0x{high:08x}u); // for packUint2x32"


def _padding(offset: int, size: int, inner: Names) -> str:
    unit = next(unit for unit in _PADDING if offset % unit == 0 and size % unit == 0)
    return f"{_PADDING[unit]} {inner.take(f'padding_{offset}')}[{size // unit}]"


def _extensions(layouts: Sequence[Layout]) -> list[str]:
    """The lines of the extensions that the types in use need."""
    types: set[str] = set()
    for layout in layouts:
        elements = (f.type.element if isinstance(f.type, Array) else f.type for f in layout.fields)
        types |= {SCALARS[each.name] for each in elements if not isinstance(each, Layout)}
        for offset, size in c_structs.gaps(layout):
            if size:
                types.add(_padding(offset, size, Names(frozenset())).partition(" ")[0])
    needed = sorted({_EXTENSIONS[each] for each in types if each in _EXTENSIONS})
    return [
        f"#extension GL_EXT_shader_explicit_arithmetic_types_{each} : require" for each in needed
    ]

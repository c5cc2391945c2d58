"""Structures in the languages whose declarations are C's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gridlane.actors.layouts.names import Scope, comment
from gridlane.actors.layouts.schema import Array, Field, FieldType, Layout


def declared(type_: FieldType, name: str, scalars: Mapping[str, str], scope: Scope) -> str:
    """``type name[2][3]``."""
    shape = type_.shape if isinstance(type_, Array) else ()
    element = type_.element if isinstance(type_, Array) else type_
    title = scope.struct(element) if isinstance(element, Layout) else scalars[element.name]
    return f"{title} {name}{''.join(f'[{extent}]' for extent in shape)}"


def note(field: Field, name: str) -> str:
    """The comment on a field: its offset, its own name if that is another, its meaning."""
    own = "" if name == field.name else f"the field {field.name}"
    return comment(f"byte {field.offset}", own, field.meaning)


def members(
    layout: Layout, names: Mapping[str, str], scalars: Mapping[str, str], scope: Scope
) -> Iterator[str]:
    """The line of each field."""
    for each in layout.fields:
        name = names[each.name]
        yield f"    {declared(each.type, name, scalars, scope)}; {note(each, name)}"


def struct(
    layout: Layout, scalars: Mapping[str, str], scope: Scope, offset: str = "__builtin_offsetof"
) -> Iterator[str]:
    """A structure of C++ with assertions of its size, its alignment and each field's offset.

    Args:
        offset: the macro of the offset of a structure's field.
    """
    title = scope.struct(layout)
    _, names = scope.members(layout)
    yield comment(layout.meaning or layout.name)
    yield f"struct {title} {{"
    yield from members(layout, names, scalars, scope)
    yield "};"
    yield f'static_assert(sizeof({title}) == {layout.size}, "{title}: its size");'
    yield f'static_assert(alignof({title}) == {layout.align}, "{title}: its alignment");'
    for each in layout.fields:
        name = names[each.name]
        place = f"{offset}({title}, {name}) == {each.offset}"
        size = f"sizeof({title}::{name}) == {each.size}"
        yield f'static_assert({place} && {size}, "{title}.{name}: its place");'


def uses(layout: Layout, scalar: str) -> bool:
    """Whether one of its own fields has a scalar type."""
    types = (each.type for each in layout.fields)
    return any((t.element if isinstance(t, Array) else t).name == scalar for t in types)


def gaps(layout: Layout) -> Iterator[tuple[int, int]]:
    """(offset, size) of the padding in front of each field and at the end; size 0 for none."""
    end = 0
    for each in layout.fields:
        yield end, each.offset - end
        end = each.end
    yield end, layout.size - end

"""Classes in checkpoints: their layouts, and their differences from today's classes."""

from __future__ import annotations

from typing import Any

from gridlane.actors.layouts.schema import (
    SCALARS,
    Array,
    Field,
    FieldType,
    Layout,
)

_SCALARS = {each.name: each for each in SCALARS}


def to_table(layout: Layout) -> dict[str, Any]:
    """A layout as a value of JSON."""
    fields = [[each.name, _type_to_table(each.type), each.offset] for each in layout.fields]
    return {"name": layout.name, "fields": fields}


def _type_to_table(type_: FieldType) -> Any:
    if isinstance(type_, Array):
        return {"element": _type_to_table(type_.element), "shape": list(type_.shape)}
    return to_table(type_) if isinstance(type_, Layout) else type_.name


def from_table(table: Any) -> Layout:
    """The layout of a value of JSON; TypeError, KeyError or ValueError where it is invalid."""
    fields = [Field(name, _type_from_table(kind), at) for name, kind, at in table["fields"]]
    return Layout(table["name"], tuple(fields))


def _type_from_table(table: Any) -> FieldType:
    if isinstance(table, str):
        return _SCALARS[table]
    if "shape" in table:
        return Array(_type_from_table(table["element"]), tuple(table["shape"]))  # type: ignore[arg-type]  # Array verifies it
    return from_table(table)


def difference(saved: Layout, given: Layout) -> str:
    """The difference between two layouts as text, for the first field that differs."""
    if saved.name != given.name:
        return f"it is {saved.name} in the checkpoint, and {given.name} is given"
    there, here = ({each.name: each for each in each.fields} for each in (saved, given))
    for name, field in there.items():
        if name not in here:
            return f"its field {name} ({_words(field)}) is missing in the class that is given"
        if (problem := _field(field, here[name])) is not None:
            return f"its field {name} is {problem}"
    for name, field in here.items():
        if name not in there:
            return f"its field {name} ({_words(field)}) is not in the checkpoint"
    return f"it has {saved.size} bytes in the checkpoint and {given.size} in the class given"


def _field(saved: Field, given: Field) -> str | None:
    if (str(saved.type), saved.offset) != (str(given.type), given.offset):
        return f"{_words(saved)} in the checkpoint and {_words(given)} in the class that is given"
    inner = [each.element if isinstance(each, Array) else each for each in (saved.type, given.type)]
    if isinstance(inner[0], Layout) and isinstance(inner[1], Layout) and inner[0] != inner[1]:
        return f"another class {inner[0].name}: {difference(inner[0], inner[1])}"
    return None


def _words(field: Field) -> str:
    return f"{field.type} at byte {field.offset}"

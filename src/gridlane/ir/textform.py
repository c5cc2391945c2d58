"""The text form of an op, derived from its fields. The printer and the parser both follow it.

    %7: f32, %8: b1 = shuffle idx, %1, %2, %3, %4 [attribute=value] { region } label { region }

Results with their types; the op's name; operands and attributes without a default, in the order of
the class; attributes with one, where they differ from it, in brackets; regions, where every one
but the first has its field's name in front and is left out when empty. A field ``type`` or
``types`` is not written: it is the results' types.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import cache
from typing import Any

from gridlane.core.frozen import frozen
from gridlane.ir.op import FieldKind, Op

PARAM_DEFAULTS: dict[str, Any] = {
    "argument": 0,
    "path": (),
    "noalias": False,
    "readonly": False,
    "align": 0,
    "mapped": False,
    "by_value": 0,
}
"""The attributes of a parameter, in the order of the text."""


@frozen
class FieldForm:
    """One field: its kind, its annotation, its default (MISSING when there is none)."""

    name: str
    kind: FieldKind
    annotation: str
    default: Any


@frozen
class TextForm:
    """The fields of an op class by their position in the text.

    ``from_results`` is the field that holds the results' types, or "".
    """

    positional: tuple[FieldForm, ...]
    bracketed: tuple[FieldForm, ...]
    regions: tuple[str, ...]
    from_results: str


@cache
def text_form(cls: type[Op]) -> TextForm:
    """The text form of an op class."""
    defaults = {item.name: item.default for item in fields(cls)}
    forms = [FieldForm(*item, defaults[item[0]]) for item in cls.LAYOUT]
    from_results = next((f.name for f in forms if f.name in ("type", "types")), "")
    shown = [f for f in forms if f.name != from_results and f.kind is not FieldKind.REGION]
    bracketed = [f for f in shown if f.kind is FieldKind.ATTRIBUTE and f.default is not MISSING]
    positional = [f for f in shown if f not in bracketed]
    return TextForm(tuple(positional), tuple(bracketed), cls.REGION_FIELDS, from_results)

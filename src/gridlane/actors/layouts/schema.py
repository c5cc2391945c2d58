"""Layouts: the fields of a structure in memory, their offsets and meanings.

One layout is written out for every language. All bytes are little-endian. A field has the next
offset that is a multiple of its alignment, as in C, and the size is a multiple of the largest
alignment. The alignment of a scalar is its size.
"""

from __future__ import annotations

import hashlib
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

from gridlane.core import argtypes
from gridlane.core.argtypes import ScalarType
from gridlane.core.errors import TypingError

SCALARS: tuple[ScalarType, ...] = tuple(
    each for each in argtypes.SCALARS if each is not argtypes.bfloat16
)
"""The scalars that a field may have: bool of one byte, integers and floats."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*_?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Array:
    """A field's array of fixed shape, whose last index is contiguous.

    Raises:
        TypingError: no type that a field may have, or no shape.
    """

    element: ScalarType | Layout
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if isinstance(self.element, Array):
            raise TypingError(
                f"an array of {self.element}: give it one shape, as in array(float32, 2, 3)"
            )
        _verify_type(self.element)
        if not self.shape or not all(_is_extent(each) for each in self.shape):
            raise TypingError(
                f"an array of shape {self.shape!r}: each extent is a whole number of 1 or more"
            )

    def __str__(self) -> str:
        name = self.element.name
        return f"{name}[{', '.join(map(str, self.shape))}]"

    @property
    def count(self) -> int:
        """Elements in all."""
        return prod(self.shape)


Element: TypeAlias = "ScalarType | Layout"
FieldType: TypeAlias = "ScalarType | Layout | Array"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a layout.

    Attributes:
        meaning: its contents, with their unit; a comment in every language. Comparisons ignore it.
        offset: its first byte.
    """

    name: str
    type: FieldType
    offset: int
    meaning: str = field(default="", compare=False)

    @property
    def size(self) -> int:
        """Bytes."""
        return size_of(self.type)

    @property
    def end(self) -> int:
        """The byte behind it."""
        return self.offset + self.size


@dataclass(frozen=True, slots=True)
class Layout:
    """A structure in memory; ``lay_out`` makes one of names and types.

    Attributes:
        meaning: its purpose; a comment in every language.
        size, align: in bytes.
        type_id: 64 bits that identify the layout in every process: a digest of its name and of the
            name, type and offset of each field. Meanings are not included.

    Raises:
        TypingError: no fields, two of one name, a name that not every language can spell, a type
            that a field cannot have, or offsets that are not C's.
    """

    name: str
    fields: tuple[Field, ...]
    meaning: str = field(default="", compare=False)
    size: int = field(init=False, compare=False)
    align: int = field(init=False, compare=False)
    type_id: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        verify_name(self.name, "layout")
        if not self.fields:
            raise TypingError(f"{self.name} has no fields: a layout has one or more")
        _verify_fields(self.name, self.fields)
        align = max(align_of(each.type) for each in self.fields)
        object.__setattr__(self, "align", align)
        object.__setattr__(self, "size", up(self.fields[-1].end, align))
        digest = hashlib.blake2b(canonical(self).encode(), digest_size=8).digest()
        object.__setattr__(self, "type_id", int.from_bytes(digest, "little"))

    def __str__(self) -> str:
        return self.name

    def __getitem__(self, name: str) -> Field:
        """The field of a name; KeyError when there is none."""
        for each in self.fields:
            if each.name == name:
                return each
        raise KeyError(name)

    def nested(self) -> Iterator[Layout]:
        """The layouts of its own fields, in order; one may come again."""
        for each in self.fields:
            element = each.type.element if isinstance(each.type, Array) else each.type
            if isinstance(element, Layout):
                yield element


Member: TypeAlias = "tuple[str, FieldType] | tuple[str, FieldType, str]"
"""A field to lay out: its name, type and meaning."""


def lay_out(name: str, *members: Member, meaning: str = "") -> Layout:
    """Make a layout of (name, type, meaning) for each field, with C's offsets.

    Raises:
        TypingError: see Layout.

    >>> from gridlane.core.argtypes import int8, int64
    >>> made = lay_out("Pair", ("a", int8), ("b", int64, "metres"))
    >>> made.size, [field.offset for field in made.fields]
    (16, [0, 8])
    """
    fields: list[Field] = []
    for title, type_, *notes in members:
        _verify_type(type_)
        end = fields[-1].end if fields else 0
        fields.append(Field(title, type_, up(end, align_of(type_)), *notes))
    return Layout(name, tuple(fields), meaning)


def size_of(type_: FieldType) -> int:
    """Bytes of a value in memory."""
    if isinstance(type_, Array):
        return type_.count * size_of(type_.element)
    return type_.size if isinstance(type_, Layout) else type_.itemsize


def align_of(type_: FieldType) -> int:
    """The number of which a value's address is a multiple."""
    if isinstance(type_, Array):
        return align_of(type_.element)
    return type_.align if isinstance(type_, Layout) else type_.itemsize


def up(offset: int, align: int) -> int:
    """The next multiple of an alignment.

    >>> up(9, 8), up(16, 8)
    (16, 16)
    """
    return -(-offset // align) * align


def canonical(layout: Layout) -> str:
    """The text whose digest is the type_id.

    >>> canonical(lay_out("Pair", ("a", argtypes.int8), ("b", Array(argtypes.int64, (2, 3)))))
    'Pair{a:int8@0;b:int64[2, 3]@8}56'
    """
    fields = ";".join(f"{f.name}:{_canonical_type(f.type)}@{f.offset}" for f in layout.fields)
    return f"{layout.name}{{{fields}}}{layout.size}"


def _canonical_type(type_: FieldType) -> str:
    if isinstance(type_, Array):
        return f"{_canonical_type(type_.element)}{list(type_.shape)}"
    return canonical(type_) if isinstance(type_, Layout) else type_.name


def verify_name(name: str, what: str) -> None:
    """Raise TypingError unless a name is one in every language, apart from reserved words."""
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise TypingError(
            f"{name!r} is no name of a {what} in every language: write ASCII letters, digits and "
            "single underscores, a letter first, and no keyword of Python"
        )


def _verify_fields(name: str, fields: tuple[Field, ...]) -> None:
    seen: set[str] = set()
    end = 0
    for each in fields:
        verify_name(each.name, "field")
        _verify_type(each.type)
        if each.name in seen:
            raise TypingError(f"{name} has two fields of the name {each.name}")
        if each.offset != up(end, align_of(each.type)):
            raise TypingError(
                f"{name}.{each.name} is at byte {each.offset}; C puts it at byte "
                f"{up(end, align_of(each.type))}: let lay_out place the fields"
            )
        seen.add(each.name)
        end = each.end


def _verify_type(type_: object) -> None:
    scalar = isinstance(type_, ScalarType) and type_ in SCALARS
    if scalar or isinstance(type_, Array | Layout):
        return
    allowed = ", ".join(map(str, SCALARS))
    raise TypingError(f"a field cannot be of type {type_}: use {allowed}, an array or a layout")


def _is_extent(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1

"""Layouts of classes: annotations of every kind, and refusals with the class's file and line."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Annotated, ClassVar

import numpy as np
import pytest

from gridlane import cuda
from gridlane.actors.layouts.blocks import Clock
from gridlane.actors.layouts.from_class import array, from_class
from gridlane.actors.layouts.schema import Array, lay_out
from gridlane.core import argtypes
from gridlane.core.argtypes import boolean, float16, float32, float64, int32, int64, uint8, uint16
from gridlane.core.errors import NameLookupError, TypingError


class Level:
    """A price level.

    More of it.
    """

    price: Annotated[float32, "dollars"]
    size: int32


class Book:
    known: ClassVar[int] = 3
    clock: Clock
    levels: array(Level, 2, 3)
    best: Level
    name: uint8[16]
    table: float32[2, 3]
    count: int
    mean: float
    done: bool
    wide: np.float64
    half: np.dtype("f2")
    grid: np.dtype(("u2", (2, 2)))
    default: cuda.int64 = 5


class Base:
    first: int32


class Derived(Base):
    second: uint8


def test_the_types() -> None:
    made = from_class(Book)
    level = lay_out("Level", ("price", float32), ("size", int32))
    assert made == lay_out(
        "Book",
        ("clock", Clock),
        ("levels", Array(level, (2, 3))),
        ("best", level),
        ("name", Array(uint8, (16,))),
        ("table", Array(float32, (2, 3))),
        ("count", int64),
        ("mean", float64),
        ("done", boolean),
        ("wide", float64),
        ("half", float16),
        ("grid", Array(uint16, (2, 2))),
        ("default", int64),
    )


def test_meanings() -> None:
    made = from_class(Level)
    assert made.meaning == "A price level." and made["price"].meaning == "dollars"


def test_fields_of_bases_come_first() -> None:
    assert [each.name for each in from_class(Derived).fields] == ["first", "second"]
    assert from_class(Derived).name == "Derived"


def test_names_of_the_dialect_need_no_import() -> None:
    """A string that the module does not have is one of gridlane's types."""
    module = ModuleType("written_elsewhere")
    sys.modules[module.__name__] = module
    try:
        code = "class One:\n a: 'uint32'\n b: 'f4[3]'\n c: 'array(int8, 2)'\n d: 'np.int8'\n"
        exec("import numpy as np\n" + code, vars(module))
        made = from_class(vars(module)["One"])
    finally:
        del sys.modules[module.__name__]
    assert [str(each.type) for each in made.fields] == ["uint32", "float32[3]", "int8[2]", "int8"]


def test_the_module_goes_before_the_dialect() -> None:
    module = ModuleType("written_elsewhere")
    sys.modules[module.__name__] = module
    try:
        vars(module)["uint32"] = argtypes.uint8
        exec("class One:\n a: 'uint32'\n", vars(module))
        assert from_class(vars(module)["One"]).size == 1
    finally:
        del sys.modules[module.__name__]


def test_local_names_are_passed() -> None:
    class Inner:
        a: int32

    class Outer:
        inner: Inner
        few: array(Inner, 2)

    assert from_class(Outer, {"Inner": Inner}).size == 12
    with pytest.raises(NameLookupError, match=r"Outer.inner: name 'Inner' is not defined.*names="):
        from_class(Outer)


def test_annotations_that_are_no_strings() -> None:
    made = type("Made", (), {"__annotations__": {"a": float32, "b": array(float32, 4), "c": Level}})
    assert from_class(made).size == 4 + 16 + 8


class Empty:
    pass


class Text:
    fine: int32
    word: str


class Numbers:
    z: cuda.complex64


class Pointer:
    z: float32[:]


class Brain:
    z: cuda.bfloat16


class Swapped:
    z: np.dtype(">i4")


class Dates:
    z: np.dtype("M8[ns]")


class Record:
    z: np.dtype([("a", "i4")])


class Itself:
    own: Itself


class Many:
    own: array(Many, 2)


class Left:
    same: int32


class Right:
    same: int32


class Both(Left, Right):
    other: int32


class Again(Left):
    same: int32


class Outer:
    inner: Text


class Unknown:
    z: nothing_of_this_name  # noqa: F821


class Wrong:
    z: float32[0]


class Nests:
    z: array(array(int32, 2), 3)


class Private:
    _hidden: int32


class Colour:
    lambda_: int32
    größe: int32


REFUSED = {
    Empty: ("Empty has no fields", "class Empty:"),
    Text: ("Text.word: 'str' is not the type of a field", "word: str"),
    Numbers: (r"'complex64' is not the type of a field: use float32\[2\]", "z: cuda.complex64"),
    Pointer: (r"a field has a fixed shape: float32\[16\]", "z: float32[:]"),
    Brain: ("'bfloat16' is not the type of a field", "z: cuda.bfloat16"),
    Swapped: ("bytes are little-endian", 'z: np.dtype(">i4")'),
    Dates: ("is not the type of a field: use bool", 'z: np.dtype("M8[ns]")'),
    Record: ("write a class", 'z: np.dtype([("a", "i4")])'),
    Itself: ("a value of Itself contains itself: Itself in Itself", "class Itself:"),
    Many: ("a value of Many contains itself", "class Many:"),
    Both: ("Both has two fields of the name same: of Right and of Left", "same: int32"),
    Again: ("Again has two fields of the name same: of Left and of Again", "same: int32"),
    Outer: ("Text.word: 'str' is not the type of a field", "word: str"),
    Unknown: ("name 'nothing_of_this_name' is not defined", "z: nothing_of_this_name"),
    Wrong: ("each extent is 1 or more", "z: float32[0]"),
    Nests: ("give it one shape", "z: array(array(int32, 2), 3)"),
    Private: ("'_hidden' is no name of a field in every language", "_hidden: int32"),
    Colour: ("'größe' is no name of a field in every language", "größe: int32"),
}


@pytest.mark.parametrize("cls", REFUSED)
def test_refused_with_the_line(cls: type) -> None:
    told, line = REFUSED[cls]
    with pytest.raises((TypingError, NameLookupError), match=told) as caught:
        from_class(cls)
    loc = caught.value.loc
    assert loc.file == __file__
    with open(__file__, encoding="utf-8") as file:
        assert file.readlines()[loc.line - 1].strip().startswith(line)
    assert f'File "{__file__}", line {loc.line}, in ' in str(caught.value)
    assert "^" in str(caught.value)


def test_the_caret_is_under_the_annotation() -> None:
    with pytest.raises(TypingError) as caught:
        from_class(Text)
    shown = str(caught.value).splitlines()
    assert shown[-2].endswith("word: str") and shown[-1].endswith("^" * len("word: str"))
    assert shown[-2].index("word") == shown[-1].index("^")


def test_both_places_of_a_name_that_comes_twice() -> None:
    with pytest.raises(TypingError) as caught:
        from_class(Both)
    related = caught.value.related[0][1]
    assert {caught.value.loc.function, related.function} == {"Left", "Right"}


def test_a_class_without_a_source() -> None:
    made = type("Made", (), {"__annotations__": {"a": list}})
    with pytest.raises(TypingError, match=r"Made.a: 'list' is not .*\n.*test_from_class.Made>"):
        from_class(made)

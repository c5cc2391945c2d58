"""Layouts as values: what they refuse, and what tells them apart."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from gridlane.actors.layouts.blocks import Clock, MessageHeader
from gridlane.actors.layouts.schema import Array, Field, Layout, align_of, lay_out, size_of
from gridlane.core.argtypes import (
    bfloat16,
    complex64,
    float32,
    int8,
    int16,
    int32,
    uint8,
    uint32,
    uint64,
)
from gridlane.core.errors import TypingError


def test_alignment_is_natural() -> None:
    inner = lay_out("Inner", ("a", uint8), ("b", int16))
    made = lay_out("Outer", ("a", int8), ("b", inner), ("c", Array(uint64, (2, 3))), ("d", uint8))
    assert (inner.size, inner.align) == (4, 2)
    assert [each.offset for each in made.fields] == [0, 2, 8, 56]
    assert (made.size, made.align) == (64, 8)
    assert size_of(Array(inner, (2, 5))) == 40 and align_of(Array(inner, (2, 5))) == 2
    assert made["c"].size == 48 and str(made["c"].type) == "uint64[2, 3]"
    with pytest.raises(KeyError):
        made["e"]


def test_they_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Clock.name = "Time"  # type: ignore[misc]
    assert not hasattr(Clock, "__dict__") and not hasattr(Clock.fields[0], "__dict__")


def test_the_type_id_is_the_same_in_every_process() -> None:
    assert Clock.type_id == 0xD37BF60D361C892C
    assert MessageHeader.type_id == 0xEEAEB340EA3D9418


ORDER = lay_out("Order", ("price", float32), ("size", int32))
OTHERS = {
    "name": lay_out("Offer", ("price", float32), ("size", int32)),
    "field": lay_out("Order", ("cost", float32), ("size", int32)),
    "type": lay_out("Order", ("price", float32), ("size", uint32)),
    "order": lay_out("Order", ("size", int32), ("price", float32)),
    "more": lay_out("Order", ("price", float32), ("size", int32), ("id", uint8)),
    "shape": lay_out("Order", ("price", Array(float32, (1,))), ("size", int32)),
    "nested": lay_out("Order", ("price", lay_out("P", ("x", float32))), ("size", int32)),
}


@pytest.mark.parametrize("changed", OTHERS)
def test_what_changes_the_type_id(changed: str) -> None:
    assert OTHERS[changed].type_id != ORDER.type_id and OTHERS[changed] != ORDER


def test_a_field_of_a_nested_layout_changes_the_type_id() -> None:
    inner = [lay_out("Inner", (name, float32)) for name in ("a", "b")]
    outer = [lay_out("Outer", ("inner", Array(each, (2,)))) for each in inner]
    assert outer[0].type_id != outer[1].type_id


def test_meanings_do_not() -> None:
    told = lay_out("Order", ("price", float32, "dollars"), ("size", int32), meaning="An order.")
    assert told == ORDER and hash(told) == hash(ORDER) and told.type_id == ORDER.type_id


REFUSED = {
    "no fields": lambda: lay_out("Empty"),
    "two fields of the name a": lambda: lay_out("Pair", ("a", int8), ("a", int8)),
    "cannot be of type complex64": lambda: lay_out("One", ("a", complex64)),  # type: ignore[arg-type]
    "cannot be of type bfloat16": lambda: lay_out("One", ("a", bfloat16)),
    r"shape \(0,\)": lambda: Array(int8, (0,)),
    r"shape \(2, -1\)": lambda: Array(int8, (2, -1)),
    r"shape \(\)": lambda: Array(int8, ()),
    r"shape \(True,\)": lambda: Array(int8, (True,)),
    "give it one shape": lambda: Array(Array(int8, (2,)), (3,)),  # type: ignore[arg-type]
    "'größe' is no name of a field": lambda: lay_out("One", ("größe", int8)),
    "'_a' is no name of a field": lambda: lay_out("One", ("_a", int8)),
    "'a__b' is no name of a field": lambda: lay_out("One", ("a__b", int8)),
    "'in' is no name of a field": lambda: lay_out("One", ("in", int8)),
    "'1st' is no name of a layout": lambda: lay_out("1st", ("a", int8)),
    "C puts it at byte 2": lambda: Layout("One", (Field("a", int8, 0), Field("b", int16, 1))),
    "C puts it at byte 0": lambda: Layout("One", (replace(Clock.fields[0], offset=8),)),
}


@pytest.mark.parametrize("told", REFUSED)
def test_refused(told: str) -> None:
    with pytest.raises(TypingError, match=told):
        REFUSED[told]()

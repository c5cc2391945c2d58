"""Members of an IntEnum are numbers; ``is`` tells them apart from other enums and from numbers.
A variable may hold one of the members of an Enum that is no number."""

from __future__ import annotations

from enum import Enum, Flag, IntEnum, StrEnum

import numpy as np
import pytest
from tests.frontends.running import device, launch, module_of

from gridlane.core.errors import TypingError


class Color(IntEnum):
    RED = 1
    BLUE = 2


class Shape(IntEnum):
    CIRCLE = 1
    SQUARE = 2


def test_identity_of_members():
    def kernel(x, member, out):
        one = 1
        chosen = Color.RED if x[0] > 1 else Color.BLUE
        out[0] = Color.RED is Color.RED
        out[1] = Color.RED is not Color.BLUE
        out[2] = Color.RED is Shape.CIRCLE
        out[3] = Color.RED is one
        out[4] = x[0] is Color.BLUE
        out[5] = x[0] + 1 is not Color.BLUE
        out[6] = chosen is Color.RED
        out[7] = member is Color.RED
        out[8] = x[0] == Color.BLUE

    out = np.full(9, 7)
    launch(kernel, 1, 1, np.array([2]), 1, out)
    assert out.tolist() == [1, 1, 0, 0, 0, 1, 1, 1, 1]


def test_members_are_numbers():
    def kernel(x, out):
        out[0] = Color.BLUE + 1
        out[1] = -Color.BLUE
        out[2] = x[Color.RED] * Color.BLUE

    out = np.zeros(3, np.int64)
    launch(kernel, 1, 1, np.array([5, 7]), out)
    assert out.tolist() == [3, -2, 14]


class Metal(Enum):
    IRON = 26
    COPPER = 29.5
    TIN = 50
    SN = 50


class Axis(Enum):
    X = (1, 2.5)
    Y = (3, 4.5)


class Name(StrEnum):
    A = "a"
    B = "b"


class Mixed(Enum):
    ONE = 1
    TWO = "two"


class Same(Enum):
    ONE = 1
    TWO = 2

    def __eq__(self, other):
        return True

    __hash__ = Enum.__hash__


class Right(Flag):
    READ = 1
    WRITE = 2


@device
def softer(metal):
    if metal is Metal.IRON:
        return Metal.COPPER
    return Metal.TIN


def each(kernel, count, dtype=np.float64):
    """What a kernel writes for x = 0 and for x = 1."""
    found = []
    for x in (0, 1):
        out = np.full(count, 7, dtype)
        launch(kernel, 1, 1, np.array([x]), out)
        found.append(out.tolist())
    return found


def test_a_variable_holds_one_of_two_members():
    def kernel(x, out):
        metal = Metal.IRON if x[0] else Metal.SN
        out[0] = metal == Metal.IRON
        out[1] = metal != Metal.TIN
        out[2] = metal is Metal.TIN
        out[3] = metal in (Metal.IRON, Metal.COPPER)
        out[4] = metal.value
        out[5] = metal is Shape.CIRCLE
        out[6] = metal == 26
        out[7] = 1 if metal else 0

    assert each(kernel, 8) == [[0, 0, 1, 0, 50, 0, 0, 1], [1, 1, 0, 1, 26, 0, 0, 1]]


def test_members_through_branches_loops_and_functions():
    def kernel(x, out):
        metal = Metal.IRON
        if x[0]:
            metal = Metal.TIN
        other = metal
        for i in range(3):
            out[i] = metal.value
            metal = softer(metal)
        out[3] = metal is other
        out[4] = metal == softer(other)

    assert each(kernel, 5) == [[26, 29.5, 50, 0, 0], [50, 50, 50, 1, 1]]


def test_values_that_are_tuples_and_classes_that_are_text():
    def kernel(x, out):
        axis = Axis.X if x[0] else Axis.Y
        out[0] = axis.value[0] + axis.value[1]
        name = Name.A if x[0] else Name.B
        out[1] = name == "a"
        out[2] = name is Name.B

    assert each(kernel, 3) == [[7.5, 0, 1], [3.5, 1, 0]]


def test_values_of_an_int_enum():
    def kernel(x, out):
        color = Color.RED if x[0] else Color.BLUE
        out[0] = Color.BLUE.value
        out[1] = color.value + color
        out[2] = color is Color.RED
        out[3] = color is Shape.CIRCLE
        out[4] = len(Color.BLUE.name)
        color = Color.BLUE
        for i in range(2):
            if color > 1:
                out[5] = color.value
            color = Color.RED

    assert each(kernel, 6) == [[2, 4, 0, 0, 4, 2], [2, 2, 1, 0, 4, 2]]


def named(x, out):
    metal = Metal.IRON if x[0] else Metal.TIN
    out[0] = len(metal.name)


def of_mixed(x, out):
    out[0] = (Mixed.ONE if x[0] else Mixed.TWO).value


def of_two(x, out):
    member = Metal.IRON if x[0] else Axis.X
    out[0] = member is Axis.X


def in_their_own_way(x, out):
    member = Same.ONE if x[0] else Same.TWO
    out[0] = member == Same.ONE


def truth_of_flags(x, out):
    if Right.READ if x[0] else Right.WRITE:
        out[0] = 1


def number_of_a_member(x, out):
    out[0] = Metal.IRON if x[0] else Metal.TIN


def ordered(x, out):
    out[0] = (Metal.IRON if x[0] else Metal.TIN) < Metal.TIN


def value_of_a_number(x, out):
    out[0] = x[0].value


REFUSED = {
    named: "name of a member of Metal that is known at run time",
    of_mixed: "values of Mixed have no type in common",
    of_two: "no common type",
    in_their_own_way: "Same compares its members in a way of its own",
    truth_of_flags: "members of Right can be false",
    number_of_a_member: "not a member of Metal",
    ordered: "a member of Metal < .* is not defined",
    value_of_a_number: "int64 has no attribute value",
}


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda kernel: kernel.__name__)
def test_what_cannot_be_told_is_refused(kernel):
    with pytest.raises(TypingError, match=REFUSED[kernel]):
        module_of(kernel, np.array([1]), np.zeros(1))

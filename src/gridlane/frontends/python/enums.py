"""A variable that holds a member of an Enum: the index of the member in its class."""

from __future__ import annotations

import enum
from typing import Any

from gridlane.core import enums
from gridlane.core.dtypes import DType, b1, i64
from gridlane.core.errors import TypingError
from gridlane.frontends.python.constants import operand_of
from gridlane.frontends.python.conversion import convert
from gridlane.frontends.python.operands import EnumMember, EnumVariable, Operand, Scalar, Static
from gridlane.frontends.python.specs import Spec, flatten, ir_types, rebuild, spec_of
from gridlane.frontends.python.translator import Translator
from gridlane.ir.values import Value


def place_of(t: Translator, side: Operand, cls: type[enum.Enum]) -> Value | None:
    """The index of a member of a class; None for any other object."""
    if isinstance(side, EnumVariable):
        return side.place if side.cls is cls else None
    if isinstance(side, Static) and type(side.object) is cls:
        place = enums.index_of(side.object)
        return None if place is None else t.b.const(place, i64)
    return None


def equal(t: Translator, lhs: Operand, rhs: Operand) -> Value:
    """``lhs == rhs``, if one of them is a variable.

    Raises:
        TypingError: the class compares its members by a method of its own.
    """
    variable, other = (lhs, rhs) if isinstance(lhs, EnumVariable) else (rhs, lhs)
    assert isinstance(variable, EnumVariable)
    how = enums.equality(variable.cls)
    if how == "own":
        raise t.fail(
            TypingError,
            f"{variable.cls.__name__} compares its members in a way of its own, and which member "
            "the variable holds is known at run time; compare with `is`",
        )
    if how == "value" and isinstance(other, Static):
        return _where(t, variable, lambda member: member == other.object)
    return same(t, variable, other)


def same(t: Translator, lhs: Operand, rhs: Operand) -> Value:
    """``lhs is rhs``, if one of them is a variable."""
    variable, other = (lhs, rhs) if isinstance(lhs, EnumVariable) else (rhs, lhs)
    assert isinstance(variable, EnumVariable)
    place = place_of(t, other, variable.cls)
    return t.b.const(False, b1) if place is None else t.b.eq(variable.place, place)


def _where(t: Translator, variable: EnumVariable, test: Any) -> Value:
    """Whether the variable holds one of the members that pass a test."""
    is_member = t.b.const(False, b1)
    for number, member in enumerate(variable.cls):
        if test(member):
            is_member = t.b.or_(is_member, t.b.eq(variable.place, t.b.const(number, i64)))
    return is_member


def attribute(t: Translator, base: EnumVariable | EnumMember, name: str) -> Operand | None:
    """``base.value``, and ``base.name`` of a member that is known now.

    Raises:
        TypingError: the values have no type in common, or the name is known at run time only.
    """
    if isinstance(base, EnumMember):
        return _of_number(t, base, name)
    if name != "value":
        raise t.fail(
            TypingError,
            f"{name} of a member of {base.cls.__name__} that is known at run time: kernels have "
            "its value, and ==, != and `is`",
        )
    values = [operand_of(t, member.value) for member in base.cls]
    spec = _common(t, values)
    if spec is None:
        kinds = ", ".join(dict.fromkeys(value.type_name for value in values))
        raise t.fail(
            TypingError,
            f"the values of {base.cls.__name__} have no type in common ({kinds}), and which "
            "member the variable holds is known at run time",
        )
    parts = flatten(convert(t, values[0], spec))
    for number, value in enumerate(values[1:], 1):
        here = t.b.eq(base.place, t.b.const(number, i64))
        pairs = zip(flatten(convert(t, value, spec)), parts, strict=True)
        parts = [t.b.select(here, new, old) for new, old in pairs]
    return rebuild(t.b, spec, iter(parts))


def _common(t: Translator, values: list[Operand]) -> Spec | None:
    """The spec of numbers, and of tuples of them, that all values convert to."""
    spec: Spec | None = None
    for value in values:
        own = spec_of(value)
        spec = own if spec is None or own is None else t.unify(spec, own)
        if spec is None:
            return None
    known = spec is not None and all(isinstance(kind, DType) for kind in ir_types(spec))
    return spec if known else None


def _of_number(t: Translator, base: EnumMember, name: str) -> Operand | None:
    """``value`` and ``name`` of a member of an IntEnum; None for other names."""
    if base.member is not None and name in ("value", "name"):
        return operand_of(t, getattr(base.member, name))
    members: Any = base.cls
    if name == "value" and all(type(m.value) is int and m.value == int(m) for m in members):
        return Scalar(base.value, base.lo, base.hi)
    return None

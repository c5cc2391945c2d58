"""Structs with attributes, for code that a program emits: numba's struct proxies."""

from __future__ import annotations

from typing import Any

from gridlane.core import argtypes
from gridlane.core.argtypes import ArgType
from gridlane.core.errors import UnsupportedError
from gridlane.cuda.extending.lowering.values import Lowered, items_of, operand_as
from gridlane.frontends.python.extensions import EXTENSIONS, is_users
from gridlane.frontends.python.operands import (
    ComplexNumber,
    Operand,
    Scalar,
    TupleOperand,
    UserValue,
)
from gridlane.frontends.python.results import spec_of_type
from gridlane.frontends.python.specs import ir_types, rebuild
from gridlane.frontends.python.translator import Translator


class StructProxy:
    """A struct whose members are its attributes. A member that is never set is zero."""

    def __init__(self, t: Translator, kind: ArgType, value: Any = None) -> None:
        self.__dict__["_t"], self.__dict__["_kind"] = t, kind
        self.__dict__["_members"] = _members(kind)
        known = [Lowered(t, each) for each in items_of(t, value)] if value is not None else []
        self.__dict__["_values"] = dict(zip(self._members, known))

    def __getattr__(self, name: str) -> Any:
        if name not in self._members:
            known = ", ".join(self._members)
            raise AttributeError(f"{self._kind} has no member {name}; it has {known}")
        return Lowered(self._t, self._item(name))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._members:
            getattr(self, name)
        self._values[name] = Lowered(self._t, operand_as(self._t, value, self._members[name]))

    def _item(self, name: str) -> Operand:
        known = self._values.get(name)
        return zero(self._t, self._members[name]) if known is None else known.operand

    def _getvalue(self) -> Lowered:
        items = tuple([self._item(name) for name in self._members])
        return Lowered(self._t, _assembled(self._kind, items))


def _members(kind: ArgType) -> dict[str, ArgType]:
    if isinstance(kind, argtypes.ComplexType):
        part = argtypes.scalar_of(kind.part)
        return {"real": part, "imag": part}
    if isinstance(kind, argtypes.TupleType):
        names = kind.fields or [f"f{n}" for n in range(len(kind.items))]
        return dict(zip(names, kind.items))
    if is_users(kind):
        return dict(EXTENSIONS.structure(kind))
    raise UnsupportedError(
        f"a struct of {kind} cannot be taken apart: emit code for numbers, complex numbers, tuples "
        "and types with a StructModel, and write the rest in Python, with @overload"
    )


def _assembled(kind: ArgType, items: tuple[Operand, ...]) -> Operand:
    if isinstance(kind, argtypes.ComplexType):
        real, imag = items
        assert isinstance(real, Scalar) and isinstance(imag, Scalar)
        return ComplexNumber(real.value, imag.value)
    if isinstance(kind, argtypes.TupleType):
        return TupleOperand(items, kind.fields, kind.cls)
    return UserValue(kind, items)


def zero(t: Translator, kind: ArgType) -> Operand:
    """The value of a type whose numbers are all zero."""
    spec = spec_of_type(kind)
    return rebuild(t.b, spec, iter([t.b.zero(each) for each in ir_types(spec)]))

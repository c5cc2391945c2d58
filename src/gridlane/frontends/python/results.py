"""Conversion between users' types and specs, for device functions compiled by themselves."""

from __future__ import annotations

from gridlane.core import argtypes
from gridlane.core.argtypes import ArgType
from gridlane.core.errors import TypingError
from gridlane.frontends.python.extensions import EXTENSIONS, is_users
from gridlane.frontends.python.layout import element_type, memory_type, pointee
from gridlane.frontends.python.specs import (
    ArraySpec,
    CharsSpec,
    ComplexSpec,
    FragmentSpec,
    LiteralSpec,
    MemberSpec,
    OptionalSpec,
    PointerSpec,
    RecordSpec,
    RecordValueSpec,
    ScalarSpec,
    Spec,
    StaticSpec,
    TimeSpec,
    TupleSpec,
    UserSpec,
    VectorSpec,
    plain_spec,
)
from gridlane.ir.types import Space, pointer

_TYPED = (ArraySpec, CharsSpec, PointerSpec, RecordSpec, TimeSpec, UserSpec, VectorSpec)
"""The specs that have the user's type."""


def spec_of_type(kind: ArgType) -> Spec:
    """The spec of an argument of a type."""
    plain = plain_spec(kind)
    if plain is not None:
        return plain
    if isinstance(kind, argtypes.ArrayType):
        return ArraySpec(kind, pointer(element_type(kind), Space.GLOBAL))
    if isinstance(kind, argtypes.RecordType):
        return RecordSpec(kind, pointer(memory_type(kind), Space.GLOBAL))
    if isinstance(kind, argtypes.CPointerType):
        return PointerSpec(kind, pointer(pointee(kind), Space.GLOBAL))
    if isinstance(kind, argtypes.TupleType):
        return TupleSpec(tuple([spec_of_type(item) for item in kind.items]), kind.fields, kind.cls)
    if isinstance(kind, argtypes.EnumType):
        number = kind.number
        if number is None:
            return MemberSpec(kind.cls)
        return ScalarSpec(number.dtype, number.dtype.min, number.dtype.max, kind.cls)
    if isinstance(kind, argtypes.NoneType):
        return StaticSpec(None)
    if isinstance(kind, argtypes.OptionalType):
        return OptionalSpec((spec_of_type(kind.type),))
    if is_users(kind):
        members = EXTENSIONS.structure(kind)
        return UserSpec(kind, tuple([spec_of_type(member) for _, member in members]))
    raise TypingError(f"a device function cannot take an argument of type {kind}")


def result_type(spec: Spec) -> ArgType:
    """The user's type of a result."""
    if isinstance(spec, ScalarSpec | LiteralSpec):
        return argtypes.scalar_of(spec.dtype)
    if isinstance(spec, MemberSpec):
        return argtypes.EnumType.of(spec.cls)
    if isinstance(spec, ComplexSpec):
        return argtypes.complex_of(spec.part)
    if isinstance(spec, _TYPED):
        return spec.type
    if isinstance(spec, RecordValueSpec):
        raise TypingError(
            "a function that is compiled by itself cannot return a record; return its fields"
        )
    if isinstance(spec, FragmentSpec):
        raise TypingError(f"a function that is compiled by itself cannot return {spec.type}")
    if isinstance(spec, OptionalSpec):
        return argtypes.OptionalType(result_type(spec.items[0]))
    if isinstance(spec, TupleSpec):
        items = tuple([result_type(item) for item in spec.items])
        return argtypes.TupleType(items, spec.fields, spec.cls)
    return argtypes.none

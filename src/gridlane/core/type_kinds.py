"""Kinds of types, by which functions that choose an implementation distinguish types.

``isinstance(kind, Integer)`` holds for int32 as for uint8. A program may derive a type of its own
from a kind. Literal types are those of constants: a type with its value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gridlane.core import argtypes
from gridlane.core.argtypes import (
    ArgType,
    CharsType,
    ComplexType,
    EnumType,
    ScalarType,
    TimeType,
    TupleType,
)

Test = Callable[[ArgType], bool]


class KindOfType(type):
    """The class of kinds: an instance check by a predicate, and a call that may make a type.

    Classes that are derived from a kind are ordinary classes.
    """

    _test: Test | None = None
    _make: Callable[..., ArgType] | None = None

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        test = cls.__dict__.get("_test")
        return test is not None and isinstance(instance, ArgType) and test(instance)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        make = cls.__dict__.get("_make")
        return super().__call__(*args, **kwargs) if make is None else make(*args, **kwargs)


def _kind(
    name: str,
    doc: str,
    test: Test,
    make: Callable[..., ArgType] | None = None,
    base: type[ArgType] = ArgType,
) -> Any:
    members: dict[str, Any] = {"__doc__": doc, "__module__": __name__, "_test": staticmethod(test)}
    if make is not None:
        members["_make"] = staticmethod(make)
    return KindOfType(name, (base,), members)


def _is_scalar(kind: ArgType) -> bool:
    return isinstance(kind, ScalarType)


def _is_integer(kind: ArgType) -> bool:
    return isinstance(kind, ScalarType) and kind.dtype.is_integer and not kind.dtype.is_bool


def _is_float(kind: ArgType) -> bool:
    return isinstance(kind, ScalarType) and kind.dtype.is_float


def _is_boolean(kind: ArgType) -> bool:
    return isinstance(kind, ScalarType) and kind.dtype.is_bool


def _is_number(kind: ArgType) -> bool:
    return isinstance(kind, ComplexType) or (_is_scalar(kind) and not _is_boolean(kind))


def _is_uniform(kind: ArgType) -> bool:
    return isinstance(kind, TupleType) and not kind.cls and len(set(kind.items)) == 1


def _tuple(items: Any) -> TupleType:
    return TupleType(tuple(items))


def _uniform(dtype: ArgType, count: int) -> TupleType:
    return TupleType((dtype,) * count)


def _named(items: Any, cls: Any) -> TupleType:
    return TupleType(tuple(items), cls._fields, cls)


def _is_named(kind: ArgType) -> bool:
    return isinstance(kind, TupleType) and kind.cls is not None


def _is_date(kind: ArgType) -> bool:
    return isinstance(kind, TimeType) and not kind.is_span


def _is_span(kind: ArgType) -> bool:
    return isinstance(kind, TimeType) and kind.is_span


def _date(unit: str = "generic", /, *, is_span: bool = False) -> TimeType:
    """The type of a unit such as ``"ns"`` or ``"25s"``; of none, generic."""
    letter = "m8" if is_span else "M8"
    return TimeType.of(np.dtype(letter if unit in ("", "generic") else f"{letter}[{unit}]"))


def _is_text(kind: ArgType) -> bool:
    return isinstance(kind, CharsType) and not kind.is_bytes


def _is_bytes(kind: ArgType) -> bool:
    return isinstance(kind, CharsType) and kind.is_bytes


def _complex(name: str, underlying_float: Any) -> ComplexType:
    """The type of complex numbers of two floats.

    Raises:
        TypeError: there is none of this name.
    """
    known = {str(kind): kind for kind in _COMPLEX}
    complex_type = known.get(name)
    if complex_type is None or complex_type.underlying_float != underlying_float:
        raise TypeError(f"there is no complex type {name} of two {underlying_float}")
    return complex_type


_COMPLEX = argtypes.complex32, argtypes.complex64, argtypes.complex128


def _chars(count: int, /, *, letter: str) -> CharsType:
    """The type of strings of a width.

    Raises:
        TypeError: the width is 0.
    """
    return CharsType.of(np.dtype(f"{letter}{count}"))


Number = _kind("Number", "Integers, floats and complex numbers.", _is_number)
Integer = _kind("Integer", "Integers.", _is_integer, base=Number)
Float = _kind("Float", "Real floating-point numbers.", _is_float, base=Number)
Complex = _kind(
    "Complex", "Complex numbers.", lambda k: isinstance(k, ComplexType), _complex, Number
)
Boolean = _kind("Boolean", "Bools.", _is_boolean)
BaseTuple = _kind("BaseTuple", "Tuples.", lambda k: isinstance(k, TupleType))
Tuple = _kind("Tuple", "A tuple of types.", lambda k: isinstance(k, TupleType), _tuple, BaseTuple)
UniTuple = _kind("UniTuple", "Items of one type.", _is_uniform, _uniform, BaseTuple)
NamedTuple = _kind("NamedTuple", "A namedtuple's instances.", _is_named, _named, BaseTuple)
EnumMember = _kind("EnumMember", "Members of an Enum.", lambda k: isinstance(k, EnumType))
NPDatetime = _kind("NPDatetime", "numpy's datetime64 of a unit.", _is_date, _date)
NPTimedelta = _kind(
    "NPTimedelta", "numpy's timedelta64 of a unit.", _is_span, partial(_date, is_span=True)
)
UnicodeCharSeq = _kind(
    "UnicodeCharSeq", "numpy's strings of a width.", _is_text, partial(_chars, letter="U")
)
CharSeq = _kind("CharSeq", "numpy's bytes of a width.", _is_bytes, partial(_chars, letter="S"))
AnyKind = _kind("Any", "Every type.", lambda k: True)


# ---- what only functions that choose an implementation see


class Opaque(ArgType):
    """A type whose values have no data in a kernel; programs derive theirs from it."""


class Dummy(Opaque):
    """As Opaque."""


class UnicodeType(ArgType):
    """The type of a str."""

    def __init__(self) -> None:
        super().__init__("unicode_type")


class Literal(ArgType):
    """The type of a constant.

    Attributes:
        literal_value: the constant.
        literal_type: the type without it.
    """

    literal_value: Any
    literal_type: ArgType

    def __init__(self, value: Any, kind: ArgType) -> None:
        ArgType.__init__(self, f"Literal[{kind}]({value!r})")
        self.literal_value, self.literal_type = value, kind


class IntegerLiteral(Literal, Integer):
    """The type of a constant integer, which is an int64 where its type is not given."""

    def __init__(self, value: int, kind: ArgType = argtypes.int64) -> None:
        super().__init__(value, kind)


class BooleanLiteral(Literal, Boolean):
    """The type of a constant bool."""

    def __init__(self, value: bool, kind: ArgType = argtypes.boolean) -> None:
        super().__init__(value, kind)


class StringLiteral(Literal, UnicodeType):
    """The type of a constant str."""

    def __init__(self, value: str, kind: ArgType | None = None) -> None:
        super().__init__(value, kind or unicode_type)


class Object(ArgType):
    """The type of an object that a kernel only names: a function, a class, a type.

    Attributes:
        value: the object.
    """

    value: Any

    def __init__(self, value: Any) -> None:
        super().__init__(f"{type(self).__name__}({_name_of(value)})")
        self.value = value

    @property
    def key(self) -> Any:
        return id(self.value)


def _name_of(value: Any) -> str:
    return str(getattr(value, "__qualname__", None) or getattr(value, "__name__", value))


class Function(Object):
    """A function."""


class Dispatcher(Function):
    """A device function: ``dispatcher`` is the object that the kernel names."""

    @property
    def dispatcher(self) -> Any:
        """The object."""
        return self.value


class NumberClass(Function):
    """A type of numbers, which a kernel calls to convert: ``instance_type`` is the type."""

    @property
    def instance_type(self) -> ArgType:
        """The type of the numbers."""
        return self.value

    @property
    def dtype(self) -> ArgType:
        """The type of the numbers, as of a dtype."""
        return self.value


class DType(NumberClass):
    """A dtype."""


class TypeRef(Object):
    """A class of types, on which class methods are found: ``instance_type`` is the class."""

    @property
    def instance_type(self) -> Any:
        """The class."""
        return self.value


class SliceType(ArgType):
    """A slice."""


unicode_type = UnicodeType()


def literal(value: Any) -> ArgType:
    """The literal type of a constant.

    Raises:
        TypeError: there is none, as for floats.
    """
    if isinstance(value, bool):
        return BooleanLiteral(value, argtypes.boolean)
    if isinstance(value, int):
        wide = not -(2**63) <= value < 2**63
        return IntegerLiteral(value, argtypes.uint64 if wide else argtypes.int64)
    if isinstance(value, str):
        return StringLiteral(value, unicode_type)
    raise TypeError(f"{value!r} has no literal type: only ints, bools and strs have one")


def unliteral(kind: ArgType) -> ArgType:
    """A type without the constants in it."""
    if isinstance(kind, Literal):
        return kind.literal_type
    if type(kind) is TupleType:
        items = tuple(map(unliteral, kind.items))
        return kind if items == kind.items else TupleType(items, kind.fields, kind.cls)
    return kind

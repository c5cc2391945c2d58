"""A kernel's flat parameters from the types of its arguments: see "Flat parameters" in
README.md beside this file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core import argtypes
from gridlane.core.artifact import Path
from gridlane.core.dtypes import i64, u64
from gridlane.core.errors import TypingError
from gridlane.core.parameters import array_members
from gridlane.frontends.python.extensions import EXTENSIONS, is_users
from gridlane.frontends.python.layout import element_type, memory_type, pointee
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    ComplexNumber,
    EnumMember,
    EnumVariable,
    Operand,
    Pointer,
    RecordView,
    Scalar,
    Time,
    TupleOperand,
    UserValue,
    Vector,
)
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import memory
from gridlane.ir.types import Space, Type, pointer
from gridlane.ir.values import Param, Value

Add = Callable[[Type, Path], Value]


def kernel_parameters(
    t: Translator, names: list[str], args: tuple[argtypes.ArgType, ...]
) -> list[Operand]:
    """Append the flat parameters of all arguments; return the arguments' operands."""
    operands = []
    for number, (name, kind) in enumerate(zip(names, args, strict=True)):

        def add(type_: Type, path: Path, name: str = name, number: int = number) -> Value:
            value = Value(type_, name=_parameter_name(t, name, path))
            is_apart = t.unit.options.apart and path[-1:] == ("data",)
            t.b.function.params.append(Param(value, number, path, noalias=is_apart))
            t.parameters[value] = number
            return value

        operands.append(_operand(t, kind, (), add))
    return operands


def _parameter_name(t: Translator, name: str, path: Path) -> str:
    """``x``, ``x_shape0``, ``x_1_real``: a name that no other parameter has."""
    tail = "".join(f"_{part}" for part in path if part != "data")
    wanted = name + tail.replace("shape_", "shape").replace("strides_", "strides")
    taken = {param.value.name for param in t.b.function.params}
    while wanted in taken:
        wanted += "_"
    return wanted


def _operand(t: Translator, kind: argtypes.ArgType, path: Path, add: Add) -> Operand:
    maker = _MAKERS.get(type(kind))
    if maker is None and is_users(kind):
        return _user(t, kind, path, add)
    if maker is None:
        raise TypingError(f"a kernel cannot take an argument of type {kind}", t.b.loc)
    return maker(t, kind, path, add)


def _scalar(t: Translator, kind: argtypes.ScalarType, path: Path, add: Add) -> Operand:
    return Scalar(add(kind.dtype, path))


def _complex(t: Translator, kind: argtypes.ComplexType, path: Path, add: Add) -> Operand:
    real = add(kind.part, (*path, "real"))
    return ComplexNumber(real, add(kind.part, (*path, "imag")))


def _time(t: Translator, kind: argtypes.TimeType, path: Path, add: Add) -> Operand:
    return Time(kind, add(i64, path))


def _array(t: Translator, kind: argtypes.ArrayType, path: Path, add: Add) -> Operand:
    start, values = pointer(element_type(kind), Space.GLOBAL), dict[Path, Value]()
    for dtype, member in array_members(kind.ndim):
        values[member] = add(dtype or start, (*path, *member))
    axes = range(kind.ndim)
    shape = tuple([values[("shape", axis)] for axis in axes])
    strides = tuple([values[("strides", axis)] for axis in axes])
    array = ArrayView(kind, values[("data",)], shape, strides if kind.layout == "A" else ())
    t.unit.arguments[array.pointer] = array
    return array


def _tuple(t: Translator, kind: argtypes.TupleType, path: Path, add: Add) -> Operand:
    items = [_operand(t, item, (*path, n), add) for n, item in enumerate(kind.items)]
    return TupleOperand(tuple(items), kind.fields, kind.cls)


def _vector(t: Translator, kind: argtypes.VectorType, path: Path, add: Add) -> Operand:
    parts = [Scalar(add(kind.element.dtype, (*path, n))) for n in range(kind.count)]
    return Vector(tuple(parts))


def _record(t: Translator, kind: argtypes.RecordType, path: Path, add: Add) -> Operand:
    record = RecordView(kind, add(pointer(memory_type(kind), Space.GLOBAL), (*path, "record")))
    t.unit.arguments[record.pointer] = record
    return record


def _user(t: Translator, kind: argtypes.ArgType, path: Path, add: Add) -> Operand:
    """A value of a user's type, by the parameters of its members, as of a tuple's items."""
    members = enumerate(EXTENSIONS.structure(kind))
    return UserValue(kind, tuple([_operand(t, item, (*path, n), add) for n, (_, item) in members]))


def _member(t: Translator, kind: argtypes.EnumType, path: Path, add: Add) -> Operand:
    if kind.number is None:
        return EnumVariable(kind.cls, add(i64, path))
    return EnumMember(Scalar(add(kind.number.dtype, path)), kind.cls)


def _address(t: Translator, kind: argtypes.CPointerType, path: Path, add: Add) -> Operand:
    """An address, which a launch passes as a number."""
    there = memory.FromAddress(add(u64, path), pointer(pointee(kind), Space.GLOBAL))
    return Pointer(kind, t.b.value(there))


_MAKERS: dict[type[argtypes.ArgType], Callable[[Translator, Any, Path, Add], Operand]] = {
    argtypes.ScalarType: _scalar,
    argtypes.ComplexType: _complex,
    argtypes.TimeType: _time,
    argtypes.ArrayType: _array,
    argtypes.TupleType: _tuple,
    argtypes.VectorType: _vector,
    argtypes.RecordType: _record,
    argtypes.CPointerType: _address,
    argtypes.EnumType: _member,
    argtypes.NoneType: lambda t, kind, path, add: NONE,
}

"""Python objects that a kernel names, as operands: numbers, tuples and numpy arrays from closures
and globals freeze; everything else stays a compile-time object."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core import argtypes, dtypes, numpy_types
from gridlane.core.array_interface import ArrayMemory
from gridlane.core.device_errors import handled
from gridlane.core.dtypes import DType, b1, i64, u64
from gridlane.core.errors import ConstantError, DeviceError, GridlaneError, TypingError
from gridlane.core.source import Loc, describe
from gridlane.frontends.python.calls.registry import VALUES
from gridlane.frontends.python.doubles import Cause, captured, is_double
from gridlane.frontends.python.extensions import EXTENSIONS
from gridlane.frontends.python.layout import element_type, loose_type, memory_type
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    ComplexNumber,
    EnumMember,
    Operand,
    RecordView,
    Scalar,
    Static,
    TupleOperand,
    Vector,
)
from gridlane.frontends.python.scope import protocol
from gridlane.frontends.python.specs import flatten
from gridlane.frontends.python.times import constant_time
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import memory
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Value

Why = Callable[[Loc, Any, Value], Cause]


def integer_type(value: int) -> DType | None:
    """The type of an int literal: int64, or uint64 if only that holds it; else None."""
    if i64.min <= value <= i64.max:
        return i64
    return u64 if 0 <= value <= u64.max else None


def operand_of(t: Translator, value: Any, name: str = "", why: Why = captured) -> Operand:
    """The operand of a Python object. ``why``: the cause of one that is a float64."""
    operand = _operand_of(t, value, name)
    if t.causes is not None and isinstance(value, float | complex):
        parts = [part for part in flatten(operand) if is_double(part)]
        t.causes += [why(t.b.loc, value, part) for part in parts]
    return operand


def _operand_of(t: Translator, value: Any, name: str) -> Operand:
    maker = _MAKERS.get(type(value))
    if maker is not None:
        return maker(t, value)
    if isinstance(value, np.generic):
        return _numpy_scalar(t, value)
    for kind, make in _MAKERS_BY_BASE:
        if isinstance(value, kind):
            return make(t, value)
    if protocol(value, "__gridlane_value__") is not None:
        return VALUES[value](t)
    constant = EXTENSIONS.constant_of(value)
    if constant is not None:
        kind, emit = constant
        return emit(t, argtypes.Signature(kind, ()), [])
    memory = _memory(t, value, name)
    return Static(value) if memory is None else captured_array(t, memory)


def _memory(t: Translator, value: Any, name: str) -> ArrayMemory | None:
    """The memory that an object exposes.

    Raises:
        TypingError, DeviceError: kernels cannot use it.
    """
    what = f"the captured {type(value).__name__}" + (f" {name!r}" if name else "")
    try:
        return t.unit.around.memory(value)
    except DeviceError as error:
        handled(error)  # the next one has the place
        meaning = f"{error.meaning}\n  in {what}\n{describe(t.b.loc)}"
        raise DeviceError(error.name, error.number, meaning, error.advice) from None
    except GridlaneError as error:
        raise t.fail(TypingError, f"{what}: {error}") from None
    except Exception as error:  # the object's own property
        raised = f"{type(error).__name__}: {error}"
        raise t.fail(TypingError, f"{what} does not show its memory ({raised})") from error


def _int(t: Translator, value: int) -> Operand:
    dtype = integer_type(int(value))
    if dtype is None:
        raise ConstantError(f"{value} does not fit in 64 bits", t.b.loc)
    number = t.number(int(value), dtype)
    return EnumMember(number, type(value), value) if isinstance(value, enum.Enum) else number


def _complex(t: Translator, value: complex, part: DType | None = None) -> Operand:
    make = t.b.weak if part is None else t.b.const
    part = part or t.floating
    return ComplexNumber(make(value.real, part), make(value.imag, part))


def _float(t: Translator, value: float) -> Operand:
    """A Python float. Where it meets a float64, all its digits count, as in NumPy."""
    return Scalar(t.b.weak(float(value), t.floating))


def _tuple(t: Translator, value: tuple[Any, ...]) -> Operand:
    fields = getattr(type(value), "_fields", ())
    items = tuple([operand_of(t, item) for item in value])
    return TupleOperand(items, fields, type(value) if fields else None)


def _numpy_scalar(t: Translator, value: np.generic) -> Operand:
    dtype = dtypes.from_numpy(value.dtype)
    if dtype is not None:
        return t.number(value.item(), dtype)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return constant_time(t, value)
    if value.dtype.kind == "c":
        return _complex(t, complex(value), numpy_types.from_numpy(value.dtype).part)  # type: ignore  # a complex dtype
    vector = numpy_types.vector_of(value.dtype)
    if vector is not None:
        parts = [t.number(item, vector.element.dtype) for item in value.item()]
        return Vector(tuple(parts))
    if value.dtype.fields is not None:
        view = constant_array(t, np.array([value], value.dtype))
        return RecordView(view.type.element, view.pointer, True)  # type: ignore[arg-type]  # a record
    return Static(value)


def constant_array(t: Translator, array: np.ndarray) -> ArrayView:
    """A numpy array as constant memory of the module, which keeps its order, C or Fortran."""
    array = t.unit.around.array(array)
    element = _element_type(t, array)
    known = t.unit.arrays.get(id(array))
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    target = memory_type(element)
    if known is None:
        data = array.tobytes("F" if fortran else "C") or bytes(target.size)
        count = max(1, array.size)
        symbol = t.unit.add_global("constant", target, count, Space.CONSTANT, 16, data)
        known = t.unit.arrays[id(array)] = (array, symbol)
    layout = "F" if fortran else "C"
    kind = argtypes.ArrayType(element, array.ndim, layout, readonly=True)
    start = t.b.value(memory.GlobalAddress(known[1], pointer(target, Space.CONSTANT)))
    return ArrayView(kind, start, constant_shape(t, array.shape))


def captured_array(t: Translator, shown: ArrayMemory) -> ArrayView:
    """A device array from a global or closure: the kernel refers to its memory."""
    element = _element_type(t, np.empty(0, shown.dtype))
    layout = "C" if shown.strides is None else "A"
    kind = argtypes.ArrayType(element, len(shown.shape), layout, shown.readonly)
    held = element_type(kind)
    if isinstance(element, argtypes.VectorType) and shown.address % element.alignment:
        held = loose_type(element)
    pointed = pointer(held, Space.GLOBAL)
    start = t.b.value(memory.FromAddress(t.b.const(shown.address, u64), pointed))
    steps = constant_shape(t, shown.strides or ())
    return ArrayView(kind, start, constant_shape(t, shown.shape), steps)


def constant_shape(t: Translator, shape: tuple[int, ...]) -> tuple[Value, ...]:
    """A compile-time shape as values."""
    return tuple([t.b.const(extent, i64) for extent in shape])


def _element_type(t: Translator, array: np.ndarray) -> argtypes.ArgType:
    try:
        return numpy_types.from_numpy(array.dtype)
    except TypeError as error:
        raise TypingError(f"a global array cannot be used: {error}", t.b.loc) from None


_MAKERS: dict[type, Any] = {
    bool: lambda t, value: t.number(value, b1),
    int: _int,
    float: _float,
    complex: _complex,
    tuple: _tuple,
    np.ndarray: constant_array,
    type(None): lambda t, value: NONE,
    str: lambda t, value: Static(value),
    bytes: lambda t, value: Static(value),
}

_MAKERS_BY_BASE: tuple[tuple[type, Any], ...] = (
    (int, _int),
    (float, _float),
    (tuple, _tuple),
    (np.ndarray, constant_array),
)

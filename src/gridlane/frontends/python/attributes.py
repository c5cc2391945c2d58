"""``operand.name``, read and assigned."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gridlane.core import argtypes
from gridlane.core.dtypes import i64
from gridlane.core.errors import NameLookupError, TypingError
from gridlane.core.suggestions import did_you_mean
from gridlane.frontends.python import enums
from gridlane.frontends.python.array_expressions import memory_needed, viewed
from gridlane.frontends.python.chars import of_constant
from gridlane.frontends.python.constants import operand_of
from gridlane.frontends.python.conversion import strides_of
from gridlane.frontends.python.device_function import device_function_of
from gridlane.frontends.python.element_addresses import Place, item_of
from gridlane.frontends.python.extensions import EXTENSIONS
from gridlane.frontends.python.indexing import place_of, record_place
from gridlane.frontends.python.layout import memory_type
from gridlane.frontends.python.operands import (
    ArrayExpression,
    ArrayView,
    BoundMethod,
    Chars,
    ComplexNumber,
    Elements,
    EnumMember,
    EnumVariable,
    Operand,
    RangeOperand,
    RecordValue,
    RecordView,
    Scalar,
    Static,
    TupleOperand,
    UserValue,
    Vector,
)
from gridlane.frontends.python.records import UNCHANGED, field_of
from gridlane.frontends.python.stores import store
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unchanged import settle
from gridlane.frontends.python.vectors import component, unchanged
from gridlane.ir.builder import constant
from gridlane.ir.ops import memory
from gridlane.ir.values import Value

EXTENT = 1 << 48
"""The maximum extent of an array's axis: addresses have 48 bits."""


def attribute(t: Translator, base: Operand, name: str) -> Operand:
    """``base.name``."""
    if isinstance(base, Static):
        return _static(t, base, name)
    if isinstance(base, RecordView | RecordValue) and name == "dtype" and not _has(base, name):
        return Static(base.type)
    if isinstance(base, RecordView):
        if name == "copy" and not _has(base, name):
            return BoundMethod(base, name)
        return item_of(t, record_place(t, base, name))
    if isinstance(base, RecordValue):
        return field_of(t, base, name)
    if isinstance(base, ArrayExpression):
        return _of_expression(t, base, name)
    operand: Operand | None = None
    if isinstance(base, ArrayView):
        operand = _of_array(t, base, name)
    elif isinstance(base, TupleOperand) and not isinstance(base, Vector):
        operand = _of_tuple(t, base, name)
    elif isinstance(base, EnumVariable | EnumMember):
        operand = enums.attribute(t, base, name)
    if operand is None and isinstance(base, ComplexNumber | Scalar):
        operand = _number(t, base, name)
    if operand is not None:
        return operand
    if isinstance(base, Chars) and name in CHARS_METHODS:
        return BoundMethod(base, name)
    if isinstance(base, RangeOperand) and name in RANGE_PARTS:
        return getattr(base, name)
    if isinstance(base, Vector):
        return component(t, base, name)
    known = _attributes_of(base)
    close = did_you_mean(name, known.replace("()", "").split(", "))
    raise t.fail(
        TypingError,
        f"{base.type_name} has no attribute {name}"
        + (f"; it has {known}" if known else "")
        + close,
    )


def _of_array(t: Translator, base: ArrayView, name: str) -> Operand | None:
    operand = _ARRAY.get(name)
    if operand is not None:
        return operand(t, base)
    if name in ARRAY_METHODS:
        return BoundMethod(base, name)
    if name in ("real", "imag"):
        return _parts(t, base, name)
    if isinstance(base.type.element, argtypes.RecordType):
        return item_of(t, record_place_of_array(t, base, name))
    return None


def _of_tuple(t: Translator, base: TupleOperand, name: str) -> Operand | None:
    if name in base.fields:
        return base.items[base.fields.index(name)]
    if name in ("index", "count"):
        return BoundMethod(base, name)
    method = method_of(t, base, name)
    is_own = method is None and name == "_replace" and _has_own_replace(base.cls)
    return BoundMethod(base, name) if is_own else method


def _of_expression(t: Translator, base: ArrayExpression, name: str) -> Operand:
    """What is known of an expression without its elements, its transpose, or a reduction."""
    reduction = _SHAPED.get(name)
    if reduction is not None:
        return reduction(t, base)
    if name == "T":
        settle(t, base)
        return viewed(t, base, lambda each: transposed(t, each))
    if name in REDUCED:
        return BoundMethod(base, name)
    if name in _ARRAY or name in ARRAY_METHODS:
        raise memory_needed(t, base, f".{name}")
    raise t.fail(TypingError, f"{base.type_name} has no attribute {name}")


def _has(record: RecordView | RecordValue, name: str) -> bool:
    return record.type.place_of(name) is not None


def method_of(t: Translator, base: TupleOperand, name: str) -> BoundMethod | None:
    """A device function that is an attribute of a namedtuple's class."""
    if base.cls is None or base.cls.__dict__.get(name) is None:
        return None
    attribute = t.unit.around.attribute(base.cls, name)
    return None if device_function_of(attribute) is None else BoundMethod(base, name)


def _has_own_replace(cls: Any) -> bool:
    """Whether a class is a namedtuple, and ``_replace`` is not a method of the program."""
    code = getattr(getattr(cls, "_replace", None), "__code__", None)
    return code is not None and code.co_filename == namedtuple.__code__.co_filename


def record_place_of_array(t: Translator, base: ArrayView, name: str) -> Place:
    """``array.field`` of an array of records: a view."""
    return place_of(t, base, Static(name))


def _static(t: Translator, base: Static, name: str) -> Operand:
    text = base.object
    if isinstance(text, str | bytes) and name in CHARS_METHODS and text[-1:] not in _NULS:
        return BoundMethod(of_constant(t, text), name)
    try:
        value = t.unit.around.attribute(base.object, name)
    except AttributeError as error:
        text = str(error)
        if isinstance(base.object, ModuleType) and "did you mean" not in text:
            text += did_you_mean(name, dir(base.object))
        raise t.fail(NameLookupError, text) from None
    except Exception as error:  # of the object's own property
        raised = f"{type(error).__name__}: {error}"
        owner = type(base.object).__name__
        raise t.fail(TypingError, f"the {owner}'s attribute {name} raises {raised}") from error
    return operand_of(t, value, name)


def _number(t: Translator, base: ComplexNumber | Scalar, name: str) -> Operand | None:
    if name in ("conjugate", "conj"):
        return BoundMethod(base, "conjugate")
    if name == "bit_count" and isinstance(base, Scalar) and base.dtype.is_integer:
        return BoundMethod(base, name)
    if isinstance(base, ComplexNumber):
        return {"real": Scalar(base.real), "imag": Scalar(base.imag)}.get(name)
    if name == "real":
        return base
    return t.number(0, base.dtype) if name == "imag" else None


def extents(values: tuple[Value, ...]) -> TupleOperand:
    """Extents of an array as a tuple of int64."""
    return TupleOperand(tuple([extent(value) for value in values]))


def extent(value: Value) -> Scalar:
    """One extent: not negative."""
    known = constant(value)
    if type(known) is int:
        return Scalar(value, known, known)
    return Scalar(value, 0, EXTENT)


def size(t: Translator, base: Elements) -> Scalar:
    """The number of elements."""
    total = t.b.const(1, i64)
    for one in base.shape:
        total = t.b.mul(total, one)
    return extent(total)


def _parts(t: Translator, base: ArrayView, name: str) -> ArrayView:
    """The real or imaginary parts of an array, as a view."""
    element = base.type.element
    if not isinstance(element, argtypes.ComplexType):
        if name == "real":
            return base
        raise t.fail(TypingError, f"{base.type} has no imaginary parts")
    start = t.b.field_pointer(base.pointer, ("real", "imag").index(name))
    kind = argtypes.ArrayType(
        argtypes.scalar_of(element.part), base.type.ndim, "A", base.type.readonly
    )
    return ArrayView(kind, start, base.shape, strides_of(t, base))


def _strides(t: Translator, base: ArrayView) -> Operand:
    return TupleOperand(tuple([Scalar(value) for value in strides_of(t, base)]))


def _itemsize(t: Translator, base: Elements) -> Scalar:
    return t.integer(memory_type(base.type.element).size)


def _nbytes(t: Translator, base: Elements) -> Scalar:
    return extent(t.b.mul(size(t, base).value, _itemsize(t, base).value))


def _ctypes(t: Translator, base: ArrayView) -> Operand:
    """``array.ctypes``, whose ``data`` is the address of the first element."""
    return TupleOperand((Scalar(t.b.value(memory.Address(base.pointer))),), ("data",))


def transposed(t: Translator, base: ArrayView) -> ArrayView:
    """The view with its axes reversed."""
    kind = base.type
    layout = {"C": "F", "F": "C", "A": "A"}[kind.layout] if kind.ndim > 1 else kind.layout
    turned = argtypes.ArrayType(kind.element, kind.ndim, layout, kind.readonly)
    return ArrayView(turned, base.pointer, base.shape[::-1], base.strides[::-1])


_SHAPED: dict[str, Callable[[Translator, Elements], Operand]] = {
    "shape": lambda t, base: extents(base.shape),
    "ndim": lambda t, base: t.integer(base.type.ndim),
    "size": size,
    "itemsize": _itemsize,
    "nbytes": _nbytes,
    "dtype": lambda t, base: Static(base.type.element),
}
_ARRAY: dict[str, Callable[[Translator, ArrayView], Operand]] = {
    **_SHAPED,
    "strides": _strides,
    "T": transposed,
    "ctypes": _ctypes,
}

REDUCED = ("sum", "prod", "min", "max", "mean", "var", "std", "all", "any", "argmin", "argmax")
ARRAY_METHODS = ("view", "reshape", "ravel", "transpose", "copy", "item", "fill", *REDUCED)


RANGE_PARTS = ("start", "stop", "step")
CHARS_METHODS = ("startswith", "endswith", "find", "isascii")
_NULS = ("\0", b"\0")
"""The ends of constants that are longer than a string of an array can be."""


def _attributes_of(base: Operand) -> str:
    if isinstance(base, UserValue):
        members = EXTENSIONS.members
        return ", ".join(name for name in members if EXTENSIONS.members_of(base.type, name))
    if isinstance(base, ArrayView):
        return ", ".join((*_ARRAY, *(f"{name}()" for name in ARRAY_METHODS)))
    if isinstance(base, Chars):
        return ", ".join(f"{name}()" for name in CHARS_METHODS)
    if isinstance(base, RangeOperand):
        return ", ".join(RANGE_PARTS)
    return ", ".join(base.fields) if isinstance(base, TupleOperand) else ""


def set_attribute(t: Translator, base: Operand, name: str, value: Operand) -> None:
    """``base.name = value``: fields of records only."""
    if isinstance(base, UserValue):
        raise t.fail(
            TypingError,
            f"a value of {base.type} does not change: .{name} cannot be assigned; make another one",
        )
    if isinstance(base, RecordView):
        store(t, record_place(t, base, name), value)
        return
    if isinstance(base, RecordValue):
        raise t.fail(TypingError, f"{UNCHANGED}: .{name} cannot be assigned")
    if isinstance(base, Vector):
        raise t.fail(TypingError, unchanged(base, name))
    raise t.fail(
        TypingError,
        f"an attribute of {base.type_name} cannot be assigned; only fields of records can",
    )

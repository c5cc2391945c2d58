"""Methods of arrays, numbers and tuples."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import reduce

from gridlane.core import argtypes
from gridlane.core.dtypes import i64
from gridlane.core.errors import ConstantError, TypingError, UnsupportedError
from gridlane.frontends.python import chars
from gridlane.frontends.python.attributes import size, transposed
from gridlane.frontends.python.calls.casts import as_type
from gridlane.frontends.python.calls.reductions import REDUCTIONS
from gridlane.frontends.python.compare import compare
from gridlane.frontends.python.conversion import cast_scalar, integer
from gridlane.frontends.python.element_addresses import Place, load
from gridlane.frontends.python.indexing import subscript
from gridlane.frontends.python.layout import memory_type
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    BoundMethod,
    Chars,
    ComplexNumber,
    Elements,
    Operand,
    RecordView,
    Scalar,
    TupleOperand,
)
from gridlane.frontends.python.raising import guard
from gridlane.frontends.python.records import record_value
from gridlane.frontends.python.stores import broadcast_store, new_array, store
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.vector_memory import viewed
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Value


def call_method(
    t: Translator, method: BoundMethod, arguments: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    """``receiver.name(*arguments)``."""
    if keywords:
        raise t.fail(TypingError, f"the method {method.name} takes no keywords in a kernel")
    receiver = method.receiver
    if isinstance(receiver, ComplexNumber | Scalar):
        if method.name == "bit_count":
            return _bit_count(t, receiver)  # type: ignore[arg-type]  # an integer has it
        if isinstance(receiver, ComplexNumber):
            return ComplexNumber(receiver.real, t.b.neg(receiver.imag))
        return receiver
    if isinstance(receiver, RecordView):
        if arguments:
            raise t.fail(TypingError, "copy() of a record takes no arguments")
        return record_value(t, receiver.type, receiver)
    if isinstance(receiver, Chars):
        return _chars_method(t, receiver, method.name, arguments)
    if isinstance(receiver, TupleOperand):
        return _tuple_method(t, receiver, method.name, arguments)
    assert isinstance(receiver, Elements)
    reduce = REDUCTIONS.get(method.name)
    if reduce is None:
        assert isinstance(receiver, ArrayView)
        return _ARRAY[method.name](t, receiver, arguments)
    if arguments:
        raise t.fail(
            UnsupportedError,
            f"{method.name}() reduces the whole array in a kernel, without an axis: write a loop "
            "over the others",
        )
    return reduce(t, receiver)


def _chars_method(t: Translator, own: Chars, name: str, arguments: list[Operand]) -> Operand:
    """A method of a string: of one text, or of none."""
    wanted = 0 if name == "isascii" else 1
    if len(arguments) != wanted:
        takes = "one text" if wanted else "no arguments"
        raise t.fail(TypingError, f"{name}() takes {takes} in a kernel, not {len(arguments)}")
    if name == "isascii":
        return Scalar(chars.is_ascii(t, own))
    if name == "find":
        return chars.find(t, own, arguments[0])
    test = chars.starts_with if name == "startswith" else chars.ends_with
    return Scalar(test(t, own, arguments[0]))


def _bit_count(t: Translator, receiver: Scalar) -> Scalar:
    """The number of one bits of the magnitude, as in Python."""
    size = t.b.unary(arith.Abs, receiver.value) if receiver.dtype.is_signed else receiver.value
    count = Scalar(t.b.unary(arith.Popcount, size), 0, receiver.dtype.bits)
    return cast_scalar(t, count, i64)


def _tuple_method(
    t: Translator, receiver: TupleOperand, name: str, arguments: list[Operand]
) -> Operand:
    if name != "count" or len(arguments) != 1:
        raise t.fail(UnsupportedError, f"the method {name} of tuples cannot be compiled")
    total = t.b.const(0, i64)
    for item in receiver.items:
        same = compare(t, ast.Eq, item, arguments[0])
        total = t.b.add(total, t.b.cast(same, i64))
    return Scalar(total, 0, len(receiver.items))


def _require_c(t: Translator, array: ArrayView, name: str) -> None:
    if array.type.layout != "C":
        raise t.fail(
            TypingError,
            f"{name}() needs a C-contiguous array, not {array.type}; index it instead",
        )


def _view(t: Translator, array: ArrayView, arguments: list[Operand]) -> Operand:
    """A bitwise view as elements of another type."""
    if len(arguments) != 1:
        raise t.fail(TypingError, "view() takes a dtype")
    kind = as_type(t, arguments[0])
    old, new = memory_type(array.type.element), memory_type(kind)
    shape, strides = array.shape, array.strides
    if old.size != new.size:
        shape, strides = _resized(t, array, old.size, new.size)
    layout = argtypes.ArrayType(kind, array.type.ndim, array.type.layout, array.type.readonly)
    if isinstance(kind, argtypes.VectorType):
        return ArrayView(layout, viewed(t, array.pointer, kind), shape, strides)
    start = t.b.recast(array.pointer, pointer(new, array.space))
    return ArrayView(layout, start, shape, strides)


def _resized(
    t: Translator, array: ArrayView, old: int, new: int
) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """The shape and strides of a view with elements of another size: along the axis whose elements
    follow each other, the first of an F array, else the last.

    Raises:
        TypingError: there is no such axis, as far as is known now.
    """
    b, shape, strides = t.b, list(array.shape), list(array.strides)
    axis = 0 if array.type.layout == "F" else len(shape) - 1
    if not shape or (strides and constant(strides[axis]) != old):
        raise t.fail(
            TypingError,
            f"view() needs elements without gaps along the last axis, not {array.type}; index it "
            "instead",
        )
    # The rest of a row is left out: a buffer of bytes is viewed as what it begins with.
    bytes_ = b.mul(shape[axis], b.const(old, i64))
    shape[axis] = _quotient(t, bytes_, b.const(new, i64))
    if strides:
        strides[axis] = b.const(new, i64)
    return tuple(shape), tuple(strides)


def _reshape(t: Translator, array: ArrayView, arguments: list[Operand]) -> Operand:
    """A C array with other extents; one of them may be -1."""
    _require_c(t, array, "reshape")
    items = arguments
    if len(arguments) == 1 and isinstance(arguments[0], TupleOperand):
        items = list(arguments[0].items)
    numbers = [integer(t, item, "an integer extent") for item in items]
    total = size(t, array).value
    extents = _inferred(t, total, numbers)
    product = reduce(t.b.mul, extents, t.b.const(1, i64))
    _require_same(t, product, total, "reshape(): the number of elements stays the same")
    kind = argtypes.ArrayType(array.type.element, len(extents), "C", array.type.readonly)
    return ArrayView(kind, array.pointer, tuple(extents))


def _require_same(t: Translator, one: Value, other: Value, message: str) -> None:
    """Refuse numbers that are known to differ; check others in debug mode, as bounds are."""
    known = constant(one), constant(other)
    if None not in known:
        if known[0] != known[1]:
            raise t.fail(ConstantError, f"{message} ({known[0]}, not {known[1]})")
    elif t.unit.options.bounds:
        guard(t, t.b.not_(t.b.eq(one, other)), "ValueError", message)


def _quotient(t: Translator, whole: Value, part: Value) -> Value:
    """A number of elements or bytes divided by a positive one, as a constant where both are."""
    a, b = constant(whole), constant(part)
    if type(a) is int and type(b) is int and b > 0:
        return t.b.const(a // b, i64)
    return t.b.div(whole, part)


def _inferred(t: Translator, total: Value, numbers: list[Scalar]) -> list[Value]:
    """The extents of a new shape: a negative one is the size divided by the others."""
    b = t.b
    one = b.const(1, i64)
    extents = [b.cast(number.value, i64) for number in numbers]
    open_ = [n for n, number in enumerate(numbers) if not number.surely_not_negative]
    if sum(constant(extents[n]) == -1 for n in open_) > 1:
        raise t.fail(TypingError, "reshape() takes at most one -1")
    known = one
    for number, extent in enumerate(extents):
        known = b.mul(known, _where_negative(t, extent, one) if number in open_ else extent)
    rest = _quotient(t, total, known)
    for number in open_:
        extents[number] = _where_negative(t, extents[number], rest)
    return extents


def _where_negative(t: Translator, extent: Value, other: Value) -> Value:
    """An extent, or ``other`` where it is negative."""
    literal = constant(extent)
    if literal is not None:
        return other if literal < 0 else extent
    return t.b.select(t.b.lt(extent, t.b.const(0, i64)), other, extent)


def _ravel(t: Translator, array: ArrayView, arguments: list[Operand]) -> Operand:
    if arguments:
        raise t.fail(UnsupportedError, "ravel() takes no order in a kernel; its order is C's")
    _require_c(t, array, "ravel")
    kind = argtypes.ArrayType(array.type.element, 1, "C", array.type.readonly)
    return ArrayView(kind, array.pointer, (size(t, array).value,))


def _transpose(t: Translator, array: ArrayView, arguments: list[Operand]) -> Operand:
    if arguments:
        raise t.fail(UnsupportedError, "transpose() takes no axes in a kernel; index accordingly")
    return transposed(t, array)


def _copy(t: Translator, array: ArrayView, arguments: list[Operand]) -> Operand:
    """A copy in memory of the thread."""
    result = new_array(t, array.type.element, array.shape)
    broadcast_store(t, result, array)
    return result


def _item(t: Translator, array: ArrayView, arguments: list[Operand]) -> Operand:
    if arguments:
        return subscript(t, array, TupleOperand(tuple(arguments)))
    return load(t, array.pointer, array.type.element, array.type.readonly)


def _fill(t: Translator, array: ArrayView, arguments: list[Operand]) -> Operand:
    if len(arguments) != 1:
        raise t.fail(TypingError, "fill() takes one value")
    readonly = array.type.readonly or array.space is Space.CONSTANT
    store(t, Place(array.type.element, array.pointer, array, readonly), arguments[0])
    return NONE


_ARRAY: dict[str, Callable[[Translator, ArrayView, list[Operand]], Operand]] = {
    "view": _view,
    "reshape": _reshape,
    "ravel": _ravel,
    "transpose": _transpose,
    "copy": _copy,
    "item": _item,
    "fill": _fill,
}

"""Reductions: methods of arrays, and numpy's functions of the same names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core import argtypes
from gridlane.core.dtypes import DType, f16, f32, f64, i64, u64
from gridlane.core.errors import TypingError, UnsupportedError
from gridlane.frontends.python import reductions
from gridlane.frontends.python.calls.device import call_device
from gridlane.frontends.python.calls.registry import HANDLERS, Handler, handles
from gridlane.frontends.python.conversion import cast_to, integer
from gridlane.frontends.python.indexing import element_at, subscript
from gridlane.frontends.python.operands import (
    ArrayExpression,
    ArrayView,
    ComplexNumber,
    Elements,
    Operand,
    Scalar,
    Time,
    TupleOperand,
)
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unchanged import settle
from gridlane.ir.ops import arith

Reduce = Callable[[Translator, Elements], Operand]


@handles(reductions.element_of, unstored=True)
def _element_of(t: Translator, array: Operand, index: Operand) -> Operand:
    """The element of an array at a place in C order, without a check."""
    assert isinstance(array, Elements)
    b, place = t.b, integer(t, index, "an index")
    if array.type.ndim == 1:
        return element_at(t, array, place)
    if isinstance(array, ArrayView) and (array.type.layout == "C" or array.type.ndim == 0):
        kind = argtypes.ArrayType(array.type.element, 1, array.type.layout, array.type.readonly)
        flat = ArrayView(kind, array.pointer, (b.const(1, i64),))
        return element_at(t, flat, place)
    left, operands = b.cast(place.value, i64), list[Operand]()
    for extent in reversed(array.shape):
        operands.append(Scalar(b.binary(arith.Rem, left, extent), 0, i64.max))
        left = b.binary(arith.Div, left, extent)
    return subscript(t, array, TupleOperand(tuple(reversed(operands))))


def _call(t: Translator, function: Any, *arguments: Operand) -> Operand:
    for each in arguments:
        if isinstance(each, ArrayExpression):
            settle(t, each)
    return call_device(t, reductions.FUNCTIONS[function], list(arguments), {})


def _number(
    t: Translator, array: Elements, value: int, integers: DType | None, halves: DType | None
) -> Operand:
    """A number of the type of a sum: of 64 bits for integers, or ``integers``; of an array of
    float16 ``halves``, or float16."""
    element = array.type.element
    if isinstance(element, argtypes.ComplexType):
        part = element.part
        return ComplexNumber(t.b.const(float(value), part), t.b.const(0.0, part))
    if not isinstance(element, argtypes.ScalarType):
        raise t.fail(TypingError, f"{array.type} holds no numbers that could be reduced")
    dtype = (halves or f16) if element.dtype is f16 else element.dtype
    if dtype.is_float:
        return Scalar(t.b.const(float(value), dtype))
    wide = integers or (u64 if dtype.is_integer and not dtype.is_signed else i64)
    return Scalar(t.b.const(float(value) if wide.is_float else value, wide))


def _with(
    function: Any,
    value: int,
    integers: DType | None = None,
    halves: DType | None = None,
    spans: bool = False,
) -> Reduce:
    """A reduction that begins with a number, or with no time where ``spans`` are reduced too."""

    def reduce(t: Translator, array: Elements) -> Operand:
        element = array.type.element
        if spans and isinstance(element, argtypes.TimeType) and element.is_span:
            return _call(t, function, array, Time(element, t.b.const(value, i64)))
        return _call(t, function, array, _number(t, array, value, integers, halves))

    return reduce


def _ordered(function: Any) -> Reduce:
    def reduce(t: Translator, array: Elements) -> Operand:
        if not isinstance(array.type.element, argtypes.ScalarType | argtypes.TimeType):
            raise t.fail(TypingError, f"{array.type} holds nothing that has an order")
        return _call(t, function, array)

    return reduce


def _truth(function: Any) -> Reduce:
    return lambda t, array: _call(t, function, array)


# float16 has 11 bits, so its sum stays at 2048 where ones are added; numpy adds in float32, too.
_quotient = _with(reductions.mean, 0, f64, f32, spans=True)
_mean_of_numbers = _with(reductions.mean_of_numbers, 0, f64, f32)


def _mean(t: Translator, array: Elements) -> Operand:
    """A mean of floats is a float of their type, as in numba; that without NaNs is not."""
    operand, element = _quotient(t, array), array.type.element
    is_float = isinstance(element, argtypes.ScalarType) and element.dtype.is_float
    if is_float or isinstance(element, argtypes.ComplexType):
        return cast_to(t, operand, element)
    return operand


def _variance(t: Translator, array: Elements) -> Operand:
    element = array.type.element
    is_complex = isinstance(element, argtypes.ComplexType)
    function = reductions.variance_of_complex if is_complex else reductions.variance
    _number(t, array, 1, None, None)  # refuses spans of time, whose squares are none
    is_half = isinstance(element, argtypes.ScalarType) and element.dtype is f16
    return _call(t, function, array, _quotient(t, array) if is_half else _mean(t, array))


def _variance_of_numbers(t: Translator, array: Elements) -> Operand:
    _number(t, array, 1, None, None)
    if isinstance(array.type.element, argtypes.ComplexType):
        raise t.fail(UnsupportedError, "nanvar() of complex numbers cannot be compiled")
    return _call(t, reductions.variance_of_numbers, array, _mean_of_numbers(t, array))


def of_items(t: Translator, function: Any, array: Operand, name: str, *more: Operand) -> Operand:
    """One of Python's functions of an iterable, for an array of one dimension.

    Raises:
        TypingError: it is something else.
    """
    if not isinstance(array, Elements) or array.type.ndim != 1:
        raise t.fail(
            TypingError,
            f"{name}() takes a tuple or an array of one dimension, not {array.type_name}",
        )
    return _call(t, function, array, *more)


REDUCTIONS: dict[str, Reduce] = {
    "sum": _with(reductions.total, 0, spans=True),
    "prod": _with(reductions.product, 1),
    "all": _truth(reductions.every),
    "any": _truth(reductions.some),
    "mean": _mean,
    "var": _variance,
    "std": lambda t, array: _call(t, reductions.root, _variance(t, array)),
    "min": _ordered(reductions.smallest),
    "max": _ordered(reductions.largest),
    "argmin": _ordered(reductions.place_of_smallest),
    "argmax": _ordered(reductions.place_of_largest),
}
"""Methods of arrays, by their names."""

_FUNCTIONS: dict[str, Reduce] = {
    "count_nonzero": _truth(reductions.count),
    "nansum": _with(reductions.total_of_numbers, 0),
    "nanprod": _with(reductions.product_of_numbers, 1),
    "nanmean": _mean_of_numbers,
    "nanvar": _variance_of_numbers,
    "nanstd": lambda t, array: _call(t, reductions.root, _variance_of_numbers(t, array)),
    "nanmin": _ordered(reductions.smallest_number),
    "nanmax": _ordered(reductions.largest_number),
}


def _register() -> None:
    for name, reduce in (REDUCTIONS | _FUNCTIONS).items():

        def emit(
            t: Translator,
            a: Operand,
            axis: Operand | None,
            name: str = name,
            reduce: Reduce = reduce,
        ) -> Operand:
            if axis is not None:
                raise t.fail(
                    UnsupportedError,
                    f"np.{name} reduces the whole array in a kernel, without an axis: write a loop "
                    "over the others",
                )
            if not isinstance(a, Elements):
                raise t.fail(TypingError, f"np.{name} takes an array in a kernel")
            return reduce(t, a)

        handler = Handler(f"np.{name}", emit, ("a", "axis"), 1, unstored=True)
        HANDLERS[getattr(np, name)] = handler
        if name in ("min", "max"):
            HANDLERS[getattr(np, f"a{name}")] = handler


_register()

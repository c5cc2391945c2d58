"""numpy's functions that make an array, which is one of the thread's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridlane.core import argtypes
from gridlane.core.dtypes import i64
from gridlane.core.errors import ConstantError, TypingError
from gridlane.frontends.python.calls.casts import as_type
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.conversion import integer
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    Elements,
    Operand,
    Scalar,
    TupleOperand,
)
from gridlane.frontends.python.raising import guard
from gridlane.frontends.python.results import result_type
from gridlane.frontends.python.specs import spec_of
from gridlane.frontends.python.stores import broadcast_store, new_array
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.values import Value

_SHAPED: dict[str, int | None] = {"empty": None, "zeros": 0, "ones": 1}
"""Functions of a shape, with the value of the elements; None for any."""


def _filled(
    t: Translator, kind: argtypes.ArgType, shape: Sequence[Value], value: Operand | None
) -> ArrayView:
    array = new_array(t, kind, shape)
    if value is not None:
        broadcast_store(t, array, value)
    return array


def _element(t: Translator, dtype: Operand | None, default: argtypes.ArgType) -> argtypes.ArgType:
    return default if dtype is None or dtype is NONE else as_type(t, dtype)


def _extents(t: Translator, shape: Operand) -> list[Value]:
    """The extents of a shape. The thread ends with an error where one is negative."""
    items = shape.items if isinstance(shape, TupleOperand) else (shape,)
    return [_extent(t, integer(t, item, "an extent")) for item in items]


def _extent(t: Translator, number: Scalar) -> Value:
    message = "negative dimensions are not allowed"
    value = t.b.cast(number.value, i64)
    known = constant(value)
    if type(known) is int and known < 0:
        raise t.fail(ConstantError, message)
    if not number.not_negative:
        guard(t, t.b.lt(value, t.b.const(0, i64)), "ValueError", message)
    return value


def _array(t: Translator, array: Operand, name: str) -> Elements:
    if not isinstance(array, Elements):
        raise t.fail(TypingError, f"np.{name} takes an array in a kernel, not {array.type_name}")
    return array


def _value(t: Translator, value: int | None) -> Operand | None:
    return None if value is None else t.integer(value)


def _register() -> None:
    for name, value in _SHAPED.items():

        def make(
            t: Translator, shape: Operand, dtype: Operand | None, value: int | None = value
        ) -> Operand:
            kind = _element(t, dtype, argtypes.scalar_of(t.floating))
            return _filled(t, kind, _extents(t, shape), _value(t, value))

        def like(
            t: Translator,
            a: Operand,
            dtype: Operand | None,
            value: int | None = value,
            name: str = f"{name}_like",
        ) -> Operand:
            array = _array(t, a, name)
            kind = _element(t, dtype, array.type.element)
            return _filled(t, kind, array.shape, _value(t, value))

        register((getattr(np, name),), f"np.{name}", make, "shape, dtype=")
        same: Any = getattr(np, f"{name}_like")
        register((same,), f"np.{name}_like", like, "a, dtype=", unstored=True)


_register()


def _type_of(t: Translator, value: Operand) -> argtypes.ArgType:
    spec = spec_of(value)
    if spec is None:
        raise t.fail(TypingError, f"np.full takes a number, not {value.type_name}")
    return result_type(spec)


@handles(np.full, params="shape, fill_value, dtype=")
def _full(t: Translator, shape: Operand, fill_value: Operand, dtype: Operand | None) -> Operand:
    kind = _element(t, dtype, _type_of(t, fill_value))
    return _filled(t, kind, _extents(t, shape), fill_value)


@handles(np.full_like, params="a, fill_value, dtype=", unstored=True)
def _full_like(t: Translator, a: Operand, fill_value: Operand, dtype: Operand | None) -> Operand:
    array = _array(t, a, "full_like")
    return _filled(t, _element(t, dtype, array.type.element), array.shape, fill_value)

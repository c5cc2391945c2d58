"""numpy's functions that make an array: one of the thread's own, whose shape is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core import argtypes
from gridlane.core.errors import ConstantError, TypingError
from gridlane.frontends.python.calls.casts import as_type, constant_shape
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.operands import NONE, ArrayView, Elements, Operand
from gridlane.frontends.python.results import result_type
from gridlane.frontends.python.specs import spec_of
from gridlane.frontends.python.stores import broadcast_store, local_array
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant

_SHAPED: dict[str, int | None] = {"empty": None, "zeros": 0, "ones": 1}
"""Functions of a shape, with the value of the elements; None for any."""


def _filled(
    t: Translator, kind: argtypes.ArgType, shape: tuple[int, ...], value: Operand | None
) -> ArrayView:
    if any(extent < 0 for extent in shape):
        raise t.fail(ConstantError, "negative dimensions are not allowed")
    made = local_array(t, kind, shape)
    if value is not None:
        broadcast_store(t, made, value)
    return made


def _element(t: Translator, dtype: Operand | None, default: argtypes.ArgType) -> argtypes.ArgType:
    return default if dtype is None or dtype is NONE else as_type(t, dtype)


def _known_shape(t: Translator, array: Operand, name: str) -> tuple[Elements, tuple[int, ...]]:
    """An array and its extents.

    Raises:
        TypingError: it is none.
        ConstantError: the extents are not known.
    """
    if not isinstance(array, Elements):
        raise t.fail(TypingError, f"np.{name} takes an array in a kernel, not {array.type_name}")
    known = [constant(extent) for extent in array.shape]
    if None in known:
        raise t.fail(
            ConstantError,
            f"np.{name} makes an array of the thread, whose shape must be known when the kernel is "
            "compiled; pass an array of another size from the host",
        )
    return array, tuple(known)  # type: ignore[return-value]  # integers


def _value(t: Translator, value: int | None) -> Operand | None:
    return None if value is None else t.integer(value)


def _register() -> None:
    for name, value in _SHAPED.items():

        def make(
            t: Translator, shape: Operand, dtype: Operand | None, value: int | None = value
        ) -> Operand:
            kind = _element(t, dtype, argtypes.scalar_of(t.floating))
            return _filled(t, kind, constant_shape(t, shape), _value(t, value))

        def like(
            t: Translator,
            a: Operand,
            dtype: Operand | None,
            value: int | None = value,
            name: str = f"{name}_like",
        ) -> Operand:
            array, shape = _known_shape(t, a, name)
            return _filled(t, _element(t, dtype, array.type.element), shape, _value(t, value))

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
    return _filled(t, kind, constant_shape(t, shape), fill_value)


@handles(np.full_like, params="a, fill_value, dtype=", unstored=True)
def _full_like(t: Translator, a: Operand, fill_value: Operand, dtype: Operand | None) -> Operand:
    array, shape = _known_shape(t, a, "full_like")
    return _filled(t, _element(t, dtype, array.type.element), shape, fill_value)

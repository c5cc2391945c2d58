"""Pointers of ctypes in kernels: ``ctypes.cast(array, ctypes.POINTER(ctypes.c_int32))``."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from gridlane.core import argtypes, numpy_types
from gridlane.core.errors import TypingError
from gridlane.frontends.python.calls.registry import handles
from gridlane.frontends.python.layout import pointee
from gridlane.frontends.python.operands import ArrayView, Operand, Pointer, Static
from gridlane.frontends.python.translator import Translator
from gridlane.ir.types import Space, pointer


@handles(ctypes.POINTER, params="type")
def _pointer_type(t: Translator, type: Operand) -> Operand:
    """The type of pointers to a type of ctypes."""
    return Static(
        argtypes.CPointerType(_element(t, type.object if isinstance(type, Static) else None))
    )


def _element(t: Translator, kind: Any) -> argtypes.ArgType:
    try:
        assert kind is not None
        return numpy_types.from_numpy(np.dtype(kind))
    except (TypeError, AssertionError):
        raise t.fail(TypingError, "ctypes.POINTER() takes a number of ctypes in a kernel") from None


@handles(ctypes.cast, params="obj, typ")
def _cast(t: Translator, obj: Operand, typ: Operand) -> Operand:
    """The address of an array's first element, or another pointer's, as one of another type."""
    kind = _target(t, typ.object if isinstance(typ, Static) else None)
    if not isinstance(obj, ArrayView | Pointer):
        raise t.fail(
            TypingError,
            f"ctypes.cast() takes an array or a pointer in a kernel, not {obj.type_name}",
        )
    if obj.space is Space.CONSTANT or (isinstance(obj, ArrayView) and obj.type.readonly):
        raise t.fail(TypingError, "ctypes.cast() takes no array that is read-only; index it")
    return Pointer(kind, t.b.recast(obj.pointer, pointer(pointee(kind), obj.space)))


def _target(t: Translator, kind: Any) -> argtypes.CPointerType:
    if isinstance(kind, argtypes.CPointerType):
        return kind
    if kind is ctypes.c_void_p:
        return argtypes.CPointerType(None)
    if isinstance(kind, type) and issubclass(kind, ctypes._Pointer):  # pyright: ignore[reportPrivateUsage]
        return argtypes.CPointerType(_element(t, getattr(kind, "_type_", None)))
    raise t.fail(
        TypingError, "ctypes.cast() takes a type of pointers, as ctypes.POINTER(ctypes.c_int)"
    )

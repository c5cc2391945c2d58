"""``isinstance`` in kernels: types are known, so the answer is a constant, and the other branch of
an ``if`` is not compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core import argtypes
from gridlane.core.dtypes import b1
from gridlane.core.errors import TypingError
from gridlane.frontends.python.calls.registry import handles
from gridlane.frontends.python.operands import (
    NONE,
    Chars,
    ComplexNumber,
    Elements,
    Operand,
    Scalar,
    Static,
    TupleOperand,
)
from gridlane.frontends.python.optionals import inner_of, presence
from gridlane.frontends.python.translator import Translator


@handles(isinstance, params="obj, classinfo", optionals=True, unstored=True)
def _isinstance(t: Translator, obj: Operand, classinfo: Operand) -> Operand:
    """Whether the type of a value is a class or one of a tuple of classes. An integer of any width
    is an ``int``, a bool is a ``bool`` alone, as in numba."""
    several = classinfo.items if isinstance(classinfo, TupleOperand) else (classinfo,)
    classes: list[Any] = []
    for item in several:
        given_classes = item.object if isinstance(item, Static) else None
        for each in given_classes if isinstance(given_classes, tuple) else (given_classes,):
            wanted = getattr(each, "__gridlane_type__", each)
            if not isinstance(wanted, type | argtypes.ArgType):
                raise t.fail(
                    TypingError,
                    f"isinstance() takes a class or a tuple of classes, not {item.type_name}",
                )
            classes.append(wanted)
    there, nothing = [
        t.b.const(any(_is_a(each, wanted) for wanted in classes), b1)
        for each in (inner_of(obj), NONE)
    ]
    return Scalar(t.b.select(presence(t, obj), there, nothing))


def _is_a(obj: Operand, wanted: Any) -> bool:
    if isinstance(obj, Static):
        return not isinstance(wanted, argtypes.ArgType) and isinstance(obj.object, wanted)
    if isinstance(obj, TupleOperand):
        return wanted in (tuple, object)
    if isinstance(obj, Elements):
        return wanted in (np.ndarray, object) or wanted == obj.type
    if isinstance(obj, Chars):
        classes = (bytes, np.bytes_) if obj.type.is_bytes else (str, np.str_)
        return wanted in (*classes, np.character, np.generic, object) or wanted == obj.type
    kind = _number(obj)
    if kind is None:
        return wanted is object or str(wanted) == obj.type_name
    if isinstance(wanted, argtypes.ArgType):
        return wanted == kind
    scalar = isinstance(obj, Scalar)
    if scalar and obj.dtype.is_bool:
        return wanted in (bool, np.bool_, object)
    python = complex if not scalar else float if obj.dtype.is_float else int
    if wanted in (python, object):
        return True
    try:  # a class of numpy: np.float32, or np.integer, which has subclasses
        scalar_class = np.dtype(str(kind)).type
    except TypeError:  # bfloat16
        return False
    return issubclass(wanted, np.generic) and issubclass(scalar_class, wanted)


def _number(obj: Operand) -> argtypes.ArgType | None:
    """The type of a number."""
    if isinstance(obj, Scalar):
        return argtypes.scalar_of(obj.dtype)
    if isinstance(obj, ComplexNumber):
        return argtypes.complex_of(obj.part)
    return None

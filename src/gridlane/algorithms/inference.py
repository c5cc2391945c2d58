"""Types of operators' results: by annotations, or by the frontend."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from gridlane.algorithms.caching import cached
from gridlane.algorithms.item_types import ItemType, item_type
from gridlane.algorithms.operators import Operator
from gridlane.algorithms.structs import StructClass
from gridlane.core.argtypes import ArgType, ComplexType, ScalarType, TupleType
from gridlane.cuda.kernels.argument_types import typeof
from gridlane.frontends.python.translation import translate_device


def annotated_item(op: Any, which: str | int) -> ItemType | None:
    """The item type that an operator's annotation names; None without one.

    Args:
        which: ``"return"``, or the place of a parameter.
    """
    function = getattr(op, "py_func", op)
    if not inspect.isfunction(function):
        return None
    try:
        notes = inspect.get_annotations(function, eval_str=True)
    except (NameError, TypeError, SyntaxError):
        notes = inspect.get_annotations(function)
    name = which if isinstance(which, str) else list(inspect.signature(function).parameters)[which]
    note = notes.get(name)
    if isinstance(note, StructClass):
        return item_type(note.dtype)
    if isinstance(note, np.dtype) or (isinstance(note, type) and issubclass(note, np.generic)):
        return item_type(np.dtype(note))
    return None


@cached
def result_item(op: Operator, items: tuple[ItemType, ...]) -> ItemType:
    """The item type of an operator's result for values of given types.

    Raises:
        CompileError: the error of the source for such values, and its place.
    """
    zeros = [each.argument(np.zeros((), each.dtype)) for each in items]
    function = op.function
    kind = translate_device(function.py_func, tuple(map(typeof, zeros)), function.options)[1]
    return item_type(_dtype(kind, function.py_func.__qualname__))


def _dtype(kind: ArgType, name: str) -> np.dtype:
    if isinstance(kind, ScalarType | ComplexType):
        return np.dtype(kind.numpy)
    if isinstance(kind, TupleType) and kind.items:
        fields = kind.fields or tuple(f"field_{n}" for n in range(len(kind.items)))
        parts = [_dtype(each, name) for each in kind.items]
        return np.dtype(list(zip(fields, parts, strict=True)), align=True)
    raise TypeError(f"{name} returns {kind}; items are numbers or structures")

"""The types of operands as functions see them that choose an implementation by types."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core import argtypes, numpy_types, type_kinds
from gridlane.core.argtypes import ArgType, TupleType
from gridlane.core.errors import TypingError
from gridlane.frontends.python.device_function import device_function_of
from gridlane.frontends.python.operands import (
    BoundMethod,
    LocalFunction,
    Operand,
    RecordValue,
    Scalar,
    SliceOperand,
    Static,
    TupleOperand,
    Vector,
)
from gridlane.frontends.python.results import result_type
from gridlane.frontends.python.specs import FragmentSpec, spec_of
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant


def typing_type(t: Translator, operand: Operand, literal: bool) -> ArgType:
    """The type of an operand; that of a constant with its value, where ``literal``."""
    if isinstance(operand, Scalar):
        known = constant(operand.value) if literal else None
        plain = argtypes.scalar_of(operand.dtype)
        if type(known) is bool:
            return type_kinds.BooleanLiteral(known, plain)
        return type_kinds.IntegerLiteral(known, plain) if type(known) is int else plain
    if isinstance(operand, TupleOperand) and not isinstance(operand, Vector):
        items = tuple([typing_type(t, item, literal) for item in operand.items])
        return TupleType(items, operand.fields, operand.cls)
    if isinstance(operand, Static):
        return _of_object(operand.object, literal)
    if isinstance(operand, LocalFunction | BoundMethod):
        return type_kinds.Function(operand)
    if isinstance(operand, SliceOperand):
        return type_kinds.SliceType("slice")
    if isinstance(operand, RecordValue):
        return operand.type
    spec = spec_of(operand)
    if spec is None or isinstance(spec, FragmentSpec):
        raise t.fail(TypingError, f"{operand.type_name} has no type that an overload can tell")
    return result_type(spec)


def _of_object(value: Any, literal: bool) -> ArgType:
    """The type of an object that a kernel names."""
    if value is None:
        return argtypes.none
    if isinstance(value, str):
        return type_kinds.literal(value) if literal else type_kinds.unicode_type
    if isinstance(value, np.dtype):
        return type_kinds.DType(numpy_types.from_numpy(value))
    if isinstance(value, ArgType):
        return type_kinds.NumberClass(value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return type_kinds.NumberClass(numpy_types.from_numpy(value))
    if isinstance(value, type) and issubclass(value, ArgType):
        return type_kinds.TypeRef(value)
    if device_function_of(value) is not None:
        return type_kinds.Dispatcher(value)
    return type_kinds.Function(value) if callable(value) else type_kinds.Object(value)

"""Functions that a kernel defines, as device functions: to be passed on, and called where their
body cannot be inlined."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from gridlane.core.dtypes import b1, f64, i64
from gridlane.core.errors import ConstantError
from gridlane.frontends.python.device_function import DeviceFunction
from gridlane.frontends.python.operands import (
    LocalFunction,
    Operand,
    Scalar,
    Static,
    TupleOperand,
    Vector,
)
from gridlane.frontends.python.source import fits
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant


def passed_on(t: Translator, operand: Operand) -> Operand:
    """An operand to be passed to another function, with the kernel's own functions, also in tuples,
    as device functions.

    Raises:
        ConstantError: such a function reads a variable of the kernel that is no constant.
    """
    if isinstance(operand, LocalFunction):
        return Static(as_device(t, operand))
    if isinstance(operand, TupleOperand) and not isinstance(operand, Vector):
        items = tuple([passed_on(t, item) for item in operand.items])
        same = all(a is b for a, b in zip(items, operand.items, strict=True))
        return operand if same else TupleOperand(items, operand.fields, operand.cls)
    return operand


def as_device(t: Translator, function: LocalFunction) -> DeviceFunction:
    """The device function of a function that is defined in the one being translated; the same
    object for the same constants.

    Raises:
        ConstantError: it reads a variable that is no constant.
    """
    code = _code_of(t, function)
    captured = [_captured(t, function, name) for name in code.co_freevars]
    args = function.node.args
    defaults = [_known(t, function, t.expr(node)) for node in args.defaults]
    named = {
        each.arg: _known(t, function, t.expr(node))
        for each, node in zip(args.kwonlyargs, args.kw_defaults, strict=True)
        if node is not None
    }
    values = [*captured, *defaults, *named.values()]
    key = "closure", code, tuple([(type(value), _identity(value)) for value in values])
    found = t.unit.chosen.get(key)
    if found is None:
        cells = tuple([types.CellType(value) for value in captured])
        made = types.FunctionType(
            code, t.function.__globals__, code.co_name, tuple(defaults) or None, cells
        )
        made.__kwdefaults__ = named or None
        found = t.unit.chosen[key] = DeviceFunction(made)
    return found


def _identity(value: Any) -> Any:
    """What tells a constant from others of its type; the sign of zero counts."""
    if isinstance(value, tuple):
        return tuple([(type(item), _identity(item)) for item in value])
    return repr(value) if isinstance(value, int | float | complex | str | np.generic) else id(value)


def _code_of(t: Translator, function: LocalFunction) -> types.CodeType:
    """The code of the function's definition, within the code around it: the outermost that fits, as
    that of a function inside of it may fit as well."""
    kind = "<lambda>" if isinstance(function.node, ast.Lambda) else function.node.name
    for code in _inner(t.function.__code__):
        if code.co_name == kind and fits(function.node, code, t.source.line_offset):
            return code
    raise t.fail(ConstantError, f"the code of {function.name} was not found")


def _inner(around: types.CodeType) -> Iterator[types.CodeType]:
    for value in around.co_consts:
        if isinstance(value, types.CodeType):
            yield value
            yield from _inner(value)


def _captured(t: Translator, function: LocalFunction, name: str) -> Any:
    """The value of a variable around the function."""
    found = function.environment.get(name)
    if found is None:
        known, value = t.unit.around.lookup(t.function, name)
        if known:
            return value
        raise t.fail(ConstantError, f"{function.name} reads {name}, which is not assigned before")
    return _known(t, function, found, name)


def _known(t: Translator, function: LocalFunction, operand: Operand, name: str = "") -> Any:
    """The Python object of a constant."""
    if isinstance(operand, Static):
        return operand.object
    if isinstance(operand, LocalFunction):
        return as_device(t, operand)
    if isinstance(operand, TupleOperand) and not operand.fields:
        return tuple([_known(t, function, item, name) for item in operand.items])
    value = constant(operand.value) if isinstance(operand, Scalar) else None
    if value is None or not isinstance(operand, Scalar):
        what = f"associated with the variable {name!r}" if name else "of a default"
        raise t.fail(
            ConstantError,
            f"Cannot capture the non-constant value {what}: {function.name} is passed on or has "
            "several returns, so that it is compiled by itself; pass the value as an argument",
        )
    plain = operand.dtype in (i64, f64, b1)
    return value if plain else operand.dtype.numpy.type(value)

"""Functions that a kernel defines: what they see where they are inlined, and as device functions,
to be passed on, and called where their body cannot be inlined.

They read variables of the functions around them as Python does: a call sees the values that they
have at the call, or had at the end of a function that has returned. Defaults are evaluated where
the function is defined.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gridlane.core.dtypes import b1, f64, i64
from gridlane.core.errors import ConstantError, UnsupportedError
from gridlane.frontends.python.device_function import DeviceFunction
from gridlane.frontends.python.lexical import bound_by, read_around
from gridlane.frontends.python.operands import (
    Activation,
    LocalFunction,
    Operand,
    OptionalOperand,
    Scalar,
    Static,
    TupleOperand,
    Vector,
)
from gridlane.frontends.python.source import fits
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant

RECURSIONS = 40
"""How often a function may be inlined in itself; constant arguments may end such calls."""


def defined(t: Translator, node: ast.FunctionDef | ast.Lambda, name: str) -> LocalFunction:
    """A function that is defined here."""
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    pairs = [*zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True)]
    named = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    pairs += [(each, default) for each, default in named if default is not None]
    defaults = {each.arg: t.expr(default) for each, default in pairs}
    return LocalFunction(node, t.activation, name, defaults)


@contextmanager
def inlined(t: Translator, function: LocalFunction, given: dict[str, Operand]) -> Generator[None]:
    """Translate the body of a function where it is called, with the values of its parameters."""
    if t.inlining.count(function.node) > RECURSIONS:
        raise t.fail(
            ConstantError,
            f"{function.name} calls itself, and is inlined where it is called; define it outside, "
            "with @cuda.jit(device=True)",
        )
    outer, env, dead, copy = t.activation, t.env, t.dead, t.copy
    outer.env = env
    seen = {**_variables(t, function.around), **function.captured}
    inner = Activation(bound_by(function.node), function.around)
    seen = {name: value for name, value in seen.items() if name not in inner.names}
    t.activation, t.env = inner, {**seen, **given}
    t.inlining.append(function.node)
    t.copy = (*copy, t.b.loc)
    try:
        yield
        inner.env = t.env
    finally:
        t.inlining.pop()
        t.activation, t.env, t.dead, t.copy = outer, env, dead, copy


def _variables(t: Translator, around: Activation) -> dict[str, Operand]:
    """The variables that functions see which are defined in an activation."""
    outer = {} if around.outer is None else _variables(t, around.outer)
    own = t.env if around is t.activation else around.env
    outer_variables = {name: value for name, value in outer.items() if name not in around.names}
    return outer_variables | {name: own[name] for name in around.names if name in own}


def survivor(
    t: Translator, operand: Operand, ended: Activation, within: tuple[Operand, ...] = ()
) -> Operand:
    """The result of an inlined function, of whose activation functions in it keep what they read.

    Raises:
        UnsupportedError: such a function calls itself.
    """
    if isinstance(operand, TupleOperand) and not isinstance(operand, Vector):
        items = tuple([survivor(t, item, ended, within) for item in operand.items])
        return TupleOperand(items, operand.fields, operand.cls)
    if isinstance(operand, OptionalOperand):
        return OptionalOperand(operand.present, survivor(t, operand.inner, ended, within))
    if not isinstance(operand, LocalFunction):
        return operand
    if operand in within:
        raise t.fail(
            UnsupportedError,
            f"{operand.name} calls itself and is returned by the function that defines it; define "
            "it outside of that function",
        )
    within = (*within, operand)
    around, captured = operand.around, operand.captured
    if around is ended:
        assert ended.outer is not None
        read = read_around(operand.node) & ended.names & ended.env.keys()
        around, captured = ended.outer, captured | {name: ended.env[name] for name in sorted(read)}
    captured = {name: survivor(t, item, ended, within) for name, item in captured.items()}
    defaults = {n: survivor(t, item, ended, within) for n, item in operand.defaults.items()}
    return LocalFunction(operand.node, around, operand.name, defaults, captured)


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
    if isinstance(operand, OptionalOperand):
        return OptionalOperand(operand.present, passed_on(t, operand.inner))
    return operand


def as_device(t: Translator, function: LocalFunction) -> DeviceFunction:
    """The device function of a function that is defined in the one being translated; the same
    object for the same constants.

    Raises:
        ConstantError: it reads a variable that is no constant.
    """
    code = _code_of(t, function)
    captured = [_captured(t, function, name) for name in code.co_freevars]
    known = {name: _known(t, function, item) for name, item in function.defaults.items()}
    named = {each.arg: known.pop(each.arg) for each in _keywords(function) if each.arg in known}
    defaults = list(known.values())
    values = [*captured, *defaults, *named.values()]
    key = "closure", code, tuple([(type(value), _identity(value)) for value in values])
    device_function = t.unit.chosen.get(key)
    if device_function is None:
        cells = tuple([types.CellType(value) for value in captured])
        function_type = types.FunctionType(
            code, t.function.__globals__, code.co_name, tuple(defaults) or None, cells
        )
        function_type.__kwdefaults__ = named or None
        device_function = t.unit.chosen[key] = DeviceFunction(function_type)
    return device_function


def _keywords(function: LocalFunction) -> list[ast.arg]:
    return function.node.args.kwonlyargs


def _identity(value: Any) -> Any:
    """The identity of a constant among those of its type; the sign of zero counts."""
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
    captured_value = function.captured.get(name) or _variables(t, function.around).get(name)
    if captured_value is function:
        raise t.fail(
            ConstantError,
            f"{name} calls itself, and is passed on or returns before its end, so that it is "
            "compiled by itself; define it outside, with @cuda.jit(device=True)",
        )
    if captured_value is None:
        known, value = t.unit.around.lookup(t.function, name)
        if known:
            return value
        raise t.fail(ConstantError, f"{function.name} reads {name}, which is not assigned before")
    return _known(t, function, captured_value, name)


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
            f"Cannot capture the non-constant value {what}: {function.name} is passed on, or "
            "returns before its end, so it is compiled by itself; pass the value as an argument",
        )
    plain = operand.dtype in (i64, f64, b1)
    return value if plain else operand.dtype.numpy.type(value)

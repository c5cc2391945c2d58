"""Operators: Python functions and ``OpKind``, as device functions with a key for caches."""

from __future__ import annotations

import dis
import inspect
import numbers
import types
from collections.abc import Callable, Hashable
from enum import IntEnum
from typing import Any

import numpy as np

from gridlane.algorithms.arrays import interface_of
from gridlane.algorithms.caching import cached
from gridlane.algorithms.item_types import ItemType
from gridlane.algorithms.known_operators import ARITY, known
from gridlane.algorithms.structs import StructClass
from gridlane.core.frozen import frozen
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.cuda.ufuncs.generated import define


class OpKind(IntEnum):
    """Operators that have a name, with the meaning that they have in C++: integers divide towards
    zero."""

    STATELESS = 0
    STATEFUL = 1
    PLUS = 2
    MINUS = 3
    MULTIPLIES = 4
    DIVIDES = 5
    MODULUS = 6
    EQUAL_TO = 7
    NOT_EQUAL_TO = 8
    GREATER = 9
    LESS = 10
    GREATER_EQUAL = 11
    LESS_EQUAL = 12
    LOGICAL_AND = 13
    LOGICAL_OR = 14
    LOGICAL_NOT = 15
    BIT_AND = 16
    BIT_OR = 17
    BIT_XOR = 18
    BIT_NOT = 19
    IDENTITY = 20
    NEGATE = 21
    MINIMUM = 22
    MAXIMUM = 23


@frozen
class Operator:
    """A device function. Equal operators have one key, and share kernels."""

    key: Hashable
    function: Dispatcher

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operator) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


def operator(op: Any, arity: int, item: ItemType | None, role: str = "op") -> Operator:
    """The operator that a caller names.

    Args:
        arity: how many values it is called with.
        item: the type of these values, where an ``OpKind`` depends on it.
        role: the parameter's name, for errors.

    Raises:
        TypeError: it is no operator of so many values, or captures a value without a hash.
    """
    if isinstance(op, Operator):
        return op
    if isinstance(op, OpKind):
        return _known(op.name, arity, item, role)
    if isinstance(op, types.BuiltinFunctionType | np.ufunc):
        return _calling(op, arity)
    function = getattr(op, "py_func", op)
    if not isinstance(function, types.FunctionType):
        raise TypeError(
            f"{role} is {op!r} of type {type(op).__name__}; a Python function or an OpKind is "
            "required"
        )
    return _of_function(_Same(op, function, role), arity)


def _known(name: str, arity: int, item: ItemType | None, role: str) -> Operator:
    if ARITY.get(name) != arity:
        raise TypeError(
            f"{role} is OpKind.{name}, which takes "
            f"{ARITY.get(name, 'no fixed number of')} values; {arity} are given"
        )
    if item is not None and item.is_struct and name != "IDENTITY":
        raise TypeError(f"OpKind.{name} has no meaning for {item.dtype}; write a Python function")
    integral = item is not None and item.dtype.kind in "iub"
    return Operator(("OpKind", name, integral), known(name, integral))


def _check_arity(function: types.FunctionType, arity: int, role: str) -> None:
    try:
        inspect.signature(function).bind(*range(arity))
    except TypeError:
        code = function.__code__
        raise TypeError(
            f"{role}, {function.__qualname__} of {code.co_filename}:{code.co_firstlineno}, takes "
            f"{code.co_argcount} arguments; it is called with {arity}"
        ) from None


@cached
def _calling(builtin: Callable[..., Any], arity: int) -> Operator:
    """The operator that calls a function of Python's or numpy's that kernels may call."""
    arguments = ", ".join("ab"[:arity])
    text = f"def call({arguments}):\n    return builtin({arguments})\n"
    call = define("call", text, {"builtin": builtin})
    return Operator(("builtin", builtin, arity), jit(call, device=True))


class _Same:
    """A function or a device function, equal to others with its key."""

    def __init__(self, op: Any, function: types.FunctionType, role: str) -> None:
        self.op, self.function, self.role = op, function, role
        options = repr(op.options) if isinstance(op, Dispatcher) else None
        self.key = key_of(function, role), options

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


@cached
def _of_function(same: _Same, arity: int) -> Operator:
    _check_arity(same.function, arity, same.role)
    made: Any = same.op if isinstance(same.op, Dispatcher) else jit(same.op, device=True)
    return Operator(same.key, made)


# --- keys ---

_EMPTY = types.CellType()


@cached
def _globals_of(code: types.CodeType) -> frozenset[str]:
    """The names of globals that a function or those in it read."""
    own = {each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"}
    inner = (_globals_of(each) for each in code.co_consts if isinstance(each, types.CodeType))
    return frozenset(own).union(*inner)


def key_of(function: types.FunctionType, role: str, inside: tuple[Any, ...] = ()) -> Hashable:
    """A key of a function: its place, its code, and the values that it captures.

    Raises:
        TypeError: a captured value has no hash.
    """
    code = function.__code__
    if code in inside:
        return "recursive"
    inside = (*inside, code)
    captured = {
        name: function.__globals__[name]
        for name in _globals_of(code)
        if name in function.__globals__
    }
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        if cell != _EMPTY:
            captured[name] = cell.cell_contents
    parts = [
        (name, _captured_key(value, name, function, role, inside))
        for name, value in sorted(captured.items())
    ]
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    return (
        code.co_filename,
        code.co_firstlineno,
        code,
        tuple(_captured_key(each, "a default", function, role, inside) for each in defaults),
        tuple(parts),
    )


def _captured_key(
    value: Any, name: str, function: types.FunctionType, role: str, inside: tuple[Any, ...]
) -> Hashable:
    if isinstance(value, Dispatcher):
        return "device function", key_of(value.py_func, role, inside)
    if isinstance(value, types.FunctionType):
        return key_of(value, role, inside)
    if isinstance(value, StructClass):
        return "struct", value.dtype
    if isinstance(value, np.ndarray):
        return "array", value.shape, value.dtype.str, value.strides, value.tobytes()
    if isinstance(value, types.ModuleType):
        return "module", value.__name__
    if isinstance(value, numbers.Number | np.generic):
        return type(value), repr(value)  # -0.0 is not 0.0 here, and NaN is itself
    if isinstance(value, tuple):
        items = tuple(_captured_key(each, name, function, role, inside) for each in value)
        return type(value), items
    shown = interface_of(value)
    if shown is not None:
        return "device array", shown
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"{role}, {function.__qualname__} of {function.__code__.co_filename}:"
            f"{function.__code__.co_firstlineno}, captures {name}, a {type(value).__name__}, whose "
            "values may change; capture a number, a tuple or an array"
        ) from None
    return type(value), value

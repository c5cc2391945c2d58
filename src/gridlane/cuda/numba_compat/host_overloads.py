"""Functions of the host whose callees have implementations chosen by types: ``njit`` runs them."""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

from gridlane.core.errors import CompileError, TypingError
from gridlane.cuda.kernels.argument_types import typeof
from gridlane.frontends.python.extensions import EXTENSIONS, Overload

TARGETS = ("cpu", "generic")
"""The targets of implementations that the host uses, the most specific one first."""


def with_overloads(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls, in place of Python functions with overloads, what these choose; the
    function itself where it calls none."""
    if not EXTENSIONS.functions or not isinstance(function, FunctionType):
        return function
    code = function.__code__
    spaces = function.__globals__
    named = {name: _replaced(spaces[name]) for name in code.co_names if name in spaces}
    changed = {name: value for name, value in named.items() if value is not spaces[name]}
    cells = tuple([_cell(cell) for cell in function.__closure__ or ()])
    if not changed and all(a is b for a, b in zip(cells, function.__closure__ or ())):
        return function
    function_type = FunctionType(
        code, {**spaces, **changed}, function.__name__, function.__defaults__, cells or None
    )
    function_type.__kwdefaults__ = function.__kwdefaults__
    return function_type


def _cell(cell: CellType) -> CellType:
    try:
        value = cell.cell_contents
    except ValueError:
        return cell
    replacement = _replaced(value)
    return cell if replacement is value else CellType(replacement)


def _replaced(value: Any) -> Any:
    """What the host calls for a Python function; any other object is itself."""
    if not isinstance(value, FunctionType):
        return value
    entries = [each for each in EXTENSIONS.functions.get(value, ()) if isinstance(each, Overload)]
    if not entries:
        return value

    def call(*args: Any, **kwargs: Any) -> Any:
        types = [typeof(each) for each in args]
        named = {name: typeof(each) for name, each in kwargs.items()}
        for target in TARGETS:
            for entry in entries:
                implementation = _chosen(entry, types, named) if entry.target == target else None
                if implementation is not None:
                    return with_overloads(implementation)(*args, **kwargs)
        shown = ", ".join(map(str, (*types, *named.values())))
        raise TypingError(
            f"No implementation of function {value.__qualname__} found for the types ({shown}) on "
            'the host: its overloads are for kernels; add one with target="generic"'
        )

    return call


def _chosen(entry: Overload, types: list[Any], named: dict[str, Any]) -> Any:
    try:
        implementation = entry.choose(*types, **named)
    except CompileError:
        return None
    implementation = implementation[1] if isinstance(implementation, tuple) else implementation
    return getattr(implementation, "py_func", implementation)

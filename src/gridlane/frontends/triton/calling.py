"""Calls: of functions of the program and of the language, and of Python's at compile time."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, cast

from gridlane.frontends.triton.aggregates import is_aggregate_class
from gridlane.frontends.triton.arithmetic import maximum, minimum
from gridlane.frontends.triton.constants import constexpr, unwrapped
from gridlane.frontends.triton.context import is_builtin
from gridlane.frontends.triton.debugging import device_print
from gridlane.frontends.triton.errors import CompilationError
from gridlane.frontends.triton.functions import ConstexprFunction, TileFunction
from gridlane.frontends.triton.translator import Frame, Translator
from gridlane.frontends.triton.values import tensor, tensors_in, with_tensors
from gridlane.ir.ops import control
from gridlane.ir.values import Region

MOST_NESTED = 24
"""How often a function may be on the path of calls, by constants that end its recursion."""


def _runs(*values: Any) -> bool:
    return any(True for each in values for _ in tensors_in(each))


def _extremum(constant: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def extremum(*args: Any) -> Any:
        return reduce(ours, args) if _runs(*args) else constant(*args)

    return extremum


def _isinstance(value: Any, classes: Any) -> bool:
    kinds = cast("tuple[Any, ...]", classes if isinstance(classes, tuple) else (classes,))
    if constexpr in kinds and not _runs(value):
        return True
    return isinstance(value, tuple([kind for kind in kinds if kind is not constexpr]))


def _number(kind: Callable[..., Any]) -> Callable[..., Any]:
    def convert(*args: Any) -> Any:
        if _runs(*args):
            raise TypeError(
                f"{kind.__name__}() takes a constant here: convert a tensor by .to(tl.float32), "
                ".to(tl.int32)"
            )
        return kind(*args)

    return convert


def _length(value: Any) -> int:
    if isinstance(value, tensor):
        raise TypeError("a tensor has no len(); use its shape")
    return len(value)


_PYTHON: dict[Any, Callable[..., Any]] = {
    print: device_print,
    min: _extremum(min, minimum),
    max: _extremum(max, maximum),
    isinstance: _isinstance,
    int: _number(int),
    float: _number(float),
    bool: _number(bool),
    len: _length,
    list: tuple,
    hasattr: hasattr,
    getattr: getattr,
    type: type,
    constexpr: unwrapped,
}
"""What functions of Python do in a program."""


def call(
    t: Translator, node: ast.AST, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """The result of a call."""
    own = _PYTHON.get(function) if function.__hash__ is not None else None
    if own is not None:
        return own(*args, **keywords)
    if isinstance(function, TileFunction):
        return t.call(function, args, keywords)
    if isinstance(function, types.MethodType) and isinstance(function.__func__, TileFunction):
        return t.call(function.__func__, (function.__self__, *args), keywords)
    if isinstance(function, ConstexprFunction) or is_builtin(function) or _is_ours(function):
        return function(*args, **keywords)
    if is_aggregate_class(function):
        return function(*args, **keywords)
    if not callable(function):
        raise TypeError(f"'{type(function).__name__}' object is not callable")
    named = isinstance(function, type) and hasattr(cast("Any", function), "_fields")
    if _runs(args, tuple(keywords.values())) and not named and function is not tuple:
        name = getattr(function, "__qualname__", repr(function))
        raise TypeError(
            f"{name} is a function of Python, which a program calls with constants only; for "
            "tensors write a function with @triton.jit"
        )
    return function(*args, **keywords)


def _is_ours(function: Any) -> bool:
    """Whether a function is a method of a value, or a class of the language."""
    if isinstance(function, partial):
        return isinstance(function.func, ConstexprFunction)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, tensor) or hasattr(type(owner), "is_aggregate"):
        return True
    module = getattr(function, "__module__", None) or ""
    return module.startswith(__name__.rpartition(".")[0])


# ---- functions of the program


def inline(
    t: Translator, function: TileFunction, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Translate a function's body at the place of a call."""
    nested = sum(frame.function.fn is function.fn for frame in t.frames)
    if nested >= MOST_NESTED:
        raise NotImplementedError(
            f"{function.fn.__name__}() calls itself: functions of programs are translated where "
            "they are called; write a loop"
        )
    bound = function.signature.bind(*args, **keywords)
    bound.apply_defaults()
    scope = {name: unwrapped(value) for name, value in bound.arguments.items()}
    body = Region()
    t.frames.append(frame := Frame(function, scope, t.b.loc))
    try:
        with t.b.inside(body):
            t.block(function.source.body)
    except CompilationError as error:
        # The caller is the place that Triton names first, and the callee's error is the cause.
        raise type(error)(error.message, error.loc, error.related) from error
    finally:
        t.frames.pop()
    if not frame.label:
        t.b.region.ops += body.ops
        return frame.result
    t.b.emit(control.ScopeOp(body, frame.label))
    return _result(t, frame)


def _result(t: Translator, frame: Frame) -> Any:
    if frame.variables is None:
        return None
    read = [
        tensor(t.b.read(var), each.type)
        for var, each in zip(frame.variables, tensors_in(frame.returned), strict=True)
    ]
    return with_tensors(frame.returned, iter(read))

"""Resolve the callee of a call."""

from __future__ import annotations

import ast
import types
from importlib import import_module
from typing import Any

import numpy as np

from gridlane.core import argtypes, numpy_types
from gridlane.core.errors import ConstantError, TypingError, UnsupportedError
from gridlane.frontends.python.array_expressions import apply, are_arrays, memory_needed
from gridlane.frontends.python.calls.casts import cast_call
from gridlane.frontends.python.calls.device import call_device
from gridlane.frontends.python.calls.elementwise import elementwise, fills_array
from gridlane.frontends.python.calls.extended import call_extended, call_extended_method
from gridlane.frontends.python.calls.memory import from_buffer
from gridlane.frontends.python.calls.methods import call_method
from gridlane.frontends.python.calls.registry import HANDLERS, Handler, bind
from gridlane.frontends.python.closures import as_device, inlined, survivor
from gridlane.frontends.python.constants import operand_of
from gridlane.frontends.python.device_function import (
    ConstantFunction,
    DeviceFunction,
    device_function_of,
    foreign_of,
    is_from_buffer,
)
from gridlane.frontends.python.lexical import walk_own
from gridlane.frontends.python.operands import (
    ArrayExpression,
    BoundMethod,
    LocalFunction,
    Operand,
    Scalar,
    Static,
    TupleOperand,
)
from gridlane.frontends.python.optionals import value_of
from gridlane.frontends.python.records import make_record, record_type_of
from gridlane.frontends.python.stubs import Stub
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.vectors import make_vector
from gridlane.ir.builder import constant


def call(
    t: Translator, function: Operand, arguments: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    """``function(*arguments, **keywords)``."""
    if isinstance(function, BoundMethod):
        return _call_bound(t, function, arguments, keywords)
    if isinstance(function, LocalFunction):
        return _call_local(t, function, arguments, keywords)
    if not isinstance(function, Static):
        raise t.fail(TypingError, f"{function.type_name} cannot be called")
    target = function.object
    handler = _handler(target)
    operand = call_extended(t, target, arguments, keywords, _is_own(target, handler))
    if operand is not None:
        return operand
    if handler is not None:
        return _call_handler(t, handler, target, arguments, keywords)
    device = device_function_of(target)
    if device is not None:
        return call_device(t, device, arguments, keywords)
    if not _is_named(target):
        arguments, keywords = _values(t, arguments, keywords)
    foreign = foreign_of(target)
    if foreign is not None:
        return foreign.call(t, foreign, arguments, keywords)
    if is_from_buffer(target) and len(arguments) == 1 and not keywords:
        return from_buffer(t, arguments[0])
    if isinstance(target, ConstantFunction):
        return _call_constant(t, target, arguments, keywords)
    kind = _constructed(target)
    if isinstance(kind, argtypes.RecordType):
        return make_record(t, kind, arguments, keywords)
    if isinstance(kind, argtypes.VectorType):
        return make_vector(t, kind, arguments, keywords)
    if isinstance(kind, type):
        return _make_namedtuple(t, kind, arguments, keywords)
    if kind is not None:
        return cast_call(t, kind, arguments, keywords)
    raise _not_callable(t, target)


def _call_bound(
    t: Translator, function: BoundMethod, arguments: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    receiver, own = function.receiver, function.is_own
    operand = call_extended_method(t, receiver, function.name, arguments, keywords, own)
    if operand is not None:
        return operand
    device = _method(t, function)
    if device is not None:
        return call_device(t, device, [receiver, *arguments], keywords)
    if function.name == "_replace":
        return _replaced(t, receiver, arguments, keywords)
    return call_method(t, function, *_values(t, arguments, keywords))


def _call_handler(
    t: Translator,
    handler: Handler,
    target: Any,
    arguments: list[Operand],
    keywords: dict[str, Operand],
) -> Operand:
    """A function of the table."""
    t.callee = handler.name
    if not handler.optionals:
        arguments, keywords = _values(t, arguments, keywords)
    if handler.elementwise and fills_array(handler, arguments, keywords):
        return elementwise(t, handler, arguments)
    whole = np.absolute if target is abs else target
    if isinstance(whole, np.ufunc) and not keywords and are_arrays(arguments):
        return apply(t, whole, bind(t, handler, arguments, keywords))  # type: ignore[arg-type]  # all given
    if not handler.unstored:
        _require_stored(t, handler, [*arguments, *keywords.values()])
    return handler.emit(t, *bind(t, handler, arguments, keywords))


def _require_stored(t: Translator, handler: Handler, arguments: list[Operand]) -> None:
    """Refuse expressions of arrays for a function that needs their memory."""
    for each in arguments:
        if isinstance(each, ArrayExpression):
            raise memory_needed(t, each, f"{handler.name}()")


def _is_own(target: Any, handler: Handler | None) -> bool:
    """Whether the dialect can call an object without the program's extensions."""
    if handler is not None or device_function_of(target) is not None:
        return True
    return isinstance(target, ConstantFunction) or _constructed(target) is not None


def _constructed(target: Any) -> Any:
    """What a call of a type or a class makes a value of: a type or a namedtuple's class."""
    kind = record_type_of(target) or _cast_target(target)
    if kind is not None:
        return kind
    return target if _is_named(target) else None


def _is_named(target: Any) -> bool:
    """Whether an object is a namedtuple's class."""
    return isinstance(target, type) and issubclass(target, tuple) and hasattr(target, "_fields")


def _values(
    t: Translator, arguments: list[Operand], keywords: dict[str, Operand]
) -> tuple[list[Operand], dict[str, Operand]]:
    """The arguments of what takes no None in the place of a value."""
    given = [value_of(t, item) for item in arguments]
    return given, {name: value_of(t, item) for name, item in keywords.items()}


def _method(t: Translator, method: BoundMethod) -> DeviceFunction | None:
    """The device function behind a method of a namedtuple."""
    receiver = method.receiver
    if not isinstance(receiver, TupleOperand) or receiver.cls is None:
        return None
    if method.name not in receiver.cls.__dict__:
        return None
    return device_function_of(t.unit.around.attribute(receiver.cls, method.name))


def _handler(target: Any) -> Handler | None:
    if isinstance(target, Stub) and target.home:
        import_module(target.home)
    try:
        return HANDLERS.get(target)
    except TypeError:
        return None


def _cast_target(target: Any) -> argtypes.ArgType | None:
    """The type of numbers or vectors that a callable type makes."""
    if isinstance(target, argtypes.ScalarType | argtypes.ComplexType | argtypes.VectorType):
        return target
    if isinstance(target, type) and issubclass(target, np.generic):
        try:
            return numpy_types.from_numpy(np.dtype(target))
        except TypeError:
            return None
    if isinstance(target, np.dtype):
        return numpy_types.from_numpy(target)
    return None


def _call_constant(
    t: Translator,
    target: ConstantFunction,
    arguments: list[Operand],
    keywords: dict[str, Operand],
) -> Operand:
    """Call a Python function now, with compile-time objects and constants."""
    if keywords:
        raise t.fail(TypingError, f"{target.name}() takes no keywords in a kernel")
    values = []
    for number, operand in enumerate(arguments):
        known = operand.object if isinstance(operand, Static) else None
        if isinstance(operand, Scalar):
            known = constant(operand.value)
        if known is None:
            raise t.fail(
                ConstantError,
                f"{target.needs or f'argument {number + 1} of {target.name}()'} must be known when "
                f"the kernel is compiled, but this is {operand.type_name}",
            )
        values.append(known)
    try:
        return operand_of(t, target.py_func(*values))
    except (TypeError, ValueError) as error:
        raise t.fail(TypingError, str(error)) from None


def _make_namedtuple(
    t: Translator, cls: Any, arguments: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    given = dict(zip(cls._fields, arguments, strict=False)) | keywords
    if len(arguments) + len(keywords) != len(cls._fields) or set(given) != set(cls._fields):
        raise t.fail(TypingError, f"{cls.__name__} takes ({', '.join(cls._fields)})")
    return TupleOperand(tuple([given[name] for name in cls._fields]), cls._fields, cls)


def _replaced(
    t: Translator, receiver: Any, arguments: list[Operand], keywords: dict[str, Operand]
) -> TupleOperand:
    """``receiver._replace(**keywords)`` of a namedtuple."""
    fields: tuple[str, ...] = receiver.fields
    if arguments or not keywords.keys() <= {*fields}:
        raise t.fail(TypingError, f"_replace() takes the fields {', '.join(fields)} by keywords")
    values = dict(zip(fields, receiver.items, strict=True)) | keywords
    return TupleOperand(tuple(values.values()), fields, receiver.cls)


# Functions that kernels cannot call, and their alternatives.
_INSTEAD: tuple[tuple[tuple[Any, ...], str], ...] = (
    ((ord,), "write the number"),
    ((np.dot, np.vdot, np.inner, np.matmul), "multiply and add the elements in a loop"),
    ((sorted, np.sort, np.argsort), "sort on the host, before or after the launch"),
    ((str, repr, chr), "print() shows numbers, and texts are made on the host"),
    ((map, filter), "write a loop"),
    ((type,), "write isinstance(value, int), which is known when the kernel is compiled"),
    ((list, dict, set), "cuda.local.array(n, dtype) is a thread's own array"),
    ((open, input), "read on the host, and pass an array"),
    (
        (np.array, np.arange),
        "cuda.local.array(shape, dtype) is a thread's own array, to be filled in a loop",
    ),
)
_RANDOM = (
    "numba.cuda.random has generators for kernels: "
    "xoroshiro128p_uniform_float32(states, cuda.grid(1))"
)
_CALLABLE = (
    "kernels call the names of cuda, math, operator, numpy's scalar functions, and functions "
    "decorated with @cuda.jit"
)


def _not_callable(t: Translator, target: Any) -> Exception:
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", repr(target))
    module = getattr(target, "__module__", None)
    is_numpy = isinstance(module, str) and module.partition(".")[0] == "numpy"
    if isinstance(target, types.FunctionType) and not is_numpy:
        return t.fail(
            UnsupportedError,
            f"{name}() is a plain Python function; decorate it with @cuda.jit(device=True) to call "
            "it in a kernel",
        )
    if isinstance(target, type) and issubclass(target, BaseException):
        return t.fail(UnsupportedError, f"{name} is an exception; it can be raised, not kept")
    if callable(target):
        where = f"{module}." if isinstance(module, str) and module != "builtins" else ""
        return t.fail(
            UnsupportedError,
            f"{where}{name} cannot be called in a kernel; {_instead(target)}",
        )
    return t.fail(TypingError, f"{name} is not callable")


def _instead(target: Any) -> str:
    """The alternative to a call that kernels cannot make."""
    # Both modules' functions are methods of a generator.
    owner = type(getattr(target, "__self__", None))
    if owner.__module__ in ("random", "numpy.random.mtrand"):
        return _RANDOM
    if getattr(target, "__module__", None) == "time":
        return "measure on the host, with cuda.event() before and after the launch"
    return next(
        (words for known, words in _INSTEAD if any(target is one for one in known)), _CALLABLE
    )


def _call_local(
    t: Translator,
    function: LocalFunction,
    arguments: list[Operand],
    keywords: dict[str, Operand],
) -> Operand:
    """Inline a function that the kernel defines, where its last statement is its only return; call
    it otherwise."""
    node = function.node
    if not _is_inlined(node):
        return call_device(t, as_device(t, function), arguments, keywords)
    names = [item.arg for item in (*node.args.posonlyargs, *node.args.args)]
    placed = dict(zip(names, arguments, strict=False))
    given = function.defaults | placed | keywords
    every = {*names, *[item.arg for item in node.args.kwonlyargs]}
    if given.keys() != every or len(arguments) > len(names) or placed.keys() & keywords.keys():
        raise t.fail(TypingError, f"{function.name} takes exactly ({ast.unparse(node.args)})")
    with inlined(t, function, given):
        result, ended = _inline_body(t, function), t.activation
    return survivor(t, result, ended)


def _is_inlined(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Whether a function has parameters without a star, and no return but as its last statement."""
    args = node.args
    if args.vararg or args.kwarg:
        return False
    if isinstance(node, ast.Lambda):
        return True
    *body, last = node.body
    before = body if isinstance(last, ast.Return) else node.body
    return not any(isinstance(item, ast.Return) for item in walk_own(before))


def _inline_body(t: Translator, function: LocalFunction) -> Operand:
    node = function.node
    if isinstance(node, ast.Lambda):
        return t.expr(node.body)
    *body, last = node.body
    place = t.b.loc
    t.block(body if isinstance(last, ast.Return) else node.body)
    t.b.loc = place
    value = last.value if isinstance(last, ast.Return) else None
    return Static(None) if value is None else t.expr(value)

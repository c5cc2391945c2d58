"""Implementations in Python, chosen by a function of the arguments' types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core import type_kinds
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.jit_options import check_options
from gridlane.frontends.python.device_function import device_function_of
from gridlane.frontends.python.extensions import EXTENSIONS, Member, Overload, check_target

Decorator = Callable[[Any], Any]
_FOR_THE_HOST = ("no_cpython_wrapper", "no_cfunc_wrapper", "_nrt", "parallel", "forceobj")
"""Options of numba's that concern code for the host."""


def _entry(
    choose: Any,
    jit_options: dict[str, Any] | None,
    strict: bool,
    inline: Any,
    prefer_literal: bool,
    target: str,
) -> Overload:
    options = {name: value for name, value in (jit_options or {}).items()}
    if "inline" in options:
        raise ValueError("overload: give inline itself, not in jit_options")
    options = {name: value for name, value in options.items() if name not in _FOR_THE_HOST}
    if "source" in options:
        raise ValueError("overload: source= is the text of one function; give it to cuda.jit")
    check_options(True, {**options, "inline": inline}, "overload")
    if not callable(choose):
        raise TypeError(f"overload decorates a function of types, not {choose!r}")
    return Overload(choose, strict, prefer_literal, check_target(target), options.get("floats"))


def overload(
    func: Any,
    jit_options: dict[str, Any] | None = None,
    strict: bool = True,
    inline: Any = "never",
    prefer_literal: bool = False,
    target: str = "cuda",
) -> Decorator:
    """Implement a function in kernels, by a function of the types of its arguments.

    The decorated function gets the types and returns a Python function of the same parameters, the
    implementation for them, or None. It may return a signature with it. Implementations are tried
    in the order of their registration, those for ``target="cuda"`` before those for "gpu" and
    "generic", and all of them before the dialect's own function of that name.

    Args:
        func: what kernels call: a function, a class, one of ``operator``.
        jit_options: options of ``cuda.jit`` for the implementation.
        strict: whether the parameters of the two must be the same.
        inline: accepted; the compiler inlines as it sees fit.
        prefer_literal: whether the types of constants are tried first with their values.
        target: "cuda", "gpu" or "generic"; implementations for "cpu" and "npyufunc" are not for
            kernels.

    >>> from gridlane import cuda
    >>> def twice(x): ...
    >>> @overload(twice)
    ... def _(x):
    ...     return lambda x: x + x
    """

    def decorate(choose: Any) -> Any:
        entry = _entry(choose, jit_options, strict, inline, prefer_literal, target)
        EXTENSIONS.add(func, entry)
        return choose

    return decorate


def _member(kind: Any, name: str, is_method: bool, **options: Any) -> Decorator:
    def decorate(choose: Any) -> Any:
        entry = _entry(
            choose,
            options.pop("jit_options", None),
            options.pop("strict", True),
            options.pop("inline", "never"),
            options.pop("prefer_literal", False),
            options.pop("target", "cuda"),
        )
        if options:
            raise TypeError(f"overload of {name} has no option {next(iter(options))!r}")
        EXTENSIONS.members.setdefault(name, []).append(Member(kind, is_method, entry))
        return choose

    return decorate


def overload_attribute(typ: Any, attr: str, **options: Any) -> Decorator:
    """Implement an attribute of a type in kernels: the function gets the type of the object and
    returns a function of the object. ``typ`` is a class of types, as ``types.Array``, or one type;
    the options are those of ``overload``."""
    return _member(typ, attr, False, **options)


def overload_method(typ: Any, attr: str, **options: Any) -> Decorator:
    """Implement a method of a type in kernels; the object is the first argument. See
    ``overload_attribute``."""
    return _member(typ, attr, True, **options)


def overload_classmethod(typ: Any, attr: str, **options: Any) -> Decorator:
    """Implement a class method of a class of types in kernels, as ``types.Array.make(n)``; the
    class is the first argument."""
    return _member(type_kinds.TypeRef(typ), attr, True, **options)


def register_jitable(*args: Any, **options: Any) -> Any:
    """Mark a Python function as one that kernels may call; the host calls it as before.

    >>> @register_jitable
    ... def square(x):
    ...     return x * x
    >>> square(3)
    9
    """

    def mark(function: Any) -> Any:
        used = {name: value for name, value in options.items() if name not in _FOR_THE_HOST}
        function.__gridlane_function__ = device_function_of(jit(function, device=True, **used))
        return function

    return mark(*args) if args else mark

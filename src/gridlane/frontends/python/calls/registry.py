"""The table of everything callable in a kernel, filled by the modules beside this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.errors import TypingError
from gridlane.core.frozen import frozen
from gridlane.frontends.python.operands import Operand
from gridlane.frontends.python.translator import Translator


@frozen
class Handler:
    """How to emit a call: ``emit(t, *operands)`` with None for an omitted argument.

    ``params`` names the parameters; the last ``optional`` of them may be omitted. ``variadic``: any
    number of arguments, no keywords. ``elementwise``: a numpy function, which accepts arrays too if
    the last argument is one more array, to fill. ``optionals``: it takes operands that may be None
    itself. ``unstored``: it takes expressions of arrays, which have no memory.
    """

    name: str
    emit: Callable[..., Operand]
    params: tuple[str, ...]
    optional: int = 0
    variadic: bool = False
    elementwise: bool = False
    optionals: bool = False
    unstored: bool = False


HANDLERS: dict[Any, Handler] = {}
"""Handlers by callee."""

VALUES: dict[Any, Callable[[Translator], Operand]] = {}
"""Readers of stubs that stand for a value, such as ``cuda.threadIdx.x``."""


def register(
    objects: tuple[Any, ...],
    name: str,
    emit: Callable[..., Operand],
    params: str,
    optionals: bool = False,
    unstored: bool = False,
) -> None:
    """Add a handler. ``params``: "a, b, c=" where = marks an optional one; "*" for any."""
    names = tuple(part.strip() for part in params.split(",") if part.strip())
    optional = sum(part.endswith("=") for part in names)
    handler = Handler(
        name,
        emit,
        tuple(part.rstrip("=") for part in names),
        optional,
        params == "*",
        name.startswith("np."),
        optionals,
        unstored,
    )
    for item in objects:
        HANDLERS[item] = handler


def handles(
    *objects: Any, params: str = "", optionals: bool = False, unstored: bool = False
) -> Callable[[Any], Any]:
    """Register the decorated function for objects; a stub brings its own name and parameters."""

    def add(emit: Any) -> Any:
        for item in objects:
            own = getattr(item, "params", "")
            name = getattr(item, "name", None)
            name = name if isinstance(name, str) else item.__name__
            name = f"np.{name}" if isinstance(item, np.ufunc) else name
            register((item,), name, emit, params or own, optionals, unstored)
        return emit

    return add


def bind(
    t: Translator, handler: Handler, arguments: list[Operand], keywords: dict[str, Operand]
) -> list[Operand | None]:
    """The arguments in the order of the parameters, None where omitted.

    Raises:
        TypingError: too many, too few, or an unknown keyword.
    """
    if handler.variadic:
        if keywords:
            raise t.fail(TypingError, f"{handler.name} takes no keywords")
        return list(arguments)
    params = handler.params
    bound: list[Operand | None] = [*arguments, *[None] * (len(params) - len(arguments))]
    wrong = len(arguments) > len(params)
    for name, operand in keywords.items():
        if name not in params or wrong or bound[params.index(name)] is not None:
            wrong = True
            break
        bound[params.index(name)] = operand
    required = len(params) - handler.optional
    if wrong or any(item is None for item in bound[:required]):
        given = [*[item.type_name for item in arguments], *[f"{name}=" for name in keywords]]
        shown = [*params[:required], *[f"{name}=" for name in params[required:]]]
        raise t.fail(
            TypingError,
            f"{handler.name} takes ({', '.join(shown)}), but this call gives ({', '.join(given)})",
        )
    return bound

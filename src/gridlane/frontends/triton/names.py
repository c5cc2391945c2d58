"""The names that a program reads from around it."""

from __future__ import annotations

import types
from typing import Any, cast

from gridlane.frontends.triton.aggregates import is_aggregate_class
from gridlane.frontends.triton.constants import constexpr
from gridlane.frontends.triton.context import is_builtin
from gridlane.frontends.triton.functions import ConstexprFunction, TileFunction
from gridlane.frontends.triton.types import dtype

_PACKAGE = __name__.rpartition(".")[0]

BUILTINS: dict[str, Any] = {
    each.__name__: each
    for each in (
        len, list, tuple, range, float, int, bool, str, isinstance, getattr, hasattr, print, min,
        max, type,
    )
}  # fmt: skip
"""Python's own functions that programs may call."""


def global_value(function: TileFunction, name: str) -> Any:
    """The value of a name that is not local.

    Raises:
        NameError: the name is not bound, or its value may change.
    """
    known, value = function.lookup(name)
    if not known:
        if name in BUILTINS:
            return BUILTINS[name]
        raise NameError(f"{name} is not defined")
    if not is_fixed(value):
        raise NameError(
            f"Cannot access global variable {name} from within @jit'ed function. A program reads "
            f"global names that are constants: write `{name} = tl.constexpr(...)`, which differs "
            f"from the annotation `{name}: tl.constexpr = ...`, or pass it as an argument"
        )
    return value


def is_fixed(value: Any) -> bool:
    """Whether programs may read an object around them: a constant, a type, a function or module."""
    if value is None or is_builtin(value):
        return True
    if isinstance(value, (constexpr, dtype, TileFunction, ConstexprFunction, types.ModuleType)):
        return True
    if is_aggregate_class(value):
        return True
    if isinstance(value, type):
        named = issubclass(value, tuple) and hasattr(cast("Any", value), "_fields")
        return named or value.__module__.startswith(_PACKAGE)
    return type(value).__module__.startswith(_PACKAGE)

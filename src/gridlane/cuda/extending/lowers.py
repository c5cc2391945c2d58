"""The code of typed calls: the functions that emit it, found by the types of the arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core.argtypes import ArgType, Signature
from gridlane.core.errors import UnsupportedError
from gridlane.core.frozen import frozen
from gridlane.core.type_kinds import AnyKind, unliteral
from gridlane.cuda.extending.lowering.emission import (
    attribute_emission,
    constant_emission,
    emission,
)
from gridlane.cuda.kernels.user_types import typeof_impl
from gridlane.frontends.python.extensions import EXTENSIONS, Emit

Pattern = Any
"""A type, or a class of types."""


class VarArg:
    """As the last type of a pattern: any number of arguments of a type."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype


@frozen
class _Lowering:
    patterns: tuple[Pattern, ...]
    codegen: Any


_FUNCTIONS: dict[Any, list[_Lowering]] = {}
_ATTRIBUTES: dict[str, list[_Lowering]] = {}
_CONSTANTS: list[_Lowering] = []


def lower_builtin(function: Any, *patterns: Pattern) -> Callable[[Any], Any]:
    """Decorate ``codegen(context, builder, signature, arguments)``, which emits the code of a call
    with arguments of these types; a pattern may be a class of types."""

    def add(codegen: Any) -> Any:
        _FUNCTIONS.setdefault(function, []).append(_Lowering(patterns, codegen))
        return codegen

    return add


def lower_getattr(kind: Pattern, name: str) -> Callable[[Any], Any]:
    """Decorate ``codegen(context, builder, type, value)``, which emits the code of an attribute."""

    def add(codegen: Any) -> Any:
        _ATTRIBUTES.setdefault(name, []).append(_Lowering((kind,), codegen))
        return codegen

    return add


def _refused(name: str, instead: str) -> Callable[..., Callable[[Any], Any]]:
    def register(*patterns: Any) -> Callable[[Any], Any]:
        raise UnsupportedError(f"{name}: {instead}")

    return register


lower_getattr_generic = _refused("lower_getattr_generic", "name each attribute: lower_getattr")
lower_setattr = _refused(
    "lower_setattr", "a value of a type of yours does not change in a kernel; make another one"
)
lower_setattr_generic = lower_setattr
lower_cast = _refused("lower_cast", "write a function that makes the one of the other: @overload")


def lower_constant(kind: Pattern) -> Callable[[Any], Any]:
    """Decorate ``codegen(context, builder, type, value)``, which emits an object that a kernel
    captures, whose class has a type by ``typeof_impl``."""

    def add(codegen: Any) -> Any:
        _CONSTANTS.append(_Lowering((kind,), codegen))
        if _constant_of not in EXTENSIONS.constants:
            EXTENSIONS.constants.append(_constant_of)
        return codegen

    return add


def _constant_of(value: Any) -> tuple[ArgType, Emit] | None:
    kind = typeof_impl.of(value)
    codegen = None if kind is None else _best(_CONSTANTS, (kind,))
    return None if kind is None or codegen is None else (kind, constant_emission(codegen, value))


def code_of(function: Any, signature: Signature) -> Emit | None:
    """What emits a call; None where nothing is registered for the types."""
    codegen = _best(_FUNCTIONS.get(function, []), signature.args)
    return None if codegen is None else emission(codegen)


def code_of_attribute(kind: ArgType, name: str) -> Emit | None:
    """What emits an attribute; None where nothing is registered for the type."""
    codegen = _best(_ATTRIBUTES.get(name, []), (kind,))
    return None if codegen is None else attribute_emission(codegen)


def _best(lowerings: list[_Lowering], types: tuple[ArgType, ...]) -> Any:
    """The code for the closest types: a type before its class, a class before any type."""
    best, least = None, None
    for each in lowerings:
        distance = _distance(each.patterns, types)
        if distance is not None and (least is None or distance < least):
            best, least = each.codegen, distance
    return best


def _distance(patterns: tuple[Pattern, ...], types: tuple[ArgType, ...]) -> int | None:
    if patterns and isinstance(patterns[-1], VarArg):
        rest = len(types) - len(patterns) + 1
        patterns = (*patterns[:-1], *[patterns[-1].dtype] * rest)
    if len(patterns) != len(types):
        return None
    steps = [_step(pattern, kind) for pattern, kind in zip(patterns, types)]
    return None if None in steps else sum(steps)  # type: ignore[arg-type]  # no None


def _step(pattern: Pattern, kind: ArgType) -> int | None:
    if isinstance(pattern, type):
        if pattern is AnyKind:
            return 100
        return 1 if isinstance(kind, pattern) else None
    return 0 if pattern in (kind, unliteral(kind)) else None


class Registry:
    """numba's registry of code: the names of its methods are all that there is of it."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    lower = staticmethod(lower_builtin)
    lower_getattr = staticmethod(lower_getattr)
    lower_getattr_generic = staticmethod(lower_getattr_generic)
    lower_setattr = staticmethod(lower_setattr)
    lower_setattr_generic = staticmethod(lower_setattr_generic)
    lower_cast = staticmethod(lower_cast)
    lower_constant = staticmethod(lower_constant)

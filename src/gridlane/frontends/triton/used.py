"""The names around a program whose values its code is made of."""

from __future__ import annotations

import copy
import types
from collections.abc import Iterable
from types import CellType
from typing import Any, NamedTuple, cast

from gridlane.frontends.triton.constants import constexpr, unwrapped
from gridlane.frontends.triton.fingerprint import PLAIN, paths_of
from gridlane.frontends.triton.functions import ConstexprFunction, TileFunction
from gridlane.frontends.triton.types import dtype

_PACKAGE = __name__.rpartition(".")[0]
_NO_COPY = object()

Guard = tuple[Any, str | None, Any]
"""(a dictionary and the name of an item; a cell and None; or an object and the name of an
attribute; the value)."""


class Used(NamedTuple):
    """A name and the value that it had.

    Attributes:
        owner: the dictionary, or the cell, that binds it.
        plain: a copy of a constant's value; none of a function, class or other object.
    """

    owner: dict[str, Any] | CellType
    name: str
    value: Any
    plain: Any

    @property
    def is_constant(self) -> bool:
        """Whether the value is a constant, not a function, class or other object."""
        return self.plain is not _NO_COPY

    @property
    def before(self) -> Any:
        """A constant's value as it was."""
        return constexpr(self.plain) if isinstance(self.value, constexpr) else self.plain

    def now(self) -> Any:
        """Its value now; None where it is bound no more."""
        if isinstance(self.owner, CellType):
            try:
                return self.owner.cell_contents
            except ValueError:
                return None
        return self.owner.get(self.name)

    def is_same(self) -> bool:
        """Whether the name has the value still."""
        return self._has(self.now())

    def _has(self, value: Any) -> bool:
        if not self.is_constant:
            return value is self.value
        return _is_equal(unwrapped(value), self.plain)

    def guards(self) -> tuple[Guard, ...] | None:
        """Objects that are the same ones as long as the value is; None if it is another one now, or
        may change within an object."""
        value = self.now()
        if not self._has(value) or not (_cannot_change(self.plain) or not self.is_constant):
            return None
        name = None if isinstance(self.owner, CellType) else self.name
        own = self.owner, name, value
        return (own, (value, "value", value.value)) if isinstance(value, constexpr) else (own,)


def used_by(functions: Iterable[Any]) -> tuple[Used, ...]:
    """The names that functions and all functions that they call read from around them."""
    found: dict[tuple[int, str], Used] = {}
    waiting = [*functions]
    seen: set[Any] = set()
    while waiting:
        function = waiting.pop()
        if function.fn in seen:
            continue
        seen.add(function.fn)
        for path in paths_of(function):
            used = _resolved(function.fn, path)
            if used is not None:
                found.setdefault((id(used.owner), used.name), used)
                waiting += functions_in(used.value)
    return tuple(found.values())


def _resolved(fn: types.FunctionType, path: tuple[str, ...]) -> Used | None:
    """The name that a path ends with, through modules; None for names of the language, modules, and
    what is not bound."""
    owner: dict[str, Any] | CellType = fn.__globals__
    if path[0] in fn.__code__.co_freevars and fn.__closure__ is not None:
        owner = fn.__closure__[fn.__code__.co_freevars.index(path[0])]
    used = Used(owner, path[0], None, _NO_COPY)
    if not isinstance(owner, CellType) and path[0] not in owner:
        return None
    value = used.now()
    for name in path[1:]:
        if not isinstance(value, types.ModuleType) or name not in vars(value):
            break
        used = Used(vars(value), name, None, _NO_COPY)
        value = used.now()
    if isinstance(value, types.ModuleType) or _is_ours(used.owner):
        return None
    plain = unwrapped(value)
    return used._replace(value=value, plain=copy.deepcopy(plain) if _is_data(plain) else _NO_COPY)


def _is_ours(owner: dict[str, Any] | CellType) -> bool:
    return isinstance(owner, dict) and str(owner.get("__name__")).startswith(_PACKAGE)


def _is_data(value: Any) -> bool:
    """Whether a value is compared with what it was; others are when they are the same object."""
    if isinstance(value, (tuple, list, set, frozenset)):
        return all(map(_is_data, cast("tuple[Any, ...]", value)))
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return all(_is_data(key) and _is_data(item) for key, item in pairs)
    return type(value) in PLAIN or isinstance(value, dtype)


def functions_in(value: Any) -> list[Any]:
    """The functions that a constant is or has."""
    plain = unwrapped(value)
    if isinstance(plain, (TileFunction, ConstexprFunction)):
        return [plain]
    if isinstance(plain, (tuple, list)):
        return [each for item in cast("list[Any]", plain) for each in functions_in(item)]
    return []


def _is_equal(value: Any, other: Any) -> bool:
    return value is other or (_is_data(value) and _exactly(value) == _exactly(other))


def _exactly(value: Any) -> Any:
    """A constant in a form in which 1, True and 1.0 differ, and 0.0 and -0.0."""
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return dict, [(_exactly(key), _exactly(item)) for key, item in pairs]
    if isinstance(value, (set, frozenset)):
        return set, frozenset([_exactly(item) for item in cast("set[Any]", value)])
    if isinstance(value, (tuple, list)):
        items = cast("list[Any]", value)
        return isinstance(value, list), tuple([_exactly(item) for item in items])
    return type(value), value.hex() if isinstance(value, float) else value


def _cannot_change(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_cannot_change, cast("tuple[Any, ...]", value)))
    return type(value) in PLAIN or isinstance(value, dtype)

"""What names of a function of loops mean outside of it."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from gridlane.core.dtypes import DType
from gridlane.core.errors import NameLookupError, UnsupportedError
from gridlane.core.source import Loc

_NUMBERS = "math", "numpy", None, ""
_WORDS: dict[str, tuple[str | None, ...]] = {
    **dict.fromkeys(("range", "min", "max", "int", "bool", "float", "round"), ("builtins",)),
    **dict.fromkeys(("abs", "pow"), ("builtins", *_NUMBERS)),
    **dict.fromkeys(("grid", "parallel"), ("gridlane.compute.decorator",)),
    **dict.fromkeys([n for n in dir(math) if callable(getattr(math, n)) and n != "pow"], _NUMBERS),
}  # fmt: skip
"""Names that loop nests know, and the modules of what they mean."""
_BUILTINS: dict[str, Any] = {
    "abs": abs, "min": min, "max": max, "float": float, "int": int, "bool": bool, "round": round,
    "pow": pow,
}  # fmt: skip


class Outside:
    """Names outside of a function.

    Attributes:
        captured: the numbers that the function reads.
        conversions: the types that it calls.
    """

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = {**names}
        self.captured: dict[str, int | float | bool] = {}
        self.conversions: dict[str, DType] = {}

    def value(self, name: str) -> Any:
        """What a name outside of the function is."""
        value = self.names.get(name, _BUILTINS.get(name))
        if isinstance(value, int | float | bool):
            self.captured[name] = value
        elif isinstance(value, DType):
            self.conversions[name] = value
        return value

    def numbers(self) -> Mapping[str, object]:
        """All numbers; whole ones count as read."""
        found = {n: v for n, v in self.names.items() if isinstance(v, int | float)}
        self.captured |= {n: v for n, v in found.items() if type(v) is int}
        return found

    def require_meant(self, call: ast.Call, loc: Loc) -> None:
        """Require that a word of loop nests is not the user's name of something else.

        Raises:
            NameLookupError: it is, by an assignment or a definition outside of the loops.
        """
        value, word = self._of(call.func), ast.unparse(call.func).rpartition(".")[2]
        if value is None or word not in _WORDS:
            return
        modules = _WORDS[word]
        if (
            getattr(value, "__name__", "") != word
            or getattr(value, "__module__", "") not in modules
        ):
            known = str(modules[0]).removesuffix(".running")
            raise NameLookupError(
                f"{word} is {value!r} here, and in loop nests it is that of {known}",
                loc,
            )

    def _of(self, node: ast.expr) -> Any:
        """What a name, or an attribute of one, is outside of the function; None if unknown."""
        if isinstance(node, ast.Attribute):
            return getattr(self._of(node.value), node.attr, None)
        return self.names.get(node.id) if isinstance(node, ast.Name) else None


def outside_of(function: Callable[..., Any]) -> dict[str, Any]:
    """What names outside of a function are now, the builtins left out. A module has those of its
    attributes whose names the function has.

    Raises:
        UnsupportedError: it is no function.
    """
    if not inspect.isfunction(function):
        raise UnsupportedError(f"compute takes a function of `def`, not {function!r}")
    closed, names = inspect.getclosurevars(function), function.__code__.co_names
    return {n: _as_now(v, names) for n, v in {**closed.globals, **closed.nonlocals}.items()}


def _as_now(value: Any, names: tuple[str, ...]) -> Any:
    if not isinstance(value, ModuleType):
        return value
    module = ModuleType(value.__name__)
    vars(module).update({name: getattr(value, name) for name in names if hasattr(value, name)})
    return module

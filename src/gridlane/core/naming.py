"""Functions that are made from another one: their public names and documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def named(function: F, name: str, text: str) -> F:
    """A function under its name, with its docstring."""
    made: Any = function
    made.__name__ = made.__qualname__ = name
    made.__doc__ = text
    return function

"""Caches of generated code, which ``clear_all_caches`` empties."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_LIMIT = 1024
_caches: list[Any] = []


def cached(function: Callable[P, R]) -> Callable[P, R]:
    """Cache the results of a function by its arguments, which are hashable; the least recently
    used are dropped."""
    wrapped: Any = lru_cache(maxsize=_LIMIT)(function)
    _caches.append(wrapped)
    return wrapped


class _Table(dict[Any, Any]):
    """A table that ``clear_all_caches`` empties."""

    def cache_clear(self) -> None:
        self.clear()


def cached_table() -> dict[Any, Any]:
    """A table of what is generated."""
    table = _Table()
    _caches.append(table)
    return table


def clear_all_caches() -> None:
    """Drop all generated code; the next call of an algorithm compiles, or reads the disk cache."""
    for each in _caches:
        each.cache_clear()

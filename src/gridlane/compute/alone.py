"""One thread at a time in isl: its context has one limit of operations, and options, for all."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

LOCK = RLock()
"""Held by what calls isl."""


def alone(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function that holds the lock of isl."""

    @wraps(function)
    def locked(*args: _P.args, **keywords: _P.kwargs) -> _R:
        with LOCK:
            return function(*args, **keywords)

    return locked

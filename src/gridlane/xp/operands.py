"""Checks of the operands of functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from gridlane.xp.arrays import Array

P = ParamSpec("P")
R = TypeVar("R")


def of_array(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose first operand is an array."""
    return _checking(function, lambda operands: operands[:1])


def of_arrays(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose operands are arrays, or whose first operand is a list of them."""

    def own(operands: tuple[Any, ...]) -> Any:
        is_list = bool(operands) and isinstance(operands[0], (list, tuple))
        return operands[0] if is_list else operands

    return _checking(function, own)


def _checking(function: Callable[P, R], chosen: Callable[[tuple[Any, ...]], Any]) -> Callable[P, R]:
    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for each in chosen(args):
            if not isinstance(each, Array):
                raise TypeError(
                    f"{function.__name__}: an operand is an array of gridlane.xp, not "
                    f"{type(each).__name__}; copy others with xp.asarray"
                )
        return function(*args, **kwargs)

    return checked

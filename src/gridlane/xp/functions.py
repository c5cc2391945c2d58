"""The operations of the table as functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gridlane.xp.array import called
from gridlane.xp.operations import OPERATIONS


@cache
def function(name: str) -> Callable[..., Any]:
    """The function of an operation."""
    operation = OPERATIONS[name]

    def apply(*operands: Any) -> Any:
        if len(operands) != operation.arity:
            raise TypeError(f"{name} takes {operation.arity} operands, not {len(operands)}")
        result = called(name, *operands)
        if result is NotImplemented:
            kinds = ", ".join(type(each).__name__ for each in operands)
            raise TypeError(
                f"{name}: operands are arrays of gridlane.xp and Python's numbers, not {kinds}; "
                "copy NumPy's arrays with xp.asarray"
            )
        return result

    apply.__name__ = apply.__qualname__ = name
    return apply

"""What the names around a function mean."""

from __future__ import annotations

import builtins
import types
from typing import Any


def lookup(function: types.FunctionType, name: str) -> tuple[bool, Any]:
    """Whether a name is bound around a function (closure, globals, builtins), and to what."""
    code = function.__code__
    if name in code.co_freevars and function.__closure__ is not None:
        cell = function.__closure__[code.co_freevars.index(name)]
        try:
            return True, cell.cell_contents
        except ValueError:
            return False, None
    if name in function.__globals__:
        return True, function.__globals__[name]
    return hasattr(builtins, name), getattr(builtins, name, None)


def captured_interface(value: Any) -> dict[str, Any] | None:
    """The array interface of a device array, ours or another library's; None of anything else."""
    if isinstance(value, type):
        return None
    ours = getattr(value, "__gridlane_array__", None)
    return getattr(value, "__cuda_array_interface__", None) if ours is None else ours

"""What the names around a function mean."""

from __future__ import annotations

import builtins
import inspect
import types
from collections.abc import Hashable
from typing import Any

import numpy as np


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


class Surroundings:
    """What is around a kernel, as it is when it is first looked at.

    The key of a kernel and its code, which may be made later and several times, see the same. All
    that was looked at stays alive.
    """

    def __init__(self) -> None:
        self._seen: dict[Hashable, tuple[Any, bool, Any]] = {}

    def lookup(self, function: types.FunctionType, name: str) -> tuple[bool, Any]:
        """As the function ``lookup``."""
        known = self._seen.get((id(function), "name", name))
        if known is None:
            known = self._seen[id(function), "name", name] = (function, *lookup(function, name))
        return known[1:]

    def attribute(self, owner: Any, name: str) -> Any:
        """``owner.name``; AttributeError where there is none."""
        known = self._seen.get((id(owner), "attribute", name))
        if known is None:
            try:
                known = owner, True, getattr(owner, name)
            except AttributeError as error:
                known = owner, False, str(error)
            self._seen[id(owner), "attribute", name] = known
        if not known[1]:
            raise AttributeError(known[2])
        return known[2]

    def interface(self, value: Any) -> dict[str, Any] | None:
        """As the function ``captured_interface``."""
        known = self._seen.get((id(value), "interface"))
        if known is None:
            known = self._seen[id(value), "interface"] = value, True, captured_interface(value)
        return known[2]

    def signature(self, function: types.FunctionType) -> inspect.Signature:
        """The signature, with the default values."""
        known = self._seen.get((id(function), "signature"))
        if known is None:
            known = function, True, inspect.signature(function)
            self._seen[id(function), "signature"] = known
        return known[2]

    def array(self, array: np.ndarray) -> np.ndarray:
        """The elements of an array, in its order, where nobody writes to them."""
        if array.dtype.hasobject:
            return array  # and an error, whoever asks
        known = self._seen.get((id(array), "array"))
        if known is None:
            flags = array.flags
            order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
            # By bytes, with those between the fields of records.
            data = array.tobytes(order)
            kept = np.ndarray(array.shape, array.dtype, data, order=order)
            known = self._seen[id(array), "array"] = array, True, kept
        return known[2]

"""The values of the names around a function."""

from __future__ import annotations

import builtins
import inspect
import types
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from gridlane.core import array_interface
from gridlane.core.array_interface import ArrayMemory
from gridlane.core.signatures import signature_of


def lookup(function: types.FunctionType, name: str) -> tuple[bool, Any]:
    """Whether a name is bound around a function (closure, globals, builtins), and its value."""
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


ReadMemory = Callable[[Any, Any], ArrayMemory]
"""The memory of an object, from it and its array interface. Raises where kernels cannot use it."""


def described(value: Any, interface: Any) -> ArrayMemory:
    """The memory as the interface describes it, on whatever device it is."""
    return array_interface.read(interface)


def protocol(value: Any, name: str) -> Any:
    """The attribute of a protocol, None where an object does not have it.

    ``__getattr__`` may return a value for every name, or raise any exception: neither is a
    protocol. A class has those of its metaclass: its own attributes are its instances'.
    """
    if isinstance(value, type) and not _of_metaclass(type(value), name):
        return None
    try:
        attribute = getattr(value, name, None)
    except Exception:
        if inspect.getattr_static(value, name, None) is None:
            return None
        raise
    return None if attribute is None or hasattr(value, _NOBODY_HAS) else attribute


def _of_metaclass(metaclass: type, name: str) -> bool:
    """Whether a metaclass defines an attribute of its classes."""
    defined = inspect.getattr_static(metaclass, name, None)
    return defined is not None and defined is not inspect.getattr_static(type, name, None)


_NOBODY_HAS = "__gridlane_nobody_has_this__"


class Surroundings:
    """The values around a kernel, as they are at their first lookup.

    The key of a kernel and its code, which may be generated later and several times, use the same
    values. Every object that was looked up stays alive.
    """

    def __init__(self, memory: ReadMemory = described) -> None:
        self._memory = memory
        self._seen: dict[Hashable, tuple[Any, bool, Any]] = {}

    def lookup(self, function: types.FunctionType, name: str) -> tuple[bool, Any]:
        """As the function ``lookup``, cached."""
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

    def memory(self, value: Any) -> ArrayMemory | None:
        """The memory of a device array, gridlane's or another library's; None of any other object.

        Raises:
            Exception: the object's own, or the defect of its interface.
        """
        known = self._seen.get((id(value), "memory"))
        if known is None:
            shown = protocol(value, "__gridlane_array__")
            if shown is None:
                shown = protocol(value, "__cuda_array_interface__")
            array_memory = None if shown is None else self._memory(value, shown)
            known = self._seen[id(value), "memory"] = value, True, array_memory
        return known[2]

    def signature(self, function: types.FunctionType) -> inspect.Signature:
        """The signature, with the default values."""
        known = self._seen.get((id(function), "signature"))
        if known is None:
            known = function, True, signature_of(function)
            self._seen[id(function), "signature"] = known
        return known[2]

    def array(self, array: np.ndarray) -> np.ndarray:
        """The elements of an array, in its order, in a private copy."""
        if array.dtype.hasobject:
            return array  # every user refuses it
        known = self._seen.get((id(array), "array"))
        if known is None:
            flags = array.flags
            order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
            # Bytewise, with the padding between the fields of records.
            data = array.tobytes(order)
            kept = np.ndarray(array.shape, array.dtype, data, order=order)
            known = self._seen[id(array), "array"] = array, True, kept
        return known[2]

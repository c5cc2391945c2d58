"""NumPy's protocols: its functions and ufuncs with arrays of a device as operands."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from typing import Any

import numpy as np

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""The array API standard's versions; the namespace is of the last one, which has what the others
have."""

REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
"""The functions that reduce by a ufunc."""
SCANS = {"add": "cumulative_sum", "multiply": "cumulative_prod"}
"""The functions that accumulate by a ufunc."""
NAMES = {
    "absolute": "abs",
    "around": "round",
    "amax": "max",
    "amin": "min",
    "concatenate": "concat",
    "transpose": "permute_dims",
    "cumsum": "cumulative_sum",
    "cumprod": "cumulative_prod",
}
"""NumPy's names of functions that have others here."""


def namespace(version: str | None = None) -> Any:
    """The module ``gridlane.xp``.

    Raises:
        ValueError: it is not of this version of the standard.
    """
    if version is not None and version not in _VERSIONS:
        raise ValueError(
            f"gridlane.xp is of the versions {', '.join(_VERSIONS)} of the array API standard, not "
            f"{version!r}"
        )
    return sys.modules["gridlane.xp"]


_MODULES = {"numpy": "", "numpy.linalg": "linalg", "numpy.fft": "fft"}
"""NumPy's modules, and the parts of the namespace for their functions."""


def _named(name: str, part: str = "") -> Any:
    """A function of the namespace by NumPy's name; None if there is none."""
    there = getattr(namespace(), part) if part else namespace()
    return getattr(there, name, None) or getattr(there, NAMES.get(name, name), None)


def lacking(name: str, part: str = "") -> AttributeError:
    """The error for a name that the namespace, or a part of it, lacks, with what to do if NumPy has
    it."""
    path = f"{part}.{name}" if part else name
    numpys = getattr(np, part, None) if part else np
    hint = ""
    if part == "random" and hasattr(numpys, name):
        hint = "; rng = xp.random.default_rng(seed) is a generator, with NumPy's names of methods"
    elif callable(getattr(numpys, name, None)) and not name.startswith("_"):
        hint = f"; NumPy's takes copies: xp.asarray(np.{path}(np.asarray(x)))"
    where = f"gridlane.xp.{part}" if part else "gridlane.xp"
    return AttributeError(f"module {where!r} has no attribute {name!r}{hint}", name=name)


# --- ufuncs ---


def ufunc(func: np.ufunc, method: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call a method of a ufunc.

    Raises:
        TypeError: there is no such function or method here, or an operand is an array of NumPy's.
    """
    name = func.__name__
    refuse_hosts(name, operands)
    function = _named(name)
    if function is None:
        raise TypeError(f"np.{name}: gridlane.xp has no function of this name")
    if "out" in options:
        outs = options["out"]
        options = {**options, "out": outs[0] if len(outs) == 1 else outs}
    if method == "__call__":
        return function(*operands, **options)
    return by_method(name, method, operands, options)


METHODS = "accumulate", "outer", "reduce", "reduceat"
"""The methods of ufuncs that functions of two operands have."""


def by_method(name: str, method: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call a method of the function of an operation on two operands.

    Raises:
        TypeError: there is no function of the namespace for it.
    """
    if method == "outer":
        return _outer(_named(name), operands, options)
    if method == "reduceat":
        return _reduceat(name, operands, options)
    names = {"reduce": REDUCTIONS, "accumulate": SCANS}.get(method, {})
    folding = _named(names[name]) if name in names else None
    if folding is None:
        raise TypeError(f"np.{name}.{method}: gridlane.xp has no function for it")
    if len(operands) < 2:
        options.setdefault("axis", 0)
    if method == "reduce" and "keepdims" not in options:
        options["keepdims"] = False
    return called(folding, f"np.{name}.{method}", operands, options)


def _reduceat(name: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    # By name, as arrays import this module, and the other one arrays.
    segments = import_module("gridlane.xp.sorting.segments")
    if name not in segments.NAMES:
        raise TypeError(f"np.{name}.reduceat: gridlane.xp has no function for it")
    return called(segments.reduceat(name), f"np.{name}.reduceat", operands, options)


def _outer(function: Any, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    first, second = operands
    if hasattr(first, "node"):
        rank = np.ndim(second) if not hasattr(second, "node") else second.ndim
        first = first.reshape((*first.shape, *[1] * rank))
    return function(first, second, **options)


def refuse_hosts(name: str, operands: tuple[Any, ...]) -> None:
    """Refuse NumPy's arrays: a copy between host and device is explicit.

    Raises:
        TypeError: an operand is one.
    """
    if any(isinstance(each, np.ndarray) for each in operands):
        raise TypeError(
            f"{name}: an operand is an array of NumPy's, in the host's memory; copy it with "
            "xp.asarray, or the others with np.asarray"
        )


# --- functions ---


def function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the function of the namespace for a function of NumPy's.

    Raises:
        TypeError: there is none, or it has no such parameter.
    """
    name = f"{func.__module__}.{func.__name__}".replace("numpy", "np")
    part = _MODULES.get(func.__module__)
    own = None if part is None else _named(func.__name__, part)
    if own is None or not callable(own):
        raise TypeError(
            f"{name}: gridlane.xp has no function for it; copy the array with np.asarray(x)"
        )
    return called(own, name, args, kwargs)


def called(own: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function with NumPy's way of giving parameters, by position or name.

    Raises:
        TypeError: it has no such parameter.
    """
    parameters = list(inspect.signature(own).parameters.values())
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return own(*args, **kwargs)
    given: dict[str, Any] = {}
    positional: list[Any] = []
    left = list(args)
    for each in parameters:
        if left:
            value = left.pop(0)
        elif each.name in kwargs:
            value = kwargs[each.name]
        elif each.default is each.empty:
            break
        else:
            continue
        if each.kind is each.POSITIONAL_ONLY:
            positional.append(value)
        else:
            given[each.name] = value
    unknown = [
        each
        for each, value in kwargs.items()
        if each not in {known.name for known in parameters} and not _is_default(value)
    ]
    if left or unknown:
        what = f"parameter {unknown[0]!r}" if unknown else "so many parameters"
        raise TypeError(f"{name}: gridlane.xp's {own.__name__} has no {what}")
    return own(*positional, **given)


def _is_default(value: Any) -> bool:
    """Whether a parameter is one that NumPy passes where the caller gave none."""
    return value is None or value is np._NoValue  # type: ignore[attr-defined]  # NumPy's mark


class Method:
    """A function of the namespace as a method of arrays, with NumPy's way of giving parameters."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, array: Any, owner: type) -> Any:
        own = _named(self.name)
        if own is None:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}")
        if array is None:
            return own
        return lambda *args, **kwargs: called(own, self.name, (array, *args), kwargs)


def product(left: Any, right: Any) -> Any:
    """``left @ right``; NotImplemented for an operand that is no array."""
    refuse_hosts("matmul", (left, right))
    if not all(hasattr(each, "node") for each in (left, right)):
        return NotImplemented
    return namespace().matmul(left, right)

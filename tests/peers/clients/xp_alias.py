"""``gridlane.xp`` under the names of NumPy's that it lacks as it has others: for programs and
tests of NumPy's and CuPy's, which import one module."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from gridlane import xp

NAMES = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "around": "round",
    "ascontiguousarray": "asarray",
    "concatenate": "concat",
    "in1d": "isin",
}
"""Names of the same functions in NumPy and in gridlane.xp."""
_HOST = "dtype", "errstate", "issubdtype", "promote_types", "iscomplexobj", "isscalar"
"""Functions of NumPy's of dtypes and Python's objects, not of arrays."""


class _NDArray(type):
    """NumPy's class of arrays: calling it makes one of a shape."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, xp.Array)

    def __call__(cls, shape: Any, dtype: Any = float) -> Any:
        return xp.empty(shape, dtype)


class ndarray(metaclass=_NDArray):
    """Arrays of gridlane.xp."""


class Alias(ModuleType):
    """A module with gridlane.xp's functions and NumPy's scalar types, which are called there."""

    ndarray = ndarray

    def __getattr__(self, name: str) -> Any:
        of_numpy = getattr(np, name, None)
        if isinstance(of_numpy, type) and issubclass(of_numpy, np.generic):
            return of_numpy
        if name in _HOST:
            return of_numpy
        try:
            return getattr(xp, NAMES.get(name, name))
        except AttributeError:
            raise AttributeError(f"gridlane.xp has no {name}") from None

"""Arrays as text, as NumPy shows its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.cuda.arrays.showing import edges

_WHOLE = 1000
"""Elements of the largest array that is copied to the host as a whole."""
_AXES = 4
_PLAIN = ("bool", "int64", "float64", "complex128")
"""Dtypes that NumPy leaves out."""


def text_of(array: Any) -> str:
    """The text of ``repr``. Of a large array the edges alone are copied."""
    if array.size <= _WHOLE or array.ndim > _AXES:
        return np.array_repr(np.asarray(array))
    values = _shown(array, "array(")
    dtype = "" if array.dtype.name in _PLAIN else f", dtype={array.dtype.name}"
    return f"array({values}, shape={array.shape}{dtype})"


def plain_of(array: Any) -> str:
    """The text of ``str``."""
    if array.size <= _WHOLE or array.ndim > _AXES:
        return str(np.asarray(array))
    return _shown(array, "", " ")


def _shown(array: Any, prefix: str, separator: str = ", ") -> str:
    with np.printoptions(threshold=0, edgeitems=3):
        shown = edges(array, np.asarray)
        return np.array2string(shown, separator=separator, prefix=prefix)

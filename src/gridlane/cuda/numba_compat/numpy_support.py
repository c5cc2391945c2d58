"""``numba.np.numpy_support``: conversions between numpy's dtypes and types."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core.argtypes import ArgType
from gridlane.core.numpy_types import from_numpy as from_dtype
from gridlane.frontends.python.pointer_stubs import carray, farray
from gridlane.launch.geometry import as_dtype

numpy_version = tuple(map(int, np.__version__.split(".")[:2]))


def as_numpy_dtype(type_: ArgType) -> np.dtype:
    """The numpy dtype of a type."""
    return as_dtype(type_)


def is_contiguous(array: Any) -> bool:
    """Whether an array's elements are contiguous in C order."""
    return array.flags["C_CONTIGUOUS"]


__all__ = [
    "as_dtype", "as_numpy_dtype", "carray", "farray", "from_dtype", "is_contiguous",
    "numpy_version",
]  # fmt: skip

"""``numba.np.numpy_support``: conversions between numpy's dtypes and types."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from gridlane.core.argtypes import ArgType
from gridlane.core.argtypes import from_numpy as from_dtype
from gridlane.launch.geometry import as_dtype

numpy_version = tuple(map(int, np.__version__.split(".")[:2]))


def as_numpy_dtype(type_: ArgType) -> np.dtype:
    """The numpy dtype of a type."""
    return as_dtype(type_)


def is_contiguous(array: Any) -> bool:
    """Whether an array's elements are contiguous in C order."""
    return array.flags["C_CONTIGUOUS"]


def carray(ptr: Any, shape: int | tuple[int, ...], dtype: Any = None) -> np.ndarray:
    """A host array over the memory at a pointer of ctypes, in C order.

    Args:
        ptr: a typed pointer, or a ``c_void_p`` with a ``dtype``; or an object with one as its
            ``_as_parameter_``.
        shape: of the array.
        dtype: its dtype, which that of a typed pointer must equal.

    Raises:
        TypeError: ``ptr`` is no pointer, or the dtype is missing or differs.

    >>> numbers = (ctypes.c_int32 * 4)(1, 2, 3, 4)
    >>> carray(ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int32)), (2, 2)).tolist()
    [[1, 2], [3, 4]]
    """
    ptr = getattr(ptr, "_as_parameter_", ptr)
    wanted: np.dtype | None = None if dtype is None else np.dtype(as_dtype(dtype))
    own = wanted
    if not isinstance(ptr, ctypes.c_void_p):
        pointed = getattr(type(ptr), "_type_", None) if hasattr(ptr, "contents") else None
        if pointed is None:
            raise TypeError(f"a pointer of ctypes is required, not {ptr!r}")
        own = np.dtype(pointed)
    if own is None:
        raise TypeError("explicit dtype required for void* argument")
    if wanted not in (None, own):
        raise TypeError(f"mismatching dtype {wanted} for a pointer to {own}")
    address = ctypes.cast(ptr, ctypes.c_void_p).value
    size = own.itemsize * int(np.prod(shape, dtype=np.int64))
    memory: Any = (ctypes.c_byte * size).from_address(address or 0) if size else b""
    return np.frombuffer(memory, own).reshape(shape)


def farray(ptr: Any, shape: int | tuple[int, ...], dtype: Any = None) -> np.ndarray:
    """As ``carray``, in Fortran order."""
    reversed_shape = shape if isinstance(shape, int) else tuple(shape)[::-1]
    return carray(ptr, reversed_shape, dtype).T


__all__ = [
    "as_dtype",
    "as_numpy_dtype",
    "carray",
    "farray",
    "from_dtype",
    "is_contiguous",
    "numpy_version",
]

"""``carray`` and ``farray``: arrays over memory at an address, in kernels and on the host."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from gridlane.frontends.python.stubs import Stub


class PointerArray(Stub):
    """A stub that on the host makes a numpy array over the memory of a ctypes pointer.

    >>> data = (ctypes.c_int32 * 6)(*range(6))
    >>> farray(ctypes.cast(data, ctypes.c_void_p), (3, 2), np.int32)[:, 1]
    array([3, 4, 5], dtype=int32)
    """

    def __init__(self, name: str, order: str, doc: str) -> None:
        super().__init__(name, "ptr, shape, dtype=", doc)
        self._order = order

    def __call__(self, ptr: Any, shape: Any, dtype: Any = None) -> np.ndarray:
        """The array over a pointer of ctypes.

        Raises:
            TypeError: it is none, or its type is another than ``dtype``, or void without one.
        """
        ptr = getattr(ptr, "_as_parameter_", ptr)
        kind = None if dtype is None else np.dtype(getattr(dtype, "numpy", dtype))
        if isinstance(ptr, ctypes._Pointer):  # pyright: ignore[reportPrivateUsage]
            own = np.dtype(ptr._type_)
            if kind not in (None, own):
                raise TypeError(f"mismatching dtype '{kind}' for pointer {ptr}")
            kind, ptr = own, ctypes.cast(ptr, ctypes.c_void_p)
        if not isinstance(ptr, ctypes.c_void_p):
            raise TypeError(f"expected a ctypes pointer, got {ptr!r}")
        if kind is None:
            raise TypeError("explicit dtype required for void* argument")
        extents = shape if isinstance(shape, tuple) else (shape,)
        size = kind.itemsize * math.prod(extents)
        memory = (ctypes.c_char * size).from_address(ptr.value or 0)
        return np.frombuffer(memory, kind).reshape(extents, order=self._order)  # type: ignore


carray = PointerArray("carray", "C", "A C-contiguous array over memory at an address.")
farray = PointerArray("farray", "F", "A Fortran-contiguous array over memory at an address.")

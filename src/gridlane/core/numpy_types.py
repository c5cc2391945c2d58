"""The types of the elements of numpy's arrays, by their dtypes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from gridlane.core import dtypes
from gridlane.core.argtypes import (
    VECTORS,
    ArgType,
    CharsType,
    NestedArrayType,
    RecordType,
    TimeType,
    VectorType,
    complex64,
    complex128,
    scalar_of,
)


def from_numpy(dtype: np.dtype | type[np.generic]) -> ArgType:
    """The type of an array element or numpy scalar; ``dtype`` may be numpy's class of it.

    Records become RecordType, sub-arrays NestedArrayType, the dtypes of vectors VectorType.

    Raises:
        TypeError: a dtype that kernels cannot hold (objects, strings of width 0).
    """
    if isinstance(dtype, type):
        dtype = np.dtype(dtype)
    scalar = dtypes.from_numpy(dtype)
    if scalar is not None:
        return scalar_of(scalar)
    if dtype.kind == "c" and dtype.itemsize in (8, 16):
        return complex64 if dtype.itemsize == 8 else complex128
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return NestedArrayType(from_numpy(base), shape)
    vector = vector_of(dtype)
    if vector is not None:
        return vector
    if dtype.fields is not None:
        described = cast("Mapping[str, tuple[Any, ...]]", dtype.fields)
        described_fields = [
            (name, described[name]) for name in dtype.names or ()
        ]  # without the titles
        fields = tuple(
            (name, from_numpy(field[0]), int(field[1])) for name, field in described_fields
        )
        return RecordType(fields, dtype.itemsize, dtype)
    if dtype.kind in "mM":
        return TimeType.of(dtype)
    if dtype.kind in "US":
        return CharsType.of(dtype)
    instead = _NO_ELEMENTS.get(dtype.kind, "convert it to another dtype with astype")
    raise TypeError(f"kernels cannot hold elements of numpy dtype {dtype}; {instead}")


_NO_ELEMENTS = {"O": "if it holds numbers, pass x.astype(np.float64)"}


def vector_of(dtype: np.dtype) -> VectorType | None:
    """The vector type whose dtype this is; None for any other dtype.

    >>> vector_of(VECTORS["float32x4"].numpy)
    float32x4
    """
    if not dtype.names or dtype.fields is None:
        return None
    first = cast("dict[str, tuple[Any, ...]]", dtype.fields)[dtype.names[0]]
    vector_type = VECTORS.get(str(first[2])) if len(first) == 3 else None
    return vector_type if vector_type is not None and vector_type.numpy == dtype else None

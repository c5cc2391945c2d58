"""Item types by name, as ``cuda.compute.types`` has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.algorithms.item_types import ItemType, item_type

int8, int16 = item_type(np.int8), item_type(np.int16)
int32, int64 = item_type(np.int32), item_type(np.int64)
uint8, uint16 = item_type(np.uint8), item_type(np.uint16)
uint32, uint64 = item_type(np.uint32), item_type(np.uint64)
float16, float32, float64 = item_type(np.float16), item_type(np.float32), item_type(np.float64)
complex64, complex128 = item_type(np.complex64), item_type(np.complex128)
boolean = item_type(np.bool_)


def from_numpy_dtype(dtype: Any) -> ItemType:
    """The item type of a dtype.

    Raises:
        TypeError: no device has such items.
    """
    return item_type(np.dtype(dtype))

"""Arrays from other objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.xp import transport
from gridlane.xp.array import Array


def asarray(value: Any, /, *, dtype: Any = None, device: str | None = None) -> Array:
    """An array of a device, from numbers, nested lists, a NumPy array or an array of any device.

    Args:
        dtype: of the elements; by default NumPy's for the value.
        device: a name, as of ``gridlane.device``; by default the value's, else the current one.

    Raises:
        TypeError: kernels cannot hold elements of the dtype.
        DeviceError: OUT_OF_MEMORY, or there is no such device.

    >>> asarray([1, 2, 3]) * 2.5
    array([2.5, 5. , 7.5])
    """
    if isinstance(value, Array):
        moved = value if device is None else value.to_device(device)
        return moved if dtype is None else moved.astype(dtype, copy=False)
    there = current.device() if device is None else get_device(device)
    return Array(transport.uploaded(np.asarray(value, dtype), there))

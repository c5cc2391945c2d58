"""``numba.cuda.cudadrv.devicearray``: device arrays, and what numba has beside them."""

from __future__ import annotations

from typing import Any

from gridlane.cuda.arrays import devicearray
from gridlane.cuda.arrays.devicearray import (
    NOT_CONTIGUOUS,
    DeviceNDArray,
    DeviceRecord,
    auto_device,
    from_array_like,
    from_record_like,
)
from gridlane.launch.geometry import broadcast_core as array_core

errmsg_contiguous_buffer = NOT_CONTIGUOUS


def is_contiguous(array: Any) -> bool:
    """Whether the elements are contiguous in C order, axes of stride 0 apart."""
    return bool(array_core(array).flags["C_CONTIGUOUS"])


def verify_cuda_ndarray_interface(obj: Any) -> None:
    """Raise TypeError unless an object is a device array."""
    if not isinstance(obj, DeviceNDArray):
        raise TypeError(f"{type(obj).__name__} is no device array")


def __getattr__(name: str) -> Any:
    return getattr(devicearray, name)


__all__ = [
    "DeviceNDArray", "DeviceRecord", "array_core", "auto_device", "errmsg_contiguous_buffer",
    "from_array_like", "from_record_like", "is_contiguous", "verify_cuda_ndarray_interface",
]  # fmt: skip

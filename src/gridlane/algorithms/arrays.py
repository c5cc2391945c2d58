"""Arrays of all kinds as one-dimensional arguments of kernels, and the device they are on."""

from __future__ import annotations

import math
from collections.abc import Generator, Hashable
from contextlib import contextmanager
from typing import Any

import numpy as np

from gridlane.cuda.arrays.creation import as_cuda_array
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.launch import current
from gridlane.runtime.protocol import Device


def interface_of(value: Any) -> Hashable | None:
    """Address, shape and type of another object's array in device memory; None if it is none."""
    if isinstance(value, type):
        return None
    if isinstance(value, DeviceNDArray):
        return value.address, value.shape, value.dtype.str
    shown = getattr(value, "__cuda_array_interface__", None)
    if not isinstance(shown, dict):
        return None
    return shown["data"][0], tuple(shown["shape"]), str(shown["typestr"])


def dtype_of(array: Any) -> np.dtype:
    """The dtype of an array of any kind.

    Raises:
        TypeError: it is no array.
    """
    if isinstance(array, DeviceNDArray | np.ndarray):
        return array.dtype
    shown = getattr(array, "__cuda_array_interface__", None)
    if isinstance(shown, dict):
        descr = shown.get("descr")
        if np.dtype(shown["typestr"]).kind == "V" and descr:
            given = getattr(array, "dtype", None)
            return given if isinstance(given, np.dtype) else np.dtype(descr)
        return np.dtype(shown["typestr"])
    raise TypeError(
        f"an array in device memory or an iterator is required; got a {type(array).__name__}"
    )


def size_of(array: Any) -> int:
    """The number of items of an array."""
    if isinstance(array, DeviceNDArray | np.ndarray):
        return int(array.size)
    return math.prod(array.__cuda_array_interface__["shape"])


def device_of(arrays: list[Any]) -> Device:
    """The device whose memory arrays are in; the current one if none says it.

    Raises:
        ValueError: they are on several devices.
    """
    seen: dict[int, tuple[Device, Any]] = {}
    for array in arrays:
        if isinstance(array, DeviceNDArray) and array.buffer.device is not None:
            seen.setdefault(id(array.buffer.device), (array.buffer.device, array))
    if len(seen) > 1:
        shown = ", ".join(
            f"{array.dtype} of {array.size} items on {device.name!r}"
            for device, array in seen.values()
        )
        raise ValueError(f"the arrays are on several devices: {shown}; copy them to one of them")
    return next(iter(seen.values()))[0] if seen else current.device()


@contextmanager
def using(device: Device) -> Generator[None]:
    """Make a device the current one of this thread."""
    if current.device() is device:
        yield
        return
    before = current.choose(device)
    try:
        yield
    finally:
        current.choose(before)


def on_device(array: Any) -> Any:
    """An array of any kind as a one-dimensional argument of kernels, over its memory.

    Raises:
        ValueError: its items are not contiguous, or it is on the host and the device is not.
    """
    if isinstance(array, np.ndarray):
        return _host_array(array)
    if not isinstance(array, DeviceNDArray):
        typed = dtype_of(array)
        array = as_cuda_array(array)
        if array.dtype != typed and array.dtype.itemsize == typed.itemsize:
            array = array.view(typed)
    if array.ndim == 1 and (array.size < 2 or array.strides[0] == array.dtype.itemsize):
        return array
    if not array.is_c_contiguous() and not array.is_f_contiguous():
        raise ValueError(
            f"Non-contiguous arrays are not supported: shape {array.shape}, strides {array.strides}"
        )
    return array.ravel(order="C" if array.is_c_contiguous() else "F")


def _host_array(array: np.ndarray) -> np.ndarray:
    if current.kind() not in ("cpu", "interp"):
        raise ValueError(
            f"a numpy array is in host memory, which the device {current.name()!r} does not reach; "
            "copy it by cuda.to_device"
        )
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return array.ravel(order="K")
    raise ValueError(
        f"Non-contiguous arrays are not supported: shape {array.shape}, strides {array.strides}"
    )


def extents(arrays: list[Any]) -> list[tuple[int, int]]:
    """The ranges of addresses that arrays of a device occupy."""
    starts = [each.ctypes.data if isinstance(each, np.ndarray) else each.address for each in arrays]
    return [
        (start, start + each.nbytes)
        for start, each in zip(starts, arrays, strict=True)
        if each.size
    ]

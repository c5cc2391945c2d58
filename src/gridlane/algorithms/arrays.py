"""Arrays of all kinds as one-dimensional arguments of kernels, and the device they are on."""

from __future__ import annotations

import math
from collections.abc import Generator, Hashable
from contextlib import contextmanager
from typing import Any

import numpy as np

from gridlane.cuda.arrays.creation import as_cuda_array
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.launch import current, geometry
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
        plain, descr = np.dtype(shown["typestr"]), shown.get("descr")
        return _struct_of(descr, plain.itemsize) if plain.kind == "V" and descr else plain
    raise TypeError(
        f"an array in device memory or an iterator is required; got a {type(array).__name__}"
    )


def _struct_of(descr: Any, size: int | None = None) -> np.dtype:
    """The structure that an interface describes: fields without a name are padding.

    Args:
        size: its bytes; up to the end of the last field by default.
    """
    names: list[str] = []
    kinds: list[np.dtype] = []
    offsets: list[int] = []
    end = 0
    for name, kind, *shape in descr:
        inner = _struct_of(kind) if isinstance(kind, list) else np.dtype(kind)
        if shape:
            inner = np.dtype((inner, shape[0]))
        if name:
            names.append(name if isinstance(name, str) else name[1])
            kinds.append(inner)
            offsets.append(end)
        end += inner.itemsize
    layout = {"names": names, "formats": kinds, "offsets": offsets, "itemsize": size or end}
    return np.dtype(layout)  # type: ignore[call-overload]


def size_of(array: Any) -> int:
    """The number of items of an array."""
    if isinstance(array, DeviceNDArray | np.ndarray):
        return int(array.size)
    return math.prod(array.__cuda_array_interface__["shape"])


def check_contiguous(array: Any) -> None:
    """Raise if the items of an array are not next to each other.

    Raises:
        ValueError: they are not.
    """
    shape, strides, size = _layout(array)
    if strides is not None and geometry.layout_of(shape, strides, size) == "A":
        raise ValueError(
            f"Non-contiguous arrays are not supported: shape {shape}, strides {strides}"
        )


def _layout(array: Any) -> tuple[tuple[int, ...], tuple[int, ...] | None, int]:
    if isinstance(array, DeviceNDArray | np.ndarray):
        return array.shape, array.strides, array.dtype.itemsize
    shown = array.__cuda_array_interface__
    strides = shown.get("strides")
    size = np.dtype(shown["typestr"]).itemsize
    return tuple(shown["shape"]), None if strides is None else tuple(strides), size


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
    """A contiguous array of any kind as a one-dimensional argument of kernels, over its memory.

    Raises:
        ValueError: it is on the host, and the device is not.
    """
    if isinstance(array, np.ndarray):
        return _host_array(array)
    if not isinstance(array, DeviceNDArray):
        struct = _foreign_struct(array)
        array = as_cuda_array(array) if struct is None else struct
    if array.ndim == 1 and (array.size < 2 or array.strides[0] == array.dtype.itemsize):
        return array
    return array.ravel(order="C" if array.is_c_contiguous() else "F")


class _Octets:
    """The bytes of another library's contiguous array."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        shown = dict(self.array.__cuda_array_interface__)
        shown.pop("descr", None)
        size = np.dtype(shown["typestr"]).itemsize
        return shown | {"shape": (math.prod(shown["shape"]) * size,), "typestr": "|u1"}


def _foreign_struct(array: Any) -> DeviceNDArray | None:
    """Another library's array of structures, which may have padding in them."""
    kind = dtype_of(array)
    if kind.names is None or array.__cuda_array_interface__.get("strides") is not None:
        return None
    return as_cuda_array(_Octets(array)).view(kind)


def _host_array(array: np.ndarray) -> np.ndarray:
    if current.kind() not in ("cpu", "interp"):
        raise ValueError(
            f"a numpy array is in host memory, which the device {current.name()!r} does not reach; "
            "copy it by cuda.to_device"
        )
    return array.ravel(order="K")


def extents(arrays: list[Any]) -> list[tuple[int, int]]:
    """The ranges of addresses that contiguous arrays of any kind occupy."""
    sizes = [size_of(each) * dtype_of(each).itemsize for each in arrays]
    starts = map(_address, arrays)
    return [(start, start + size) for start, size in zip(starts, sizes, strict=True) if size]


def _address(array: Any) -> int:
    if isinstance(array, DeviceNDArray):
        return array.address
    if isinstance(array, np.ndarray):
        return array.ctypes.data
    return array.__cuda_array_interface__["data"][0]

"""The memory of arrays to and from other libraries, by gridlane.cuda's device arrays."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

from gridlane.core.dlpack_abi import CPU
from gridlane.cuda.arrays import dlpack_arrays
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.interop import dlpack_arguments, dlpack_read
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.memory.resource import Buffer
from gridlane.xp import dtypes
from gridlane.xp.arrays import Array
from gridlane.xp.nodes import Storage


def from_dlpack(x: Any, device: str | None, copy: bool | None) -> Array:
    """An array over the memory of an object with ``__dlpack__``; see ``creation.from_dlpack``."""
    copy = dlpack_arguments.copying(copy)
    if isinstance(x, Array):
        return _of_array(x, device, copy)
    if not dlpack_read.is_tensor(x):
        raise TypeError(f"from_dlpack: an object of type {type(x).__name__} has no __dlpack__")
    there = current.device() if device is None else get_device(device)
    if device is None and isinstance(x, DeviceNDArray) and x.buffer.device is not None:
        there = x.buffer.device
    is_copied = copy or (dlpack_read.place_of(x)[0] == CPU and not there.host_visible)
    with current.Using(there.name):
        shown = dlpack_arrays.from_dlpack(x, copy=copy)
    dtype = dtypes.checked(shown.dtype)
    if any(step % dtype.itemsize for step in shown.strides):
        raise BufferError(f"from_dlpack: the strides {shown.strides} are no multiples of elements")
    memory = Buffer(shown.buffer.address, shown.buffer.size, shown, there)
    storage = Storage(there, memory, not is_copied, shown.readonly)
    strides = tuple([step // dtype.itemsize for step in shown.strides])
    offset = shown.address - memory.address if shown.size else 0
    return Array(storage.leaf(dtype, shown.shape, strides, offset))


def _of_array(array: Array, device: str | None, copy: bool | None) -> Array:
    if device is None or get_device(device) is array.node.device:
        return array.copy() if copy else array
    if copy is False:
        raise BufferError(f"from_dlpack: the array is on {array.device}, and copy=False")
    return array.to_device(device)

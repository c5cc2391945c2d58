"""``cuda.from_dlpack``: device arrays over the memory of other libraries' arrays."""

# pyright: reportPrivateUsage=false
# What arrays hide is hidden from users, not from gridlane.cuda.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.cuda.arrays import allocation
from gridlane.cuda.arrays.devicearray import DeviceNDArray, from_interface
from gridlane.cuda.interop import dlpack_arguments, dlpack_read
from gridlane.launch import current, geometry


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> DeviceNDArray:
    """Wrap the memory of an object with ``__dlpack__`` as a device array.

    Memory of the host is used in place by the device ``cpu`` and copied to others; read-only memory
    becomes a read-only device array.

    Args:
        device: None or this thread's device, by its name or by DLPack's (kind, number).
        copy: True to copy in any case, False to refuse if a copy is needed.

    Raises:
        ArgumentError: ``x`` has no ``__dlpack__``, or is in memory of another device.
        BufferError: the capsule is not valid DLPack, has element types that kernels lack, or needs
            the copy that ``copy=False`` forbids.
    """
    here, copy = current.device(), dlpack_arguments.copying(copy)
    if device is not None and device not in (here.name, here.dlpack_device(0)):
        raise ArgumentError(
            f"from_dlpack: device {device!r} is not this thread's, {here.name!r}; select that first"
        )
    if isinstance(x, DeviceNDArray):
        return x._duplicate() if copy else x
    if not dlpack_read.is_tensor(x):
        raise ArgumentError(f"from_dlpack: an object of type {type(x).__name__} has no __dlpack__")
    interface = dlpack_read.read(x)
    if interface is not None:
        array = from_interface(interface, x)
        return array._duplicate() if copy else array
    return _from_host(dlpack_read.host_array(x), copy)


def _from_host(host: np.ndarray, copy: bool | None) -> DeviceNDArray:
    """A device array over host memory, or a copy of it."""
    here = current.device()
    if here.host_visible and not copy:
        low, high = geometry.extent_of(host.shape, host.strides, host.dtype.itemsize)
        address = geometry.address_of(host)
        memory = allocation.borrowed(address + low, high - low, host)
        readonly = not host.flags.writeable
        return DeviceNDArray(host.shape, host.strides, host.dtype, 0, memory, address, readonly)
    if copy is False:
        raise BufferError(
            f"from_dlpack: the tensor is in the host's memory, the device {here.name!r} has memory "
            "of its own, and copy=False"
        )
    array = DeviceNDArray(host.shape, None, host.dtype)
    array.copy_to_device(host)
    return array

"""Create arrays: on the device, and in host memory that the device can use."""

from __future__ import annotations

import ctypes
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gridlane.core.device_errors import NOT_SUPPORTED, handled
from gridlane.core.errors import DeviceError
from gridlane.cuda.arrays import allocation, ipc, managers, pointers, transport
from gridlane.cuda.arrays.devicearray import (
    DeviceNDArray,
    DeviceRecord,
    from_interface,
    to_device,
)
from gridlane.cuda.arrays.transport import PinnedMemory
from gridlane.cuda.host.streams import as_stream
from gridlane.launch import current, geometry
from gridlane.memory.resource import Buffer, HostMemory

from_cuda_array_interface = from_interface

__all__ = [
    "as_cuda_array", "device_array", "device_array_like", "from_cuda_array_interface",
    "is_cuda_array", "managed_array", "mapped", "mapped_array", "mapped_array_like",
    "open_ipc_array", "pinned", "pinned_array", "pinned_array_like", "to_device",
]  # fmt: skip


def _description(
    shape: Any, dtype: Any, strides: Any, order: str
) -> tuple[geometry.Shape, geometry.Shape, np.dtype]:
    dtype = geometry.as_dtype(dtype)
    shape = geometry.as_shape(shape)
    if strides is None:
        return shape, geometry.contiguous_strides(shape, dtype.itemsize, order), dtype
    return shape, (strides,) if isinstance(strides, int) else tuple(strides), dtype


def _description_like(ary: Any) -> tuple[geometry.Shape, geometry.Shape, np.dtype]:
    """Shape, strides and dtype for an array like ``ary``: dense, with its order of axes."""
    strides = ary.strides
    if strides is None or geometry.layout_of(ary.shape, strides, ary.dtype.itemsize) == "A":
        # Like numpy.empty_like: the axes keep their order in memory, without gaps.
        steps = [abs(stride) for stride in ary.strides]
        axes = sorted(range(len(ary.shape)), key=lambda axis: -steps[axis])
        dense = [0] * len(axes)
        step = ary.dtype.itemsize
        for axis in reversed(axes):
            dense[axis] = step
            step *= ary.shape[axis]
        strides = tuple(dense)
    return tuple(ary.shape), strides, ary.dtype


def device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> DeviceNDArray:
    """Create an uninitialised array on the device, like numpy.empty."""
    shape, strides, dtype = _description(shape, dtype, strides, order)
    return DeviceNDArray(shape, strides, dtype, stream)


def device_array_like(ary: Any, stream: Any = 0) -> DeviceNDArray:
    """Create an uninitialised device array with the shape, dtype and order of ``ary``."""
    return DeviceNDArray(*_description_like(ary), stream)


def pinned_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C"
) -> np.ndarray:
    """Create a pinned host array, whose copies on a stream are asynchronous."""
    shape, strides, dtype = _description(shape, dtype, strides, order)
    low, high = geometry.extent_of(shape, strides, dtype.itemsize)
    size = max(1, high - low)
    by_plugin = managers.host_memory(current.device(), size, "pinned")
    memory: Any = np.asarray(PinnedMemory(size)) if by_plugin is None else by_plugin
    return np.ndarray(shape, dtype, memory, -low, strides)


def pinned_array_like(ary: Any) -> np.ndarray:
    """Create a pinned array with the shape, dtype and order of ``ary``."""
    shape, strides, dtype = _description_like(ary)
    return pinned_array(shape, dtype, strides)


class MappedNDArray(np.ndarray):
    """A host array in the device's own memory, on a device that shares the host's memory.

    Kernels take it as an argument without copies; ``copy_to_host`` and ``copy_to_device`` are plain
    copies.
    """

    kind: HostMemory = "mapped"

    @property
    def buffer(self) -> Buffer:
        """The memory."""
        return allocation.buffer_at(geometry.address_of(self), 1)

    @property
    def gpu_data(self) -> Any:
        """A pointer to the bytes from the first to the last element."""
        low, high = geometry.extent_of(self.shape, self.strides, self.dtype.itemsize)
        address = geometry.address_of(self) + low if high > low else 0
        buffer = allocation.buffer_at(address, high - low)
        return pointers.pointer_to(buffer, address, high - low)

    @property
    def __cuda_memory__(self) -> bool:
        """Whether it is in the device's memory: a copy by numpy is not."""
        low, high = geometry.extent_of(self.shape, self.strides, self.dtype.itemsize)
        return allocation.holds(geometry.address_of(self) + low) or high == low

    @property
    def device_pointer(self) -> int:
        """The address of the first element."""
        return geometry.address_of(self)

    @property
    def device_ctypes_pointer(self) -> Any:
        """The address as a ctypes.c_void_p."""
        return self.ctypes.data_as(ctypes.c_void_p)

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> np.ndarray:
        """Copy the elements."""
        if ary is None:
            return np.array(self, subok=False)
        ary[...] = self
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Overwrite the elements."""
        self[...] = ary.copy_to_host() if isinstance(ary, DeviceNDArray) else ary

    stream: Any = 0

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        allocation.check_cuda_memory(None)
        return self.__gridlane_array__

    @property
    def __gridlane_array__(self) -> dict[str, Any]:
        """The array interface, on any device."""
        stream = as_stream(self.stream).handle if self.stream else None
        return dict(self.__array_interface__, stream=stream, version=3)


class ManagedNDArray(MappedNDArray):
    """A host array in managed memory."""

    kind = "managed"


def mapped_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    portable: bool = False,
    wc: bool = False,
) -> np.ndarray:
    """Create a host array that the device uses in place."""
    return _shared(MappedNDArray, stream, *_description(shape, dtype, strides, order))


def mapped_array_like(
    ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False
) -> np.ndarray:
    """Create a mapped array with the shape, dtype and order of ``ary``."""
    return _shared(MappedNDArray, stream, *_description_like(ary))


def managed_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    attach_global: bool = True,
) -> np.ndarray:
    """Create a host array in managed memory, which host and device use in turn."""
    return _shared(ManagedNDArray, stream, *_description(shape, dtype, strides, order))


def _shared_buffer(size: int, kind: HostMemory) -> Buffer:
    owner = current.device()
    pointer = managers.host_memory(owner, size, kind) if size else None
    if pointer is None:
        return allocation.allocate_host(size, kind)
    buffer = Buffer(pointers.host_address(pointer), size, pointer)
    return owner.memory.note(buffer)


def _shared(
    cls: type[MappedNDArray],
    stream: Any,
    shape: geometry.Shape,
    strides: geometry.Shape,
    dtype: np.dtype,
) -> np.ndarray:
    low, high = geometry.extent_of(shape, strides, dtype.itemsize)
    try:
        buffer = _shared_buffer(high - low, cls.kind)
        plain = geometry.view_of(buffer.address - low, shape, strides, dtype, buffer)
    except DeviceError as error:
        if error.number != NOT_SUPPORTED:
            raise
        handled(error)
        # The device has memory of its own, so launches copy it like any host array.
        plain = np.ndarray(shape, dtype, np.empty(max(1, high - low), np.uint8), -low, strides)
    array = plain.view(cls)
    array.stream = stream
    return array


@contextmanager
def pinned(*arylist: np.ndarray) -> Generator[None]:
    """Pin host arrays in a with block, so that their copies on streams are asynchronous."""
    with transport.registered(arylist):
        yield


def is_cuda_array(obj: Any) -> bool:
    """Whether an object is a device array or has ``__cuda_array_interface__``."""
    return isinstance(obj, DeviceNDArray) or hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """A device array over the memory that ``obj.__cuda_array_interface__`` describes.

    With ``sync``, wait for the stream that the interface names.
    """
    if isinstance(obj, DeviceNDArray):
        return obj
    interface = getattr(obj, "__cuda_array_interface__", None)
    if interface is None:
        raise TypeError("*obj* doesn't implement the cuda array interface.")
    return from_interface(interface, obj, sync)


@contextmanager
def open_ipc_array(
    handle: Any, shape: Any, dtype: Any, strides: Any = None, offset: int = 0
) -> Generator[DeviceNDArray]:
    """Open the memory of another process as a device array for a with block.

    Args:
        handle: the bytes of the driver's handle: ``IpcHandle.handle.reserved``.
        offset: of the array from the start of what the handle opens: ``IpcHandle.offset``.

    Raises:
        DeviceError: NOT_SUPPORTED, the device or system shares no memory; INVALID_VALUE, the
            handle is not one, or stale, or of another user.
    """
    shape, strides, dtype = _description(shape, dtype, strides, "C")
    low, high = geometry.extent_of(shape, strides, dtype.itemsize)
    buffer = ipc.opened(handle, offset + high - low, current.device())
    pointer = pointers.pointer_to(buffer, buffer.address + offset, high - low)
    yield DeviceNDArray(shape, strides, dtype, gpu_data=pointer)


@contextmanager
def mapped(*arylist: np.ndarray, **kws: Any) -> Generator[MappedNDArray | list[MappedNDArray]]:
    """Have kernels use host arrays in place, in a with block.

    Yields:
        The array that kernels take; for several host arrays, or none, a list.

    Raises:
        DeviceError: NOT_SUPPORTED, the device has memory of its own.
    """
    owner = current.device()
    managers.check_uses_host(owner)
    with transport.registered(arylist):
        noted: list[Any] = []
        for array in arylist:
            low, high = geometry.extent_of(array.shape, array.strides, array.dtype.itemsize)
            if high > low:
                address = geometry.address_of(array) + low
                noted.append(owner.memory.note(Buffer(address, high - low, array)))
        views = [array.view(MappedNDArray) for array in arylist]
        for view in views:
            view.stream = kws.get("stream", 0)
        yield views[0] if len(views) == 1 else views
        del noted


__all__ += ["DeviceNDArray", "DeviceRecord", "ManagedNDArray", "MappedNDArray"]

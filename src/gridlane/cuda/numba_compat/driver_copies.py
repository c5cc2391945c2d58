"""Copies and facts of memory by pointers, as numba's driver module has them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from gridlane.core.device_errors import INVALID_VALUE, fail
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.arrays.transport import extent_bytes
from gridlane.cuda.host.streams import as_stream
from gridlane.launch import current, geometry
from gridlane.runtime.protocol import Device

# --- what is what ---


def is_device_memory(obj: Any) -> bool:
    """Whether an object is device memory: an array, or a pointer."""
    return bool(getattr(obj, "__cuda_memory__", False))


def is_host_memory(obj: Any) -> bool:
    """Whether an object has bytes of the host, and is no device memory.

    >>> is_host_memory(np.arange(3)), is_host_memory(3)
    (True, False)
    """
    if is_device_memory(obj):
        return False
    try:
        _host_array(obj)
    except TypeError:
        return False
    return True


def require_device_memory(obj: Any) -> None:
    """Raise TypeError unless an object is device memory."""
    if not is_device_memory(obj):
        raise TypeError(f"not a CUDA memory object: a {type(obj).__name__}")


def _host_array(obj: Any) -> np.ndarray:
    """An object's bytes as an array of the host, not copied."""
    if isinstance(obj, np.ndarray):
        return obj
    if isinstance(obj, np.generic):
        return np.frombuffer(obj, np.uint8)
    return np.asarray(memoryview(obj))


def host_pointer(obj: Any, readonly: bool = False) -> int:
    """The address of the first element of an object with Python's buffer protocol; an integer
    itself.

    Raises:
        ValueError: it must not be written to, and ``readonly`` is false.
    """
    if isinstance(obj, int):
        return obj
    array = _host_array(obj)
    if not (readonly or array.flags.writeable or isinstance(obj, np.void)):
        raise ValueError("the host's memory is read-only")
    return geometry.address_of(array)


def host_memory_extents(obj: Any) -> tuple[int, int]:
    """(start, end) of an array of the host, gaps included.

    >>> a = np.arange(6, dtype="i4")[::2]
    >>> start, end = host_memory_extents(a)
    >>> end - start
    20
    """
    array = _host_array(obj)
    low, high = geometry.extent_of(array.shape, array.strides, array.dtype.itemsize)
    address = geometry.address_of(array)
    return address + low, address + high


def host_memory_size(obj: Any) -> int:
    """The bytes of an array of the host, gaps included."""
    start, end = host_memory_extents(obj)
    return end - start


def memory_size_from_info(shape: Any, strides: Any, itemsize: int) -> int:
    """The bytes of an array, gaps included.

    >>> memory_size_from_info((3,), (8,), 4)
    20
    """
    low, high = geometry.extent_of(tuple(shape), tuple(strides), itemsize)
    return high - low


def device_ctypes_pointer(obj: Any) -> Any:
    """The address of device memory, as ctypes has it; of None, the null pointer."""
    if obj is None:
        return ctypes.c_void_p(0)
    require_device_memory(obj)
    return obj.device_ctypes_pointer


def device_pointer(obj: Any) -> int:
    """The address of device memory."""
    return device_ctypes_pointer(obj).value or 0


def _device_of(obj: Any) -> Device:
    if isinstance(obj, DeviceNDArray):
        return obj.buffer.device or current.device()
    native = getattr(getattr(getattr(obj, "context", None), "device", None), "native", None)
    return native or current.device()


def device_extents(devmem: Any) -> tuple[int, int]:
    """(start, end) of the allocation that holds device memory.

    Raises:
        DeviceError: INVALID_VALUE, the device knows no such allocation.
    """
    address, device = device_pointer(devmem), _device_of(devmem)
    allocation = device.memory.find(address, 1) or device.adopt(address, 1)
    return allocation.address, allocation.address + allocation.size


def device_memory_size(devmem: Any) -> int:
    """The bytes of device memory: an array's own, gaps included, or a pointer's."""
    size = getattr(devmem, "_cuda_memsize_", None)
    if size is not None:
        return size
    require_device_memory(devmem)
    if isinstance(devmem, np.ndarray):
        return host_memory_size(devmem)
    size = getattr(devmem, "alloc_size", None)
    if size is None:
        start, end = device_extents(devmem)
        size = end - start
    return size


def device_memory_depends(devmem: Any, *objs: Any) -> None:
    """Keep objects alive as long as device memory."""
    kept = getattr(devmem, "_depends_", None)
    if kept is None:
        kept = devmem._depends_ = []
    kept.extend(objs)


# --- copies ---


def _start(obj: Any, size: int, what: str) -> int:
    """The first address of ``size`` bytes of device memory.

    Raises:
        DeviceError: INVALID_VALUE, there are fewer.
    """
    require_device_memory(obj)
    low = 0
    if isinstance(obj, (DeviceNDArray, np.ndarray)):
        low = geometry.extent_of(obj.shape, obj.strides, obj.dtype.itemsize)[0]
    room = device_memory_size(obj)
    if not 0 <= size <= room:
        fail(INVALID_VALUE, f"{what} of {size} bytes, and the device memory has {room}")
    return device_pointer(obj) + low


def _host_bytes(obj: Any, size: int, what: str, writable: bool) -> memoryview:
    """The first bytes of an object of the host, or those at an address.

    Raises:
        DeviceError: INVALID_VALUE, there are fewer.
        ValueError: they must not be written to.
    """
    if isinstance(obj, int):
        return memoryview((ctypes.c_ubyte * size).from_address(obj)).cast("B")
    host_pointer(obj, readonly=not writable)
    room = host_memory_size(obj)
    if size > room:
        fail(INVALID_VALUE, f"{what} of {size} bytes, and the host's memory has {room}")
    return extent_bytes(_host_array(obj))[:size]


def host_to_device(dst: Any, src: Any, size: int, stream: Any = 0) -> None:
    """Copy bytes to the device; with a stream, after its work. ``src`` may change on return.

    Raises:
        DeviceError: INVALID_VALUE, either side has fewer bytes.
    """
    target, source = (
        _start(dst, size, "host_to_device"),
        _host_bytes(src, size, "host_to_device", False),
    )
    if not size:
        return
    if stream:
        as_stream(stream).native.write(target, source)
    else:
        _device_of(dst).upload(target, source)


def device_to_host(dst: Any, src: Any, size: int, stream: Any = 0) -> None:
    """Copy bytes to the host; with a stream, after its work. The copy is finished on return.

    Raises:
        DeviceError: INVALID_VALUE, either side has fewer bytes.
        ValueError: ``dst`` is read-only.
    """
    source, target = (
        _start(src, size, "device_to_host"),
        _host_bytes(dst, size, "device_to_host", True),
    )
    if not size:
        return
    if stream:
        as_stream(stream).native.read(target, source)
    else:
        _device_of(src).download(target, source)


def device_to_device(dst: Any, src: Any, size: int, stream: Any = 0) -> None:
    """Copy bytes on the device; with a stream, after its work.

    Raises:
        DeviceError: INVALID_VALUE, either side has fewer bytes.
    """
    target, source = _start(dst, size, "device_to_device"), _start(src, size, "device_to_device")
    if not size:
        return
    if stream:
        as_stream(stream).native.copy(target, source, size, (dst, src))
    else:
        _device_of(dst).copy(target, source, size)


def device_memset(dst: Any, val: int, size: int, stream: Any = 0) -> None:
    """Set bytes to a value; with a stream, after its work.

    Raises:
        DeviceError: INVALID_VALUE, there are fewer bytes.
    """
    target = _start(dst, size, "device_memset")
    if not size:
        return
    if stream:
        as_stream(stream).native.fill(target, val & 0xFF, size, dst)
    else:
        _device_of(dst).fill(target, val & 0xFF, size)

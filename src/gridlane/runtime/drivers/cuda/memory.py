"""Memory: a stream-ordered pool of the device, page-locked and managed memory of the host."""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import Any

from gridlane.core import dlpack_abi
from gridlane.core.device_errors import INVALID_VALUE, OUT_OF_MEMORY, fail
from gridlane.core.errors import DeviceError
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer, HostMemory
from gridlane.runtime.drivers.cuda.api import bindings, call, enum
from gridlane.runtime.drivers.cuda.context import Context


class Pool:
    """Device memory by cuMemAllocFromPoolAsync on the default stream: a resource of one generation
    of the context.

    Memory goes back behind all work that the default stream and the streams that wait for it have
    by then; it stays with the pool for the next allocation.
    """

    def __init__(self, context: Context, supported: bool) -> None:
        self.context, self.generation = context, context.generation
        # A signal handler may allocate in the middle of what holds the lock, on the same thread.
        self._lock = threading.RLock()
        self.epoch = 0
        """Counts allocations, so that streams that do not wait for the default one can catch up."""
        self._handle = self._create() if supported else None

    def _create(self) -> Any:
        driver = bindings()
        properties = driver.CUmemPoolProps()
        properties.allocType = enum("CUmemAllocationType", "CU_MEM_ALLOCATION_TYPE_PINNED")
        properties.handleTypes = enum("CUmemAllocationHandleType", "CU_MEM_HANDLE_TYPE_NONE")
        properties.location.type = enum("CUmemLocationType", "CU_MEM_LOCATION_TYPE_DEVICE")
        properties.location.id = self.context.ordinal
        pool = call("cuMemPoolCreate", properties)
        keep = enum("CUmemPool_attribute", "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD")
        context, destroy = self.context, ("cuMemPoolDestroy", pool)
        weakref.finalize(self, context.give_back, context.generation, destroy).atexit = False
        call("cuMemPoolSetAttribute", pool, keep, driver.cuuint64_t(2**64 - 1))
        return pool

    def allocate(self, size: int) -> Buffer:
        """Device memory; see MemoryResource."""
        buffer = Buffer(self._take(size), size)
        with self._lock:
            self.epoch += 1
        return buffer

    def _take(self, size: int) -> int:
        what = f"{size} bytes"
        if self._handle is None:
            return int(self.context.call("cuMemAlloc", size, what=what))
        stream = bindings().CUstream(0)
        try:
            return int(
                self.context.call("cuMemAllocFromPoolAsync", size, self._handle, stream, what=what)
            )
        except DeviceError as error:
            if error.number != OUT_OF_MEMORY:
                raise
            # What waits to be freed, here and in other pools of the process, may be enough.
            self.context.call("cuCtxSynchronize")
            self.trim()
            return int(
                self.context.call("cuMemAllocFromPoolAsync", size, self._handle, stream, what=what)
            )

    def deallocate(self, address: int, size: int) -> None:
        """Take memory back; see MemoryResource. That of a lost context went with it."""
        pointer = bindings().CUdeviceptr(address)
        if self._handle is None:
            self.context.give_back(self.generation, ("cuMemFree", pointer))
        else:
            stream = bindings().CUstream(0)
            self.context.give_back(self.generation, ("cuMemFreeAsync", pointer, stream))

    @property
    def reserved(self) -> int:
        """Bytes that the pool holds of the device."""
        if self._handle is None:
            return 0
        what = enum("CUmemPool_attribute", "CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT")
        return int(self.context.call("cuMemPoolGetAttribute", self._handle, what))

    def trim(self, keep: int = 0) -> None:
        """Give the device all but ``keep`` of the bytes that the pool holds and nothing uses."""
        if self._handle is not None:
            self.context.call("cuMemPoolTrimTo", self._handle, keep)

    def share_with(self, ordinal: int) -> None:
        """Let another device use the pool's memory."""
        if self._handle is None:
            return
        access = bindings().CUmemAccessDesc()
        access.location.type = enum("CUmemLocationType", "CU_MEM_LOCATION_TYPE_DEVICE")
        access.location.id = ordinal
        access.flags = enum("CUmemAccess_flags", "CU_MEM_ACCESS_FLAGS_PROT_READWRITE")
        self.context.call("cuMemPoolSetAccess", self._handle, [access], 1)


class PageLocked:
    """Page-locked memory of the host, mapped into the device or not: a resource of one generation
    of the context."""

    def __init__(self, context: Context, mapped: bool) -> None:
        self.context, self.generation = context, context.generation
        self._kind = "mapped" if mapped else "pinned"
        self._flags = 1 | (2 if mapped else 0)  # portable, and mapped into the device

    def allocate(self, size: int) -> Buffer:
        """Memory of the host; see MemoryResource."""
        what = f"{size} bytes of {self._kind} memory"
        return Buffer(int(self.context.call("cuMemHostAlloc", size, self._flags, what=what)), size)

    def deallocate(self, address: int, size: int) -> None:
        """Take memory back; see MemoryResource. Copies and kernels may still use it, on any
        stream."""
        free = "cuMemFreeHost", address
        self.context.give_back(self.generation, ("cuCtxSynchronize",), free)


class Managed:
    """Memory that host and device use by one address: a resource of one generation of the
    context."""

    def __init__(self, context: Context) -> None:
        self.context, self.generation = context, context.generation

    def allocate(self, size: int) -> Buffer:
        """Managed memory; see MemoryResource."""
        attach = int(enum("CUmemAttach_flags", "CU_MEM_ATTACH_GLOBAL"))
        what = f"{size} bytes of managed memory"
        return Buffer(int(self.context.call("cuMemAllocManaged", size, attach, what=what)), size)

    def deallocate(self, address: int, size: int) -> None:
        """Take memory back; see MemoryResource. Kernels may still use it, on any stream."""
        free = "cuMemFree", bindings().CUdeviceptr(address)
        self.context.give_back(self.generation, ("cuCtxSynchronize",), free)


def host_memory(context: Context, device: Any = None) -> dict[HostMemory, DeviceMemory[Buffer]]:
    """Memory of the host of each kind."""
    return {
        "pinned": DeviceMemory(PageLocked(context, False), device),
        "mapped": DeviceMemory(PageLocked(context, True), device),
        "managed": DeviceMemory(Managed(context), device),
    }


class Registered:
    """The caller's memory, page-locked for as long as this object lives."""

    def __init__(self, context: Context, address: int, size: int) -> None:
        context.call("cuMemHostRegister", address, size, 1, what=f"{size} bytes at {address:#x}")
        self._closer = weakref.finalize(self, _unregister, context, address, context.generation)
        self._closer.atexit = False


def _unregister(context: Context, address: int, generation: int) -> None:
    context.give_back(generation, ("cuCtxSynchronize",), ("cuMemHostUnregister", address))


def _attribute(context: Context, name: str, address: int) -> Any:
    """What the driver knows of an address; None where it does not know that."""
    number = enum("CUpointer_attribute", f"CU_POINTER_ATTRIBUTE_{name}")
    try:
        return context.call("cuPointerGetAttribute", number, bindings().CUdeviceptr(address))
    except DeviceError as error:
        if error.number != INVALID_VALUE:
            raise
        return None


_OF_HOST = 1
"""CU_MEMORYTYPE_HOST."""


def adopt(device: Any, address: int, size: int) -> Buffer:
    """Memory that another library allocated, if the driver knows the address."""
    kind = _attribute(device.context, "MEMORY_TYPE", address)
    if kind is None:
        fail(
            INVALID_VALUE,
            f"{size} bytes at {address:#x} are not memory of a CUDA device",
            "copy the data to the device with cuda.to_device",
        )
    buffer = Buffer(address, size, device=device)
    if int(kind) != _OF_HOST and not _attribute(device.context, "IS_MANAGED", address):
        ordinal = int(_attribute(device.context, "DEVICE_ORDINAL", address))
        if ordinal != device.ordinal:
            buffer.device = device.beside(ordinal)
    return buffer


def is_mapped(context: Context, address: int) -> bool:
    """Whether kernels of the context can use an address as it is."""
    seen = _attribute(context, "DEVICE_POINTER", address)
    return seen is not None and int(seen) == address


def dlpack_device(context: Context, address: int) -> tuple[int, int]:
    """DLPack's (kind, number) of memory; that of the GPU's for the null pointer."""
    kind = _attribute(context, "MEMORY_TYPE", address) if address else None
    if kind is None:
        return dlpack_abi.CUDA, context.ordinal
    ordinal = int(_attribute(context, "DEVICE_ORDINAL", address))
    if _attribute(context, "IS_MANAGED", address):  # wherever its pages are now
        return dlpack_abi.CUDA_MANAGED, ordinal
    return (dlpack_abi.CUDA_HOST, 0) if int(kind) == _OF_HOST else (dlpack_abi.CUDA, ordinal)


def host_address(view: memoryview) -> int:
    """The address of a view's bytes; the view must outlive its use."""
    import numpy as np

    return np.frombuffer(view, np.uint8).ctypes.data if view.nbytes else 0


def as_array(address: int, size: int) -> ctypes.Array[ctypes.c_ubyte]:
    """Bytes of the host at an address."""
    return (ctypes.c_ubyte * size).from_address(address)

"""CUDA memory: a stream-ordered pool of the device, and page-locked and managed host memory."""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import Any

from gridlane.core import dlpack_abi
from gridlane.core.device_errors import INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, fail, handled
from gridlane.core.errors import DeviceError
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer, HostMemory
from gridlane.runtime.drivers.cuda.api import bindings, call, enum, relaxed
from gridlane.runtime.drivers.cuda.context import Context


class Pool:
    """Device memory by cuMemAllocFromPoolAsync on the default stream: a resource of one generation
    of the context.

    Memory is freed after the work that the default stream, and the streams that wait for it, have
    so far; it stays in the pool for the next allocation.

    While a stream is captured, memory is cuMemAlloc's, which is no work of a stream: it is there
    before the graph's first launch, and as long as an object of the recorded work keeps it.
    """

    def __init__(self, context: Context, supported: bool) -> None:
        self.context, self.generation = context, context.generation
        # A signal handler may allocate on the thread that holds the lock.
        self._lock = threading.RLock()
        self.epoch = 0
        """Counts allocations; streams that do not wait for the default one catch up with it."""
        self._handle = self._create() if supported else None
        self._unpooled = set[int]()
        """The addresses of memory that is cuMemAlloc's although there is a pool."""

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

    def reused(self) -> None:
        """Count an allocation of memory that the default stream's work so far may use."""
        with self._lock:
            self.epoch += 1

    def _take(self, size: int) -> int:
        what = f"{size} bytes"
        if self._handle is None:
            return self._take_unpooled(size)
        if self.context.captures:
            address = self._take_unpooled(size)
            self._unpooled.add(address)
            return address
        stream = bindings().CUstream(0)
        try:
            return int(
                self.context.call("cuMemAllocFromPoolAsync", size, self._handle, stream, what=what)
            )
        except DeviceError as error:
            if error.number != OUT_OF_MEMORY:
                raise
            handled(error)
            # Deferred frees, here and in other pools of the process, may release enough.
            self.context.call("cuCtxSynchronize")
            self.trim()
            return int(
                self.context.call("cuMemAllocFromPoolAsync", size, self._handle, stream, what=what)
            )

    def _take_unpooled(self, size: int) -> int:
        """Memory outside of every stream's order. Captures of other libraries, of any thread, would
        refuse it but in the relaxed mode."""
        what = f"{size} bytes"
        with relaxed():
            try:
                return int(self.context.call("cuMemAlloc", size, what=what))
            except DeviceError as error:
                if error.number != OUT_OF_MEMORY or not self.reserved:
                    raise
                handled(error)
            self.trim()
            return int(self.context.call("cuMemAlloc", size, what=what))

    def deallocate(self, address: int, size: int) -> None:
        """Free memory; see MemoryResource. Memory of a lost context is already gone."""
        pointer = bindings().CUdeviceptr(address)
        if self._handle is None or address in self._unpooled:
            self._unpooled.discard(address)
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
        """Return all unused bytes of the pool but ``keep`` to the device."""
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
        """Allocate host memory; see MemoryResource."""
        what = f"{size} bytes of {self._kind} memory"
        return Buffer(int(self.context.call("cuMemHostAlloc", size, self._flags, what=what)), size)

    def deallocate(self, address: int, size: int) -> None:
        """Free memory; see MemoryResource. Copies and kernels in flight on any stream may still use
        it."""
        free = "cuMemFreeHost", address
        self.context.give_back(self.generation, ("cuCtxSynchronize",), free)


class Managed:
    """Memory with one address on host and device: a resource of one generation of the context."""

    def __init__(self, context: Context) -> None:
        self.context, self.generation = context, context.generation

    def allocate(self, size: int) -> Buffer:
        """Managed memory; see MemoryResource."""
        attach = int(enum("CUmemAttach_flags", "CU_MEM_ATTACH_GLOBAL"))
        what = f"{size} bytes of managed memory"
        return Buffer(int(self.context.call("cuMemAllocManaged", size, attach, what=what)), size)

    def deallocate(self, address: int, size: int) -> None:
        """Free memory; see MemoryResource. Kernels in flight on any stream may still use it."""
        free = "cuMemFree", bindings().CUdeviceptr(address)
        self.context.give_back(self.generation, ("cuCtxSynchronize",), free)


def host_memory(context: Context, device: Any = None) -> dict[HostMemory, DeviceMemory[Buffer]]:
    """The resources of host memory, by kind."""
    return {
        "pinned": DeviceMemory(PageLocked(context, False), device, kind="pinned"),
        "mapped": DeviceMemory(PageLocked(context, True), device, kind="mapped"),
        "managed": DeviceMemory(Managed(context), device, kind="managed"),
    }


class Registered:
    """The caller's memory, page-locked for the lifetime of this object."""

    def __init__(self, context: Context, address: int, size: int) -> None:
        context.call("cuMemHostRegister", address, size, 1, what=f"{size} bytes at {address:#x}")
        self._closer = weakref.finalize(self, _unregister, context, address, context.generation)
        self._closer.atexit = False


def _unregister(context: Context, address: int, generation: int) -> None:
    context.give_back(generation, ("cuCtxSynchronize",), ("cuMemHostUnregister", address))


def _attribute(context: Context, name: str, address: int) -> Any:
    """A driver attribute of an address; None if the driver does not know the address."""
    number = enum("CUpointer_attribute", f"CU_POINTER_ATTRIBUTE_{name}")
    try:
        return context.call("cuPointerGetAttribute", number, bindings().CUdeviceptr(address))
    except DeviceError as error:
        if error.number != INVALID_VALUE:
            raise
        handled(error)
        return None


# --- memory of other processes ---


def export(context: Context, address: int) -> tuple[bytes, int]:
    """The driver's handle of the allocation that holds an address, and the address's offset.

    Raises:
        DeviceError: INVALID_VALUE, it is of a pool, whose memory such handles cannot open.
    """
    pointer = bindings().CUdeviceptr(address)
    base, _ = context.call("cuMemGetAddressRange", pointer)
    try:
        handle = context.call("cuIpcGetMemHandle", base)
    except DeviceError as error:
        if error.number not in (INVALID_VALUE, NOT_SUPPORTED):
            raise
        handled(error)  # the next one says more
        fail(
            INVALID_VALUE,
            f"cuIpcGetMemHandle: the memory at {address:#x} is of a pool, which the driver does "
            "not share by handles",
            "set GRIDLANE_CUDA_IPC=1, with which arrays are allocated by cuMemAlloc",
        )
    # Whether cuda-bindings shows the bytes depends on its version.
    return ctypes.string_at(handle.getPtr(), _HANDLE_BYTES), address - int(base)


class Opened:
    """Memory of another process, mapped for the lifetime of this object."""

    def __init__(self, context: Context, handle: bytes) -> None:
        given = bindings().CUipcMemHandle()
        ctypes.memmove(given.getPtr(), handle, _HANDLE_BYTES)
        self.pointer = context.call("cuIpcOpenMemHandle", given, 1, what="a handle of memory")
        close = weakref.finalize(self, _close, context, self.pointer, context.generation)
        close.atexit = False
        self.size = int(context.call("cuMemGetAddressRange", self.pointer)[1])


def _close(context: Context, pointer: Any, generation: int) -> None:
    context.give_back(generation, ("cuCtxSynchronize",), ("cuIpcCloseMemHandle", pointer))


def opened(context: Context, handle: bytes, size: int) -> Buffer:
    """Open the memory of another process's handle.

    Raises:
        DeviceError: INVALID_VALUE, it is none, or has fewer than ``size`` bytes; the driver's for
            memory that is gone, or of this process.
    """
    if len(handle) != _HANDLE_BYTES:
        fail(INVALID_VALUE, f"{len(handle)} bytes are no handle of memory of a CUDA device")
    owner = Opened(context, handle)
    if size > owner.size:
        fail(INVALID_VALUE, f"the handle has {owner.size} bytes, and {size} are asked for")
    return Buffer(int(owner.pointer), owner.size, owner)


_HANDLE_BYTES = 64
"""CU_IPC_HANDLE_SIZE."""
_OF_HOST = 1
"""CU_MEMORYTYPE_HOST."""


def adopt(device: Any, address: int, size: int) -> Buffer:
    """Borrow memory that another library allocated, if the driver knows the address."""
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
    """Whether kernels of the context can use an address directly."""
    seen = _attribute(context, "DEVICE_POINTER", address)
    return seen is not None and int(seen) == address


def dlpack_device(context: Context, address: int) -> tuple[int, int]:
    """DLPack's (kind, number) of an address; the GPU's for the null pointer."""
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
    """Host bytes at an address, as an array."""
    return (ctypes.c_ubyte * size).from_address(address)

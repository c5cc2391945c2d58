"""Memory managers: numba's interface of plugins that allocate a device's memory.

A plugin's memory is a resource of ``device.memory``, so whatever allocates on the device, copies of
arguments included, goes through the plugin, and has the device's one accounting.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

from gridlane.core import dlpack_abi
from gridlane.core.device_errors import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.cuda.arrays import ipc, pointers
from gridlane.launch import current
from gridlane.memory.accounting import deferred_frees
from gridlane.memory.deferral import DEFERRAL
from gridlane.memory.resource import (
    Buffer,
    HostMemory,
    MemoryResource,
    counts_elsewhere,
    goes_with_owner,
)
from gridlane.runtime.protocol import Device

VERSION = 1
"""The version of the interface that plugins implement."""
_KEY = "memory manager"


class MemoryInfo(NamedTuple):
    """Bytes (free, total)."""

    free: int
    total: int


class PendingDeallocs:
    """The frees that wait, of all devices: none does outside of ``defer_cleanup``, as memory is
    freed at once."""

    def clear(self) -> None:
        """Make the frees that wait, unless a section defers them."""
        if not DEFERRAL.depth:
            DEFERRAL.flush()

    @contextmanager
    def disable(self) -> Generator[None]:
        """Free no memory in the with block."""
        with deferred_frees():
            yield

    @property
    def is_disabled(self) -> bool:
        """Whether a section defers frees."""
        return DEFERRAL.depth > 0

    def __len__(self) -> int:
        return DEFERRAL.waiting()[0]


# --- the interface of plugins ---


class BaseCUDAMemoryManager(ABC):
    """What allocates the memory of a context: plugins implement all of it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "context" not in kwargs:
            raise RuntimeError("a memory manager requires the argument context")
        self.context = kwargs.pop("context")

    @abstractmethod
    def memalloc(self, size: int) -> Any:
        """Allocate device memory; returns a ``MemoryPointer`` that owns it."""

    @abstractmethod
    def memhostalloc(self, size: int, mapped: bool, portable: bool, wc: bool) -> Any:
        """Allocate pinned memory of the host; returns a ``MappedMemory`` or a ``PinnedMemory``."""

    @abstractmethod
    def mempin(self, owner: Any, pointer: int, size: int, mapped: bool) -> Any:
        """Pin memory of the host; returns a ``MappedMemory`` or a ``PinnedMemory``."""

    @abstractmethod
    def initialize(self) -> None:
        """Prepare for use. It is called once, before any other method."""

    @abstractmethod
    def get_ipc_handle(self, memory: Any) -> Any:
        """An ``IpcHandle`` of device memory."""

    @abstractmethod
    def get_memory_info(self) -> Any:
        """A ``MemoryInfo`` of the device; may raise NotImplementedError."""

    @abstractmethod
    def reset(self) -> None:
        """Free all memory that was allocated in the context."""

    @abstractmethod
    def defer_cleanup(self) -> Any:
        """A context manager that defers frees."""

    @property
    @abstractmethod
    def interface_version(self) -> int:
        """The version of this interface that the plugin implements: 1."""


class HostOnlyCUDAMemoryManager(BaseCUDAMemoryManager):
    """Base of plugins that allocate device memory only; the host's memory is the device's own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.allocations: dict[Any, Any] = {}
        self.deallocations = PendingDeallocs()

    @property
    def _native(self) -> Device:
        return current.device() if self.context is None else self.context.device.native

    def _host(self, size: int, kind: HostMemory) -> tuple[Buffer, list[Buffer]]:
        with own_memory(self._native):
            buffer = self._native.allocate_host(size, kind)
        return buffer, [buffer]

    def memhostalloc(
        self, size: int, mapped: bool = False, portable: bool = False, wc: bool = False
    ) -> Any:
        """Pinned memory; ``mapped`` for kernels to use it in place.

        Raises:
            DeviceError: NOT_SUPPORTED, the device cannot use memory of the host in place.
        """
        buffer, keep = self._host(size, "mapped" if mapped else "pinned")
        kind = pointers.MappedMemory if mapped else pointers.PinnedMemory
        return kind(self.context, buffer.address, size, finalizer=keep.clear).own()

    def mempin(self, owner: Any, pointer: int, size: int, mapped: bool = False) -> Any:
        """Pin memory of the host; ``mapped`` for kernels to use it in place.

        Raises:
            DeviceError: NOT_SUPPORTED, the device cannot use memory of the host in place.
        """
        keep = [self._native.register_host(pointer, size), owner]
        if not mapped:
            kind = pointers.PinnedMemory
        else:
            kind, buffer = pointers.MappedMemory, Buffer(pointer, size, owner)
            check_uses_host(self._native)
            keep.append(self._native.memory.note(buffer))
        return kind(self.context, pointer, size, owner=owner, finalizer=keep.clear).own()

    def memallocmanaged(self, size: int, attach_global: bool = True) -> Any:
        """Managed memory.

        Raises:
            DeviceError: NOT_SUPPORTED, the device cannot use memory of the host in place.
        """
        buffer, keep = self._host(size, "managed")
        pointer = pointers.ManagedMemory(self.context, buffer.address, size, finalizer=keep.clear)
        return pointer.own()

    def reset(self) -> None:
        """Forget the host's memory that pointers do not hold."""
        self.allocations.clear()
        self.deallocations.clear()

    @contextmanager
    def defer_cleanup(self) -> Generator[None]:
        """Free no memory in the with block."""
        with self.deallocations.disable():
            yield


class GetIpcHandleMixin:
    """``get_ipc_handle`` for memory that the device's driver knows."""

    context: Any

    def get_ipc_handle(self, memory: Any) -> ipc.IpcHandle:
        """A handle by which another process opens device memory; see ``ipc.handle_of``."""
        native = current.device() if self.context is None else self.context.device.native
        return ipc.handle_of(memory, native)


class NumbaCUDAMemoryManager(GetIpcHandleMixin, HostOnlyCUDAMemoryManager):
    """The device's own memory."""

    def initialize(self) -> None:
        """Do nothing: the device is ready."""

    def memalloc(self, size: int) -> Any:
        """Device memory.

        Raises:
            DeviceError: OUT_OF_MEMORY.
        """
        return pointers.allocated(self._native.allocate(size), self.context)

    def get_memory_info(self) -> MemoryInfo:
        """Free and total bytes of the device's memory."""
        return MemoryInfo(*self._native.memory_info())

    @property
    def interface_version(self) -> int:
        """The version of the interface."""
        return VERSION


# --- the plugin of a device ---


class PluginResource:
    """The memory of a plugin: what ``memalloc`` returns owns it.

    What a plugin itself allocates on the device inside ``memalloc``, by the driver's functions, is
    the device's own memory, and is counted when the plugin returns it.
    """

    alignment = 1
    """numba requires none of a plugin."""

    def __init__(self, manager: BaseCUDAMemoryManager, own: MemoryResource[Buffer]) -> None:
        self.manager, self.own = manager, own
        self._thread = threading.local()

    def allocate(self, size: int) -> Buffer:
        """Allocate by the plugin.

        Raises:
            DeviceError: INVALID_VALUE, it returns no pointer to so much memory.
            Exception: what the plugin raises, with a note of that.
        """
        if getattr(self._thread, "inside", 0):
            return _lent(self.own, size)
        with self.aside():
            try:
                pointer = self.manager.memalloc(size)
            except Exception as error:
                error.add_note(f"raised by {type(self.manager).__name__}.memalloc({size})")
                raise
        return Buffer(self._address(pointer, size), size, pointer)

    @property
    def deallocate(self) -> Callable[[int, int], None]:
        """Do nothing: the memory is freed with its owner."""
        return counts_elsewhere if getattr(self._thread, "inside", 0) else goes_with_owner

    def _address(self, pointer: Any, size: int) -> int:
        plugin = type(self.manager).__name__
        there = getattr(pointer, "device_pointer", None)
        if there is None or not isinstance(getattr(pointer, "size", None), int):
            problem = f"{plugin}.memalloc({size}) returned a {type(pointer).__name__}"
            fail(INVALID_VALUE, problem, "return a MemoryPointer that owns the memory")
        address = pointers.address_of(there)
        if pointer.size < size or (size and not address):
            problem = f"{plugin}.memalloc({size}) returned {pointer.size} bytes at {address:#x}"
            fail(INVALID_VALUE, problem, "return a pointer to as many bytes, or raise MemoryError")
        return address

    @contextmanager
    def aside(self) -> Generator[None]:
        """Allocate of the device's own memory, on this thread, in the with block; it does not
        count."""
        self._thread.inside = getattr(self._thread, "inside", 0) + 1
        try:
            yield
        finally:
            self._thread.inside -= 1


class _Lent:
    """Frees memory of another resource at its end."""

    def __init__(self, buffer: Buffer, resource: MemoryResource[Buffer]) -> None:
        self.buffer, self._deallocate = buffer, resource.deallocate

    def __del__(self) -> None:
        self._deallocate(self.buffer.address, self.buffer.size)


def _lent(resource: MemoryResource[Buffer], size: int) -> Buffer:
    buffer = resource.allocate(size)
    return Buffer(buffer.address, size, _Lent(buffer, resource))


@contextmanager
def own_memory(device: Device) -> Generator[None]:
    """Allocate of the device's own memory, on this thread, in the with block; beside a plugin's it
    does not count."""
    resource = device.memory.resource
    if not isinstance(resource, PluginResource):
        yield
        return
    with resource.aside():
        yield


def host_memory(device: Device, size: int, kind: HostMemory) -> Any:
    """A pointer to the host's memory by the device's plugin; None without one."""
    plugin = plugin_of(device)
    if plugin is None:
        return None
    if kind == "managed":
        if not hasattr(plugin, "memallocmanaged"):
            name = type(plugin).__name__
            fail(NOT_SUPPORTED, f"the memory manager {name} has no managed memory")
        return plugin.memallocmanaged(size, True)
    return plugin.memhostalloc(size, kind == "mapped", False, False)


def check_uses_host(device: Device) -> None:
    """Raise NOT_SUPPORTED if kernels of a device cannot use memory of the host in place."""
    if not _has_addresses(device):
        fail(NOT_SUPPORTED, f"mapped memory: the device {device.name} has memory of its own")


def _has_addresses(device: Device) -> bool:
    """Whether a device's memory has addresses that the process and its libraries know."""
    kind = device.dlpack_device(0)
    return kind is not None and kind[0] in (dlpack_abi.CPU, dlpack_abi.CUDA)


def manager_of(device: Device) -> Any:
    """The device's manager; None if none was installed."""
    return device.memory.kept.get(_KEY)


def plugin_of(device: Device) -> Any:
    """The device's manager if it is a plugin, else None."""
    return manager_of(device) if isinstance(device.memory.resource, PluginResource) else None


def install(device: Device, manager: Any) -> None:
    """Have a manager allocate a device's memory from now on. Memory that exists stays.

    Raises:
        DeviceError: NOT_SUPPORTED, the device's memory has no addresses that a plugin could
            allocate.
    """
    resource = device.memory.resource
    own = resource.own if isinstance(resource, PluginResource) else resource
    if not isinstance(manager, NumbaCUDAMemoryManager):
        if not _has_addresses(device):
            fail(
                NOT_SUPPORTED,
                f"the memory manager {type(manager).__name__} on the device {device.name}, whose "
                "memory is not addresses of the process",
                "use the device cpu or cuda, or no memory manager",
            )
        manager.initialize()
        resource: Any = PluginResource(manager, own)  # its deallocate is a property
        device.memory.resource = resource
    elif own is not resource:
        device.memory.resource = own
    device.memory.kept[_KEY] = manager


def check_version(plugin: Any) -> None:
    """Raise RuntimeError if a class of plugins implements another version of the interface."""
    version = plugin(context=None).interface_version
    if version != VERSION:
        raise RuntimeError(
            f"the memory manager {plugin.__name__} has version {version} of the interface - "
            f"version {VERSION} required"
        )

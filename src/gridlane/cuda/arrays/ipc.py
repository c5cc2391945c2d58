"""Handles by which other processes open device memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.device_errors import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.core.frozen import frozen
from gridlane.cuda.arrays import pointers
from gridlane.launch import current
from gridlane.memory.resource import Buffer
from gridlane.runtime.protocol import Device

array_class: Callable[..., Any] | None = None
"""The class of device arrays, which sets this."""


@frozen
class IpcMemHandle:
    """The driver's handle: bytes that mean something to the same driver in another process."""

    reserved: bytes


def _only(device: Device, name: str, why: str) -> Callable[..., Any]:
    """A device's method for memory of other processes.

    Raises:
        DeviceError: NOT_SUPPORTED, it has none.
    """
    if sys.platform != "linux":
        fail(NOT_SUPPORTED, f"{why}: this system is not Linux", _INSTEAD)
    method = getattr(device, name, None)
    if method is None:
        fail(NOT_SUPPORTED, f"{why}: the device {device.name} shares no memory", _INSTEAD)
    return method


_INSTEAD = "pass copy_to_host() to the other process, and cuda.to_device there"


def handle_of(memory: Any, device: Device) -> IpcHandle:
    """A handle of the memory of a pointer.

    Raises:
        DeviceError: NOT_SUPPORTED, the device or system shares no memory; INVALID_VALUE, this
            memory cannot be shared, or has no bytes.
    """
    export = _only(device, "export_memory", "get_ipc_handle")
    address, size = int(memory.device_pointer), int(memory.size)
    if not size:
        fail(INVALID_VALUE, "get_ipc_handle of an empty array", "an empty array needs no memory")
    buffer = device.memory.find(address, size) or device.adopt(address, size)
    reserved, offset = export(buffer, address)
    source = {"device": device.name, "uuid": device.describe()["uuid"]}
    return IpcHandle(memory, IpcMemHandle(reserved), size, source, offset)


def opened(reserved: Any, size: int, device: Device) -> Buffer:
    """Open the memory of a handle's bytes.

    Raises:
        DeviceError: NOT_SUPPORTED, the device or system shares no memory; INVALID_VALUE, the
            handle is not one, or stale, or of another user.
    """
    handle = bytes(getattr(reserved, "reserved", reserved))
    buffer = _only(device, "import_memory", "open_ipc_handle")(handle, size)
    return device.memory.note(buffer)


class IpcHandle:
    """A handle of device memory for another process; it can be pickled.

    Args:
        base: the memory, which it keeps alive; None in another process.
        handle: the driver's handle.
        size: in bytes.
        source_info: of the device.
        offset: of the memory from the start of what the driver's handle opens.
    """

    def __init__(
        self,
        base: Any,
        handle: Any,
        size: int,
        source_info: dict[str, Any] | None = None,
        offset: int = 0,
    ) -> None:
        self.base, self.handle, self.size = base, handle, size
        self.source_info, self.offset = source_info, offset
        self._opened: Any = None

    def can_access_peer(self, context: Any) -> bool:
        """Whether the memory can be opened in a context.

        Raises:
            RuntimeError: the handle does not name its device.
        """
        if self.source_info is None:
            raise RuntimeError("IPC handle doesn't have source info")
        native = context.device.native
        return self.source_info["uuid"] == native.describe()["uuid"]

    def open(self, context: Any) -> Any:
        """Open the memory in a context; returns a pointer to it. It stays valid while pointers
        and arrays use it, also after ``close``.

        Raises:
            ValueError: in the process of the memory, or a second time.
            DeviceError: as ``opened``.
        """
        if self.base is not None:
            raise ValueError("opening IpcHandle from original process")
        if self._opened is not None:
            raise ValueError("IpcHandle is already opened")
        whole = context.open_ipc_handle(self.handle, self.offset + self.size)
        self._opened = whole
        return whole.view(self.offset, self.offset + self.size)

    open_direct = open

    def open_staged(self, context: Any) -> Any:
        """A copy of the memory in a context; the handle counts as opened."""
        source = self.open(context)
        copy = context.memalloc(self.size)
        context.device.native.copy(int(copy.device_pointer), int(source.device_pointer), self.size)
        return copy

    def open_array(self, context: Any, shape: Any, dtype: Any, strides: Any = None) -> Any:
        """Open the memory as a device array; ``strides`` are those of C order by default."""
        assert array_class is not None
        return array_class(shape, strides, np.dtype(dtype), gpu_data=self.open(context))

    def close(self) -> None:
        """Forget the opened memory.

        Raises:
            ValueError: it is not opened.
        """
        if self._opened is None:
            raise ValueError("IpcHandle not opened")
        self._opened = None

    def __reduce__(self) -> Any:
        reserved = bytes(self.handle.reserved)
        return _rebuilt, (type(self), reserved, self.size, self.source_info, self.offset)


def _rebuilt(cls: type[IpcHandle], reserved: bytes, *rest: Any) -> IpcHandle:
    return cls(None, IpcMemHandle(reserved), *rest)


class IpcArrayHandle:
    """A handle of a device array for another process; it can be pickled.

    In the other process, ``with handle as array:`` opens the array for the block.
    """

    def __init__(self, ipc_handle: Any, array_desc: dict[str, Any], context: Any = None) -> None:
        self._ipc_handle, self._array_desc = ipc_handle, array_desc

    def open(self) -> Any:
        """Open the array; see ``IpcHandle.open``."""
        return self._ipc_handle.open_array(_Here(), **self._array_desc)

    def close(self) -> None:
        """Forget the opened memory."""
        self._ipc_handle.close()

    def __enter__(self) -> Any:
        return self.open()

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        return IpcArrayHandle, (self._ipc_handle, self._array_desc)


class _Here:
    """This thread's device, as far as a handle needs a context."""

    def __init__(self) -> None:
        self.native = current.device()

    @property
    def device(self) -> Any:
        """The device."""
        return self

    def open_ipc_handle(self, handle: Any, size: int) -> Any:
        """Open a handle."""
        buffer = opened(handle, size, self.native)
        return pointers.pointer_to(buffer, buffer.address, buffer.size)

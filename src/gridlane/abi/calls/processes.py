"""Memory and events of other processes, by handles that programs pass on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import contexts, memory, streams
from gridlane.abi.state.memory import Allocation
from gridlane.abi.struct import Struct
from gridlane.runtime.protocol import Device
from gridlane.runtime.queues.shared_event import SharedEvent

_LAZY_PEERS = 1
_EVENT_FLAGS = 2 | 4
"""An opened event tells no time, and is of several processes."""


def can_share(device: Device) -> bool:
    """Whether other processes can open memory of a device."""
    return sys.platform == "linux" and hasattr(device, "export_memory")


def _only(device: Device, name: str) -> Callable[..., Any]:
    if not can_share(device):
        fail(NOT_SUPPORTED, f"the device {device.name} shares no memory between processes")
    return getattr(device, name)


def _handle(device: Device, address: int) -> bytes:
    """The handle of the memory at the beginning of a buffer."""
    buffer = device.memory.find(address, 1)
    if buffer is None:
        fail(INVALID_VALUE, f"{address:#x} is in no allocation")
    data, offset = _only(device, "export_memory")(buffer, address)
    if offset:
        fail(INVALID_VALUE, f"{address:#x} is not what an allocation returned")
    return data


@implements("cuIpcGetMemHandle", "cudaIpcGetMemHandle")
def get_memory(address: int) -> Struct:
    """The handle of an allocation of the current device.

    Raises:
        Failure: INVALID_VALUE, no allocation begins there, or it is of a pool.
        DeviceError: INVALID_VALUE, the allocation shares pages with others.
    """
    context = contexts.current()
    allocation = memory.starting_at(address, context.ordinal, "device")
    if allocation.pool is not None:
        fail(INVALID_VALUE, "memory of a pool has no handle: allocate it by cudaMalloc")
    return Struct.of("CUipcMemHandle", _handle(context.device, address))


@implements("cuIpcOpenMemHandle_v2", "cuIpcOpenMemHandle", "cudaIpcOpenMemHandle")
def open_memory(handle: Struct, flags: int) -> int:
    """The address of another process's memory."""
    if flags & ~_LAZY_PEERS:
        fail(INVALID_VALUE, f"opening memory with the flags {flags:#x}")
    context = contexts.current()
    buffer = _only(context.device, "import_memory")(bytes(handle), 1)
    context.device.memory.note(buffer)
    memory.add(Allocation(buffer.address, buffer.size, "device", context, buffer, is_opened=True))
    return buffer.address


@implements("cuIpcCloseMemHandle", "cudaIpcCloseMemHandle")
def close_memory(address: int) -> None:
    """Close another process's memory, after the work that may use it."""
    allocation = memory.starting_at(address, contexts.current().ordinal, "device")
    if not allocation.is_opened:
        fail(INVALID_VALUE, f"{address:#x} is no memory of another process")
    memory.free(allocation)


@implements("cuIpcGetEventHandle", "cudaIpcGetEventHandle")
def get_event(handle: int) -> Struct:
    """The handle of an event that was made for several processes."""
    event = streams.event(handle)
    point = event.point
    if not isinstance(point, SharedEvent):
        fail(INVALID_HANDLE, "the event was not made with cudaEventInterprocess")
    return Struct.of("CUipcEventHandle", _handle(event.context.device, point.memory.address))


@implements("cuIpcOpenEventHandle", "cudaIpcOpenEventHandle")
def open_event(handle: Struct) -> int:
    """An event of another process."""
    context = contexts.current()
    buffer = _only(context.device, "import_memory")(bytes(handle), 24)
    return streams.existing_event(context, _EVENT_FLAGS, SharedEvent(buffer, False)).handle

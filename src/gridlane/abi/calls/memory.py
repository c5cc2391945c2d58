"""Memory: of devices, of the host for copies, and of both."""

from __future__ import annotations

from gridlane.abi import raw
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import (
    INVALID_VALUE,
    NOT_SUPPORTED,
    fail,
)
from gridlane.abi.state import contexts, memory
from gridlane.abi.state.memory import Allocation
from gridlane.core.cuda_table import constants
from gridlane.core.device_errors import handled
from gridlane.core.errors import DeviceError
from gridlane.memory.resource import HostMemory
from gridlane.runtime.host_device import note_shared

ALREADY_REGISTERED, NOT_REGISTERED = 712, 713
PITCH = 512
"""Rows of pitched memory begin at multiples of so many bytes, as on NVIDIA's devices."""
_MAPPED = constants()["CU_MEMHOSTALLOC_DEVICEMAP"]


@implements("cuMemAllocPitch_v2")
def allocate_pitched(width: int, height: int, element: int) -> tuple[int, int]:
    """Memory for rows, each at a multiple of ``PITCH``: its address, and bytes from row to row."""
    if element not in (4, 8, 16) or width <= 0 or height <= 0:
        fail(INVALID_VALUE, f"{height} rows of {width} bytes, in elements of {element}")
    pitch = -(-width // PITCH) * PITCH
    return memory.allocate(contexts.current(), pitch * height).address, pitch


@implements("cuMemAllocManaged")
def allocate_managed(size: int, flags: int) -> int:
    """Memory that host and device use by one address.

    Raises:
        DeviceError: NOT_SUPPORTED, the device's memory is not the host's.
    """
    context = contexts.current()
    if flags not in (1, 2) or size <= 0:
        fail(INVALID_VALUE, f"{size} bytes of managed memory with the flags {flags}")
    memory.check_size(size)
    buffer = context.device.allocate_host(size, "managed")
    return memory.add(Allocation(buffer.address, size, "managed", context, buffer, flags)).address


def host_memory(size: int, flags: int) -> int:
    """Memory of the host for copies, and for kernels if the device uses the host's. For a device
    that cannot map it, it is memory for copies; only its device pointer is refused."""
    context = contexts.current()
    if size <= 0 or flags & ~7:
        fail(INVALID_VALUE, f"{size} bytes of host memory with the flags {flags}")
    memory.check_size(size)
    wants_both = bool(flags & _MAPPED) and not context.device.host_visible
    kind: HostMemory = "mapped" if wants_both else "pinned"
    try:
        buffer = context.device.allocate_host(size, kind)
    except DeviceError as error:
        if error.number != NOT_SUPPORTED:
            raise
        handled(error)
        kind, buffer = "pinned", context.device.allocate_host(size, "pinned")
    note_shared(context.device)
    allocation = Allocation(buffer.address, size, "host", context, buffer, flags)
    allocation.mapped = kind == "mapped"
    return memory.add(allocation).address


@implements("cuMemAllocHost_v2")
def host_allocate_plain(size: int) -> int:
    """Memory of the host for copies."""
    return host_memory(size, _MAPPED if contexts.current().device.host_visible else 0)


@implements("cuMemHostGetDevicePointer_v2")
def device_pointer(address: int, flags: int) -> int:
    """The address by which kernels use memory of the host."""
    context = contexts.current()
    allocation = memory.find(address, 1, context.ordinal)
    if flags or allocation is None or allocation.kind == "device":
        fail(INVALID_VALUE, f"{address:#x} is not memory of the host for a device")
    if not context.device.host_visible and not allocation.mapped:
        fail(INVALID_VALUE, f"kernels of the device {context.device.name} cannot use the host's")
    return address


@implements("cuMemHostGetFlags")
def host_flags(address: int) -> int:
    """The flags that memory of the host was made with."""
    allocation = memory.find(address, 1, contexts.current().ordinal)
    if allocation is None or allocation.kind not in ("host", "registered"):
        fail(INVALID_VALUE, f"{address:#x} is not memory of the host for a device")
    return allocation.flags


@implements("cuMemHostRegister_v2")
def register(address: int, size: int, flags: int) -> None:
    """Make the program's own memory fit for copies."""
    context = contexts.current()
    if not address or size <= 0 or flags & ~15:
        fail(INVALID_VALUE, f"{size} bytes at {address:#x} with the flags {flags}")
    raw.check_range(address, size)
    with memory.lock:  # of two threads that register the same bytes, one does
        if memory.meets(address, size):
            message = "bytes of it are registered, or of an allocation"
            fail(ALREADY_REGISTERED, f"{size} bytes at {address:#x}: {message}")
        pinned = context.device.register_host(address, size)
        memory.add(Allocation(address, size, "registered", context, pinned, flags))


@implements("cuMemHostUnregister")
def unregister(address: int) -> None:
    """End what ``register`` began."""
    allocation = memory.find(address, 1, contexts.current().ordinal)
    if allocation is None or allocation.kind != "registered" or allocation.address != address:
        fail(NOT_REGISTERED, f"{address:#x} is not registered")
    memory.free(allocation)

"""What is at an address."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.abi import raw
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_CONTEXT, INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED, fail
from gridlane.abi.state import contexts, memory
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.memory import Allocation
from gridlane.abi.struct import Struct
from gridlane.abi.typed import Typed
from gridlane.core.cuda_table import enums

_PREFIX = "CU_POINTER_ATTRIBUTE_"
_NUMBERS = enums()["CUpointer_attribute"].values
_HOST, _DEVICE = 1, 2
_NO_DEVICE = -2
_UNREGISTERED, _MANAGED = 0, 3
"""Beside host and device, kinds of memory that the runtime tells apart."""


def at(address: int) -> Allocation | None:
    """What a program allocated, registered or loaded at an address."""
    context = contexts.top()
    allocation = memory.find(address, 1, context.ordinal if context is not None else 0)
    if allocation is not None or context is None:
        return allocation
    loaded = memory.variable(address, context)
    if loaded is None:
        return None
    return Allocation(loaded.address, loaded.size, "device", context, loaded)


def known(address: int) -> Allocation:
    """What is at an address.

    Raises:
        Failure: INVALID_VALUE, nothing is.
    """
    allocation = at(address)
    if allocation is None:
        fail(INVALID_VALUE, f"{address:#x} is in no allocation")
    return allocation


@implements("cuMemGetAddressRange_v2")
def address_range(address: int) -> tuple[int, int]:
    """The first byte and the size of the allocation at an address."""
    contexts.current()
    allocation = at(address)
    if allocation is None:
        fail(NOT_FOUND, f"{address:#x} is in no allocation")
    return allocation.address, allocation.size


# --- the attributes ---


def _device_pointer(allocation: Allocation, address: int) -> int:
    context = contexts.top()
    if context is None:
        fail(INVALID_CONTEXT, "no context is current on this thread")
    if not _kernels_use(allocation, context):
        fail(INVALID_VALUE, f"kernels of the device {context.device.name} cannot use {address:#x}")
    return address


def _kernels_use(allocation: Allocation, context: Context) -> bool:
    if allocation.kind in ("device", "managed"):
        return allocation.context.device is context.device
    return context.device.host_visible


def _host_pointer(allocation: Allocation, address: int) -> int:
    if not _host_uses(allocation):
        fail(INVALID_VALUE, f"the host cannot use {address:#x}, memory of a device")
    return address


def _host_uses(allocation: Allocation) -> bool:
    return allocation.kind != "device" or allocation.context.device.host_visible


def _refused(allocation: Allocation, address: int) -> int:
    fail(NOT_SUPPORTED, "tokens for other drivers: gridlane shares no memory with them")


_Asked = Callable[[Allocation, int], int]
_ATTRIBUTES: dict[str, tuple[str, _Asked, int]] = {
    "CONTEXT": ("CUcontext", lambda allocation, address: allocation.context.handle, 0),
    "MEMORY_TYPE": (
        "unsigned int",
        lambda allocation, address: _HOST if allocation.kind in ("host", "registered") else _DEVICE,
        0,
    ),
    "DEVICE_POINTER": ("CUdeviceptr", _device_pointer, 0),
    "HOST_POINTER": ("void *", _host_pointer, 0),
    "P2P_TOKENS": ("CUDA_POINTER_ATTRIBUTE_P2P_TOKENS", _refused, 0),
    "SYNC_MEMOPS": ("unsigned char", lambda allocation, address: int(allocation.synchronous), 0),
    "BUFFER_ID": ("unsigned long long", lambda allocation, address: allocation.number, 0),
    "IS_MANAGED": (
        "unsigned char",
        lambda allocation, address: int(allocation.kind == "managed"),
        0,
    ),
    "DEVICE_ORDINAL": ("int", lambda allocation, address: allocation.context.ordinal, _NO_DEVICE),
    "IS_LEGACY_CUDA_IPC_CAPABLE": ("unsigned char", lambda allocation, address: 0, 0),
    "RANGE_START_ADDR": ("CUdeviceptr", lambda allocation, address: allocation.address, 0),
    "RANGE_SIZE": ("size_t", lambda allocation, address: allocation.size, 0),
    "MAPPED": ("unsigned char", lambda allocation, address: 1, 0),
    "ALLOWED_HANDLE_TYPES": ("unsigned long long", lambda allocation, address: 0, 0),
    "IS_GPU_DIRECT_RDMA_CAPABLE": ("unsigned char", lambda allocation, address: 0, 0),
    "ACCESS_FLAGS": ("CUmemAccess_flags", lambda allocation, address: 3, 0),
    "MEMPOOL_HANDLE": (
        "CUmemoryPool",
        lambda allocation, address: allocation.pool.handle if allocation.pool else 0,
        0,
    ),
    "MAPPING_SIZE": ("size_t", lambda allocation, address: allocation.size, 0),
    "MAPPING_BASE_ADDR": ("CUdeviceptr", lambda allocation, address: allocation.address, 0),
    "MEMORY_BLOCK_ID": ("unsigned long long", lambda allocation, address: allocation.number, 0),
    "IS_HW_DECOMPRESS_CAPABLE": ("unsigned char", lambda allocation, address: 0, 0),
}
"""Of each attribute its type, its value at an address, and the value where nothing is."""

_BY_NUMBER = {number: name.removeprefix(_PREFIX) for name, number in _NUMBERS.items()}


def _asked(number: int) -> tuple[str, _Asked, int]:
    if number not in _BY_NUMBER:
        fail(INVALID_VALUE, f"no attribute of pointers has the number {number}")
    return _ATTRIBUTES[_BY_NUMBER[number]]


@implements("cuPointerGetAttribute")
def get_attribute(number: int, address: int) -> Typed:
    """An attribute of the memory at an address."""
    kind, value, _ = _asked(number)
    return Typed(kind, value(known(address), address))


def _or_none(value: _Asked, allocation: Allocation, address: int, none: int) -> int:
    """An attribute; ``none`` for an address that one side does not have."""
    if value is _host_pointer and not _host_uses(allocation):
        return none
    if value is _device_pointer and not _kernels_use(allocation, contexts.current()):
        return none
    return value(allocation, address)


@implements("cuPointerGetAttributes")
def get_attributes(count: int, numbers: int, address: int) -> tuple[list[Typed]]:
    """Several attributes of the memory at an address; 0 for those that it has not, and, but for the
    device's number, for all of an address where nothing is."""
    if not count or not numbers:
        fail(INVALID_VALUE, "no attributes")
    allocation = at(address)
    results: list[Typed] = []
    for number in raw.numbers(numbers, count):
        kind, value, none = _asked(number)
        results.append(
            Typed(kind, none if allocation is None else _or_none(value, allocation, address, none))
        )
    return (results,)


@implements("cuPointerSetAttribute")
def set_attribute(value: int, number: int, address: int) -> None:
    """Set whether copies and fills that the caller may wait for are waited for."""
    name = _BY_NUMBER.get(number)
    allocation = memory.find(address, 1, contexts.current().ordinal)
    if name != "SYNC_MEMOPS" or not value or allocation is None:
        fail(INVALID_VALUE, f"the attribute {name or number} of {address:#x} cannot be set")
    allocation.synchronous = bool(raw.numbers(value, 1)[0])
    if allocation.synchronous:
        allocation.context.synchronize()


@implements("cudaPointerGetAttributes")
def attributes(address: int) -> Struct:
    """The kind, device and addresses of the memory at an address."""
    context, allocation = contexts.current(), at(address)
    struct = Struct("cudaPointerAttributes")
    if allocation is None:
        struct.type, struct.device, struct.hostPointer = _UNREGISTERED, _NO_DEVICE, address
        return struct
    struct.type = {"device": _DEVICE, "managed": _MANAGED}.get(allocation.kind, _HOST)
    struct.device = allocation.context.ordinal
    struct.devicePointer = address if _kernels_use(allocation, context) else 0
    struct.hostPointer = address if _host_uses(allocation) else 0
    return struct

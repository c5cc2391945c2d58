"""Pools of memory, and what streams allocate and free of them."""

from __future__ import annotations

from gridlane.abi import raw
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import devices, pools, streams
from gridlane.abi.state.graph_memory import Allocate, Block, freeing
from gridlane.abi.state.pools import Pool
from gridlane.abi.state.streams import Stream
from gridlane.abi.struct import Struct
from gridlane.abi.typed import Typed
from gridlane.core.cuda_table import enums, layout
from gridlane.runtime.protocol import Device

_DEVICE, _HOST, _NUMA = (
    enums()["CUmemLocationType"].values[f"CU_MEM_LOCATION_TYPE_{name}"]
    for name in ("DEVICE", "HOST", "HOST_NUMA")
)
_PINNED, _MANAGED = 1, 2
_NONE, _READ_WRITE = 0, 3
_REUSE = 1, 2, 3
_THRESHOLD, _RESERVED, _RESERVED_HIGH, _USED, _USED_HIGH = range(4, 9)


# --- memory in the order of a stream ---


@implements("cuMemAllocAsync")
def allocate(size: int, stream: int) -> int:
    """Memory of the chosen pool of a stream's device, for its later work."""
    target = streams.stream(stream)
    if target.capture is not None:
        return _captured(size, target)
    return pools.chosen(target.context.device).allocate(size, target).address


def _captured(size: int, stream: Stream) -> int:
    """Memory that each launch of a captured graph allocates anew, at one address."""
    block = Block(stream.context, size)
    stream.submit(Allocate(block))
    return block.buffer.address


@implements("cuMemAllocFromPoolAsync")
def allocate_from(size: int, pool: int, stream: int) -> int:
    """Memory of a pool, for later work of a stream."""
    target = streams.stream(stream)
    if target.capture is not None:
        pools.pool(pool)
        return _captured(size, target)
    return pools.pool(pool).allocate(size, target).address


@implements("cuMemFreeAsync", "cudaFreeAsync")
def free(address: int, stream: int) -> None:
    """Free memory after the work that is in a stream."""
    target = streams.stream(stream)
    if address and target.capture is not None:
        target.submit(freeing(address, target.context))
    elif address:
        pools.free(address, target)


# --- pools ---


@implements("cuMemPoolCreate", "cudaMemPoolCreate")
def create(props: Struct | None) -> int:
    """Create a pool of a device's memory."""
    if props is None:
        fail(INVALID_VALUE, "no properties of the pool")
    if props.handleTypes:
        fail(NOT_SUPPORTED, "gridlane shares no memory between processes: handleTypes is 0")
    if props.usage:
        fail(NOT_SUPPORTED, "no device of gridlane decompresses memory: usage is 0")
    return Pool(located(props.location, props.allocType), props.maxSize).handle


def located(location: Struct | None, kind: int) -> Device:
    """The device whose memory a location is.

    Raises:
        Failure: INVALID_VALUE, there is no such location; NOT_SUPPORTED, it is none of a device.
    """
    if location is None or kind not in (_PINNED, _MANAGED):
        fail(INVALID_VALUE, f"a location, and memory of the kind {kind}")
    if kind == _MANAGED:
        fail(NOT_SUPPORTED, "pools of managed memory: use cuMemAllocManaged")
    if location.type in (_HOST, _NUMA):
        fail(NOT_SUPPORTED, "pools of host memory: use cuMemHostAlloc")
    if location.type != _DEVICE or not 0 <= location.id < devices.count():
        fail(INVALID_VALUE, f"no location has the type {location.type} and number {location.id}")
    return devices.device(location.id)


@implements("cuMemPoolGetAttribute", "cudaMemPoolGetAttribute")
def get_attribute(pool: int, number: int) -> Typed:
    """An attribute of a pool."""
    pool_object = pools.pool(pool)
    if number in _REUSE:
        return Typed("int", pool_object.reuse[number])
    values = {
        _THRESHOLD: pool_object.threshold,
        _RESERVED: pool_object.reserved,
        _RESERVED_HIGH: pool_object.reserved_high,
        _USED: pool_object.used,
        _USED_HIGH: pool_object.used_high,
    }
    if number not in values:
        fail(INVALID_VALUE, f"no attribute of pools has the number {number}")
    return Typed("cuuint64_t", values[number])


@implements("cuMemPoolSetAttribute", "cudaMemPoolSetAttribute")
def set_attribute(pool: int, number: int, value: int) -> None:
    """Set an attribute of a pool; its highest figures are set to 0, which begins them anew."""
    pool_object = pools.pool(pool)
    if not value:
        fail(INVALID_VALUE, "the address of the value is null")
    if number in _REUSE:
        pool_object.reuse[number] = int(bool(raw.numbers(value, 1)[0]))
        return
    given = raw.words(value, 1)[0]
    if number == _THRESHOLD:
        pool_object.threshold = given
    elif number == _RESERVED_HIGH and not given:
        pool_object.reserved_high = pool_object.reserved
    elif number == _USED_HIGH and not given:
        pool_object.used_high = pool_object.used
    else:
        fail(INVALID_VALUE, f"the attribute {number} of pools cannot be set to {given}")


@implements("cuMemPoolSetAccess", "cudaMemPoolSetAccess")
def set_access(pool: int, first: Struct | None, count: int) -> None:
    """Allow devices to use a pool: its own device always may."""
    pool_object = pools.pool(pool)
    if first is None or not count:
        fail(INVALID_VALUE, "no description of the access")
    step = layout("CUmemAccessDesc").size
    for n in range(count):
        each = Struct("CUmemAccessDesc", first.address + n * step)
        own = located(each.location, _PINNED) is pool_object.device
        if each.flags not in (_NONE, 1, _READ_WRITE) or (own and each.flags != _READ_WRITE):
            fail(INVALID_VALUE, f"the access {each.flags} of device {each.location.id}")
        if not own and each.flags != _NONE:
            fail(NOT_SUPPORTED, f"device {each.location.id} cannot use memory of another one")


@implements("cuMemPoolGetAccess", "cudaMemPoolGetAccess")
def get_access(pool: int, location: Struct | None) -> int:
    """How a device or the host may use a pool."""
    pool_object = pools.pool(pool)
    if location is not None and location.type == _HOST:
        return _READ_WRITE if pool_object.device.host_visible else _NONE
    return _READ_WRITE if located(location, _PINNED) is pool_object.device else _NONE


# --- the pools of a device ---

"""Nodes of graphs that allocate and free memory."""

from __future__ import annotations

from gridlane.abi import raw
from gridlane.abi.calls.graph_nodes import added, given, work_of
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import contexts, graph_memory
from gridlane.abi.state.graph_memory import Allocate, Block
from gridlane.abi.state.graphs import node
from gridlane.abi.struct import Struct
from gridlane.abi.typed import Typed

_USED, _USED_HIGH, _RESERVED, _RESERVED_HIGH = range(4)


@implements("cuGraphAddMemAllocNode", "cudaGraphAddMemAllocNode")
def add_allocation(handle: int, dependencies: int, count: int, params: Struct | None) -> int:
    """Add an allocation; its address is in the description from now on."""
    block = Block(contexts.current(), given(params).bytesize)
    given(params).dptr = block.buffer.address
    return added(handle, dependencies, count, lambda _: Allocate(block))


def allocation_of(handle: int, name: str) -> Struct:
    """The allocation of a node, in the structure of a name."""
    work, struct = work_of(node(handle), Allocate), Struct(name)
    struct.bytesize, struct.dptr = work.block.size, work.address
    struct.poolProps.allocType = struct.poolProps.location.type = 1  # of a device
    struct.poolProps.location.id = work.block.context.ordinal
    return struct


def check_device(ordinal: int) -> None:
    if not 0 <= ordinal < contexts.devices.count():
        fail(INVALID_VALUE, f"no device has the number {ordinal}")


@implements("cuDeviceGetGraphMemAttribute", "cudaDeviceGetGraphMemAttribute")
def get_attribute(ordinal: int, number: int) -> Typed:
    """How much memory the graphs of a device use and reserve, now or at most so far."""
    check_device(ordinal)
    most = graph_memory.highest(ordinal)
    values = {
        _USED: graph_memory.used(ordinal),
        _USED_HIGH: most.used,
        _RESERVED: graph_memory.reserved(ordinal),
        _RESERVED_HIGH: most.reserved,
    }
    if number not in values:
        fail(INVALID_VALUE, f"no attribute of the memory of graphs has the number {number}")
    return Typed("cuuint64_t", values[number])


@implements("cuDeviceSetGraphMemAttribute", "cudaDeviceSetGraphMemAttribute")
def set_attribute(ordinal: int, number: int, value: int) -> None:
    """Set a highest figure to 0, which begins it anew."""
    check_device(ordinal)
    if not value:
        fail(INVALID_VALUE, "the address of the value is null")
    given, most = raw.words(value, 1)[0], graph_memory.highest(ordinal)
    if number == _USED_HIGH and not given:
        most.used = graph_memory.used(ordinal)
    elif number == _RESERVED_HIGH and not given:
        most.reserved = graph_memory.reserved(ordinal)
    else:
        fail(INVALID_VALUE, f"the attribute {number} of graphs cannot be set to {given}")

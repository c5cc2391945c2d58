"""Nodes of graphs that allocate and free memory."""

from __future__ import annotations

from gridlane.abi.calls.graph_nodes import added, given, work_of
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import contexts
from gridlane.abi.state.graph_memory import Allocate, Block, Free, freeing
from gridlane.abi.state.graphs import node
from gridlane.abi.struct import Struct


@implements("cuGraphAddMemAllocNode", "cudaGraphAddMemAllocNode")
def add_allocation(handle: int, dependencies: int, count: int, params: Struct | None) -> int:
    """Add an allocation; its address is in the description from now on."""
    block = Block(contexts.current(), given(params).bytesize)
    given(params).dptr = block.buffer.address
    return added(handle, dependencies, count, lambda _: Allocate(block))


@implements("cuGraphAddMemFreeNode", "cudaGraphAddMemFreeNode")
def add_free(handle: int, dependencies: int, count: int, address: int) -> int:
    """Add the end of an allocation."""
    return added(handle, dependencies, count, lambda _: freeing(address, contexts.current()))


def _described(handle: int, name: str) -> Struct:
    work, made = work_of(node(handle), Allocate), Struct(name)
    made.bytesize, made.dptr = work.block.size, work.address
    made.poolProps.allocType = made.poolProps.location.type = 1  # of a device
    made.poolProps.location.id = work.block.context.ordinal
    return made


@implements("cuGraphMemAllocNodeGetParams")
def get_allocation(handle: int) -> Struct:
    """The allocation of a node."""
    return _described(handle, "CUDA_MEM_ALLOC_NODE_PARAMS")


@implements("cudaGraphMemAllocNodeGetParams")
def get_allocation_by_runtime(handle: int) -> Struct:
    """The allocation of a node."""
    return _described(handle, "cudaMemAllocNodeParams")


@implements("cuGraphMemFreeNodeGetParams", "cudaGraphMemFreeNodeGetParams")
def get_free(handle: int) -> int:
    """The address of the memory that a node frees."""
    return work_of(node(handle), Free).address


@implements("cuDeviceGraphMemTrim", "cudaDeviceGraphMemTrim")
def trim(ordinal: int) -> None:
    """Do nothing: memory of graphs ends with them."""
    if not 0 <= ordinal < contexts.devices.count():
        fail(INVALID_VALUE, f"no device has the number {ordinal}")
